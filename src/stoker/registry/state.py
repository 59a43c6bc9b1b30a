"""All that the records of `_schemas` say, in memory. Changed by `replay` alone, at start and after every write.

Nothing here grows with the number of subjects when one is looked up, and no schema is parsed: the records hold the
canonical texts.
"""

import logging
from collections.abc import Iterable, Iterator
from typing import TypeVar

from stoker.registry.entities import Json, SchemaEntity, SubjectVersion
from stoker.registry.records import (
    ClearSubjectKey,
    ConfigKey,
    ContextKey,
    DeleteSubjectKey,
    MalformedRecord,
    ModeKey,
    RegistryRecord,
    SchemaKey,
    subject_version_of,
)
from stoker.registry.subjects import DEFAULT_CONTEXT, context_of, in_context

logger = logging.getLogger("stoker.registry")

Identity = tuple[str, bytes]
K = TypeVar("K")
V = TypeVar("V")


class Subject:
    """The versions of one subject, the deleted ones too, in the order of their numbers."""

    __slots__ = ("by_identity", "versions")

    def __init__(self) -> None:
        self.versions: dict[int, SubjectVersion] = {}
        self.by_identity: dict[Identity, dict[int, None]] = {}

    def put(self, version: SubjectVersion) -> None:
        self.remove(version.version)
        in_order = not self.versions or version.version > next(reversed(self.versions))
        self.versions[version.version] = version
        if not in_order:
            self.versions = dict(sorted(self.versions.items()))
        self.by_identity.setdefault(version.entity.identity, {})[version.version] = None

    def remove(self, number: int) -> SubjectVersion | None:
        version = self.versions.pop(number, None)
        if version is not None:
            numbers = self.by_identity[version.entity.identity]
            del numbers[number]
            if not numbers:
                del self.by_identity[version.entity.identity]
        return version

    def live(self) -> list[SubjectVersion]:
        return [version for version in self.versions.values() if not version.deleted]

    def latest(self) -> SubjectVersion | None:
        """The newest that is not deleted."""
        return next((version for version in reversed(self.versions.values()) if not version.deleted), None)

    def find(self, identity: Identity, *, deleted: bool) -> SubjectVersion | None:
        """The newest version of this schema; with `deleted`, one that was deleted will do."""
        for number in sorted(self.by_identity.get(identity, ()), reverse=True):
            version = self.versions[number]
            if deleted or not version.deleted:
                return version
        return None


class Context:
    """Ids count in each context for themselves."""

    __slots__ = ("highest_id", "ids", "schemas", "users")

    def __init__(self) -> None:
        self.highest_id = 0
        self.ids: dict[Identity, int] = {}
        self.schemas: dict[int, SchemaEntity] = {}
        self.users: dict[int, dict[SchemaKey, None]] = {}
        """Which versions have this id, the deleted ones too."""


class RegistryState:
    """What is stored."""

    def __init__(self) -> None:
        self.subjects: dict[str, Subject] = {}
        self.contexts: dict[str, Context] = {DEFAULT_CONTEXT: Context()}
        self.configs: dict[str | None, Json] = {}
        self.modes: dict[str | None, str] = {}
        self._referrers: dict[SchemaKey, dict[SchemaKey, None]] = {}
        self._contexts_of_guids: dict[bytes, dict[tuple[str, int], None]] = {}

    # -- replay -----------------------------------------------------------------------------------------------------

    def replay(self, record: RegistryRecord) -> None:
        """A record that makes no sense is left out, with a line in the log: one of them must not stop the reader."""
        key, value = record
        try:
            if isinstance(key, SchemaKey):
                self._replay_schema(key, value)
            elif isinstance(key, ConfigKey):
                _put_or_remove(self.configs, key.subject, value)
            elif isinstance(key, ModeKey):
                _put_or_remove(self.modes, key.subject, None if value is None else str(value["mode"]))
            elif isinstance(key, DeleteSubjectKey) and value is not None:
                self._soft_delete(key.subject, int(value["version"]))
            elif isinstance(key, ClearSubjectKey) and value is not None:
                self._clear(key.subject)
            elif isinstance(key, ContextKey) and value is not None:
                self._context(key.context)
        except (MalformedRecord, KeyError, TypeError, ValueError) as problem:
            logger.warning("a record of the schemas' topic is left out: %s: %r", key, problem)

    def _replay_schema(self, key: SchemaKey, value: Json | None) -> None:
        if value is None:
            self._remove(key)
            return
        version = subject_version_of(key, value)
        self._remove(key)
        context_name = context_of(key.subject)
        context = self._context(context_name)
        known = context.schemas.get(version.schema_id)
        if known is not None and known.identity == version.entity.identity:
            version = version._replace(entity=known)  # a schema that many subjects have is in memory once
        self.subjects.setdefault(key.subject, Subject()).put(version)
        entity = version.entity
        context.highest_id = max(context.highest_id, version.schema_id)
        context.schemas[version.schema_id] = entity
        context.ids.setdefault(entity.identity, version.schema_id)
        context.users.setdefault(version.schema_id, {})[key] = None
        self._contexts_of_guids.setdefault(entity.fingerprint, {})[context_name, version.schema_id] = None
        for referred in self._referred(key, entity):
            self._referrers.setdefault(referred, {})[key] = None

    def _remove(self, key: SchemaKey) -> None:
        subject = self.subjects.get(key.subject)
        version = subject.remove(key.version) if subject is not None else None
        if subject is None or version is None:
            return
        if not subject.versions:
            del self.subjects[key.subject]
        for referred in self._referred(key, version.entity):
            _discard(self._referrers, referred, key)
        context_name = context_of(key.subject)
        context = self.contexts[context_name]
        _discard(context.users, version.schema_id, key)
        if version.schema_id not in context.users:
            entity = context.schemas.pop(version.schema_id)
            if context.ids.get(entity.identity) == version.schema_id:
                del context.ids[entity.identity]
            _discard(self._contexts_of_guids, entity.fingerprint, (context_name, version.schema_id))

    def _soft_delete(self, name: str, up_to: int) -> None:
        subject = self.subjects.get(name)
        for version in list(subject.versions.values()) if subject is not None else ():
            if version.version <= up_to and not version.deleted:
                assert subject is not None
                subject.put(version._replace(deleted=True))

    def _clear(self, name: str) -> None:
        """What Confluent's writes when it forgets a subject that was softly deleted."""
        subject = self.subjects.get(name)
        for version in list(subject.versions.values()) if subject is not None else ():
            if version.deleted:
                self._remove(SchemaKey(name, version.version))

    def _context(self, name: str) -> Context:
        context = self.contexts.get(name)
        if context is None:
            context = self.contexts[name] = Context()
        return context

    @staticmethod
    def _referred(key: SchemaKey, entity: SchemaEntity) -> list[SchemaKey]:
        context = context_of(key.subject)
        return [SchemaKey(in_context(each.subject, context), each.version) for each in entity.references]

    # -- questions --------------------------------------------------------------------------------------------------

    def version(self, subject: str, number: int) -> SubjectVersion | None:
        found = self.subjects.get(subject)
        return found.versions.get(number) if found is not None else None

    def schema(self, context: str, schema_id: int) -> SchemaEntity | None:
        found = self.contexts.get(context)
        return found.schemas.get(schema_id) if found is not None else None

    def id_of(self, context: str, entity: SchemaEntity) -> int | None:
        found = self.contexts.get(context)
        return found.ids.get(entity.identity) if found is not None else None

    def next_id(self, context: str) -> int:
        found = self.contexts.get(context)
        return found.highest_id + 1 if found is not None else 1

    def users_of(self, context: str, schema_id: int) -> Iterator[SubjectVersion]:
        found = self.contexts.get(context)
        for key in found.users.get(schema_id, ()) if found is not None else ():
            yield self.subjects[key.subject].versions[key.version]

    def ids_of_guid(self, fingerprint: bytes) -> Iterable[tuple[str, int]]:
        """Contexts and ids."""
        return self._contexts_of_guids.get(fingerprint, {}).keys()

    def referrers_of(self, key: SchemaKey, *, deleted: bool) -> list[SubjectVersion]:
        """Who refers to a schema by its subject and version; with `deleted`, the deleted ones too."""
        versions = (self.subjects[each.subject].versions[each.version] for each in self._referrers.get(key, ()))
        return [version for version in versions if deleted or not version.deleted]


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
