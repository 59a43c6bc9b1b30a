"""Streams as a user declares them: each method gives a new one."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stoker.streams import nodes
from stoker.streams.durations import Duration, milliseconds
from stoker.streams.errors import InvalidTopology
from stoker.streams.expressions import Expression
from stoker.streams.nodes import How
from stoker.streams.output import Output

if TYPE_CHECKING:
    from stoker.streams.grouped import GroupedStream
    from stoker.streams.table import GlobalTable, Table


class Stream(Output):
    """Records one after the other: each is an event of its own.

    Columns are the fields of the value; `_key`, `_timestamp`, `_partition` and `_offset` are those of the record. Expressions are
    Spark SQL (`"total > 1000"`), Columns, or functions of the row (`lambda row: row.total > 1000`).
    """

    # -- rows

    def filter(self, condition: Expression) -> "Stream":
        """The rows that meet the condition."""
        return self._stream(nodes.Filter(parent=self._node, condition=condition))

    def filter_not(self, condition: Expression) -> "Stream":
        """The rows that do not: those that `filter` leaves out, also where the condition is null."""
        return self._stream(nodes.Filter(parent=self._node, condition=condition, is_negated=True))

    def select(self, *columns: Expression, **named: Expression) -> "Stream":
        """These columns and no others: `select("order_id", "total * 1.2 AS gross")`, `select(gross="total * 1.2")`."""
        if not columns and not named:
            raise InvalidTopology("select() without a column: name those that are to stay, or '*'")
        return self._stream(nodes.Select(parent=self._node, columns=columns, named=named))

    def with_columns(self, **named: Expression) -> "Stream":
        """All columns, and these beside or in place of them."""
        return self._stream(nodes.Select(parent=self._node, columns=("*",), named=named))

    def flat_map(self, array: Expression, name: str | None = None, *, keep: bool = False) -> "Stream":
        """A row for each element of an array: as the column `name`, or, of an array of structs, with its fields as columns.

        With `keep` the columns that were there stay beside it.
        """
        return self._stream(nodes.FlatMap(parent=self._node, array=array, name=name, keep=keep))

    def map(self, function: Callable[[dict[str, Any]], Any], schema: str) -> "Stream":
        """A Python function for each row, given as a dict: it gives a dict, several of them, or None.

        `schema` are the columns of the result: `"order_id string, total double"`. Expressions are many times as fast.
        """
        return self._stream(nodes.MapRows(parent=self._node, function=function, schema=schema))

    def transform(self, function: Callable[[Any], Any]) -> "Stream":
        """A function of the DataFrame of each micro-batch, which must keep the columns that begin with `_`."""
        return self._stream(nodes.Transform(parent=self._node, function=function))

    def peek(self, function: Callable[[list[dict[str, Any]]], None] = print, *, most: int = 20) -> "Stream":
        """Call the function with the first rows of each micro-batch, and go on."""
        return self._stream(nodes.Peek(parent=self._node, function=function, most=most))

    def merge(self, *others: "Stream") -> "Stream":
        """The rows of all these streams, which must have the same columns."""
        return self._stream(nodes.Merge(streams=(self._node, *[each._node for each in others])))

    def split(
        self, branches: Mapping[str, Expression], *, default: str | None = None, prefix: str = ""
    ) -> "dict[str, Stream]":
        """Each row to the first branch whose condition it meets; the others to `default`, if there is one."""
        made: dict[str, Stream] = {}
        rest: Stream = self
        for name, condition in branches.items():
            made[f"{prefix}{name}"] = rest.filter(condition)
            rest = rest.filter_not(condition)
        if default is not None:
            made[f"{prefix}{default}"] = rest
        return made

    # -- keys

    def key_by(self, key: Expression) -> "Stream":
        """The rows with another key."""
        return self._stream(nodes.Rekey(parent=self._node, key=key))

    def group_by_key(self) -> "GroupedStream":
        """To be aggregated by the key that the rows have."""
        from stoker.streams.grouped import GroupedStream

        return GroupedStream(self._application, self._node, None)

    def group_by(self, *keys: Expression) -> "GroupedStream":
        """To be aggregated by one or several expressions, which become the key."""
        from stoker.streams.grouped import GroupedStream

        if not keys:
            raise InvalidTopology("group_by() without a column: name what to group by, or use group_by_key()")
        return GroupedStream(self._application, self._node, keys)

    def to_table(self, *, store: str | None = None) -> "Table":
        """The latest row of each key."""
        from stoker.streams.table import Table

        name = self._application.store_name("table", store)
        return Table(self._application, nodes.ToTable(parent=self._node, name=name))

    # -- joins

    def join(
        self,
        other: "Stream | Table | GlobalTable",
        *,
        within: Duration | tuple[Duration, Duration] | None = None,
        grace: Duration = "0s",
        on: Expression | None = None,
        columns: Sequence[str] | None = None,
        how: How = "inner",
    ) -> "Stream":
        """With another stream: rows of the same key whose times are at most `within` apart, (before, after) if given as two.

        With a table: each row with what the table has for its key at that time. With a global table: for `on`. The columns
        are those of both, `right_` before names that are on both sides; `columns=["left.*", "right.name"]` chooses.
        """
        from stoker.streams.table import GlobalTable, Table

        chosen = None if columns is None else tuple(columns)
        if isinstance(other, Stream):
            if within is None or on is not None:
                raise InvalidTopology(
                    "a join of two streams needs within=...: for how long a row waits for its partner; it is by the key of "
                    "both (key_by sets it), so on=... is not for it"
                )
            before, after = within if isinstance(within, tuple) else (within, within)
            node = nodes.StreamJoin(
                left=self._node,
                right=other._node,
                how=how,
                before=milliseconds("within", before),
                after=milliseconds("within", after),
                grace=milliseconds("grace", grace),
                columns=chosen,
                name=self._application.store_name("join"),
            )
            return self._stream(node)
        if not isinstance(other, Table | GlobalTable):
            raise InvalidTopology(f"a stream can be joined with a stream or a table, not with {type(other).__name__}")
        if within is not None:
            raise InvalidTopology(
                "a join with a table takes what the table has at that time: within=... is for two streams"
            )
        if how == "outer":
            raise InvalidTopology(
                "a join of a stream with a table is inner or left: rows of the table alone are no events"
            )
        if isinstance(other, GlobalTable) and on is None:
            raise InvalidTopology("a join with a global table needs on=...: the key to look for, such as on='region'")
        if isinstance(other, Table) and on is not None:
            raise InvalidTopology(
                "a join with a table is by the key of the stream: use key_by(...) first, or a global_table, which takes on=..."
            )
        return self._stream(nodes.TableLookup(left=self._node, right=other._node, how=how, key=on, columns=chosen))

    def left_join(self, other: "Stream | Table | GlobalTable", **arguments: Any) -> "Stream":
        """As `join`, with rows that have no partner too: with nulls, in a join of streams when none can come any more."""
        return self.join(other, how="left", **arguments)

    def outer_join(self, other: "Stream", **arguments: Any) -> "Stream":
        """As `left_join`, with rows of the other stream that have no partner too."""
        return self.join(other, how="outer", **arguments)

    # -- state

    def deduplicate(self, *by: Expression, within: Duration, store: str | None = None) -> "Stream":
        """Of rows for which `by` is the same, by default the key, and whose times are less than `within` apart, the first."""
        node = nodes.Deduplicate(
            parent=self._node,
            by=by or ("_key",),
            within=milliseconds("within", within, lowest=1),
            name=self._application.store_name("deduplicate", store),
        )
        return self._stream(node)

    def process(self, processor: type, schema: str, *, store: str | None = None) -> "Stream":
        """A `Processor` of your own, with state and timers for each key; `schema` are the columns it hands on."""
        from stoker.streams.processor import Processor

        if not (isinstance(processor, type) and issubclass(processor, Processor)):
            raise InvalidTopology(f"process takes a class that is a stoker.streams.Processor, not {processor!r}")
        name = self._application.store_name("process", store)
        return self._stream(nodes.Process(parent=self._node, processor=processor, schema=schema, name=name))

    # -- topics

    def through(self, topic: str, **arguments: Any) -> "Stream":
        """Write to a topic, and go on with what is read from it."""
        sink = self.to(topic, **arguments)
        return self._application.stream_like(sink, self)

    def repartition(self, name: str, *, partitions: int | None = None) -> "Stream":
        """Through the internal topic `<application>-<name>-repartition`: by its new key, in that many partitions."""
        return self.through(f"{self._application.name}-{name}-repartition", partitions=partitions)

    def _stream(self, node: nodes.Node) -> "Stream":
        return Stream(self._application, node)
