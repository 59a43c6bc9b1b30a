"""Which settings are in force for a subject.

A subject's own come first; else those of its context, where `None` is the default context; else those of the context
`.__GLOBAL`, which holds for all; else the default. What is set for the default context does not hold in others.
"""

from typing import Final

from stoker.registry.entities import Json
from stoker.registry.settings import LEVEL, Level, Mode
from stoker.registry.state import RegistryState
from stoker.registry.subjects import DEFAULT_CONTEXT, GLOBAL_CONTEXT, context_of, prefix_of

_INHERITED: Final[tuple[str, ...]] = (
    "normalize",
    "validateFields",
    "validateNewSchemas",
    "validateRules",
    "compatibilityPolicy",
    "compatibilityGroup",
)
"""What a subject that has a config of its own takes from the config of the default context."""


class Scopes:
    """Subjects are named as state has them; None is the default context, and so all subjects that have no context."""

    def __init__(self, state: RegistryState, *, default_level: Level = Level.BACKWARD) -> None:
        self._state = state
        self._default: Json = {LEVEL: default_level.name}

    def config(self, subject: str | None) -> Json:
        """What is in force. A config that says no level has the default one, as in Confluent's."""
        if not self._state.configs:
            return self._default
        own = self._state.configs.get(subject)
        if own is not None and subject is not None:
            everywhere = self._state.configs.get(None, {})
            inherited = {name: everywhere[name] for name in _INHERITED if name in everywhere}
            return {**self._default, **inherited, **own}
        for scope in _scopes(subject):
            config = self._state.configs.get(scope)
            if config is not None:
                return {**self._default, **config}
        return self._default

    def own_config(self, subject: str | None) -> Json | None:
        """What is set for it, not for what it is in. All subjects have the default."""
        own = self._state.configs.get(subject)
        if own is not None:
            return {**self._default, **own}
        return self._default if _is_top(subject) else None

    def level(self, subject: str | None) -> Level:
        return Level[self.config(subject)[LEVEL]]

    def mode(self, subject: str | None) -> Mode:
        """What is in force; READONLY_OVERRIDE of all subjects is above what is set for one."""
        if not self._state.modes:
            return Mode.READWRITE
        everywhere = self._state.modes.get(None)
        if everywhere is Mode.READONLY_OVERRIDE:
            return everywhere
        for scope in _scopes(subject):
            mode = self._state.modes.get(scope)
            if mode is not None:
                return mode
        return Mode.READWRITE

    def own_mode(self, subject: str | None) -> Mode | None:
        own = self._state.modes.get(subject)
        if own is not None:
            return own
        return Mode.READWRITE if _is_top(subject) else None


def _is_top(subject: str | None) -> bool:
    return subject is None or context_of(subject) == GLOBAL_CONTEXT


def _scopes(subject: str | None) -> list[str | None]:
    """Names under which settings are stored, the nearest first."""
    context = context_of(subject)
    outer: list[str | None] = [None if context == DEFAULT_CONTEXT else prefix_of(context), prefix_of(GLOBAL_CONTEXT)]
    return outer if subject is None else [subject, *outer]
