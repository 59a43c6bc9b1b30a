"""ksqlDB's types, and what they are in Spark.

`from_sqlglot` reads the type of a column definition or a CAST, `from_spark` that of a Spark column.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

from stoker.streams.sql.errors import SqlError, alternatives, near


@dataclass(frozen=True)
class SqlType:
    """A type as ksqlDB writes it: `str(type)`."""


@dataclass(frozen=True)
class Primitive(SqlType):
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Decimal(SqlType):
    """`scale` of the `precision` digits are after the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True)
class Array(SqlType):
    element: SqlType

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True)
class Map(SqlType):
    key: SqlType
    value: SqlType

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True)
class Field:
    name: str
    type: SqlType

    def __str__(self) -> str:
        return f"`{self.name.replace('`', '``')}` {self.type}"


@dataclass(frozen=True)
class Struct(SqlType):
    fields: tuple[Field, ...]

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(map(str, self.fields))}>"


@dataclass(frozen=True)
class Custom(SqlType):
    """A type that CREATE TYPE has made, by its name."""

    name: str

    def __str__(self) -> str:
        return f"`{self.name.replace('`', '``')}`"


BOOLEAN: Final = Primitive("BOOLEAN")
INTEGER: Final = Primitive("INTEGER")
BIGINT: Final = Primitive("BIGINT")
DOUBLE: Final = Primitive("DOUBLE")
STRING: Final = Primitive("STRING")
BYTES: Final = Primitive("BYTES")
TIME: Final = Primitive("TIME")
DATE: Final = Primitive("DATE")
TIMESTAMP: Final = Primitive("TIMESTAMP")

PRIMITIVES: Final = (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, TIME, DATE, TIMESTAMP)

_IN_SPARK: Final[Mapping[SqlType, str]] = {
    INTEGER: "INT",
    BYTES: "BINARY",
    TIME: "TIME(3)",
}
"""Those with another name there. ksqlDB's times have milliseconds."""

_OF_SQLGLOT: Final[Mapping[exp.DType, SqlType]] = {
    exp.DType.BOOLEAN: BOOLEAN,
    exp.DType.TINYINT: INTEGER,
    exp.DType.SMALLINT: INTEGER,
    exp.DType.INT: INTEGER,
    exp.DType.BIGINT: BIGINT,
    exp.DType.FLOAT: DOUBLE,
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.CHAR: STRING,
    exp.DType.VARCHAR: STRING,
    exp.DType.TEXT: STRING,
    exp.DType.BINARY: BYTES,
    exp.DType.VARBINARY: BYTES,
    exp.DType.TIME: TIME,
    exp.DType.DATE: DATE,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPTZ: TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: TIMESTAMP,
}
_DEFAULT_DECIMAL: Final = (10, 0)


def to_spark_type(kind: SqlType, custom_types: Mapping[str, SqlType] | None = None) -> str:
    """As Spark writes it in DDL. TIME needs `spark.sql.timeType.enabled`. Raises SqlError for a custom type nobody knows."""

    def spark(inner: SqlType) -> str:
        return to_spark_type(inner, custom_types)

    match kind:
        case Custom(name):
            return spark(resolved(kind, custom_types or {}))
        case Decimal(precision, scale):
            return f"DECIMAL({precision}, {scale})"
        case Array(element):
            return f"ARRAY<{spark(element)}>"
        case Map(key, value):
            return f"MAP<{spark(key)}, {spark(value)}>"
        case Struct(fields):
            inner = (f"`{each.name.replace('`', '``')}`: {spark(each.type)}" for each in fields)
            return f"STRUCT<{', '.join(inner)}>"
        case Primitive(name):
            return _IN_SPARK.get(kind, name)
    raise SqlError(f"{kind} is no type of ksqlDB")


def resolved(kind: SqlType, custom_types: Mapping[str, SqlType], at: exp.Expr | None = None) -> SqlType:
    """The type with all that CREATE TYPE has made put in. Raises SqlError, at the given expression, for an unknown one."""
    match kind:
        case Custom(name) if name in custom_types:
            return resolved(custom_types[name], {key: each for key, each in custom_types.items() if key != name}, at)
        case Custom(name):
            known = [*(str(each) for each in PRIMITIVES), "DECIMAL", "ARRAY", "MAP", "STRUCT", *custom_types]
            close = near(name, known)
            hint = f"did you mean {alternatives(close)}?" if close else f"there are {', '.join(known)}"
            raise SqlError(f"there is no type {name}: {hint}", at)
        case Array(element):
            return Array(resolved(element, custom_types, at))
        case Map(key, value):
            return Map(resolved(key, custom_types, at), resolved(value, custom_types, at))
        case Struct(fields):
            return Struct(tuple(Field(each.name, resolved(each.type, custom_types, at)) for each in fields))
    return kind


def from_sqlglot(kind: exp.DataType) -> SqlType:
    """Raises SqlError for a type that ksqlDB does not have."""
    parts = kind.expressions
    if kind.this is exp.DType.USERDEFINED:
        return Custom(kind.args["kind"].name)
    if kind.this is exp.DType.DECIMAL:
        digits = [int(each.this.name) for each in parts if isinstance(each, exp.DataTypeParam)]
        precision, scale = (*digits, *_DEFAULT_DECIMAL[len(digits) :])
        return Decimal(precision, scale)
    if kind.this in (exp.DType.ARRAY, exp.DType.LIST) and len(parts) == 1:
        return Array(from_sqlglot(parts[0]))
    if kind.this is exp.DType.MAP and len(parts) == 2:
        return Map(from_sqlglot(parts[0]), from_sqlglot(parts[1]))
    if kind.this is exp.DType.STRUCT:
        return Struct(tuple(Field(each.name, from_sqlglot(each.args["kind"])) for each in parts))
    found = _OF_SQLGLOT.get(kind.this)
    if found is None:
        raise SqlError(f"ksqlDB has no type for {kind.sql(dialect='spark')}", kind)
    return found


def from_spark(ddl: str) -> SqlType:
    """What a Spark column is, of its type as Spark writes it: `struct<id:int,tags:array<string>>`."""
    try:
        kind = exp.DataType.build(ddl, dialect="spark")
    except SqlglotError as error:
        raise SqlError(f"{ddl!r} is no type of Spark") from error
    return from_sqlglot(kind)
