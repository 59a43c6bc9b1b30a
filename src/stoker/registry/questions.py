"""What can be asked: which versions a subject has, which of them is a schema, and whether a new one goes with them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from stoker.registry import errors
from stoker.registry.compatibility import Conflict, conflicts, footer, messages, of_the_same_group
from stoker.registry.data_contracts import version_in, without_version
from stoker.registry.entities import AVRO, HIGHEST_NUMBER, LATEST, Json, SchemaEntity, SubjectVersion
from stoker.registry.fields import conflicts_with_reserved
from stoker.registry.inheritance import inherited
from stoker.registry.parsing import Parser
from stoker.registry.records import SchemaKey
from stoker.registry.scopes import Scopes
from stoker.registry.settings import LEVEL, Level, Policy
from stoker.registry.state import RegistryState, Subject
from stoker.registry.subjects import context_of


class Registration(NamedTuple):
    """A schema that someone wants to register or look up."""

    entity: SchemaEntity
    schema_id: int | None = None
    """Which it must have: imported schemas bring theirs."""
    version: int | None = None
    """Which it must be. LATEST: the next, and its metadata says so."""
    normalize: bool = False
    force: bool = False
    """It need not go with those before it."""


class Questions:
    """Subjects are named as subjects.canonical has them. Raises RegistryError alone."""

    def __init__(self, state: RegistryState, *, default_level: Level = Level.BACKWARD) -> None:
        self.state = state
        self.scopes = Scopes(state, default_level=default_level)
        self.parser = Parser(state)

    # -- subjects and versions --------------------------------------------------------------------------------------

    def subject(self, name: str, *, deleted: bool = False) -> Subject:
        """Raises NotFound if it has no version, or with `deleted` False none that is not deleted."""
        subject = self.state.subjects.get(name)
        if subject is None or (not deleted and subject.latest() is None):
            raise errors.subject_not_found(name)
        return subject

    def version(self, name: str, number: int, *, deleted: bool = False) -> SubjectVersion:
        """One version, or the latest, which is never a deleted one. Raises NotFound."""
        subject = self.subject(name, deleted=deleted)
        found = subject.latest() if number == LATEST else subject.versions.get(number)
        if found is None or (found.deleted and not deleted):
            raise errors.version_not_found(number)
        return found

    def referrers(self, name: str, number: int, *, deleted: bool = False) -> list[int]:
        """Ids of the schemas that refer to this version."""
        version = self.version(name, number, deleted=True)
        found = self.state.referrers_of(SchemaKey(name, version.version), deleted=deleted)
        in_order = sorted({(context_of(each.subject), each.schema_id) for each in found})
        return [schema_id for _, schema_id in in_order]

    # -- which version is this schema -------------------------------------------------------------------------------

    def lookup(self, name: str, wanted: Registration, *, deleted: bool = False) -> SubjectVersion:
        """The version under which a subject has this schema. Raises NotFound, and Unprocessable if it is none."""
        found = self.find(name, wanted, deleted=deleted)
        if found is None:
            latest = self.subject(name, deleted=deleted).latest()
            if latest is not None:  # it may have been registered without what it took from the version before
                entity = inherited(self.scopes.config(name), wanted.entity, latest, None, version=None)
                if entity is not wanted.entity and wanted.entity.text.strip():
                    found = self.find(name, wanted._replace(entity=entity), deleted=deleted)
        if found is None:
            raise errors.schema_not_found()
        return found

    def find(
        self, name: str, wanted: Registration, *, deleted: bool = False, latest_only: bool = False
    ) -> SubjectVersion | None:
        """Without what a new version would take from the one before. Raises Unprocessable if it is no schema."""
        if not wanted.entity.text.strip():
            return None
        entity = self.canonical(name, wanted)
        subject = self.state.subjects.get(name)
        if subject is None:
            return None
        if latest_only:
            latest = subject.latest()
            return self.same(entity, () if latest is None else (latest,))
        found = self.state.find(name, entity, deleted=deleted)
        return found if found is not None else self.same(entity, subject.newest_first(deleted=deleted))

    def same(self, entity: SchemaEntity, versions: Iterable[SubjectVersion]) -> SubjectVersion | None:
        """The first that is this schema, be it with or without the version in the metadata, or with its references
        written out."""
        return next((version for version in versions if self._is_same(entity, version)), None)

    def _is_same(self, entity: SchemaEntity, version: SubjectVersion) -> bool:
        other = version.entity
        if entity.schema_type != other.schema_type or not _same_contract(entity, version):
            return False
        if entity.text == other.text:
            return entity.references in (other.references, ())
        return self._is_written_out(entity, version)

    def _is_written_out(self, entity: SchemaEntity, version: SubjectVersion) -> bool:
        if entity.schema_type != AVRO or entity.references or not version.entity.references:
            return False
        return self.parser.parse(version.entity, context_of(version.subject)).formatted("resolved") == entity.text

    def canonical(self, name: str, wanted: Registration, *, is_new: bool = False) -> SchemaEntity:
        """The schema in the one form that is stored. Raises Unprocessable."""
        entity, context = wanted.entity, context_of(name)
        if not entity.text.strip():
            raise errors.invalid_schema("Empty schema")
        try:
            identity = entity.identity
        except UnicodeEncodeError as problem:
            raise errors.invalid_schema(
                f"The schema has half a character, which cannot be written: {problem}"
            ) from None
        normalize = wanted.normalize or bool(self.scopes.config(name).get("normalize"))
        normalize = normalize and not self.scopes.mode(name).is_import
        if not normalize and context in self.state.contexts and identity in self.state.contexts[context].ids:
            return entity  # as it is stored, so in that form
        entity = entity.with_text(entity.text, self.parser.resolved(entity, context, is_new=is_new))
        parsed = self.parser.parse(entity, context, is_new=is_new, normalize=normalize)
        return entity.with_text(parsed.text, entity.references)

    # -- compatibility ----------------------------------------------------------------------------------------------

    def incompatibilities(self, name: str, wanted: Registration, earlier: Sequence[SubjectVersion]) -> list[str]:
        """Why a schema cannot follow these versions, which are not deleted and oldest first; empty if it can."""
        config = self.scopes.config(name)
        entity = self.canonical(name, wanted, is_new=config.get("validateNewSchemas") is not False)
        return self.reasons(name, entity, earlier, config)

    def reasons(self, name: str, entity: SchemaEntity, earlier: Sequence[SubjectVersion], config: Json) -> list[str]:
        """As `incompatibilities`, of a schema in its canonical form."""
        level = Level[config[LEVEL]]
        policy = Policy[config.get("compatibilityPolicy", Policy.STRICT.name)]
        validates_fields = bool(config.get("validateFields"))
        compared = of_the_same_group(entity, earlier, config.get("compatibilityGroup"))
        found = self.conflicts(entity, context_of(name), compared, level, policy)
        told = messages(found, level, validates_fields=validates_fields)
        if not validates_fields:
            return told
        before = earlier[-1].entity.metadata if earlier else None
        reserved = conflicts_with_reserved(self.parser.parse(entity, context_of(name)), entity.metadata, before)
        return [*reserved, *(told or (footer(level, validates_fields=True) if reserved else []))]

    def conflicts(
        self,
        entity: SchemaEntity,
        context: str,
        earlier: Sequence[SubjectVersion],
        level: Level,
        policy: Policy = Policy.STRICT,
    ) -> list[Conflict]:
        if not earlier or level is Level.NONE:
            return []
        return conflicts(self.parser.parse(entity, context), earlier, level, self.parser, policy=policy)


def _same_contract(entity: SchemaEntity, version: SubjectVersion) -> bool:
    """Whether metadata and rules are the same; of the two versions in the metadata, one may be missing."""
    ours, theirs = entity.metadata, version.entity.metadata
    if entity.rule_set != version.entity.rule_set:
        return False
    said, known = version_in(ours), version_in(theirs)
    if said is None and known is not None:
        return (ours or {}) == without_version(theirs or {})
    if said is not None and known is None:
        return said == version.version and without_version(ours or {}) == (theirs or {})
    return ours == theirs


def parse_version(text: str) -> int:
    """A number from 1 on, or LATEST for `latest` and -1. Raises Unprocessable."""
    text = text.strip()
    if text.lower() == "latest" or text == "-1":
        return LATEST
    digits = text.removeprefix("+")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 20 or not 1 <= int(digits) <= HIGHEST_NUMBER:
        raise errors.invalid_version(text)
    return int(digits)
