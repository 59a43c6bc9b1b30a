"""Which value counts, and where it came from. Pure: flags, variables and file are handed in."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from stoker.settings.alternatives import overlaid
from stoker.settings.definitions import (
    BOOTSTRAP_SERVERS,
    COMMAND_CONFIG_FLAG,
    KAFKA_PROPERTIES,
    PROPERTY_VARIABLES,
    REGISTRY_URL,
    REGISTRY_USER,
    SETTINGS,
    SPARK_MASTER,
    Setting,
    property_of_variable,
)
from stoker.settings.secrets import MASK, is_secret, masked_url, masked_user
from stoker.settings.stoker_toml import SettingsFile

_BOOTSTRAP_PROPERTY = "bootstrap.servers"


class Place(IntEnum):
    """Where a value stands; the smaller is the stronger."""

    FLAG = 1
    VARIABLE = 2
    FILE = 3
    DEFAULT = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """`name` is the flag, the variable or the path of the file."""

    place: Place
    name: str = ""
    line: int | None = None

    def __str__(self) -> str:
        if self.place is Place.DEFAULT:
            return "default"
        return self.name if self.line is None else f"{self.name} line {self.line}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """`text` is None where nothing is named and there is no default."""

    name: str
    text: str | None
    place: Place
    source: str = ""
    file: SettingsFile | None = None

    def __repr__(self) -> str:
        """Without secrets: errors and logs show it."""
        return f"<{self.name} = {self.shown} ({self.place.name.lower()})>"

    @property
    def is_named(self) -> bool:
        """Whether somebody has said so, and it is not just the default."""
        return self.place is not Place.DEFAULT

    @property
    def named(self) -> str | None:
        """The text if somebody has said so."""
        return self.text if self.is_named else None

    @property
    def origin(self) -> Origin:
        line = None if self.file is None else self.file.line_of(self.name)
        return Origin(place=self.place, name=self.source, line=line)

    @property
    def is_secret(self) -> bool:
        prefix = f"{KAFKA_PROPERTIES}."
        if self.name.startswith(prefix):
            return is_secret(self.name.removeprefix(prefix))
        return any(each.name == self.name and each.is_secret for each in SETTINGS)

    @property
    def shown(self) -> str | None:
        """The text as others may see it."""
        if self.text is None:
            return None
        if self.name == REGISTRY_USER.name:
            return masked_user(self.text)
        return MASK if self.is_secret else masked_url(self.text)


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftAside:
    """A value of the file that does not count, because it belongs to another address."""

    value: Value
    belongs_to: str
    """The address in the file."""
    used: str
    """The address that counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    bootstrap_servers: Value
    registry_url: Value
    registry_user: Value
    spark_master: Value
    kafka_properties: Mapping[str, Value]
    """Of a client, by Kafka's names, without `bootstrap.servers`."""
    file: Path | None
    left_aside: tuple[LeftAside, ...] = ()

    @property
    def values(self) -> tuple[Value, ...]:
        """All of them, in the order of the file."""
        properties = (self.kafka_properties[name] for name in sorted(self.kafka_properties))
        return (self.bootstrap_servers, *properties, self.registry_url, self.registry_user, self.spark_master)

    @property
    def properties(self) -> dict[str, str]:
        """The properties of a client as texts."""
        return {name: value.text for name, value in self.kafka_properties.items() if value.text is not None}


def resolve(
    *,
    flags: Mapping[str, str | None] | None = None,
    command_config: Mapping[str, str] | None = None,
    environment: Mapping[str, str],
    file: SettingsFile | None,
) -> Settings:
    """A flag is stronger than a variable, that than the file, that than the default.

    `flags` are by the names of the settings. `command_config` is what the file of --command-config says: its properties count
    as flags; its bootstrap.servers, as ever, less than the variable. Security goes with its address: the file's
    `kafka.properties` and `registry.user` do not count where another address than the file's does.
    """
    flags = flags or {}
    command_config = command_config or {}
    values = {each.name: _value(each, flags, command_config, environment, file) for each in SETTINGS}
    properties = _properties(command_config, environment, file)
    left_aside: list[LeftAside] = []
    if elsewhere := _elsewhere(BOOTSTRAP_SERVERS, values, file):
        for name, value in list(properties.items()):
            if value.place is Place.FILE:
                left_aside.append(LeftAside(value=properties.pop(name), belongs_to=elsewhere[0], used=elsewhere[1]))
    user = values[REGISTRY_USER.name]
    if user.place is Place.FILE and (elsewhere := _elsewhere(REGISTRY_URL, values, file)):
        left_aside.append(LeftAside(value=user, belongs_to=elsewhere[0], used=elsewhere[1]))
        values[REGISTRY_USER.name] = Value(name=REGISTRY_USER.name, text=None, place=Place.DEFAULT)
    return Settings(
        bootstrap_servers=values[BOOTSTRAP_SERVERS.name],
        registry_url=values[REGISTRY_URL.name],
        registry_user=values[REGISTRY_USER.name],
        spark_master=values[SPARK_MASTER.name],
        kafka_properties=properties,
        file=None if file is None else file.path,
        left_aside=tuple(left_aside),
    )


def _value(
    setting: Setting,
    flags: Mapping[str, str | None],
    command_config: Mapping[str, str],
    environment: Mapping[str, str],
    file: SettingsFile | None,
) -> Value:
    name = setting.name
    if (flag := flags.get(name)) is not None:
        return Value(name=name, text=flag, place=Place.FLAG, source=setting.flags[0])
    if variable := environment.get(setting.variable):  # one that is empty is none, as for every other tool
        return Value(name=name, text=variable, place=Place.VARIABLE, source=setting.variable)
    if setting is BOOTSTRAP_SERVERS and _BOOTSTRAP_PROPERTY in command_config:
        text = command_config[_BOOTSTRAP_PROPERTY]
        return Value(name=name, text=text, place=Place.FLAG, source=COMMAND_CONFIG_FLAG)
    if file is not None and name in file.values:
        return Value(name=name, text=file.values[name], place=Place.FILE, source=str(file.path), file=file)
    return Value(name=name, text=setting.default, place=Place.DEFAULT)


def _properties(
    command_config: Mapping[str, str], environment: Mapping[str, str], file: SettingsFile | None
) -> dict[str, Value]:
    of_file: dict[str, Value] = {}
    if file is not None:
        for name, text in file.properties.items():
            of_file[name] = _property(name, text, Place.FILE, str(file.path), file)
    of_variables: dict[str, Value] = {}
    for variable, text in environment.items():
        if variable.startswith(PROPERTY_VARIABLES) and text:
            name = property_of_variable(variable)
            of_variables[name] = _property(name, text, Place.VARIABLE, variable)
    typed = {name: _property(name, text, Place.FLAG, COMMAND_CONFIG_FLAG) for name, text in command_config.items()}
    found = overlaid(overlaid(of_file, of_variables), typed)
    found.pop(_BOOTSTRAP_PROPERTY, None)
    return found


def _property(name: str, text: str, place: Place, source: str, file: SettingsFile | None = None) -> Value:
    return Value(name=f"{KAFKA_PROPERTIES}.{name}", text=text, place=place, source=source, file=file)


def _elsewhere(address: Setting, values: Mapping[str, Value], file: SettingsFile | None) -> tuple[str, str] | None:
    """The file's address and the one that counts, if these are two."""
    in_file = None if file is None else file.values.get(address.name)
    used = values[address.name].text
    if in_file is None or used is None or _same(in_file, used):
        return None
    return masked_url(in_file), masked_url(used)


def _same(one: str, other: str) -> bool:
    return _addresses(one) == _addresses(other)


def _addresses(text: str) -> set[str]:
    return {each.strip().rstrip("/") for each in text.split(",")}
