"""From stored schemas to parsed ones: references resolved, each schema parsed once while it is in use."""

import threading
from collections import OrderedDict
from importlib import import_module
from typing import Any, Final

from stoker.registry.entities import AVRO, LATEST, SCHEMA_TYPES, Reference, SchemaEntity, SubjectVersion
from stoker.registry.errors import Unprocessable, invalid_schema
from stoker.registry.formats.schema import InvalidSchema, ParsedSchema
from stoker.registry.state import RegistryState
from stoker.registry.subjects import context_of, in_context

_MODULES: Final = {"AVRO": "avro", "PROTOBUF": "protobuf", "JSON": "json_schema"}
_MOST_DEPENDENCIES: Final = 1_000
_DEEPEST_DEPENDENCY: Final = 100
_MOST_CHARACTERS: Final = 5_000_000
"""Of a schema and all that it refers to."""
_BYTES_A_CHARACTER: Final = {"AVRO": 7, "PROTOBUF": 15, "JSON": 20}
"""Of memory that a schema takes when it is parsed, about; it depends on how much of its text are names and descriptions."""
_MOST_STORED_BYTES: Final = 54 * 1024 * 1024
"""Kept of schemas that are stored and others are compared with: some 10,000 of Avro with ten fields."""
_MOST_ASKED_BYTES: Final = 4 * 1024 * 1024
"""... and of those that somebody brings, which must not drive the others out."""


_Key = tuple[str, str, Any]
"""Type, text, and what its references depend on."""


class _Kept:
    """A schema that was parsed: under each text it was read from, and under its canonical one."""

    __slots__ = ("as_new", "keys", "normalized", "parsed", "size")

    def __init__(self, parsed: ParsedSchema, *, as_new: bool, characters: int) -> None:
        """`characters` are those of all that was read for it."""
        self.parsed = parsed
        self.size = characters * _BYTES_A_CHARACTER[parsed.schema_type]
        self.normalized: ParsedSchema | None = None
        self.as_new = as_new
        self.keys: list[_Key] = []


class _Cache:
    """What was parsed last, up to so many bytes. For any thread."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self.bytes = 0
        self.kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, new: _Kept, *keys: _Key) -> _Kept:
        """Under these keys. If it is there already under one of them, in another spelling, that one stays."""
        with self._lock:
            known = [each for each in map(self.kept.get, keys) if each is not None]
            kept = next((each for each in known if each.as_new or not new.as_new), new)
            for each in known:
                if each is not kept:
                    self._forget(each)
            if not kept.keys:
                self.bytes += kept.size
            for key in keys:
                if key not in self.kept:
                    self.kept[key] = kept
                    kept.keys.append(key)
                    self.bytes += len(key[1])
            while self.bytes > self._most_bytes:
                oldest = next((each for each in self.kept.values() if each is not kept), None)
                if oldest is None:
                    break
                self._forget(oldest)
            return kept

    def _forget(self, kept: _Kept) -> None:
        for key in kept.keys:
            del self.kept[key]
            self.bytes -= len(key[1])
        self.bytes -= kept.size
        kept.keys.clear()

    def use(self, kept: _Kept) -> None:
        with self._lock:
            for key in kept.keys:
                if key in self.kept:
                    self.kept.move_to_end(key)


class Parser:
    """Parses schemas of all kinds, on any thread. What was parsed last is kept, up to so many bytes."""

    def __init__(self, state: RegistryState) -> None:
        self._state = state
        self._stored = _Cache(_MOST_STORED_BYTES)
        self._asked = _Cache(_MOST_ASKED_BYTES)

    def parse(
        self, entity: SchemaEntity, context: str, *, is_new: bool = False, normalize: bool = False
    ) -> ParsedSchema:
        """A new schema is held to all rules, and what it refers to must not be deleted.

        Raises Unprocessable if it is no schema, or refers to something that is not there.
        """
        try:
            kept = self._kept_as(entity, context, is_new=is_new)
            parsed = kept.parsed
            if normalize:
                parsed = kept.normalized = kept.normalized or parsed.normalized()
            _ = parsed.text  # which is refused here if it cannot be written
            return parsed
        except InvalidSchema as problem:
            raise _refusal(entity, str(problem)) from problem

    def parse_stored(self, version: SubjectVersion) -> ParsedSchema:
        """One that was registered once. Raises Unprocessable if it is no schema all the same."""
        entity, context = version.entity, context_of(version.subject)
        key = self._key(entity, entity.text, context)
        kept = self._stored.kept.get(key)
        try:
            if kept is None:
                kept = self._stored.keep(self._read(entity, context, is_new=False), key)
        except InvalidSchema as problem:
            raise _refusal(entity, str(problem)) from problem
        self._stored.use(kept)
        return kept.parsed

    def _kept_as(self, entity: SchemaEntity, context: str, *, is_new: bool) -> _Kept:
        key = self._key(entity, entity.text, context)
        kept = self._asked.kept.get(key)
        if kept is None or (is_new and not kept.as_new):
            read = self._read_once(entity, context, is_new=is_new)
            kept = self._asked.keep(read, key, (key[0], read.parsed.text, key[2]))
        self._asked.use(kept)
        return kept

    def _key(self, entity: SchemaEntity, text: str, context: str) -> _Key:
        if not entity.references:
            return entity.schema_type, text, None
        # ... which mean something only here and now
        return entity.schema_type, text, (entity.references, context, self._state.generation)

    def _read_once(self, entity: SchemaEntity, context: str, *, is_new: bool) -> _Kept:
        """As a new one too if it may be: who registers a schema asks first whether it is known, when it need not be."""
        if not is_new and not entity.references:
            try:
                return self._read(entity, context, is_new=True)
            except InvalidSchema:
                if entity.schema_type != AVRO:  # whose rules are the same for all
                    raise
        return self._read(entity, context, is_new=is_new)

    def _read(self, entity: SchemaEntity, context: str, *, is_new: bool) -> _Kept:
        module = _MODULES.get(entity.schema_type)
        if module is None:
            raise invalid_schema(
                f"Invalid schema type {entity.schema_type:.100}. Supported types are: {', '.join(sorted(SCHEMA_TYPES))}"
            )
        dependencies: dict[str, str] = {}
        self._add_dependencies(entity, context, dependencies, (), deleted=not is_new)
        characters = sum(map(len, dependencies.values()))
        if len(entity.text) + characters > _MOST_CHARACTERS and dependencies:
            raise _refusal(
                entity,
                f"With all that it refers to, the schema has {len(entity.text) + characters} characters; "
                f"the limit is {_MOST_CHARACTERS}",
            )
        parse = import_module(f"stoker.registry.formats.{module}").parse
        options = {"is_new": is_new} if module == "avro" else {}
        parsed = parse(entity.text, dependencies, **options)
        assert isinstance(parsed, ParsedSchema)
        return _Kept(parsed, as_new=is_new, characters=len(entity.text) + characters)

    def weight(self, entity: SchemaEntity, context: str) -> int:
        """How many characters are read to parse it, with all that it refers to; no more is done to find out."""
        found: dict[str, str] = {}
        try:
            self._add_dependencies(entity, context, found, (), deleted=True)
        except Unprocessable:
            return len(entity.text)  # which is refused before anything is read
        return len(entity.text) + sum(map(len, found.values()))

    def resolved(self, entity: SchemaEntity, context: str, *, is_new: bool = False) -> tuple[Reference, ...]:
        """Its references, with the latest version's number in place of "latest". Raises Unprocessable."""
        if all(reference.version != LATEST for reference in entity.references):
            return entity.references
        return tuple(
            reference._replace(version=self._referred(entity, reference, context, deleted=not is_new).version)
            for reference in entity.references
        )

    def _add_dependencies(
        self,
        entity: SchemaEntity,
        context: str,
        found: dict[str, str],
        path: tuple[tuple[str, int], ...],
        *,
        deleted: bool,
    ) -> None:
        """Depth first, so that each comes after those it needs. A subject without a context is in that of the referrer."""
        for reference in entity.references:
            version = self._referred(entity, reference, context, deleted=deleted)
            place = (version.subject, version.version)
            if place in path:
                raise _refusal(
                    entity,
                    f"The reference '{reference.name}' to subject \"{version.subject}\" and version {version.version} "
                    "leads back to itself",
                )
            if reference.name in found:
                continue
            if len(found) >= _MOST_DEPENDENCIES or len(path) >= _DEEPEST_DEPENDENCY:
                raise _refusal(
                    entity,
                    f"A schema may refer to {_MOST_DEPENDENCIES} others at most, {_DEEPEST_DEPENDENCY} after one another",
                )
            self._add_dependencies(version.entity, context_of(version.subject), found, (*path, place), deleted=deleted)
            found[reference.name] = version.entity.text

    def _referred(self, entity: SchemaEntity, reference: Reference, context: str, *, deleted: bool) -> SubjectVersion:
        name = in_context(reference.subject, context)
        subject = self._state.subjects.get(name)
        version = None
        if subject is not None:
            version = subject.latest() if reference.version == LATEST else subject.versions.get(reference.version)
        if version is None or (version.deleted and not deleted):
            raise _refusal(
                entity,
                f'No schema reference found for subject "{name}" and version {reference.version} '
                f"(referred to as '{reference.name}')",
            )
        return version


def _refusal(entity: SchemaEntity, reason: str) -> Unprocessable:
    return invalid_schema(f"Invalid schema of type {entity.schema_type}, details: {reason}")
