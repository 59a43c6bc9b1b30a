"""JOIN: of streams within a span of time, of a stream with a table, of tables by their keys or a foreign key."""

from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal

from sqlglot import exp

from stoker.streams.sql.errors import SqlError
from stoker.streams.sql.reading import KeyPart, Rows
from stoker.streams.sql.scope import Scope, Typing
from stoker.streams.sql.statements import Join, JoinKind

if TYPE_CHECKING:
    from stoker.streams.stream import Stream

DEFAULT_GRACE: Final = timedelta(hours=24)
"""ksqlDB's, where the statement says none."""
_KEY: Final = "`_key`"

How = Literal["inner", "left", "outer"]
_HOW: Final[dict[JoinKind, How]] = {
    JoinKind.INNER: "inner", JoinKind.LEFT: "left", JoinKind.RIGHT: "left", JoinKind.FULL: "outer",
}  # fmt: skip


class Joining:
    """One JOIN of a query. Every method raises SqlError, where."""

    def __init__(self, left: Rows, right: Rows, join: Join, scope: Scope, typing: Typing) -> None:
        self._left = left
        self._right = right
        self._join = join
        self._scope = scope
        self._refuse_windows()
        self._left_on, self._right_on = self._sides()
        kinds = typing.types(scope, [self._left_on, self._right_on])
        self._type = kinds[0]
        if kinds[0] != kinds[1]:
            raise SqlError(
                f"a join is of values of one type, and these are {kinds[0]} and {kinds[1]}: CAST one of them", join.on
            )

    def rows(self) -> Rows:
        if self._left.is_table and self._right.is_table:
            return self._tables()
        if self._left.is_table:
            raise SqlError("a table cannot be joined with a stream: put the stream first", self._join.right.name)
        return self._with_table() if self._right.is_table else self._streams()

    def _refuse_windows(self) -> None:
        if self._left.window is not None or self._right.window is not None:
            raise SqlError("what has windows cannot be joined: its key has the window in it", self._join.right.name)

    def _sides(self) -> tuple[exp.Expr, exp.Expr]:
        on = self._join.on
        while isinstance(on, exp.Paren):
            on = on.this
        if not isinstance(on, exp.EQ):
            raise SqlError("a join is ON left = right, one comparison of values that are equal", on)
        sides = [self._scope.resolved(each) for each in (on.this, on.expression)]
        mine = {each.column for each in self._left.fields}
        theirs = {each.column for each in self._right.fields}
        names = [{each.name for each in side.find_all(exp.Column)} for side in sides]
        if names[0] and names[1] and names[0] <= mine and names[1] <= theirs:
            return sides[0], sides[1]
        if names[0] and names[1] and names[0] <= theirs and names[1] <= mine:
            return sides[1], sides[0]
        raise SqlError("one side of ON must be of what is joined, the other of what is before it", on)

    # -- streams

    def _streams(self) -> Rows:
        join = self._join
        if join.within is None:
            raise SqlError(
                "a join of two streams needs WITHIN: for how long a record waits for its partner, as in WITHIN 5 MINUTES",
                join.right.name,
            )
        left = self._keyed(self._left, self._left_on)
        right = self._keyed(self._right, self._right_on)
        within = join.within
        span = (within.before, within.after)
        how = _HOW[join.kind]
        grace = within.grace if within.grace is not None else DEFAULT_GRACE if how == "inner" else timedelta(0)
        if join.kind is JoinKind.RIGHT:
            left, right, span = right, left, (within.after, within.before)
        made = left.join(right, within=span, grace=grace, how=how)
        return self._joined(made, _KEY, both=join.kind is not JoinKind.FULL)

    def _keyed(self, rows: Rows, on: exp.Expr) -> "Stream":
        if self._is_key(rows, on) and rows.is_keyed_by_text:
            return rows.stream
        return rows.stream.key_by(self._scope.text(on))

    # -- tables

    def _with_table(self) -> Rows:
        join, table = self._join, self._right
        if join.within is not None:
            raise SqlError(
                "a join with a table takes what the table has at that time: WITHIN is for two streams", join.right.name
            )
        if join.kind in (JoinKind.RIGHT, JoinKind.FULL):
            raise SqlError(
                "a join of a stream with a table is INNER or LEFT: rows of the table alone are no events",
                join.right.name,
            )
        self._need_primary_key(table)
        assert table.codec is not None
        stream = self._left.stream
        if not (self._is_key(self._left, self._left_on) and self._left.is_keyed_by_text and table.is_keyed_by_text):
            stream = stream.key_by(table.codec.write([self._scope.text(self._left_on)]))
        made = stream.join(table.table, how=_HOW[join.kind])
        return self._joined(made, table.codec.read()[0])

    def _tables(self) -> Rows:
        join, left, right = self._join, self._left, self._right
        if join.within is not None:
            raise SqlError("WITHIN is for two streams", join.right.name)
        how = _HOW[join.kind]
        if self._is_key(left, self._left_on) and self._is_key(right, self._right_on) and len(left.keys) == 1:
            self._need_same_keys()
            if join.kind is JoinKind.RIGHT:
                left, right = right, left
            made = left.table.join(right.table, how=how)
            return self._of_tables(made, both=True)
        self._need_primary_key(right)
        if how == "outer" or join.kind is JoinKind.RIGHT:
            raise SqlError("a join by a foreign key is INNER or LEFT", join.right.name)
        assert right.codec is not None
        made = left.table.join(right.table, on=right.codec.write([self._scope.text(self._left_on)]), how=how)
        return self._of_tables(made, both=False)

    def _of_tables(self, made: object, *, both: bool) -> Rows:
        """The key stays that of the left table, written as it was."""
        from stoker.streams.table import Table

        assert isinstance(made, Table)
        keys = self._left.keys
        if both:
            columns = (*keys[0].columns, *self._right.keys[0].columns)
            keys = (KeyPart(text=keys[0].text, type=keys[0].type, columns=columns),)
        return Rows(
            output=made,
            fields=(*self._left.fields, *self._right.fields),
            keys=keys,
            codec=self._left.codec,
            sources=(*self._left.sources, *self._right.sources),
        )

    def _need_primary_key(self, table: Rows) -> None:
        if not self._is_key(table, self._right_on) or len(table.keys) != 1:
            name = self._join.right.alias or self._join.right.name
            raise SqlError(f"a table is found by its PRIMARY KEY: one side of ON must be that of {name}", self._join.on)

    def _need_same_keys(self) -> None:
        left, right = self._left.codec, self._right.codec
        if left is not None and right is not None and (left.format, left.form) != (right.format, right.form):
            raise SqlError(
                f"the keys of these tables are written differently, {left.format} and {right.format}: make one of them anew "
                f"with KEY_FORMAT='{left.format}'",
                self._join.right.name,
            )

    # -- both

    def _is_key(self, rows: Rows, on: exp.Expr) -> bool:
        return isinstance(on, exp.Column) and len(rows.keys) == 1 and on.name in rows.keys[0].columns

    def _joined(self, made: "Stream", key: str, *, both: bool = True) -> Rows:
        on = [self._left_on, self._right_on] if both else [self._left_on]
        columns = tuple(each.name for each in on if isinstance(each, exp.Column))
        return Rows(
            output=made,
            fields=(*self._left.fields, *self._right.fields),
            keys=(KeyPart(text=key, type=self._type, columns=columns),),
            codec=None if key == _KEY else self._right.codec,
            sources=(*self._left.sources, *self._right.sources),
        )
