"""stoker.toml: where it is found, and what it says, each value with its line."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from stoker.settings.alternatives import PROBED
from stoker.settings.definitions import FILE_NAME, FILE_VARIABLE, KAFKA_PROPERTIES, SETTINGS, TABLES
from stoker.settings.errors import InvalidSettings

_KEYS_OF_PROPERTIES: Final = {"bootstrap.servers": "bootstrap-servers in [kafka]"}
"""Properties that have a key of their own: named twice, nobody could say which counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingsFile:
    """`values` are by the names of the settings, `properties` by Kafka's."""

    path: Path
    values: Mapping[str, str]
    properties: Mapping[str, str]
    line_of: Callable[[str], int | None]
    """The line of a setting, or of a property after `kafka.properties.`; found when it is asked for."""


def find_file(directory: str | None, environment: Mapping[str, str]) -> Path | None:
    """What STOKER_CONFIG names, else the nearest stoker.toml from `directory` upwards. An empty STOKER_CONFIG means none.

    Raises InvalidSettings if STOKER_CONFIG names a file that is not there.
    """
    named = environment.get(FILE_VARIABLE)
    if named is not None:
        return _named_file(named) if named else None
    while directory is not None:
        candidate = os.path.join(directory, FILE_NAME)
        if os.path.isfile(candidate):
            return Path(candidate)
        above = os.path.dirname(directory)
        directory = above if above != directory else None
    return None


def _named_file(named: str) -> Path:
    path = Path(os.path.abspath(os.path.expanduser(named)))
    if path.is_dir():
        path /= FILE_NAME
    if not path.is_file():
        raise InvalidSettings(f"{path} is not there, which --config-file or {FILE_VARIABLE} names as the settings file")
    return path


def read_file(path: Path) -> SettingsFile:
    """Raises InvalidSettings, which names the file, the line, and what may stand there."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidSettings(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidSettings(f"{path} is not UTF-8, as TOML is: {error.reason} at byte {error.start}") from error
    return parse_file(path, text)


def parse_file(path: Path, text: str) -> SettingsFile:
    """The same of a text that was read."""
    import tomllib  # most directories have no such file

    text = text.replace("\r\n", "\n")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidSettings(f"{path} is not TOML: {error}") from error
    except RecursionError:
        raise InvalidSettings(f"{path} is not TOML that anybody has written: it is nested too deeply") from None
    return _Reader(path, text).read(document)


class _Reader:
    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines = text.split("\n")

    def read(self, document: Mapping[str, Any]) -> SettingsFile:
        self._check_keys("", document)
        values: dict[str, str] = {}
        properties: dict[str, str] = {}
        for setting in SETTINGS:
            table, _, key = setting.name.partition(".")
            if key in document.get(table, {}):
                values[setting.name] = self._value(setting.name, document[table][key], is_list=setting.is_list)
        for path, value in _leaves(document.get("kafka", {}).get("properties", {}), ()):
            name = ".".join(path)
            where = self._where((*KAFKA_PROPERTIES.split("."), *path))
            if name in _KEYS_OF_PROPERTIES:
                raise InvalidSettings(f"{where}: {name} is given by {_KEYS_OF_PROPERTIES[name]}")
            if name in properties:
                raise InvalidSettings(f"{where}: {name} is in [{KAFKA_PROPERTIES}] twice, with quotes and without")
            text = _property_text(where, name, value)
            properties[name] = str(self._path.parent / text) if _is_file(name, text) else text
        return SettingsFile(path=self._path, values=values, properties=properties, line_of=cache(self._line_of_setting))

    def _check_keys(self, table: str, content: Mapping[str, Any]) -> None:
        for key, value in content.items():
            name = f"{table}.{key}" if table else key
            if key not in TABLES[table]:
                raise InvalidSettings(self._unknown(table, key, value))
            if (name in TABLES or name == KAFKA_PROPERTIES) and not isinstance(value, dict):
                raise InvalidSettings(f"{self._where(tuple(name.split('.')))}: {name} is a table: write [{name}]")
            if name in TABLES:
                self._check_keys(name, value)

    def _unknown(self, table: str, key: str, value: Any) -> str:
        from difflib import get_close_matches

        is_table = not table and isinstance(value, dict)
        choices = [each if table else f"[{each}]" for each in TABLES[table]]
        close = get_close_matches(key.lower().replace("_", "-"), TABLES[table], n=1, cutoff=0.6)
        homes = [home for home, keys in TABLES.items() if home and key in keys]
        if is_table:
            problem = f"there is no table [{key}]"
        else:
            problem = f"there is no key {key!r} {f'in [{table}]' if table else 'outside of a table'}"
        if close:
            hint = f"; did you mean {close[0] if table else f'[{close[0]}]'}?"
        elif homes:  # the first thing that people write is an address without a table above it
            hint = f"; it belongs into [{homes[0]}]."
        else:
            hint = "."
        return f"{self._where((*([table] if table else []), key))}: {problem}{hint} There {_are(choices)}"

    def _value(self, name: str, value: Any, *, is_list: bool) -> str:
        where = self._where(tuple(name.split(".")))
        texts = value if is_list and isinstance(value, list) else [value]
        if not texts or not all(isinstance(each, str) and each.strip() for each in texts):
            example = next(setting.example for setting in SETTINGS if setting.name == name)
            or_list = ", or a list of such" if is_list else ""
            raise InvalidSettings(f'{where}: {name} takes a text, such as "{example}"{or_list}')
        return ",".join(each.strip() for each in texts)

    # -- lines ------------------------------------------------------------------------------------------------------

    def _where(self, path: tuple[str, ...]) -> str:
        return f"{self._path} line {self._line(path)}"

    def _line_of_setting(self, name: str) -> int | None:
        prefix = f"{KAFKA_PROPERTIES}."
        if not name.startswith(prefix):
            return self._line(tuple(name.split(".")))
        wanted = name.removeprefix(prefix)
        for line, document in self._prefixes():
            properties = document.get("kafka", {}).get("properties", {})
            if any(".".join(path) == wanted for path, _ in _leaves(properties, ())):
                return line
        return None

    def _line(self, path: tuple[str, ...]) -> int | None:
        for line, document in self._prefixes():
            found: Any = document
            for key in path:
                found = found.get(key) if isinstance(found, dict) else None
            if found is not None:
                return line
        return None

    def _prefixes(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """The documents that the first lines make, each with the number of the line that was added.

        TOML's parser tells no lines. What one more line, or a value of several lines, adds has been written there.
        """
        import tomllib

        begins = 1
        for count in range(1, len(self._lines) + 1):
            try:
                document = tomllib.loads("\n".join(self._lines[:count]))
            except tomllib.TOMLDecodeError:
                continue  # within a value
            yield begins, document
            begins = count + 1


def _leaves(table: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """`security.protocol = ...` without quotes is a table in a table; both ways to write it mean the same."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key), value


def _is_file(name: str, value: str) -> bool:
    """Which is found from the directory of stoker.toml, wherever below it a command runs."""
    return name.startswith("ssl.") and name.endswith(".location") and value not in ("", PROBED)


def _property_text(where: str, name: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    raise InvalidSettings(f'{where}: {name} takes a text, a number, true or false, such as "{name}" = "..."')


def _are(names: list[str]) -> str:
    return f"is {names[0]}" if len(names) == 1 else f"are {', '.join(names[:-1])} and {names[-1]}"
