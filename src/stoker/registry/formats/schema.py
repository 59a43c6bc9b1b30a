"""What a kind of schema must give to the registry. Pure: no I/O, and no knowledge of subjects or versions.

A format is a module with `parse(text, dependencies) -> ParsedSchema`. All that comes from outside is bounded there: the depth
of nesting, the number of named types, and the time a comparison may take.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from stoker.errors import StokerError

MAX_NESTING = 200
"""Structures deeper than this are refused: no schema of a person's hand has them, and a parser's stack does."""


class InvalidSchema(StokerError):
    """A text that is no schema of its kind. The message says what is wrong and, where that is known, at which line and
    column (counted from 1)."""

    def __init__(self, reason: str, *, line: int | None = None, column: int | None = None) -> None:
        place = "" if line is None else f" at line {line}" + ("" if column is None else f", column {column}")
        super().__init__(f"{reason}{place}")
        self.reason = reason
        self.line = line
        self.column = column


class Incompatibility(NamedTuple):
    """One reason why a reader cannot read what a writer wrote."""

    rule: str
    """Confluent's name of the rule, such as READER_FIELD_MISSING_DEFAULT_VALUE."""
    path: str
    """Where, as Confluent writes it: `/fields/1`, `#/Order/2`, `#/properties/amount`."""
    message: str
    """For people: names the field or type and what each side has."""


class ParsedSchema(ABC):
    """A schema that was read. Equal schemas have equal `text`; never changed."""

    schema_type: ClassVar[str]
    """AVRO, PROTOBUF or JSON."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The one form in which Confluent's registry stores and returns it (its `canonicalString`)."""

    @property
    @abstractmethod
    def name(self) -> str | None:
        """Of the record, message or title, if it has one."""

    @abstractmethod
    def normalized(self) -> "ParsedSchema":
        """The form that is the same for schemas which differ only in order and spelling (`normalize=true`)."""

    @abstractmethod
    def incompatibilities(self, writer: "ParsedSchema") -> list[Incompatibility]:
        """Why this schema cannot read what was written with `writer`; empty if it can. `writer` is of the same kind."""

    @abstractmethod
    def formatted(self, form: str) -> str:
        """The text in another form (`?format=`); an unknown or empty form gives `text`, as in Confluent's."""


Dependencies = Mapping[str, str]
"""Texts of the schemas that are referred to, and of those they refer to in turn, by the names they are referred to by;
each comes after those it needs itself."""
