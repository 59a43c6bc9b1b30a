"""Tables as a user declares them: the latest row of each key."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stoker.streams import nodes
from stoker.streams.errors import InvalidTopology
from stoker.streams.expressions import Expression
from stoker.streams.nodes import How
from stoker.streams.output import Output

if TYPE_CHECKING:
    from stoker.streams.grouped import GroupedTable
    from stoker.streams.stream import Stream


class GlobalTable(Output):
    """A table that every row of a stream may look into, by whatever it has (`join(..., on=...)`)."""


class Table(Output):
    """One row for each key, or key and window; it changes with the records that come, and a null deletes."""

    def filter(self, condition: Expression) -> "Table":
        """The rows that meet the condition; one that no longer does is deleted."""
        return self._table(nodes.TableFilter(parent=self._node, condition=condition))

    def select(self, *columns: Expression, **named: Expression) -> "Table":
        """These columns of the rows and no others."""
        if not columns and not named:
            raise InvalidTopology("select() without a column: name those that are to stay, or '*'")
        return self._table(nodes.TableSelect(parent=self._node, columns=columns, named=named))

    def with_columns(self, **named: Expression) -> "Table":
        """All columns, and these beside or in place of them."""
        return self._table(nodes.TableSelect(parent=self._node, columns=("*",), named=named))

    def group_by(self, *keys: Expression) -> "GroupedTable":
        """To be aggregated by something else than the key."""
        from stoker.streams.grouped import GroupedTable

        if not keys:
            raise InvalidTopology("group_by() without a column: name what to group by")
        return GroupedTable(self._application, self._node, keys)

    def join(
        self,
        other: "Table",
        *,
        on: Expression | None = None,
        columns: Sequence[str] | None = None,
        how: How = "inner",
    ) -> "Table":
        """Rows of both tables with the same key; or, with `on`, a foreign key: the row of the other that it names."""
        if not isinstance(other, Table):
            raise InvalidTopology(
                f"a table can be joined with a table, not with {type(other).__name__}; streams join tables"
            )
        if on is not None and how == "outer":
            raise InvalidTopology("a join by a foreign key is inner or left")
        node = nodes.TableJoin(
            left=self._node,
            right=other._node,
            how=how,
            foreign_key=on,
            columns=None if columns is None else tuple(columns),
            name=self._application.store_name("join"),
        )
        return self._table(node)

    def left_join(
        self, other: "Table", *, on: Expression | None = None, columns: Sequence[str] | None = None
    ) -> "Table":
        """As `join`, with rows that have no partner too."""
        return self.join(other, on=on, columns=columns, how="left")

    def outer_join(self, other: "Table", *, columns: Sequence[str] | None = None) -> "Table":
        """As `left_join`, with rows of the other table that have no partner too."""
        return self.join(other, columns=columns, how="outer")

    def suppress(self) -> "Table":
        """Each window once, as it is for good: when stream time has passed its end and its grace."""
        if nodes.windowed_by(self._node) is None:
            raise InvalidTopology("suppress waits until a window closes: this table has no windows")
        return self._table(nodes.Suppress(parent=self._node, name=self._application.store_name("suppress")))

    def late(self) -> "Stream":
        """The rows that came too late for their window, as they came; of several windows, too late for each of them."""
        from stoker.streams.stream import Stream

        aggregate = nodes.windowed_by(self._node)
        if aggregate is None:
            raise InvalidTopology("nothing can be late for a table without windows")
        return Stream(self._application, nodes.Late(parent=aggregate))

    def to_stream(self, *, tombstones: bool = False) -> "Stream":
        """Its changes, each as a row; windows as `window_start` and `window_end`."""
        from stoker.streams.stream import Stream

        return Stream(self._application, nodes.ToStream(parent=self._node, tombstones=tombstones))

    def _table(self, node: nodes.Node) -> "Table":
        return Table(self._application, node)
