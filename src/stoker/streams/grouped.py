"""Streams and tables that are to be aggregated."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stoker.streams import nodes
from stoker.streams.aggregates import aggregation
from stoker.streams.errors import InvalidTopology
from stoker.streams.expressions import Expression
from stoker.streams.windows import HoppingWindow, SessionWindow, SlidingWindow, Window

if TYPE_CHECKING:
    from stoker.streams.application import Streams
    from stoker.streams.table import Table


class GroupedStream:
    """Rows by key, and by window if `window` was called."""

    def __init__(
        self,
        application: "Streams",
        node: nodes.Node,
        keys: tuple[Expression, ...] | None,
        window: Window | None = None,
    ) -> None:
        self._application = application
        self._node = node
        self._keys = keys
        self._window = window

    def window(self, window: Window) -> "GroupedStream":
        """By window too: `tumbling`, `hopping`, `sliding` or `session`, of `stoker.streams`."""
        if not isinstance(window, HoppingWindow | SlidingWindow | SessionWindow):
            raise InvalidTopology(
                f"window takes tumbling(...), hopping(...), sliding(...) or session(...), not {window!r}"
            )
        return GroupedStream(self._application, self._node, self._keys, window)

    def count(self, *, name: str = "count", store: str | None = None) -> "Table":
        """How many rows."""
        return self._aggregated({name: "count(*)"}, None, store, "count")

    def sum(self, column: str, *, name: str | None = None, store: str | None = None) -> "Table":
        """The sum of a column, as `sum_<column>` if it is given no name."""
        return self._of_column("sum", column, name, store)

    def min(self, column: str, *, name: str | None = None, store: str | None = None) -> "Table":
        """The smallest value of a column."""
        return self._of_column("min", column, name, store)

    def max(self, column: str, *, name: str | None = None, store: str | None = None) -> "Table":
        """The largest value of a column."""
        return self._of_column("max", column, name, store)

    def avg(self, column: str, *, name: str | None = None, store: str | None = None) -> "Table":
        """The mean of a column."""
        return self._of_column("avg", column, name, store)

    def aggregate(
        self,
        initial: Any = None,
        step: Callable[[Any, dict[str, Any], Any], Any] | None = None,
        schema: str | None = None,
        *,
        store: str | None = None,
        **aggregates: str,
    ) -> "Table":
        """By SQL: `aggregate(revenue="sum(total)", orders="count(*)", mean="sum(total) / count(*)")`.

        Or by Python, a row at a time: `aggregate(0.0, lambda key, row, total: total + row["total"], "double")`, where `initial`
        is the first state of each key, or a function that makes it, and `schema` its type. A state of None deletes the row; the
        next row begins anew. Of tumbling and hopping windows alone.
        """
        if step is None:
            if not aggregates or initial is not None:
                raise InvalidTopology(
                    'aggregate takes SQL by name (revenue="sum(total)"), or an initial state, a Python function and a schema'
                )
            return self._aggregated(aggregates, None, store, "aggregate")
        if schema is None or aggregates:
            raise InvalidTopology(
                'aggregate by a Python function needs the type of its state, such as "total double, orders bigint"'
            )
        return self._aggregated({}, nodes.Fold(initial=initial, step=step, schema=schema), store, "aggregate")

    def reduce(
        self, step: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any] | None], *, store: str | None = None
    ) -> "Table":
        """By Python: the row so far and the next one give the row so far. Of tumbling and hopping windows alone."""
        return self._aggregated({}, nodes.Fold(initial=None, step=step, schema=None), store, "reduce")

    def _of_column(self, function: str, column: str, name: str | None, store: str | None) -> "Table":
        called = name or (f"{function}_{column}" if column.isidentifier() else function)
        return self._aggregated({called: f"{function}({column})"}, None, store, function)

    def _aggregated(self, aggregates: dict[str, str], fold: nodes.Fold | None, store: str | None, kind: str) -> "Table":
        from stoker.streams.table import Table

        if fold is None:
            aggregation(aggregates)  # which refuses what cannot be
        elif isinstance(self._window, SlidingWindow | SessionWindow):
            raise InvalidTopology(
                f"{kind} by a Python function cannot be over windows that are {self._window}: use SQL aggregates (sum, count, latest, "
                "collect_list ...), or a Processor"
            )
        node = nodes.Aggregate(
            parent=self._node,
            keys=self._keys,
            window=self._window,
            aggregates=aggregates,
            fold=fold,
            name=self._application.store_name(kind, store),
        )
        return Table(self._application, node)


class GroupedTable:
    """Rows of a table by something else than their key."""

    def __init__(self, application: "Streams", node: nodes.Node, keys: tuple[Expression, ...]) -> None:
        self._application = application
        self._node = node
        self._keys = keys

    def count(self, *, name: str = "count", store: str | None = None) -> "Table":
        """How many rows are in a group now."""
        return self.aggregate(store=store, **{name: "count(*)"})

    def sum(self, column: str, *, name: str | None = None, store: str | None = None) -> "Table":
        """The sum of a column over the rows that are in a group now."""
        return self.aggregate(store=store, **{name or f"sum_{column}": f"sum({column})"})

    def aggregate(self, *, store: str | None = None, **aggregates: str) -> "Table":
        """By SQL; count, sum and avg alone, since a row that changes has to be taken out again."""
        from stoker.streams.table import Table

        aggregation(aggregates, subtractable=True)
        name = self._application.store_name("aggregate", store)
        node = nodes.TableAggregate(parent=self._node, keys=self._keys, aggregates=aggregates, name=name)
        return Table(self._application, node)
