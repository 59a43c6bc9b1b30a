"""What statements say, as data. Names are in upper case unless they were quoted; spans of time are timedeltas.

Two statements that say the same are equal, wherever they were written.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from enum import Enum

from sqlglot import exp

from stoker.streams.sql.script import Name, Origin
from stoker.streams.sql.types import SqlType

Value = str | int | Decimal | float | bool | None


class SourceKind(Enum):
    STREAM = "STREAM"
    TABLE = "TABLE"


class Emit(Enum):
    CHANGES = "CHANGES"
    FINAL = "FINAL"


class WindowKind(Enum):
    TUMBLING = "TUMBLING"
    HOPPING = "HOPPING"
    SESSION = "SESSION"


class JoinKind(Enum):
    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"


class ColumnRole(Enum):
    """Where a column of a source is in a record."""

    VALUE = "value"
    KEY = "KEY"
    PRIMARY_KEY = "PRIMARY KEY"
    HEADERS = "HEADERS"
    """All of them, as an array."""
    HEADER = "HEADER"
    """The one whose name is `header`."""


class Shown(Enum):
    STREAMS = "STREAMS"
    TABLES = "TABLES"
    TOPICS = "TOPICS"
    ALL_TOPICS = "ALL TOPICS"
    """Those too that are internal."""
    QUERIES = "QUERIES"
    FUNCTIONS = "FUNCTIONS"
    PROPERTIES = "PROPERTIES"
    TYPES = "TYPES"
    VARIABLES = "VARIABLES"
    CONNECTORS = "CONNECTORS"
    SOURCE_CONNECTORS = "SOURCE CONNECTORS"
    SINK_CONNECTORS = "SINK CONNECTORS"
    CONNECTOR_PLUGINS = "CONNECTOR PLUGINS"


class QueryAction(Enum):
    TERMINATE = "TERMINATE"
    PAUSE = "PAUSE"
    RESUME = "RESUME"


class ConnectorKind(Enum):
    SOURCE = "SOURCE"
    SINK = "SINK"


@dataclass(frozen=True)
class Properties(Mapping[str, Value]):
    """What is in WITH (...), in order. The keys are Names, to point at; words among them are in upper case."""

    pairs: tuple[tuple[Name, Value], ...] = ()

    def __getitem__(self, key: str) -> Value:
        for name, value in self.pairs:
            if name == key:
                return value
        raise KeyError(key)

    def __iter__(self) -> Iterator[Name]:
        return (name for name, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True, kw_only=True)
class Window:
    """Of a session, `size` is how long nothing may happen before it ends. None is ksqlDB's default."""

    kind: WindowKind
    size: timedelta
    advance: timedelta | None = None
    retention: timedelta | None = None
    grace: timedelta | None = None


@dataclass(frozen=True, kw_only=True)
class Within:
    """How much earlier or later than the left record the right one may be."""

    before: timedelta
    after: timedelta
    grace: timedelta | None = None


@dataclass(frozen=True, kw_only=True)
class Relation:
    """A stream or table in FROM or JOIN, and what it is called in the query."""

    name: Name
    alias: Name | None = None


@dataclass(frozen=True, kw_only=True)
class Join:
    kind: JoinKind
    right: Relation
    within: Within | None = None
    on: exp.Expr


@dataclass(frozen=True, kw_only=True)
class Projection:
    expression: exp.Expr
    alias: Name | None = None


@dataclass(frozen=True, kw_only=True)
class AllColumns:
    """`*`, or `source.*`."""

    source: Name | None = None


@dataclass(frozen=True, kw_only=True)
class AllFields:
    """`struct->*`."""

    struct: exp.Expr


SelectItem = Projection | AllColumns | AllFields


@dataclass(frozen=True, kw_only=True)
class Query:
    """A SELECT. `emit` tells what it is by itself: with it a push query, without it a pull query."""

    items: tuple[SelectItem, ...]
    source: Relation
    joins: tuple[Join, ...] = ()
    window: Window | None = None
    where: exp.Expr | None = None
    group_by: tuple[exp.Expr, ...] = ()
    partition_by: tuple[exp.Expr, ...] = ()
    having: exp.Expr | None = None
    emit: Emit | None = None
    limit: int | None = None

    @property
    def is_push(self) -> bool:
        return self.emit is not None


@dataclass(frozen=True, kw_only=True)
class ColumnDefinition:
    name: Name
    type: SqlType
    role: ColumnRole = ColumnRole.VALUE
    header: str | None = None


@dataclass(frozen=True, kw_only=True)
class Statement:
    """`origin` says where it was written; `SqlError(message, at)` points at the statement or at anything in it."""

    origin: Origin = field(repr=False, compare=False)

    @property
    def text(self) -> str:
        """As it was written, with its variables put in, without semicolon."""
        return self.origin.text


@dataclass(frozen=True, kw_only=True)
class CreateSource(Statement):
    """CREATE STREAM or TABLE over a topic. Without columns they are those of the registry's schema."""

    kind: SourceKind
    name: Name
    columns: tuple[ColumnDefinition, ...] = ()
    properties: Properties = Properties()
    or_replace: bool = False
    if_not_exists: bool = False
    is_source: bool = False
    """CREATE SOURCE TABLE or STREAM: it can only be read, and a table can be asked by pull queries at once."""


@dataclass(frozen=True, kw_only=True)
class CreateAsSelect(Statement):
    kind: SourceKind
    name: Name
    query: Query
    properties: Properties = Properties()
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class InsertIntoSelect(Statement):
    name: Name
    query: Query
    properties: Properties = Properties()


@dataclass(frozen=True, kw_only=True)
class InsertValues(Statement):
    """Without `columns` the values are for all columns, in order."""

    name: Name
    columns: tuple[Name, ...] = ()
    values: tuple[exp.Expr, ...]


@dataclass(frozen=True, kw_only=True)
class SelectStatement(Statement):
    """A query by itself: push if it emits, otherwise pull."""

    query: Query


@dataclass(frozen=True, kw_only=True)
class AddedColumn:
    name: Name
    type: SqlType


@dataclass(frozen=True, kw_only=True)
class AlterSource(Statement):
    kind: SourceKind
    name: Name
    added: tuple[AddedColumn, ...]


@dataclass(frozen=True, kw_only=True)
class DropSource(Statement):
    kind: SourceKind
    name: Name
    if_exists: bool = False
    delete_topic: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateType(Statement):
    name: Name
    type: SqlType
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class DropType(Statement):
    name: Name
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateConnector(Statement):
    kind: ConnectorKind
    name: Name
    properties: Properties
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class DropConnector(Statement):
    name: Name
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class Show(Statement):
    """SHOW or LIST."""

    what: Shown
    extended: bool = False


@dataclass(frozen=True, kw_only=True)
class Describe(Statement):
    name: Name
    extended: bool = False


@dataclass(frozen=True, kw_only=True)
class DescribeStreams(Statement):
    extended: bool = False


@dataclass(frozen=True, kw_only=True)
class DescribeTables(Statement):
    extended: bool = False


@dataclass(frozen=True, kw_only=True)
class DescribeFunction(Statement):
    name: Name


@dataclass(frozen=True, kw_only=True)
class DescribeConnector(Statement):
    name: Name


@dataclass(frozen=True, kw_only=True)
class Print(Statement):
    """`interval`: only each so many-th record is shown."""

    topic: Name
    from_beginning: bool = False
    interval: int | None = None
    limit: int | None = None


@dataclass(frozen=True, kw_only=True)
class ControlQuery(Statement):
    """TERMINATE, PAUSE or RESUME; without `query_id` ALL."""

    action: QueryAction
    query_id: Name | None


@dataclass(frozen=True, kw_only=True)
class Explain(Statement):
    """A running query by its id, or a statement that is not run for it."""

    query_id: Name | None = None
    statement: Statement | None = None


@dataclass(frozen=True, kw_only=True)
class SetProperty(Statement):
    name: Name
    value: str


@dataclass(frozen=True, kw_only=True)
class UnsetProperty(Statement):
    name: Name


@dataclass(frozen=True, kw_only=True)
class AlterSystem(Statement):
    name: Name
    value: str


@dataclass(frozen=True, kw_only=True)
class Define(Statement):
    name: Name
    value: str


@dataclass(frozen=True, kw_only=True)
class Undefine(Statement):
    name: Name


@dataclass(frozen=True, kw_only=True)
class RunScript(Statement):
    path: Name
