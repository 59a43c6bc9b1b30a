"""What can be done to schemas: each method gives the records to write and the reply, and changes nothing itself.

The one who writes (stoker.registry.store) appends the records to `_schemas`; when they come back from there, the state
changes, here and in every other instance. Until then the next change waits.
"""

from typing import Any, Generic, NamedTuple, TypeVar

from stoker.registry import errors
from stoker.registry.compatibility import Conflict, conflicts, refusal
from stoker.registry.entities import Json, SchemaEntity, SubjectVersion
from stoker.registry.parsing import Parser
from stoker.registry.records import (
    ConfigKey,
    ContextKey,
    DeleteSubjectKey,
    ModeKey,
    RegistryRecord,
    SchemaKey,
    schema_record,
)
from stoker.registry.settings import Level, Mode, Scopes
from stoker.registry.state import RegistryState, Subject
from stoker.registry.subjects import DEFAULT_CONTEXT, context_of

ReplyT_co = TypeVar("ReplyT_co", covariant=True)

LATEST = -1
_HIGHEST = 2**31 - 1


class Change(NamedTuple, Generic[ReplyT_co]):
    """`records` are written together; then the reply is true."""

    records: list[RegistryRecord]
    reply: ReplyT_co


class Registration(NamedTuple):
    """A schema that someone wants to register or look up."""

    entity: SchemaEntity
    schema_id: int | None = None
    version: int | None = None
    normalize: bool = False


class Registry:
    """All questions and all changes. Raises RegistryError alone."""

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
        """One version, or the latest. Raises NotFound."""
        subject = self.subject(name, deleted=deleted or number == LATEST)
        if number == LATEST:
            found = subject.latest()
            if found is None and deleted:
                found = next(reversed(subject.versions.values()))
            if found is None:
                raise errors.subject_not_found(name)
            return found
        found = subject.versions.get(number)
        if found is None or (found.deleted and not deleted):
            raise errors.version_not_found(number)
        return found

    def lookup(self, name: str, wanted: Registration, *, deleted: bool = False) -> SubjectVersion:
        """The version under which a subject has this schema. Raises NotFound."""
        subject = self.subject(name, deleted=deleted)
        entity = self.canonical(name, wanted)
        found = subject.find(entity.identity, deleted=deleted)
        if found is None:
            raise errors.schema_not_found()
        return found

    def canonical(self, name: str, wanted: Registration) -> SchemaEntity:
        """The schema in the one form that is stored. Raises Unprocessable."""
        entity = wanted.entity
        parsed = self.parser.parse(entity, context_of(name))
        if wanted.normalize or self.scopes.config(name).get("normalize"):
            parsed = parsed.normalized()
        if parsed.text == entity.text:
            return entity
        return SchemaEntity(
            schema_type=entity.schema_type,
            text=parsed.text,
            references=entity.references,
            metadata=entity.metadata,
            rule_set=entity.rule_set,
        )

    def referrers(self, name: str, number: int, *, deleted: bool = False) -> list[int]:
        """Ids of the schemas that refer to this version."""
        version = self.version(name, number, deleted=deleted)
        found = self.state.referrers_of(SchemaKey(name, version.version), deleted=deleted)
        return sorted({each.schema_id for each in found})

    # -- registering ------------------------------------------------------------------------------------------------

    def register(self, name: str, wanted: Registration) -> Change[SubjectVersion]:
        """A new version of a subject, unless it has this schema already."""
        mode = self._writable(name)
        if wanted.schema_id is not None and not mode.is_import:
            raise errors.not_permitted(f"Subject {name} is not in import mode")
        if mode.is_import and wanted.schema_id is None:
            raise errors.not_permitted(f"Subject {name} is in import mode: a schema must bring its id")
        entity = self.canonical(name, wanted)
        subject = self.state.subjects.get(name) or Subject()
        known = subject.find(entity.identity, deleted=False)
        if (
            known is not None
            and wanted.schema_id in (None, known.schema_id)
            and wanted.version in (None, known.version)
        ):
            return Change([], known)
        if not mode.is_import:
            self._refuse_conflicts(name, entity, subject)
        context = context_of(name)
        schema_id = wanted.schema_id or self.state.id_of(context, entity) or self.state.next_id(context)
        self._check_id(context, schema_id, entity)
        number = self._number(subject, wanted, mode)
        version = SubjectVersion(name, number, schema_id, entity)
        records = self._of_context(context)
        records += self._of_the_same_id_before(subject, version)
        records.append(schema_record(version))
        return Change(records, version)

    def _writable(self, name: str) -> Mode:
        mode = self.scopes.mode(name)
        if mode.is_read_only:
            raise errors.not_permitted(f"Subject {name} in context {context_of(name)} is in read-only mode")
        return mode

    def _refuse_conflicts(self, name: str, entity: SchemaEntity, subject: Subject) -> None:
        level = self.scopes.level(name)
        found = self.conflicts(entity, context_of(name), subject.live(), level)
        if found:
            raise errors.Incompatible(409, refusal(name, found, level))

    def conflicts(
        self, entity: SchemaEntity, context: str, earlier: list[SubjectVersion], level: Level
    ) -> list[Conflict]:
        if not earlier or level is Level.NONE:
            return []
        return conflicts(self.parser.parse(entity, context), earlier, level, self.parser)

    def _check_id(self, context: str, schema_id: int, entity: SchemaEntity) -> None:
        known = self.state.schema(context, schema_id)
        if known is not None and known.identity != entity.identity:
            raise errors.id_does_not_match(schema_id)

    @staticmethod
    def _number(subject: Subject, wanted: Registration, mode: Mode) -> int:
        following = max(subject.versions, default=0) + 1
        if wanted.version is None or wanted.version <= 0:
            return following
        if wanted.version != following and not mode.is_import:
            raise errors.invalid_schema("Version is not one more than previous version")
        return wanted.version

    def _of_context(self, context: str) -> list[RegistryRecord]:
        if context == DEFAULT_CONTEXT or context in self.state.contexts:
            return []
        return [RegistryRecord(ContextKey(context), {"tenant": "default", "context": context})]

    def _of_the_same_id_before(self, subject: Subject, new: SubjectVersion) -> list[RegistryRecord]:
        """Softly deleted versions of the same schema go for good, unless someone refers to them; as in Confluent's."""
        return [
            RegistryRecord(key, None)
            for old in subject.versions.values()
            if old.deleted and old.schema_id == new.schema_id and old.version < new.version
            for key in (SchemaKey(old.subject, old.version),)
            if not self.state.referrers_of(key, deleted=True)
        ]

    # -- deleting ---------------------------------------------------------------------------------------------------

    def delete_version(self, name: str, number: int, *, permanent: bool) -> Change[int]:
        subject = self.state.subjects.get(name)
        if subject is None:
            raise errors.subject_not_found(name)
        version = self.version(name, number, deleted=True)
        if version.deleted and not permanent:
            raise errors.version_soft_deleted(name, version.version)
        self._writable(name)
        key = SchemaKey(name, version.version)
        if self.state.referrers_of(key, deleted=permanent):
            raise errors.reference_exists(name, version.version)
        if not permanent:
            return Change([schema_record(version._replace(deleted=True))], version.version)
        if not version.deleted:
            raise errors.version_not_soft_deleted(name, version.version)
        records = [RegistryRecord(key, None)]
        if len(subject.versions) == 1:
            records += self._settings_of(name)
        return Change(records, version.version)

    def delete_subject(self, name: str, *, permanent: bool) -> Change[list[int]]:
        subject = self.state.subjects.get(name)
        if subject is None:
            raise errors.subject_not_found(name)
        live = subject.live()
        if not permanent and not live:
            raise errors.subject_soft_deleted(name)
        self._writable(name)
        versions = list(subject.versions.values()) if permanent else live
        for version in versions:
            key = SchemaKey(name, version.version)
            if any(each.subject != name for each in self.state.referrers_of(key, deleted=permanent)):
                raise errors.reference_exists(name, version.version)
        if permanent and live:
            raise errors.subject_not_soft_deleted(name)
        numbers = [version.version for version in versions]
        if not permanent:
            value: Json = {"subject": name, "version": numbers[-1]}
            return Change([RegistryRecord(DeleteSubjectKey(name), value)], numbers)
        records = [RegistryRecord(SchemaKey(name, number), None) for number in reversed(numbers)]
        return Change(records + self._settings_of(name), numbers)

    def _settings_of(self, name: str) -> list[RegistryRecord]:
        """What goes with a subject that is gone for good."""
        records = []
        if name in self.state.modes:
            records.append(RegistryRecord(ModeKey(name), None))
        if name in self.state.configs:
            records.append(RegistryRecord(ConfigKey(name), None))
        return records

    # -- settings ---------------------------------------------------------------------------------------------------

    def put_config(self, subject: str | None, config: Json) -> Change[Json]:
        """Fields that are not named stay as they are."""
        merged = {**self.state.configs.get(subject, {}), **config}
        named = {} if subject is None else {"subject": subject}
        return Change([RegistryRecord(ConfigKey(subject), {**named, **merged})], config)

    def delete_config(self, subject: str | None) -> Change[Json]:
        """The reply is what was set. Raises NotFound."""
        if subject is not None and subject not in self.state.configs:
            raise errors.subject_not_found(subject)
        before: dict[str, Any] = self.state.configs.get(subject) or self.scopes.config(subject)
        return Change([RegistryRecord(ConfigKey(subject), None)], before)

    def put_mode(self, subject: str | None, mode: Mode, *, force: bool) -> Change[Mode]:
        """Import mode is for a registry, context or subject without schemas, unless it is forced."""
        if mode.is_import and not force and not self.scopes.mode(subject).is_import and self._has_schemas(subject):
            raise errors.not_permitted("Cannot import since found existing subjects")
        named = {} if subject is None else {"subject": subject}
        return Change([RegistryRecord(ModeKey(subject), {**named, "mode": mode.name})], mode)

    def _has_schemas(self, subject: str | None) -> bool:
        if subject is None:
            return any(context_of(name) == DEFAULT_CONTEXT for name in self.state.subjects)
        if subject == f":{context_of(subject)}:":
            return any(context_of(name) == context_of(subject) for name in self.state.subjects)
        return subject in self.state.subjects

    def delete_mode(self, subject: str | None) -> Change[Mode]:
        if subject is not None and subject not in self.state.modes:
            raise errors.subject_not_found(subject)
        return Change([RegistryRecord(ModeKey(subject), None)], self.scopes.mode(subject))


def parse_version(text: str) -> int:
    """A number from 1 on, or LATEST for `latest` and -1. Raises Unprocessable."""
    if text.lower() == "latest" or text == "-1":
        return LATEST
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:11]) <= _HIGHEST:
        raise errors.invalid_version(text)
    return int(text)
