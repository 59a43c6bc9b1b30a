"""From the JSON of a request to what the registry takes. Unknown fields are ignored; a wrong type is a Refusal (400).

Types are as strict as Jackson is for Confluent's registry: a number in quotes is a number, a number where a text is due
is its text. Metadata and rules come out in the one form in which that registry stores them.
"""

import json
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from stoker.registry.entities import AVRO, Json, Reference, SchemaEntity
from stoker.registry.errors import Unprocessable, invalid_schema
from stoker.registry.http import refusals
from stoker.registry.http.call import json_type
from stoker.registry.http.settings import HttpSettings
from stoker.registry.registry import Registration

T = TypeVar("T")
Reader = Callable[[object, str], T]
"""Of a value and the place it is at, such as `references[0].version`."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
_LARGEST: Final = 2**31
_RULE_NAME: Final = re.compile(r"[^\W\d][\w-]{0,63}")
_MIGRATION: Final = ("UPGRADE", "DOWNGRADE", "UPDOWN")
_DOMAIN: Final = ("WRITE", "READ", "WRITEREAD")
_MODES_OF_RULES: Final = {"migrationRules": _MIGRATION, "domainRules": _DOMAIN, "encodingRules": _DOMAIN}
_KINDS: Final = ("TRANSFORM", "CONDITION")
_ENVIRONMENTS: Final = ("ALL", "CLIENT", "GATEWAY", "SERVER", "NONE")
_INVALID_RULES: Final = 42210
_SCHEMA_TOO_LARGE: Final = 42209


def registration(document: Json, settings: HttpSettings, *, normalize: bool) -> Registration:
    """Raises Refusal for wrong types, Unprocessable for what is no schema."""
    text = _field(document, "schema", _text)
    schema_type = _field(document, "schemaType", _text) or AVRO
    references = _field(document, "references", _list_of(_reference)) or []
    schema_id = _field(document, "id", _integer)
    version = _field(document, "version", _integer)
    entity = SchemaEntity(
        schema_type=schema_type,
        text=text or "",
        references=tuple(references),
        metadata=_field(document, "metadata", metadata),
        rule_set=_field(document, "ruleSet", rule_set),
    )
    if text is None or not text.strip():
        raise invalid_schema("Empty schema")
    if len(text) > settings.max_schema_characters:
        raise Unprocessable(
            _SCHEMA_TOO_LARGE,
            f"The schema is too large: it has {len(text)} characters, the limit is {settings.max_schema_characters}",
        )
    if len(references) > settings.max_references:
        raise invalid_schema(f"The schema has {len(references)} references, the limit is {settings.max_references}")
    return Registration(
        entity,
        schema_id=None if schema_id is None or schema_id < 0 else schema_id,
        version=None if version == 0 else version,
        normalize=normalize,
    )


def _reference(value: object, place: str) -> Reference:
    given = _object(value, place)
    name = _field(given, "name", _text, place)
    subject = _field(given, "subject", _text, place)
    version = _field(given, "version", _integer, place)
    if not name or not subject or version is None:
        raise invalid_schema(f"{place}: a reference must have a name, a subject and a version")
    return Reference(name, subject, version)


def metadata(value: object, place: str) -> Json:
    """Tags, properties and the names of sensitive ones, each in order."""
    given = _object(value, place)
    found: Json = {}
    tags = _field(given, "tags", _map_of(_set), place)
    properties = _field(given, "properties", _map_of(_text), place)
    sensitive = _field(given, "sensitive", _set, place)
    if tags:
        found["tags"] = dict(sorted(tags.items()))
    if properties:
        found["properties"] = dict(sorted(properties.items()))
    if sensitive:
        found["sensitive"] = sensitive
    return found


def rule_set(value: object, place: str) -> Json:
    """Raises Unprocessable for rules that contradict themselves."""
    given = _object(value, place)
    found: Json = {}
    names: set[str] = set()
    for kind in _MODES_OF_RULES:
        rules = _field(given, kind, _list_of(_rule), place)
        for rule in rules or ():
            _check_rule(rule, kind, names)
        if rules:
            found[kind] = rules
    environment = _field(given, "enableAt", _one_of(_ENVIRONMENTS), place)
    if environment is not None:
        found["enableAt"] = environment
    return found


def _rule(value: object, place: str) -> Json:
    given = _object(value, place)
    read: dict[str, Reader[Any]] = {
        "name": _text,
        "doc": _text,
        "kind": _one_of(_KINDS),
        "mode": _one_of(_MIGRATION + _DOMAIN),
        "type": _text,
        "tags": _set,
        "params": _map_of(_text),
        "expr": _text,
        "onSuccess": _text,
        "onFailure": _text,
    }
    rule = {name: _field(given, name, reader, place) for name, reader in read.items()}
    if rule["params"]:
        rule["params"] = dict(sorted(rule["params"].items()))
    found: Json = {name: value for name, value in rule.items() if value not in (None, "", [], {})}
    found["disabled"] = bool(_field(given, "disabled", _boolean, place))
    return found


def _check_rule(rule: Json, kind: str, names: set[str]) -> None:
    name = rule.get("name")
    if name is None:
        raise Unprocessable(_INVALID_RULES, f"{kind}: a rule has no name")
    if not _RULE_NAME.fullmatch(name):
        raise Unprocessable(
            _INVALID_RULES,
            f"Illegal rule name '{name[:100]}': it must be a letter or _ and up to 63 letters, digits, _ and -",
        )
    if name in names:
        raise Unprocessable(_INVALID_RULES, f"Found rule with duplicate name '{name}'")
    names.add(name)
    if "type" not in rule:
        raise Unprocessable(_INVALID_RULES, f"Missing rule type: rule '{name}'")
    mode, allowed = rule.get("mode"), _MODES_OF_RULES[kind]
    if mode not in allowed:
        raise Unprocessable(_INVALID_RULES, f"Rule '{name}': the mode of {kind} can only be {', '.join(allowed)}")
    if mode not in ("WRITEREAD", "UPDOWN") and any("," in rule.get(each, "") for each in ("onSuccess", "onFailure")):
        raise Unprocessable(_INVALID_RULES, f"Rule '{name}': Multiple actions only valid with WRITEREAD and UPDOWN")


def config(document: Json) -> Json:
    """The fields of a config, with their JSON types right; null stays null. Raises Refusal, Unprocessable."""
    read: dict[str, Reader[Any]] = {
        "alias": _text,
        "aliasForDeks": _text,
        "normalize": _boolean,
        "validateFields": _boolean,
        "validateNewSchemas": _boolean,
        "validateRules": _boolean,
        "compatibility": _text,
        "compatibilityLevel": _text,
        "compatibilityPolicy": _text,
        "compatibilityGroup": _text,
        "defaultMetadata": metadata,
        "overrideMetadata": metadata,
        "defaultRuleSet": rule_set,
        "overrideRuleSet": rule_set,
    }
    return {name: _field(document, name, reader) for name, reader in read.items() if name in document}


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


def _boolean(value: object, place: str) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise _wrong(place, "a boolean", value)


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


def _one_of(choices: tuple[str, ...]) -> Reader[str]:
    def read(value: object, place: str) -> str:
        if not isinstance(value, str) or value not in choices:
            raise refusals.bad_request(f"{place} must be one of {', '.join(choices)}")
        return value

    return read


def _object(value: object, place: str) -> Json:
    if not isinstance(value, dict):
        raise _wrong(place, "an object", value)
    return value


def _list_of(read: Reader[T]) -> Reader[list[T]]:
    def read_all(value: object, place: str) -> list[T]:
        if not isinstance(value, list):
            raise _wrong(place, "an array", value)
        return [read(each, f"{place}[{index}]") for index, each in enumerate(value)]

    return read_all


def _map_of(read: Reader[T]) -> Reader[dict[str, T]]:
    def read_all(value: object, place: str) -> dict[str, T]:
        return {key: read(each, f"{place}.{key}") for key, each in _object(value, place).items()}

    return read_all


def _set(value: object, place: str) -> list[str]:
    return sorted(set(_list_of(_text)(value, place)))
