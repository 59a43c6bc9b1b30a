"""The streams and tables that SQL knows by name, and the types that CREATE TYPE has made."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from stoker.streams.sql.errors import SqlError, alternatives, near
from stoker.streams.sql.script import Name
from stoker.streams.sql.statements import ColumnRole, SourceKind, WindowKind
from stoker.streams.sql.types import SqlType

FORMATS: Final = ("AVRO", "JSON", "JSON_SR", "PROTOBUF", "KAFKA", "DELIMITED")
"""That values can have. DELIMITED is text with commas between, KAFKA one value as Kafka's own serializers write it."""
KEY_FORMATS: Final = ("KAFKA", "JSON", "AVRO", "PROTOBUF", "NONE")
REGISTERED: Final = ("AVRO", "JSON_SR", "PROTOBUF")
"""Formats whose schemas are in a registry."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a source: its name and type in SQL, and what it is in the records of the topic."""

    name: str
    type: SqlType
    role: ColumnRole = ColumnRole.VALUE
    spelling: str
    """The name of the field as the topic has it."""
    stored: SqlType
    """Its type there, with the names that its own fields have there."""
    header: str | None = None

    @property
    def is_key(self) -> bool:
        return self.role in (ColumnRole.KEY, ColumnRole.PRIMARY_KEY)


@dataclass(frozen=True, kw_only=True)
class WindowedBy:
    """The windows of a table or stream; `size` in milliseconds, None of sessions."""

    kind: WindowKind
    size: int | None


@dataclass(frozen=True, kw_only=True)
class Source:
    """A stream or table over a topic."""

    kind: SourceKind
    name: str
    columns: tuple[Column, ...]
    topic: str
    key_format: str
    value_format: str
    delimiter: str = ","
    timestamp: str | None = None
    """The name of the column that is the event time; None for the time of the record."""
    window: WindowedBy | None = None
    is_registered: bool = False
    """Whether the registry knows how its values look."""
    is_wrapped: bool = True
    """Whether a value with one column is a struct all the same."""
    is_source: bool = False
    query_id: str | None = None
    """Of the query that made it and writes it."""
    text: str = ""

    @property
    def is_table(self) -> bool:
        return self.kind is SourceKind.TABLE

    @property
    def keys(self) -> tuple[Column, ...]:
        return tuple(each for each in self.columns if each.is_key)

    @property
    def values(self) -> tuple[Column, ...]:
        return tuple(each for each in self.columns if each.role is ColumnRole.VALUE)

    def column(self, name: str) -> Column | None:
        return next((each for each in self.columns if each.name == name), None)


@dataclass
class Catalogue:
    """Names are in upper case unless they were quoted when they were made."""

    sources: dict[str, Source] = field(default_factory=dict)
    types: dict[str, SqlType] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Source]:
        return iter(self.sources.values())

    def add(self, source: Source) -> None:
        self.sources[source.name] = source

    def remove(self, name: str) -> None:
        del self.sources[name]

    def find(self, name: str) -> Source | None:
        return self.sources.get(name)

    def get(self, name: Name | str, kind: SourceKind | None = None) -> Source:
        """Raises SqlError, at the name, if there is none, or one of the other kind."""
        found = self.sources.get(name)
        at = name if isinstance(name, Name) else None
        what = "stream or table" if kind is None else kind.value.lower()
        if found is None:
            raise SqlError(
                f"there is no {what} {name}: {choices(name, self.sources, 'SHOW STREAMS and SHOW TABLES list those there are')}",
                at,
            )
        if kind is not None and found.kind is not kind:
            raise SqlError(f"{name} is a {found.kind.value.lower()}, no {what}", at)
        return found

    def refuse_taken(self, name: Name) -> None:
        found = self.sources.get(name)
        if found is not None:
            raise SqlError(
                f"there is a {found.kind.value.lower()} {name} already: use another name, DROP it first, or add IF NOT EXISTS",
                name,
            )


def choices(name: str, known: Iterable[str], otherwise: str) -> str:
    """What is near to a name that is none; or a few of those there are, or where to look."""
    listed = list(known)
    close = near(name, listed)
    if close:
        return f"did you mean {alternatives(close)}?"
    return f"there are {', '.join(listed)}" if 0 < len(listed) <= 8 else otherwise
