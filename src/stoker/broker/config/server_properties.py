"""From a server.properties and the overrides of a command line to a BrokerConfig, with what is worth telling the user.

More is taken than Kafka takes where that is harmless, because people paste: a comment behind a value, settings of older versions,
`broker.id=-1`. Each such thing is said in one line.
"""

from collections.abc import Iterable, Mapping
from logging import getLogger
from pathlib import Path
from typing import Final, NamedTuple

from stoker.broker.config.broker_config import BrokerConfig
from stoker.broker.config.definitions import BROKER, TOPIC, broker_setting
from stoker.broker.config.errors import ConfigError, InvalidConfig
from stoker.broker.config.retired import why_retired
from stoker.broker.config.setting import ConfigType, Effect
from stoker.broker.config.types import did_you_mean
from stoker.errors import MalformedProperties
from stoker.properties import Property, read_properties

logger = getLogger("stoker.broker")

_ON_THE_COMMAND_LINE: Final = 0


class LoadedConfig(NamedTuple):
    """`warnings` are for the log, one line each; `without_effect` are the given settings that change nothing in Stoker."""

    config: BrokerConfig
    warnings: tuple[str, ...]
    without_effect: tuple[str, ...]


def report(loaded: LoadedConfig) -> None:
    """Say in the log what an operator should know of the settings that were given."""
    for warning in loaded.warnings:
        logger.warning("%s", warning)
    planned = [name for name in loaded.without_effect if BROKER[name].effect is Effect.PLANNED]
    if planned:
        logger.warning("these settings are kept and shown, but have no effect yet: %s", ", ".join(planned))
    shown = [name for name in loaded.without_effect if name not in planned]
    if shown:
        logger.info("these settings are kept and shown, and mean nothing on one node: %s", ", ".join(shown))


def load_broker_config(path: Path | None = None, overrides: Mapping[str, str] | None = None) -> LoadedConfig:
    """The settings of the file, the overrides being stronger. Raises ConfigError, which names file and line, and OSError."""
    loading = _Loading(path)
    if path is not None:
        try:
            loading.take(read_properties(path))
        except MalformedProperties as error:
            raise ConfigError(f"{path} {error}") from None
    loading.take(Property(name, value, _ON_THE_COMMAND_LINE) for name, value in (overrides or {}).items())
    return loading.finish()


def parse_overrides(arguments: Iterable[str]) -> dict[str, str]:
    """`-o key=value` as often as given; the last of a name counts."""
    overrides: dict[str, str] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"-o {argument}: the form is key=value, such as -o num.partitions=3")
        overrides[name.strip()] = value
    return overrides


class _Loading:
    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.given: dict[str, Property] = {}
        self.warnings: list[str] = []
        self.comment_lines: list[int] = []

    def take(self, properties: Iterable[Property]) -> None:
        for found in properties:
            reason = why_retired(found.name)
            if reason is not None and found.name not in BROKER:
                self.warnings.append(f"{self._place(found)}: {found.name} is ignored: {reason}")
                continue
            found = self._without_comment(found)
            if found.name == "broker.id" and found.value.strip() == "-1":
                self.warnings.append(
                    f"{self._place(found)}: broker.id=-1 is ignored: ids are not generated, see node.id"
                )
                continue
            before = self.given.get(found.name)
            if before is not None and before.line and found.line:
                self.warnings.append(
                    f"{self._place(found)}: {found.name} is set twice; this one counts, not that of line {before.line}"
                )
            self.given[found.name] = found

    def finish(self) -> LoadedConfig:
        if self.comment_lines:
            lines = ", ".join(map(str, self.comment_lines))
            self.warnings.append(f"{self.path}: text behind # is taken for a comment, unlike in Kafka (line {lines})")
        try:
            config = BrokerConfig({name: found.value for name, found in self.given.items()})
        except InvalidConfig as error:
            culprit = self.given.get(error.name)
            raise (error if culprit is None else error.at(self._place(culprit))) from None
        self._warn_of_unknown_names()
        self._warn_of_what_does_not_happen(config)
        return LoadedConfig(config, tuple(self.warnings), self._without_effect())

    def _place(self, found: Property) -> str:
        return f"{self.path} line {found.line}" if found.line else f"-o {found.name}"

    def _without_comment(self, found: Property) -> Property:
        setting = broker_setting(found.name)
        if setting is None or setting.is_sensitive or not found.line:
            return found
        bare = found.without_comment()
        if bare != found:
            self.comment_lines.append(found.line)
        return bare

    def _warn_of_unknown_names(self) -> None:
        for name, found in self.given.items():
            if broker_setting(name) is not None:
                continue
            topic_setting = TOPIC.get(name)
            if topic_setting is not None and topic_setting.broker_names:
                hint = f"; it is a setting of topics, whose default is {topic_setting.broker_names[0]}"
            else:
                hint = did_you_mean(name, BROKER)
            self.warnings.append(f"{self._place(found)}: {name} is not a known setting and has no effect{hint}")

    def _warn_of_what_does_not_happen(self, config: BrokerConfig) -> None:
        for name, found in self.given.items():
            setting = BROKER.get(name)
            if setting is None or config.values[name] == setting.default:
                continue
            if setting.type is ConfigType.CLASS or name.endswith((".class", ".class.name", ".reporters")):
                self.warnings.append(f"{self._place(found)}: {name} has no effect: Stoker does not run Java classes")
        opened = {listener.name for listener in config.listeners}
        for entry in config.names("listeners"):
            if entry.partition(":")[0].upper() not in opened:
                self.warnings.append(f"{entry} is not opened: Stoker is its own controller and has no other to talk to")
        inter_broker = config.values["inter.broker.listener.name"]
        if isinstance(inter_broker, str) and inter_broker.upper() not in opened:
            self.warnings.append(
                f"inter.broker.listener.name={inter_broker} is none of the listeners; Apache Kafka would not start with it"
            )

    def _without_effect(self) -> tuple[str, ...]:
        settings = (BROKER.get(name) for name in self.given)
        return tuple(
            sorted(
                setting.name
                for setting in settings
                if setting is not None and setting.effect in (Effect.SHOWN, Effect.PLANNED)
            )
        )
