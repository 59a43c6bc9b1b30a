"""What a user has declared: immutable nodes, each of which knows only those it is made of.

Stream nodes give rows, table nodes give changes of rows by key, sinks take them. A node is the same as another only if it is
that very one; what two topologies have in common is found by `fingerprint.py`. Nothing here knows Spark.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from stoker.streams.durations import shown
from stoker.streams.expressions import Expression, text
from stoker.streams.windows import Window

How = Literal["inner", "left", "outer"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Node:
    """`parents` are what it is made of, in order."""

    @property
    def parents(self) -> "tuple[Node, ...]":
        return ()

    @property
    def store(self) -> str | None:
        """The name of its state, if it has one."""
        return None

    def describe(self) -> str:
        """A line for people: what it does."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamNode(Node):
    """Gives rows: the columns of the value, and `_key`, `_timestamp`, `_partition`, `_offset`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TableNode(Node):
    """Gives changes: for each key what its row is now, or that it is deleted."""

    @property
    def is_windowed(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True, eq=False)
class SinkNode(Node):
    """Takes what its parent gives. `name` tells it from the other sinks, also when the application is started again."""

    parent: Node
    name: str

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)


@dataclass(frozen=True, kw_only=True, slots=True)
class Format:
    """How keys or values are written in a topic: `form` is avro, json, protobuf, string or binary; None to be found out."""

    form: str | None = None
    schema: str | None = None
    """The type as Spark writes it (`struct<id: string>`), where no registry knows it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TopicSource(Node):
    """What streams and tables of a topic have in common."""

    topic: str
    key: Format = Format()
    value: Format = Format()
    timestamp: str | None = None
    """The field of the value that is the event time; None for the timestamp of the record."""
    starting: str = "earliest"
    on_error: str = "fail"
    """`fail`, `drop`, or `dead-letter`."""
    dead_letters: str | None = None
    headers: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamSource(TopicSource, StreamNode):
    written_by: "ToTopic | None" = None
    """The sink of the same application that writes the topic (`through`)."""

    def describe(self) -> str:
        return f"stream of topic {self.topic}"


@dataclass(frozen=True, kw_only=True, eq=False)
class TableSource(TopicSource, TableNode):
    is_global: bool = False
    name: str

    @property
    def store(self) -> str | None:
        return self.name

    def describe(self) -> str:
        return f"{'global ' if self.is_global else ''}table of topic {self.topic}, store {self.name}"


@dataclass(frozen=True, kw_only=True, eq=False)
class OneStream(StreamNode):
    """A stream made of one other."""

    parent: Node

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)


@dataclass(frozen=True, kw_only=True, eq=False)
class Filter(OneStream):
    condition: Expression
    is_negated: bool = False

    def describe(self) -> str:
        return f"filter {'not ' if self.is_negated else ''}{text(self.condition)}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Select(OneStream):
    """These columns and no others; by name where they have one, else as the text says (`a AS b`, `*`)."""

    columns: tuple[Expression, ...]
    named: Mapping[str, Expression] = field(default_factory=dict)

    def describe(self) -> str:
        parts = [text(each) for each in self.columns] + [f"{text(each)} AS {name}" for name, each in self.named.items()]
        return f"select {', '.join(parts)}"


@dataclass(frozen=True, kw_only=True, eq=False)
class FlatMap(OneStream):
    """A row for each element of an array, beside the columns that were there (`keep`), as column `name`, or as its fields."""

    array: Expression
    name: str | None
    keep: bool

    def describe(self) -> str:
        return f"flat map {text(self.array)}{f' AS {self.name}' if self.name else ''}"


@dataclass(frozen=True, kw_only=True, eq=False)
class MapRows(OneStream):
    """A Python function for each row: gives a row, several, or none."""

    function: Callable[[dict[str, Any]], Any]
    schema: str

    def describe(self) -> str:
        return f"map rows by {text(self.function)} to {self.schema}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Transform(OneStream):
    """A function of the DataFrame of each micro-batch."""

    function: Callable[[Any], Any]

    def describe(self) -> str:
        return f"transform by {text(self.function)}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Rekey(OneStream):
    key: Expression

    def describe(self) -> str:
        return f"key by {text(self.key)}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Peek(OneStream):
    function: Callable[[list[Any]], None]
    most: int

    def describe(self) -> str:
        return f"peek with {text(self.function)}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Merge(StreamNode):
    streams: tuple[Node, ...]

    @property
    def parents(self) -> tuple[Node, ...]:
        return self.streams

    def describe(self) -> str:
        return f"merge {len(self.streams)} streams"


@dataclass(frozen=True, kw_only=True, eq=False)
class ToStream(OneStream):
    """The changes of a table as rows; what is deleted is left out, or has nulls (`tombstones`)."""

    tombstones: bool = False

    def describe(self) -> str:
        return "changes of the table as a stream"


@dataclass(frozen=True, kw_only=True, eq=False)
class Deduplicate(OneStream):
    by: tuple[Expression, ...]
    within: int
    name: str

    @property
    def store(self) -> str | None:
        return self.name

    def describe(self) -> str:
        return f"deduplicate by {', '.join(map(text, self.by))} within {shown(self.within)}, store {self.name}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Process(OneStream):
    """A class of the user's, with state and timers for each key."""

    processor: type
    schema: str
    name: str

    @property
    def store(self) -> str | None:
        return self.name

    def describe(self) -> str:
        return f"process by {self.processor.__qualname__} to {self.schema}, store {self.name}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Late(OneStream):
    """The rows that came too late for `parent`, as they came to it."""

    def describe(self) -> str:
        return "late rows"


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamJoin(StreamNode):
    """Rows of both streams with the same key whose times are near: right from `before` earlier to `after` later."""

    left: Node
    right: Node
    how: How
    before: int
    after: int
    grace: int
    columns: tuple[str, ...] | None
    name: str

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def store(self) -> str | None:
        return self.name

    def describe(self) -> str:
        span = shown(self.after) if self.before == self.after else f"-{shown(self.before)} to +{shown(self.after)}"
        return f"{self.how} join of streams within {span}, grace {shown(self.grace)}, store {self.name}"


@dataclass(frozen=True, kw_only=True, eq=False)
class TableLookup(StreamNode):
    """Each row of a stream with the row that a table has for its key, or for `key`, at that time."""

    left: Node
    right: Node
    how: How
    key: Expression | None
    columns: tuple[str, ...] | None

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def describe(self) -> str:
        by = "" if self.key is None else f" by {text(self.key)}"
        return f"{self.how} join with the table{by}"


# -- tables -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Fold:
    """A Python function that takes the rows of a key one after the other, in order."""

    initial: Any
    """The first state, or a function that makes it; None to begin with the first row itself."""
    step: Callable[..., Any]
    schema: str | None
    merge: Callable[..., Any] | None = None
    """Of two states, for sessions that become one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Aggregate(TableNode):
    """One row for each key, or for each key and window."""

    parent: Node
    keys: tuple[Expression, ...] | None
    """What to group by; None for the key that the rows have."""
    window: Window | None
    aggregates: Mapping[str, str]
    """Spark SQL with aggregate functions, by the name of the column."""
    fold: Fold | None
    name: str

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def store(self) -> str | None:
        return self.name

    @property
    def is_windowed(self) -> bool:
        return self.window is not None

    def describe(self) -> str:
        by = "key" if self.keys is None else ", ".join(map(text, self.keys))
        what = ", ".join(f"{each} AS {name}" for name, each in self.aggregates.items())
        if self.fold is not None:
            what = f"fold by {text(self.fold.step)}"
        window = f", {self.window}" if self.window is not None else ""
        return f"aggregate {what} by {by}{window}, store {self.name}"


@dataclass(frozen=True, kw_only=True, eq=False)
class ToTable(TableNode):
    """The latest row of each key of a stream."""

    parent: Node
    name: str

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def store(self) -> str | None:
        return self.name

    def describe(self) -> str:
        return f"the latest row of each key, store {self.name}"


@dataclass(frozen=True, kw_only=True, eq=False)
class OneTable(TableNode):
    """A table made of one other."""

    parent: Node

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def is_windowed(self) -> bool:
        return isinstance(self.parent, TableNode) and self.parent.is_windowed


@dataclass(frozen=True, kw_only=True, eq=False)
class TableFilter(OneTable):
    condition: Expression

    def describe(self) -> str:
        return f"filter {text(self.condition)}"


@dataclass(frozen=True, kw_only=True, eq=False)
class TableSelect(OneTable):
    columns: tuple[Expression, ...]
    named: Mapping[str, Expression] = field(default_factory=dict)

    def describe(self) -> str:
        parts = [text(each) for each in self.columns] + [f"{text(each)} AS {name}" for name, each in self.named.items()]
        return f"select {', '.join(parts)}"


@dataclass(frozen=True, kw_only=True, eq=False)
class TableAggregate(OneTable):
    """The rows of a table grouped by something else: a row that changes leaves its old group and enters its new one."""

    keys: tuple[Expression, ...]
    aggregates: Mapping[str, str]
    name: str

    @property
    def store(self) -> str | None:
        return self.name

    @property
    def is_windowed(self) -> bool:
        return False

    def describe(self) -> str:
        what = ", ".join(f"{each} AS {name}" for name, each in self.aggregates.items())
        return f"aggregate table {what} by {', '.join(map(text, self.keys))}, store {self.name}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Suppress(OneTable):
    """Each window once, when it is closed."""

    name: str

    def describe(self) -> str:
        return "suppress until the window closes"


@dataclass(frozen=True, kw_only=True, eq=False)
class TableJoin(TableNode):
    """Rows of two tables with the same key; or, by `foreign_key` of the left, with that key of the right."""

    left: Node
    right: Node
    how: How
    foreign_key: Expression | None
    columns: tuple[str, ...] | None
    name: str

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def store(self) -> str | None:
        return self.name

    def describe(self) -> str:
        by = "" if self.foreign_key is None else f" by {text(self.foreign_key)}"
        return f"{self.how} join of tables{by}, store {self.name}"


# -- sinks ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class ToTopic(SinkNode):
    topic: str
    key: Format = Format()
    value: Format = Format()
    key_expression: Expression | None = None
    headers: Expression | None = None
    partitions: int | None = None
    windowed_key: bool = False
    configs: Mapping[str, str] = field(default_factory=dict)
    """Of the topic, if it has to be made."""
    options: Mapping[str, str] = field(default_factory=dict)

    def describe(self) -> str:
        return f"to topic {self.topic}"


@dataclass(frozen=True, kw_only=True, eq=False)
class ToParquet(SinkNode):
    path: str
    partition_by: tuple[str, ...]

    def describe(self) -> str:
        by = f" by {'/'.join(self.partition_by)}" if self.partition_by else ""
        return f"to Parquet {self.path}{by}"


@dataclass(frozen=True, kw_only=True, eq=False)
class ForEachBatch(SinkNode):
    function: Callable[[Any, int], None]

    def describe(self) -> str:
        return f"for each batch {text(self.function)}"


def in_order(sinks: list[Node]) -> list[Node]:
    """All nodes that the sinks are made of, each after its parents."""
    seen: dict[Node, None] = {}

    def visit(node: Node) -> None:
        if node not in seen:
            for parent in node.parents:
                visit(parent)
            seen[node] = None

    for sink in sinks:
        visit(sink)
    return list(seen)


def windowed_by(node: Node) -> Aggregate | None:
    """The node that has made the windows of a table, if it has any."""
    while isinstance(node, OneTable) and not isinstance(node, TableAggregate):
        node = node.parent
    return node if isinstance(node, Aggregate) and node.is_windowed else None


def sources(nodes: list[Node]) -> Iterator[TopicSource]:
    for node in nodes:
        if isinstance(node, TopicSource):
            yield node
