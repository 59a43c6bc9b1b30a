"""All that the records of `_schemas` say, in memory. Changed by `replay` alone, at start and after every write.

Nothing here grows with the number of subjects when one is looked up, and no schema is parsed: the records hold the
canonical texts.
"""

import logging
from collections.abc import Iterator
from typing import TypeVar

from stoker.registry.entities import SCHEMA_TYPES, Json, SchemaEntity, SubjectVersion, is_number
from stoker.registry.errors import RegistryError
from stoker.registry.records import (
    ClearSubjectKey,
    ConfigKey,
    ContextKey,
    DeleteSubjectKey,
    Key,
    MalformedRecord,
    ModeKey,
    RegistryRecord,
    SchemaKey,
    subject_version_of,
)
from stoker.registry.settings import Mode, parse_mode, stored_config
from stoker.registry.subjects import DEFAULT_CONTEXT, context_of, in_context, matching

logger = logging.getLogger("stoker.registry")

K = TypeVar("K")
V = TypeVar("V")


class Subject:
    """The versions of one subject, the deleted ones too, in the order of their numbers."""

    __slots__ = ("versions",)

    def __init__(self) -> None:
        self.versions: dict[int, SubjectVersion] = {}

    def put(self, version: SubjectVersion) -> None:
        in_order = version.version in self.versions or version.version > self.highest
        self.versions[version.version] = version
        if not in_order:
            self.versions = dict(sorted(self.versions.items()))

    @property
    def highest(self) -> int:
        return next(reversed(self.versions), 0)

    def live(self) -> list[SubjectVersion]:
        return [version for version in self.versions.values() if not version.deleted]

    def latest(self) -> SubjectVersion | None:
        """The newest that is not deleted."""
        return next((version for version in reversed(self.versions.values()) if not version.deleted), None)

    def newest_first(self, *, deleted: bool) -> Iterator[SubjectVersion]:
        return (version for version in reversed(self.versions.values()) if deleted or not version.deleted)


class Context:
    """Ids count in each context for themselves."""

    __slots__ = ("highest_id", "ids", "schemas", "users")

    def __init__(self) -> None:
        self.highest_id = 0
        self.ids: dict[bytes, tuple[int, ...]] = {}
        """By what the schema is (its identity), lowest first. There are more than one only if they were imported so."""
        self.schemas: dict[int, SchemaEntity] = {}
        self.users: dict[int, dict[str, tuple[int, ...]]] = {}
        """Which subjects have this id, and as which versions, the deleted ones too."""

    def add(self, version: SubjectVersion) -> None:
        schema_id = version.schema_id
        self.highest_id = max(self.highest_id, schema_id, 1)
        self.schemas[schema_id] = version.entity
        ids = self.ids.get(version.entity.identity, ())
        if schema_id not in ids:
            self.ids[version.entity.identity] = tuple(sorted((*ids, schema_id)))
        subjects = self.users.setdefault(schema_id, {})
        subjects[version.subject] = tuple(sorted((*subjects.get(version.subject, ()), version.version)))

    def remove(self, version: SubjectVersion) -> None:
        schema_id = version.schema_id
        subjects = self.users[schema_id]
        numbers = tuple(number for number in subjects[version.subject] if number != version.version)
        if numbers:
            subjects[version.subject] = numbers
            return
        del subjects[version.subject]
        if subjects:
            return
        del self.users[schema_id]
        identity = self.schemas.pop(schema_id).identity
        ids = tuple(each for each in self.ids.get(identity, ()) if each != schema_id)
        _put_or_remove(self.ids, identity, ids or None)


class RegistryState:
    """What is stored."""

    def __init__(self) -> None:
        self.subjects: dict[str, Subject] = {}
        self.contexts: dict[str, Context] = {DEFAULT_CONTEXT: Context()}
        self.configs: dict[str | None, Json] = {}
        self.modes: dict[str | None, Mode] = {}
        self.generation = 0
        """Counts what makes references mean something else: versions that were deleted, replaced or taken away."""
        self._referrers: dict[SchemaKey, dict[SchemaKey, None]] = {}
        self._spellings: dict[Key, dict[bytes, None]] = {}

    # -- replay -----------------------------------------------------------------------------------------------------

    def replay(self, record: RegistryRecord) -> None:
        """A record that makes no sense is left out, with a line in the log: one of them must not stop the reader."""
        key, value, spelling = record
        try:
            if isinstance(key, SchemaKey):
                self._replay_schema(key, value)
            elif isinstance(key, ConfigKey):
                _put_or_remove(self.configs, key.subject, None if value is None else stored_config(value))
            elif isinstance(key, ModeKey):
                _put_or_remove(self.modes, key.subject, None if value is None else parse_mode(value.get("mode")))
            elif isinstance(key, DeleteSubjectKey):
                self._soft_delete(key.subject, value)
            elif isinstance(key, ClearSubjectKey) and value is not None:
                self._clear(key.subject)
            elif isinstance(key, ContextKey):
                self._replay_context(key.context, value)
        except (MalformedRecord, RegistryError, ValueError) as problem:
            logger.warning("a record of the schemas' topic is left out: %r: %s", key, problem)
            return
        if spelling is not None:
            self._remember_spelling(key, spelling, is_there=value is not None)

    def _replay_schema(self, key: SchemaKey, value: Json | None) -> None:
        if value is None:
            self._remove(key)
            return
        version = subject_version_of(key, value)
        context = self._context(context_of(key.subject))
        known = context.schemas.get(version.schema_id)
        if known is not None and known.text != version.entity.text:
            raise MalformedRecord(f"its id {version.schema_id} is that of another schema")
        if known is not None and known.identity == version.entity.identity:
            version = version._replace(entity=known)  # a schema that many subjects have is in memory once
        self._remove(key)
        self.subjects.setdefault(key.subject, Subject()).put(version)
        context.add(version)
        for referred in _referred(version):
            self._referrers.setdefault(referred, {})[key] = None

    def _remove(self, key: SchemaKey) -> None:
        subject = self.subjects.get(key.subject)
        version = subject.versions.pop(key.version, None) if subject is not None else None
        if subject is None or version is None:
            return
        self.generation += 1
        if not subject.versions:
            del self.subjects[key.subject]
        self.contexts[context_of(key.subject)].remove(version)
        for referred in _referred(version):
            _discard(self._referrers, referred, key)

    def _soft_delete(self, name: str, value: Json | None) -> None:
        if value is None:
            return
        up_to = value.get("version")
        if not is_number(up_to, 0):
            raise MalformedRecord("the version up to which it was deleted is none")
        subject = self.subjects.get(name)
        if subject is None:
            return
        self.generation += 1
        for version in subject.live():
            if version.version <= up_to:
                subject.put(version._replace(deleted=True))

    def _clear(self, name: str | None) -> None:
        is_meant = matching(name)
        for subject in [subject for each, subject in self.subjects.items() if is_meant(each)]:
            for version in [version for version in subject.versions.values() if version.deleted]:
                self._remove(SchemaKey(version.subject, version.version))

    def _replay_context(self, name: str, value: Json | None) -> None:
        if value is not None:
            self._context(name)
        elif name != DEFAULT_CONTEXT and name in self.contexts and not self.contexts[name].users:
            del self.contexts[name]

    def _context(self, name: str) -> Context:
        context = self.contexts.get(name)
        if context is None:
            context = self.contexts[name] = Context()
        return context

    def _remember_spelling(self, key: Key, spelling: bytes, *, is_there: bool) -> None:
        if is_there:
            self._spellings.setdefault(key, {})[spelling] = None
        else:
            _discard(self._spellings, key, spelling)

    # -- questions --------------------------------------------------------------------------------------------------

    def tombstones(self, key: Key) -> list[RegistryRecord]:
        """What takes a record away, under each key that it was written under."""
        others = self._spellings.get(key, ())
        return [RegistryRecord(key, None), *(RegistryRecord(key, None, spelling) for spelling in others)]

    def version(self, subject: str, number: int) -> SubjectVersion | None:
        found = self.subjects.get(subject)
        return found.versions.get(number) if found is not None else None

    def schema(self, context: str, schema_id: int) -> SchemaEntity | None:
        found = self.contexts.get(context)
        return found.schemas.get(schema_id) if found is not None else None

    def ids_of(self, context: str, entity: SchemaEntity) -> tuple[int, ...]:
        """Lowest first."""
        found = self.contexts.get(context)
        return found.ids.get(entity.identity, ()) if found is not None else ()

    def highest_id(self, context: str) -> int:
        """That any schema has had in this context, or 1."""
        found = self.contexts.get(context)
        return max(found.highest_id, 1) if found is not None else 1

    def next_id(self, context: str) -> int:
        found = self.contexts.get(context)
        return found.highest_id + 1 if found is not None else 1

    def find(self, subject: str, entity: SchemaEntity, *, deleted: bool) -> SubjectVersion | None:
        """The newest version of a subject that is this schema; with `deleted`, one that was deleted will do."""
        context = self.contexts.get(context_of(subject))
        for schema_id in context.ids.get(entity.identity, ()) if context is not None else ():
            for version in reversed(self.versions_of_id(subject, schema_id)):
                if (deleted or not version.deleted) and version.entity.identity == entity.identity:
                    return version
        return None

    def versions_of_id(self, subject: str, schema_id: int) -> list[SubjectVersion]:
        """Oldest first, the deleted ones too."""
        context = self.contexts.get(context_of(subject))
        numbers = context.users.get(schema_id, {}).get(subject, ()) if context is not None else ()
        return [self.subjects[subject].versions[number] for number in numbers]

    def users_of(self, context: str, schema_id: int) -> Iterator[SubjectVersion]:
        """Who has this id, in no order, the deleted ones too."""
        found = self.contexts.get(context)
        for subject, numbers in found.users.get(schema_id, {}).items() if found is not None else ():
            for number in numbers:
                yield self.subjects[subject].versions[number]

    def ids_of_guid(self, fingerprint: bytes) -> list[tuple[str, int]]:
        """Contexts and ids, in order."""
        identities = [schema_type.encode() + fingerprint for schema_type in SCHEMA_TYPES]
        return sorted(
            (name, schema_id)
            for name, context in self.contexts.items()
            for identity in identities
            for schema_id in context.ids.get(identity, ())
        )

    def referrers_of(self, key: SchemaKey, *, deleted: bool) -> list[SubjectVersion]:
        """Who refers to a schema by its subject and version; with `deleted`, the deleted ones too."""
        versions = (self.subjects[each.subject].versions[each.version] for each in self._referrers.get(key, ()))
        return [version for version in versions if deleted or not version.deleted]


def _referred(version: SubjectVersion) -> list[SchemaKey]:
    context = context_of(version.subject)
    return [SchemaKey(in_context(each.subject, context), each.version) for each in version.entity.references]


def _put_or_remove(table: dict[K, V], key: K, value: V | None) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _discard(table: dict[K, dict[V, None]], key: K, member: V) -> None:
    members = table.get(key)
    if members is not None:
        members.pop(member, None)
        if not members:
            del table[key]
