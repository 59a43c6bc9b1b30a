"""What can be set for all subjects, for a context, or for one subject: the level of compatibility and more, and the mode."""

import json
from enum import Enum
from typing import Final

from stoker.registry.data_contracts import metadata_of, refuse_bad_rules, rule_set_of
from stoker.registry.entities import Json
from stoker.registry.errors import Unprocessable, invalid_level, invalid_mode

LEVEL: Final = "compatibilityLevel"
_KINDS: Final[dict[str, type]] = {
    "alias": str,
    "aliasForDeks": str,
    "normalize": bool,
    "validateFields": bool,
    "validateNewSchemas": bool,
    "validateRules": bool,
    LEVEL: str,
    "compatibilityPolicy": str,
    "compatibilityGroup": str,
    "defaultMetadata": dict,
    "overrideMetadata": dict,
    "defaultRuleSet": dict,
    "overrideRuleSet": dict,
}
"""The fields of a config with their JSON types, in the order in which they are written."""
DEFAULTS_AND_OVERRIDES: Final = ("defaultMetadata", "overrideMetadata", "defaultRuleSet", "overrideRuleSet")
_INVALID_CONFIG: Final = 42203
_TYPE_NAMES: Final = {str: "string", bool: "boolean", dict: "object"}


class Level(Enum):
    """Which earlier versions are compared, and who reads what the other wrote."""

    NONE = "no comparison"
    BACKWARD = "the new schema reads what the latest one wrote: consumers upgrade first"
    BACKWARD_TRANSITIVE = "the new schema reads what all earlier ones wrote: consumers upgrade first"
    FORWARD = "the latest schema reads what the new one writes: producers upgrade first"
    FORWARD_TRANSITIVE = "all earlier schemas read what the new one writes: producers upgrade first"
    FULL = "the new and the latest schema read each other: in any order"
    FULL_TRANSITIVE = "the new and all earlier schemas read each other: in any order"

    @property
    def new_reads_old(self) -> bool:
        return self.name.startswith(("BACKWARD", "FULL"))

    @property
    def old_reads_new(self) -> bool:
        return self.name.startswith(("FORWARD", "FULL"))

    @property
    def is_transitive(self) -> bool:
        return self.name.endswith("_TRANSITIVE")


class Mode(Enum):
    READWRITE = "schemas can be registered"
    READONLY = "schemas can be read alone"
    READONLY_OVERRIDE = "... whatever is set for subjects"
    IMPORT = "schemas are registered with the ids they bring, and not compared"
    FORWARD = "as IMPORT, for what is mirrored from another registry"

    @property
    def is_read_only(self) -> bool:
        return self in (Mode.READONLY, Mode.READONLY_OVERRIDE)

    @property
    def is_import(self) -> bool:
        return self in (Mode.IMPORT, Mode.FORWARD)


class Policy(Enum):
    STRICT = "as each format has it"
    LENIENT = "an open content model of a JSON Schema does not forbid new properties"


def parse_level(text: object) -> Level:
    """Raises Unprocessable."""
    try:
        return Level[str(text).upper()]
    except KeyError:
        raise invalid_level(str(text)) from None


def parse_policy(text: object) -> Policy:
    """Raises Unprocessable."""
    try:
        return Policy[str(text).upper()]
    except KeyError:
        choices = " and ".join(Policy.__members__)
        raise Unprocessable(
            _INVALID_CONFIG, f"Invalid compatibility policy '{text}'. Valid values are {choices}"
        ) from None


def parse_mode(text: object) -> Mode:
    """Raises Unprocessable."""
    try:
        return Mode[str(text).upper()]
    except KeyError:
        raise invalid_mode(str(text)) from None


def parse_config(request: Json) -> Json:
    """What a request sets, in which the level has another name; None takes a field away. Raises Unprocessable."""
    named = {LEVEL if name == "compatibility" else name: value for name, value in request.items()}
    config: Json = {name: _field(name, named[name]) for name in _KINDS if name in named}
    for name in ("defaultRuleSet", "overrideRuleSet"):
        refuse_bad_rules(config.get(name))
    try:
        json.dumps(config, ensure_ascii=False).encode()
    except UnicodeEncodeError as problem:
        raise Unprocessable(
            _INVALID_CONFIG, f"The config has half a character, which cannot be written: {problem}"
        ) from None
    return config


def _field(name: str, value: object) -> object:
    kind = _KINDS[name]
    if value is None:
        return None
    if not isinstance(value, kind):
        raise Unprocessable(_INVALID_CONFIG, f"{name} must be of type {_TYPE_NAMES[kind]}, it is {value!r:.100}")
    if name == LEVEL:
        return parse_level(value).name
    if name == "compatibilityPolicy":
        return parse_policy(value).name
    try:
        return metadata_of(value) if name.endswith("Metadata") else rule_set_of(value) if kind is dict else value
    except ValueError as problem:
        raise Unprocessable(_INVALID_CONFIG, f"{name}: {problem}") from None


def stored_config(value: Json) -> Json:
    """The config that a record holds. Raises Unprocessable if it is none."""
    return without_unset(parse_config({name: value[name] for name in _KINDS if name in value}))


def merged_config(before: Json, changes: Json) -> Json:
    """In the order in which the fields are written."""
    both = {**before, **changes}
    return without_unset({name: both.get(name) for name in _KINDS})


def without_unset(config: Json) -> Json:
    return {name: value for name, value in config.items() if value is not None}
