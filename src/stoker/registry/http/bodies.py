"""From the JSON of a request to what the registry takes. Unknown fields are ignored; a wrong type is a Refusal (400).

Types are as strict as Jackson is for Confluent's registry: a number in quotes is a number, a number where a text is due
is its text.
"""

import json
import re
from collections.abc import Callable
from typing import Final, TypeVar

from stoker.registry.data_contracts import metadata_of, refuse_bad_rules, rule_set_of
from stoker.registry.entities import AVRO, Json, Reference, SchemaEntity
from stoker.registry.errors import Unprocessable, invalid_schema
from stoker.registry.http import refusals
from stoker.registry.http.call import json_type
from stoker.registry.http.limits import Limits
from stoker.registry.registry import Registration

T = TypeVar("T")
Reader = Callable[[object, str], T]
"""Of a value and the place it is at, such as `references[0].version`."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
_LARGEST: Final = 2**31
_SCHEMA_TOO_LARGE: Final = 42209


def registration(document: Json, limits: Limits, *, normalize: bool, force: bool = False) -> Registration:
    """Raises Refusal for wrong types, Unprocessable for what is no schema."""
    text = _field(document, "schema", _text)
    schema_type = _field(document, "schemaType", _text) or AVRO
    references = _field(document, "references", _references) or []
    schema_id = _field(document, "id", _integer)
    version = _field(document, "version", _integer)
    entity = SchemaEntity(
        schema_type=schema_type,
        text=text or "",
        references=tuple(references),
        metadata=_contract(metadata_of, document.get("metadata")),
        rule_set=_contract(rule_set_of, document.get("ruleSet")),
    )
    if entity.rule_set is not None:
        refuse_bad_rules(entity.rule_set)
    if text is None or not text.strip():
        raise invalid_schema("Empty schema")
    if len(text) > limits.max_schema_characters:
        raise Unprocessable(
            _SCHEMA_TOO_LARGE,
            f"The schema is too large: it has {len(text)} characters, the limit is {limits.max_schema_characters}",
        )
    if len(references) > limits.max_references:
        raise invalid_schema(f"The schema has {len(references)} references, the limit is {limits.max_references}")
    return Registration(entity, schema_id, version, normalize, force)


def _contract(read: Callable[[object], Json | None], value: object) -> Json | None:
    try:
        return read(value)
    except ValueError as problem:
        raise refusals.bad_request(str(problem)) from None


def _references(value: object, place: str) -> list[Reference]:
    if not isinstance(value, list):
        raise _wrong(place, "an array", value)
    return [_reference(each, f"{place}[{index}]") for index, each in enumerate(value)]


def _reference(value: object, place: str) -> Reference:
    given = _object(value, place)
    name = _field(given, "name", _text, place)
    subject = _field(given, "subject", _text, place)
    version = _field(given, "version", _integer, place)
    if not name or not subject or version is None:
        raise invalid_schema(f"{place}: a reference must have a name, a subject and a version")
    return Reference(name, subject, version)


# -- JSON ---------------------------------------------------------------------------------------------------------------


def _field(document: Json, name: str, read: Reader[T], place: str = "") -> T | None:
    """None if it is not there, or null."""
    value = document.get(name)
    return None if value is None else read(value, f"{place}.{name}" if place else name)


def _wrong(place: str, wanted: str, value: object) -> refusals.Refusal:
    return refusals.bad_request(f"{place} must be {wanted}, not {json_type(value)}")


def _text(value: object, place: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise _wrong(place, "a string", value)


def _integer(value: object, place: str) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(place, "an integer", value)
    if not -_LARGEST <= value < _LARGEST:
        raise refusals.bad_request(f"{place} must be between -2^31 and 2^31-1")
    return value


def _object(value: object, place: str) -> Json:
    if not isinstance(value, dict):
        raise _wrong(place, "an object", value)
    return value
