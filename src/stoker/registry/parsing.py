"""From stored schemas to parsed ones: references resolved, each schema parsed once while it is in use."""

import threading
from collections import OrderedDict
from importlib import import_module
from typing import Any, Final

from stoker.registry.entities import LATEST, SCHEMA_TYPES, Reference, SchemaEntity, SubjectVersion
from stoker.registry.errors import Unprocessable, invalid_schema
from stoker.registry.formats.schema import InvalidSchema, ParsedSchema
from stoker.registry.state import RegistryState
from stoker.registry.subjects import context_of, in_context

_MODULES: Final = {"AVRO": "avro", "PROTOBUF": "protobuf", "JSON": "json_schema"}
_MOST_DEPENDENCIES: Final = 1_000
_DEEPEST_DEPENDENCY: Final = 100
_MOST_KEPT: Final = 512
_MOST_KEPT_CHARACTERS: Final = 2 * 1024 * 1024
"""Of texts. A parsed schema takes some 30 times as much memory as its text."""


class _Kept:
    __slots__ = ("as_new", "normalized", "parsed", "size")

    def __init__(self, parsed: ParsedSchema, size: int, *, as_new: bool) -> None:
        self.parsed = parsed
        self.normalized: ParsedSchema | None = None
        self.size = size
        self.as_new = as_new


class Parser:
    """Parses schemas of all kinds, on any thread. What was parsed last is kept, up to a number of schemas and of
    characters."""

    def __init__(self, state: RegistryState) -> None:
        self._state = state
        self._kept: OrderedDict[tuple[Any, ...], _Kept] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    def parse(
        self, entity: SchemaEntity, context: str, *, is_new: bool = False, normalize: bool = False
    ) -> ParsedSchema:
        """A new schema is held to all rules, and what it refers to must not be deleted.

        Raises Unprocessable if it is no schema, or refers to something that is not there.
        """
        key: tuple[Any, ...] = (entity.schema_type, entity.text)
        if entity.references:  # which mean something only here and now
            key = (*key, entity.references, context, self._state.generation)
        kept = self._kept.get(key)
        try:
            if kept is None or (is_new and not kept.as_new):
                kept = self._keep(key, self._read(entity, context, is_new=is_new), len(entity.text), as_new=is_new)
            with self._lock:
                if key in self._kept:
                    self._kept.move_to_end(key)
            if not normalize:
                return kept.parsed
            if kept.normalized is None:
                kept.normalized = kept.parsed.normalized()
            return kept.normalized
        except InvalidSchema as problem:
            raise _refusal(entity, str(problem)) from problem

    def _read(self, entity: SchemaEntity, context: str, *, is_new: bool) -> ParsedSchema:
        module = _MODULES.get(entity.schema_type)
        if module is None:
            raise invalid_schema(
                f"Invalid schema type {entity.schema_type:.100}. Supported types are: {', '.join(sorted(SCHEMA_TYPES))}"
            )
        dependencies: dict[str, str] = {}
        self._add_dependencies(entity, context, dependencies, (), deleted=not is_new)
        parse = import_module(f"stoker.registry.formats.{module}").parse
        options = {"is_new": is_new} if module == "avro" else {}
        parsed = parse(entity.text, dependencies, **options)
        assert isinstance(parsed, ParsedSchema)
        return parsed

    def _keep(self, key: tuple[Any, ...], parsed: ParsedSchema, size: int, *, as_new: bool) -> _Kept:
        with self._lock:
            replaced = self._kept.get(key)
            self._characters += size - (0 if replaced is None else replaced.size)
            kept = self._kept[key] = _Kept(parsed, size, as_new=as_new)
            while len(self._kept) > 1 and (len(self._kept) > _MOST_KEPT or self._characters > _MOST_KEPT_CHARACTERS):
                oldest = next(each for each in self._kept if each != key)
                self._characters -= self._kept.pop(oldest).size
            return kept

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
