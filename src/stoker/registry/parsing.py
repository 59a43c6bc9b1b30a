"""From stored schemas to parsed ones: references resolved, each schema parsed once while it is in use."""

from collections import OrderedDict
from collections.abc import Callable
from importlib import import_module
from typing import Final, cast

from stoker.registry.entities import SCHEMA_TYPES, SchemaEntity
from stoker.registry.errors import invalid_schema
from stoker.registry.formats.schema import Dependencies, InvalidSchema, ParsedSchema
from stoker.registry.state import RegistryState
from stoker.registry.subjects import in_context

_MODULES: Final = {"AVRO": "avro", "PROTOBUF": "protobuf", "JSON": "json_schema"}
_MOST_DEPENDENCIES: Final = 1_000
_MOST_PARSED_BYTES: Final = 16 * 1024 * 1024
Parse = Callable[[str, Dependencies], ParsedSchema]


class Parser:
    """Parses schemas of all kinds. What was parsed last is kept, up to so many bytes of text."""

    def __init__(self, state: RegistryState) -> None:
        self._state = state
        self._parsed: OrderedDict[tuple[str, tuple[str, bytes]], ParsedSchema] = OrderedDict()
        self._bytes = 0

    def parse(self, entity: SchemaEntity, context: str) -> ParsedSchema:
        """Raises Unprocessable if it is no schema, or refers to something that is not there."""
        key = (context, entity.identity)
        parsed = self._parsed.get(key)
        if parsed is not None:
            self._parsed.move_to_end(key)
            return parsed
        parse = _parser_of(entity.schema_type)
        dependencies = self._dependencies(entity, context)
        try:
            parsed = parse(entity.text, dependencies)
        except InvalidSchema as problem:
            raise invalid_schema(f"Invalid schema of type {entity.schema_type}: {problem}") from problem
        self._keep(key, parsed, len(entity.text))
        return parsed

    def _keep(self, key: tuple[str, tuple[str, bytes]], parsed: ParsedSchema, size: int) -> None:
        self._parsed[key] = parsed
        self._bytes += size
        while self._bytes > _MOST_PARSED_BYTES and len(self._parsed) > 1:
            _, dropped = self._parsed.popitem(last=False)
            self._bytes -= len(dropped.text)

    def _dependencies(self, entity: SchemaEntity, context: str) -> dict[str, str]:
        """Depth first, so that each comes after those it needs."""
        found: dict[str, str] = {}
        self._add_dependencies(entity, context, found, ())
        return found

    def _add_dependencies(
        self, entity: SchemaEntity, context: str, found: dict[str, str], path: tuple[tuple[str, int], ...]
    ) -> None:
        for name, subject, number in entity.references:
            subject = in_context(subject, context)
            if (subject, number) in path:
                raise invalid_schema(
                    f"The reference '{name}' to subject '{subject}' version {number} leads back to itself"
                )
            if number == -1:
                known = self._state.subjects.get(subject)
                version = known.latest() if known is not None else None
            else:
                version = self._state.version(subject, number)
            if version is None:
                raise invalid_schema(
                    f"No schema reference found for subject \"{subject}\" and version {number} (referred to as '{name}')"
                )
            if name not in found:
                if len(found) >= _MOST_DEPENDENCIES:
                    raise invalid_schema(f"A schema may refer to {_MOST_DEPENDENCIES} others at most")
                self._add_dependencies(version.entity, context, found, (*path, (subject, number)))
                found[name] = version.entity.text


def _parser_of(schema_type: str) -> Parse:
    module = _MODULES.get(schema_type)
    if module is None:
        raise invalid_schema(
            f"Invalid schema type {schema_type}. Supported types are: {', '.join(sorted(SCHEMA_TYPES))}"
        )
    return cast(Parse, import_module(f"stoker.registry.formats.{module}").parse)
