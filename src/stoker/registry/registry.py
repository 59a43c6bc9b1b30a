"""What can be done to schemas: each method gives the records to write and the reply, and changes nothing itself.

The one who writes (stoker.registry.store) appends the records to `_schemas`; when they come back from there, the state
changes, here and in every other instance. Until then the next change waits.
"""

from typing import Generic, NamedTuple, TypeVar

from stoker.registry import errors
from stoker.registry.entities import LATEST, Json, SchemaEntity, SubjectVersion
from stoker.registry.fields import refuse_restricted_fields
from stoker.registry.inheritance import inherited
from stoker.registry.questions import Questions, Registration, parse_version
from stoker.registry.records import (
    ConfigKey,
    ContextKey,
    ModeKey,
    RegistryRecord,
    SchemaKey,
    clear_subject_record,
    config_record,
    context_record,
    delete_subject_record,
    mode_record,
    schema_record,
)
from stoker.registry.settings import DEFAULTS_AND_OVERRIDES, Mode, merged_config
from stoker.registry.state import Subject
from stoker.registry.subjects import (
    GLOBAL_CONTEXT,
    context_of,
    is_context,
    matching,
    prefix_of,
)

__all__ = ["LATEST", "Change", "Registration", "Registry", "parse_version"]

ReplyT_co = TypeVar("ReplyT_co", covariant=True)


class Change(NamedTuple, Generic[ReplyT_co]):
    """`records` are written together; then the reply is true."""

    records: list[RegistryRecord]
    reply: ReplyT_co


class Registry(Questions):
    """All questions and all changes. Subjects are named as subjects.canonical has them. Raises RegistryError alone."""

    # -- registering ------------------------------------------------------------------------------------------------

    def register(self, name: str, wanted: Registration) -> Change[SubjectVersion]:
        """A new version of a subject, unless it has this schema already: that may be asked for in any mode."""
        if is_context(name):
            raise errors.invalid_subject(name)
        wanted = _as_meant(wanted)
        config = self.scopes.config(name)
        known = self._known(name, wanted, config)
        if known is not None:
            return Change([], known)
        mode = self._mode_for(name, wanted)
        subject = self.state.subjects.get(name) or Subject()
        following = subject.highest + 1
        entity = wanted.entity
        if not mode.is_import:
            entity = inherited(config, entity, subject.latest(), following, version=wanted.version)
        entity = self._admitted(name, wanted._replace(entity=entity), config, mode)
        known = self._version_with(subject, entity, wanted)
        if known is not None:
            return Change([], known)
        if not mode.is_import and not wanted.force:
            reasons = self.reasons(name, entity, subject.live(), config)
            if reasons:
                raise errors.incompatible(name, reasons)
        number = _number(following, wanted, mode)
        version = SubjectVersion(name, number, self._id_for(name, entity, wanted), entity)
        records = [*self._of_context(name), *self._of_the_same_id_before(subject, version), schema_record(version)]
        return Change(records, version)

    def known(self, name: str, wanted: Registration) -> SubjectVersion | None:
        """What a request to register asks for, if it is there: then nothing is written, in whatever mode."""
        return self._known(name, _as_meant(wanted), self.scopes.config(name))

    def _known(self, name: str, wanted: Registration, config: Json) -> SubjectVersion | None:
        """What the request asks for, if it is there; not known where the config adds something to each new schema."""
        if any(config.get(field) is not None for field in DEFAULTS_AND_OVERRIDES):
            return None
        found = self.find(name, wanted, latest_only=wanted.version == LATEST)
        if found is None:
            return None
        if wanted.version is None or wanted.version == LATEST:
            return found if wanted.schema_id in (None, found.schema_id) else None
        if wanted.schema_id != found.schema_id:
            return None
        same = self.state.version(name, wanted.version)
        if same is None or same.deleted or same.entity.identity != found.entity.identity:
            return None
        return same if same.schema_id == wanted.schema_id else None

    def _mode_for(self, name: str, wanted: Registration) -> Mode:
        mode = self._writable(name)
        if wanted.schema_id is not None and not mode.is_import:
            raise errors.not_permitted(f"Subject {name} in context {_prefix(name)} is not in import mode")
        if wanted.schema_id is None and mode is not Mode.READWRITE:
            raise errors.not_permitted(f"Subject {name} in context {_prefix(name)} is not in read-write mode")
        return mode

    def _writable(self, name: str | None) -> Mode:
        mode = self.scopes.mode(name)
        if mode.is_read_only:
            raise errors.read_only("null" if name is None else name, _prefix(name))
        return mode

    def _admitted(self, name: str, wanted: Registration, config: Json, mode: Mode) -> SchemaEntity:
        """As it is stored. What is imported is neither normalized nor held to the rules for new schemas."""
        is_new = wanted.schema_id is None and config.get("validateNewSchemas") is not False
        entity = self.canonical(name, wanted, is_new=is_new)
        if config.get("validateFields") and not mode.is_import:
            refuse_restricted_fields(self.parser.parse(entity, context_of(name)))
        return entity

    def _version_with(self, subject: Subject, entity: SchemaEntity, wanted: Registration) -> SubjectVersion | None:
        """The version that is this schema already, if the request does not say which version it is to be."""
        if wanted.version is not None:
            return None
        versions = subject.newest_first(deleted=False)
        return self.same(entity, (each for each in versions if wanted.schema_id in (None, each.schema_id)))

    def _id_for(self, name: str, entity: SchemaEntity, wanted: Registration) -> int:
        context = context_of(name)
        if wanted.schema_id is None:
            return next(iter(self.state.ids_of(context, entity)), self.state.next_id(context))
        known = self.state.schema(context, wanted.schema_id)
        if known is not None and known.identity != entity.identity:
            raise errors.id_is_taken(wanted.schema_id, _prefix(name))
        return wanted.schema_id

    def _of_context(self, name: str) -> list[RegistryRecord]:
        context = context_of(name)
        return [] if context in self.state.contexts else [context_record(context)]

    def _of_the_same_id_before(self, subject: Subject, new: SubjectVersion) -> list[RegistryRecord]:
        """Softly deleted versions of the same schema go for good, unless someone refers to them; as in Confluent's."""
        records = []
        for old in subject.versions.values():
            if old.deleted and old.schema_id == new.schema_id and old.version < new.version:
                key = SchemaKey(old.subject, old.version)
                if not self.state.referrers_of(key, deleted=True):
                    records += self.state.tombstones(key)
        return records

    # -- deleting ---------------------------------------------------------------------------------------------------

    def delete_version(self, name: str, number: int, *, permanent: bool) -> Change[int]:
        """Softly: it is no longer found, but its id still is. For good, after that: it never was."""
        version = self.version(name, number, deleted=True)
        if version.deleted and not permanent:
            raise errors.version_soft_deleted(name, number)
        self._writable(name)
        key = SchemaKey(name, version.version)
        if self.state.referrers_of(key, deleted=permanent):
            raise errors.reference_exists(name, version.version)
        if not permanent:
            return Change([schema_record(version._replace(deleted=True))], version.version)
        if not version.deleted:
            raise errors.version_not_soft_deleted(name, version.version)
        records = self.state.tombstones(key)
        if len(self.state.subjects[name].versions) == 1:
            records += self._settings_of(name)
        return Change(records, version.version)

    def delete_subject(self, name: str, *, permanent: bool) -> Change[list[int]]:
        """The reply is which versions are gone."""
        subject = self.subject(name, deleted=True)
        if not permanent and subject.latest() is None:
            raise errors.subject_soft_deleted(name)
        self._writable(name)
        versions = list(subject.versions.values()) if permanent else subject.live()
        for version in versions:
            referrers = self.state.referrers_of(SchemaKey(name, version.version), deleted=permanent)
            if any(each.subject != name for each in referrers):
                raise errors.reference_exists(name, version.version)
            if permanent and not version.deleted:
                raise errors.subject_not_soft_deleted(name)
        numbers = [version.version for version in versions]
        if not permanent:
            # Up to the highest, though it may have been deleted before: of such records compaction keeps the last alone.
            return Change([delete_subject_record(name, subject.highest)], numbers)
        records = [record for number in reversed(numbers) for record in self.state.tombstones(SchemaKey(name, number))]
        return Change(records + self._settings_of(name), numbers)

    def _settings_of(self, name: str) -> list[RegistryRecord]:
        """What goes with a subject that is gone for good."""
        records = []
        if name in self.state.modes:
            records += self.state.tombstones(ModeKey(name))
        if name in self.state.configs:
            records += self.state.tombstones(ConfigKey(name))
        return records

    def delete_context(self, context: str) -> Change[None]:
        """Only one without subjects, deleted ones counted."""
        known = self.state.contexts.get(context)
        if known is not None and known.users:
            raise errors.context_not_empty(prefix_of(context))
        return Change(self.state.tombstones(ContextKey(context)), None)

    # -- settings ---------------------------------------------------------------------------------------------------

    def put_config(self, subject: str | None, config: Json) -> Change[Json]:
        """`config` is as parse_config gives it: fields that it does not name stay, and None takes one away.

        The reply is all that is set then.
        """
        self._writable(subject)
        merged = merged_config(self.state.configs.get(subject, {}), config)
        return Change([config_record(subject, merged)], merged)

    def delete_config(self, subject: str | None) -> Change[Json]:
        """The reply is what was set. Raises NotFound."""
        before = self.scopes.own_config(subject)
        if before is None:
            raise errors.subject_not_found(subject or "")
        self._writable(subject)
        return Change(self.state.tombstones(ConfigKey(subject)), before)

    def put_mode(self, subject: str | None, mode: Mode | None, *, force: bool) -> Change[Mode | None]:
        """Import mode is for a registry, context or subject without schemas, unless it is forced: ids would clash.

        What was softly deleted there goes for good. None takes the mode away.
        """
        if mode is Mode.FORWARD and (subject is None or context_of(subject) != GLOBAL_CONTEXT):
            raise errors.Unprocessable(errors.INVALID_MODE, "Forward mode only supported on global level")
        records = []
        if mode is Mode.IMPORT and self.scopes.mode(subject) is not Mode.IMPORT and not force:
            records += self._cleared(subject)
        records += self.state.tombstones(ModeKey(subject)) if mode is None else [mode_record(subject, mode.name)]
        return Change(records, mode)

    def _cleared(self, name: str | None) -> list[RegistryRecord]:
        is_meant = matching(name)
        subjects = [subject for each, subject in self.state.subjects.items() if is_meant(each)]
        if any(subject.latest() is not None for subject in subjects):
            raise errors.not_permitted("Cannot import since found existing subjects")
        records = []
        for version in (version for subject in subjects for version in subject.versions.values()):
            key = SchemaKey(version.subject, version.version)
            if self.state.referrers_of(key, deleted=True):
                raise errors.reference_exists(*key)
            records += self.state.tombstones(key)
        return [*records, clear_subject_record(name)]

    def delete_mode(self, subject: str | None) -> Change[Mode]:
        """The reply is what was set. Raises NotFound."""
        before = self.scopes.own_mode(subject)
        if before is None:
            raise errors.subject_not_found(subject or "")
        return Change(self.state.tombstones(ModeKey(subject)), before)

    def delete_modes_within(self, context: str | None) -> Change[Mode | None]:
        """Of a context, named as its settings are, and of all subjects in it. The reply is what was set for itself."""
        is_within = context_of(context)
        names = [each for each in self.state.modes if each is not None and each != context]
        meant = [each for each in names if context_of(each) == is_within]
        records = self.state.tombstones(ModeKey(context))
        for name in meant:
            records += self.state.tombstones(ModeKey(name))
        return Change(records, self.scopes.own_mode(context))


def _prefix(name: str | None) -> str:
    """How messages name a context."""
    return prefix_of(context_of(name))


def _as_meant(wanted: Registration) -> Registration:
    """Clients send the version 0 and the id -1 for none."""
    version, schema_id = wanted.version, wanted.schema_id
    return wanted._replace(
        version=None if version is None or (version < 1 and version != LATEST) else version,
        schema_id=None if schema_id is None or schema_id < 0 else schema_id,
    )


def _number(following: int, wanted: Registration, mode: Mode) -> int:
    if wanted.version is None or wanted.version == LATEST:
        return following
    if wanted.version != following and not mode.is_import:
        raise errors.invalid_schema("Version is not one more than previous version")
    return wanted.version
