"""What can be set for all subjects, for a context, or for one subject: the level of compatibility, and the mode."""

from enum import Enum
from typing import Any, Final

from stoker.registry.entities import Json
from stoker.registry.errors import Unprocessable, invalid_level, invalid_mode
from stoker.registry.state import RegistryState
from stoker.registry.subjects import DEFAULT_CONTEXT, context_of

LEVEL: Final = "compatibilityLevel"
_FIELDS: Final[dict[str, type]] = {
    "alias": str,
    "normalize": bool,
    "validateFields": bool,
    "validateRules": bool,
    LEVEL: str,
    "compatibilityGroup": str,
    "defaultMetadata": dict,
    "overrideMetadata": dict,
    "defaultRuleSet": dict,
    "overrideRuleSet": dict,
}
"""Of a config, with their JSON types."""
_INVALID_CONFIG: Final = 42203


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


def parse_level(text: object) -> Level:
    """Raises Unprocessable."""
    try:
        return Level[str(text).upper()]
    except KeyError:
        raise invalid_level(str(text)) from None


def parse_mode(text: object) -> Mode:
    """Raises Unprocessable."""
    try:
        return Mode[str(text).upper()]
    except KeyError:
        raise invalid_mode(str(text)) from None


def parse_config(request: Json) -> Json:
    """A config as it is stored, from a request, in which the level has another name. Raises Unprocessable."""
    config: Json = {}
    named = {LEVEL if name == "compatibility" else name: value for name, value in request.items()}
    for name, kind in _FIELDS.items():
        value = named.get(name)
        if value is None:
            continue
        if not isinstance(value, kind):
            raise Unprocessable(_INVALID_CONFIG, f"{name} must be of type {kind.__name__}, it is {value!r}")
        config[name] = parse_level(value).name if name == LEVEL else value
    return config


class Scopes:
    """The settings in force: of the subject, of its context, of all, in this order."""

    def __init__(self, state: RegistryState, *, default_level: Level = Level.BACKWARD) -> None:
        self._state = state
        self._default_level = default_level

    def config(self, subject: str | None) -> Json:
        """All fields, each from the nearest scope that has it."""
        merged: Json = {LEVEL: self._default_level.name}
        for scope in reversed(_scopes(subject)):
            merged.update(self._state.configs.get(scope, {}))
        return merged

    def level(self, subject: str | None) -> Level:
        return Level[self.config(subject)[LEVEL]]

    def mode(self, subject: str | None) -> Mode:
        everywhere = self._state.modes.get(None)
        if everywhere == Mode.READONLY_OVERRIDE.name:
            return Mode.READONLY_OVERRIDE
        for scope in _scopes(subject):
            mode = self._state.modes.get(scope)
            if mode is not None:
                return Mode[mode]
        return Mode.READWRITE


def _scopes(subject: str | None) -> list[Any]:
    """Names under which settings are stored, the nearest first. A context's are those of the subject without a name."""
    if subject is None:
        return [None]
    context = context_of(subject)
    return [subject, None] if context == DEFAULT_CONTEXT else [subject, f":{context}:", None]
