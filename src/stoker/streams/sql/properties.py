"""What can stand in WITH (...): checked by name, value and choice before anything is made."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from stoker.streams.sql.catalogue import FORMATS, KEY_FORMATS, WindowedBy
from stoker.streams.sql.errors import SqlError, alternatives, near
from stoker.streams.sql.script import Name
from stoker.streams.sql.statements import Properties, Value, WindowKind
from stoker.streams.sql.words import TIME_UNITS

_KNOWN: Final = (
    "KAFKA_TOPIC", "VALUE_FORMAT", "KEY_FORMAT", "FORMAT", "PARTITIONS", "REPLICAS", "RETENTION_MS", "CLEANUP_POLICY", "TIMESTAMP",
    "VALUE_DELIMITER", "WRAP_SINGLE_VALUE", "WINDOW_TYPE", "WINDOW_SIZE",
)  # fmt: skip
_OF_A_QUERY: Final = tuple(each for each in _KNOWN if each not in ("WINDOW_TYPE", "WINDOW_SIZE"))
_NOT_HERE: Final = {
    "TIMESTAMP_FORMAT": "only a BIGINT or TIMESTAMP column can be the event time: parse it in a query (PARSE_TIMESTAMP) first",
    "KEY_DELIMITER": "DELIMITED keys are not there: KEY_FORMAT takes " + alternatives(KEY_FORMATS),
    "KEY_SCHEMA_ID": "the latest schema of the subject is taken",
    "VALUE_SCHEMA_ID": "the latest schema of the subject is taken",
    "KEY_SCHEMA_FULL_NAME": "schemas are named after their topic",
    "VALUE_SCHEMA_FULL_NAME": "schemas are named after their topic",
    "KEY_PROTOBUF_NULLABLE_REPRESENTATION": "fields of Protobuf are optional",
    "VALUE_PROTOBUF_NULLABLE_REPRESENTATION": "fields of Protobuf are optional",
    "VALUE_AVRO_SCHEMA_FULL_NAME": "schemas are named after their topic",
}
_DELIMITERS: Final = {"SPACE": " ", "TAB": "\t"}


class Checked:
    """The properties of a statement. Each method raises SqlError, at the property."""

    def __init__(self, properties: Properties, *, is_query: bool) -> None:
        self._given = {str(name).upper(): (name, value) for name, value in properties.pairs}
        known = _OF_A_QUERY if is_query else _KNOWN
        for upper, (name, _) in self._given.items():
            if upper in _NOT_HERE:
                raise SqlError(f"{upper} is not supported: {_NOT_HERE[upper]}", name)
            if upper not in known:
                close = near(upper, known)
                hint = f"did you mean {alternatives(close)}?" if close else f"there are {', '.join(known)}"
                raise SqlError(f"there is no property {name}: {hint}", name)

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def at(self, name: str) -> Name | None:
        """To point at."""
        return self._given[name][0] if name in self._given else None

    def text(self, name: str) -> str | None:
        value = self._value(name)
        if value is not None and not isinstance(value, str):
            raise SqlError(f"{name} takes a string in quotes", self.at(name))
        return value

    def number(self, name: str, lowest: int = 1) -> int | None:
        value = self._value(name)
        if isinstance(value, str) and value.lstrip("-").isdecimal():
            value = int(value)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < lowest):
            raise SqlError(f"{name} takes a whole number, at least {lowest}", self.at(name))
        return value if isinstance(value, int) else None

    def truth(self, name: str, default: bool) -> bool:
        value = self._value(name)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        if value is not None and not isinstance(value, bool):
            raise SqlError(f"{name} takes TRUE or FALSE", self.at(name))
        return default if value is None else bool(value)

    def value_format(self) -> str | None:
        return self._format("VALUE_FORMAT", FORMATS)

    def key_format(self) -> str | None:
        return self._format("KEY_FORMAT", KEY_FORMATS)

    def delimiter(self) -> str:
        given = self.text("VALUE_DELIMITER") or ","
        found = _DELIMITERS.get(given.upper(), given)
        if len(found) != 1:
            raise SqlError("VALUE_DELIMITER takes one character, SPACE or TAB", self.at("VALUE_DELIMITER"))
        return found

    def window(self) -> WindowedBy | None:
        kind, size = self.text("WINDOW_TYPE"), self.text("WINDOW_SIZE")
        if kind is None:
            if size is not None:
                raise SqlError("WINDOW_SIZE needs a WINDOW_TYPE", self.at("WINDOW_SIZE"))
            return None
        if kind.upper() not in WindowKind.__members__:
            raise SqlError(f"WINDOW_TYPE takes {alternatives([*WindowKind.__members__])}", self.at("WINDOW_TYPE"))
        found = WindowKind(kind.upper())
        if found is WindowKind.SESSION:
            return WindowedBy(kind=found, size=None)
        number, _, unit = (size or "").partition(" ")
        if not number.isdecimal() or unit.strip().upper() not in TIME_UNITS:
            raise SqlError(
                f"{found.value} windows need their size: WINDOW_SIZE='1 HOUR'",
                self.at("WINDOW_SIZE") or self.at("WINDOW_TYPE"),
            )
        return WindowedBy(kind=found, size=int(number) * TIME_UNITS[unit.strip().upper()])

    def topic_configs(self) -> dict[str, str]:
        retention, policy = self.number("RETENTION_MS", -1), self.text("CLEANUP_POLICY")
        found = {} if retention is None else {"retention.ms": str(retention)}
        return found if policy is None else {**found, "cleanup.policy": policy.lower()}

    def _format(self, name: str, choices: Sequence[str]) -> str | None:
        if name in self._given and "FORMAT" in self._given:
            raise SqlError(f"FORMAT is for keys and values: there cannot be {name} beside it", self.at(name))
        used = name if name in self._given else "FORMAT"
        given = self.text(used)
        if given is not None and given.upper() not in choices:
            raise SqlError(f"there is no format {given!r}: {used} takes {alternatives(choices)}", self.at(used))
        return None if given is None else given.upper()

    def _value(self, name: str) -> Value:
        value = self._given[name][1] if name in self._given else None
        return float(value) if isinstance(value, Decimal) else value
