"""GROUP BY: aggregates that are kept in a store, by key and window, under the names that the statement gives them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from stoker.streams.errors import InvalidTopology
from stoker.streams.sql.calls import FunctionKind
from stoker.streams.sql.catalogue import WindowedBy
from stoker.streams.sql.conversion import quoted_name
from stoker.streams.sql.errors import SqlError, alternatives
from stoker.streams.sql.joins import DEFAULT_GRACE
from stoker.streams.sql.projection import Item, ResultColumn
from stoker.streams.sql.reading import ROWTIME, KeyPart, Rows
from stoker.streams.sql.scope import Field, Scope, Typing, calls
from stoker.streams.sql.statements import Emit, Query, Window, WindowKind
from stoker.streams.sql.types import BIGINT, SqlType
from stoker.streams.windows import HoppingWindow, SessionWindow, hopping, session, tumbling

if TYPE_CHECKING:
    from stoker.streams.stream import Stream
    from stoker.streams.table import Table

HAVING: Final = "KSQL_HAVING"
"""A column of the store: whether a row meets the condition of HAVING."""
_WINDOW: Final = {"WINDOWSTART": "unix_millis(`window_start`)", "WINDOWEND": "unix_millis(`window_end`)"}
_TIMES: Final = {**_WINDOW, "ROWTIME": ROWTIME}


@dataclass(frozen=True, kw_only=True)
class Aggregated:
    """The result of GROUP BY: `output` has the columns of the result, `_key` the key; of windows it is the stream of changes."""

    output: "Stream | Table"
    columns: tuple[ResultColumn, ...]
    keys: tuple[KeyPart, ...]
    """One for each expression of GROUP BY; `columns` is the name that the result has for it, if any."""
    window: WindowedBy | None
    store: str
    times: dict[str, str]
    """By name, columns that are times of the window, or the time of the row: WINDOWSTART, WINDOWEND, ROWTIME."""
    has_having: bool


class Grouping:
    """Raises SqlError, where."""

    def __init__(
        self, rows: Rows, query: Query, items: list[Item], scope: Scope, typing: Typing, *, store: str | None
    ) -> None:
        self._rows = rows
        self._query = query
        self._items = items
        self._scope = scope
        self._typing = typing
        self._store = store
        self._by = [scope.resolved(each) for each in query.group_by]
        self._arguments: list[exp.Expr] = []
        self._key_types = typing.types(scope, self._by)

    def aggregated(self) -> Aggregated:
        keys: dict[str, int] = {}
        times: dict[str, str] = {}
        values: dict[str, Item] = {}
        for item in self._items:
            if item.expression in self._by and self._by.index(item.expression) not in keys.values():
                keys[item.name] = self._by.index(item.expression)
            elif (time := self._time(item)) is not None:
                times[item.name] = time
            else:
                values[item.name] = item
        having = None if self._query.having is None else self._scope.resolved(self._query.having)
        inner = {name: self._inner(item.expression, item) for name, item in values.items()}
        if having is not None:
            inner[HAVING] = self._inner(having, Item(name=HAVING, expression=having, at=self._query.having))
        if not inner:
            inner["KSQL_ROWS"] = exp.Anonymous(this="COUNT", expressions=[exp.Star()])
        table, window = self._table(inner)
        types = self._typing.types(self._inner_scope, list(inner.values()))
        known = {**dict(zip(inner, types, strict=True)), **dict.fromkeys(times, BIGINT)}
        known |= {name: self._key_types[number] for name, number in keys.items()}
        return self._result(table, window, keys, times, known)

    # -- the aggregation

    def _inner(self, expression: exp.Expr, item: Item) -> exp.Expr:
        """With columns of their own for what is aggregated, and keys as aggregates: they are the same for all rows of a key."""
        if list(calls(expression, FunctionKind.TABLE)):
            raise SqlError("EXPLODE cannot be beside GROUP BY: explode into a stream of its own first", item.at)

        def replaced(node: exp.Expr) -> exp.Expr:
            if node in self._by:
                return exp.Anonymous(this="MAX", expressions=[self._key_column(self._by.index(node))])
            if isinstance(node, exp.Anonymous) and node in aggregates:
                arguments = [each if _is_written_out(each) else self._argument(each) for each in node.expressions]
                made = exp.Anonymous(this=node.this, expressions=arguments)
                made.meta.update(node.meta)
                return made
            if isinstance(node, exp.Column):
                name = next((each.name for each in self._scope.fields if each.column == node.name), node.name)
                if name in _TIMES:
                    raise SqlError(
                        f"{name} cannot be beside other things in an expression here: select it as a column of its own",
                        node,
                    )
                raise SqlError(
                    f"{name} is neither aggregated nor in GROUP BY: what is it to be for the many rows of a key? "
                    f"LATEST_BY_OFFSET({name}) is the last one",
                    node,
                )
            return node

        aggregates = list(calls(expression, FunctionKind.AGGREGATE))
        return _top_down(expression, replaced)

    def _argument(self, expression: exp.Expr) -> exp.Expr:
        if expression not in self._arguments:
            if list(calls(expression, FunctionKind.AGGREGATE)):
                raise SqlError("an aggregate cannot be of another one", expression)
            self._arguments.append(expression)
        return _column(f"ARGUMENT_{self._arguments.index(expression)}")

    def _key_column(self, number: int) -> exp.Expr:
        return _column(f"GROUP_{number}")

    @property
    def _inner_scope(self) -> Scope:
        types = self._typing.types(self._scope, self._arguments)
        fields = [_field(f"GROUP_{number}", kind) for number, kind in enumerate(self._key_types)]
        fields += [_field(f"ARGUMENT_{number}", kind) for number, kind in enumerate(types)]
        return self._scope.replaced_by(fields)

    def _table(self, inner: dict[str, exp.Expr]) -> "tuple[Table, WindowedBy | None]":
        named: dict[str, Any] = {f"GROUP_{number}": self._scope.text(each) for number, each in enumerate(self._by)}
        named |= {f"ARGUMENT_{number}": self._scope.text(each) for number, each in enumerate(self._arguments)}
        scope = self._inner_scope
        aggregates: dict[str, Any] = {name: scope.text(each, for_streams=True) for name, each in inner.items()}
        by = [quoted_name(f"GROUP_{number}") for number in range(len(self._by))]
        try:
            if self._rows.is_table:
                if self._query.window is not None:
                    raise SqlError("windows are for streams: a table has one row for each key", self._query.source.name)
                return self._rows.table.select(**named).group_by(*by).aggregate(store=self._store, **aggregates), None
            grouped = self._rows.stream.select(**named).group_by(*by)
            if self._query.window is None:
                if self._query.emit is Emit.FINAL:
                    raise SqlError(
                        "EMIT FINAL waits until a window closes: there is no WINDOW here", self._query.source.name
                    )
                return grouped.aggregate(store=self._store, **aggregates), None
            window = window_of(self._query.window)
            table = grouped.window(window).aggregate(store=self._store, **aggregates)
            size = window.size if isinstance(window, HoppingWindow) else None
            return table, WindowedBy(kind=self._query.window.kind, size=size)
        except InvalidTopology as error:
            raise SqlError(str(error), self._items[0].at if self._items else None) from error

    # -- the result

    def _time(self, item: Item) -> str | None:
        """If it is a time of the window or of the row: which."""
        if not isinstance(item.expression, exp.Column):
            return None
        field = next((each for each in self._scope.fields if each.column == item.expression.name), None)
        if field is None or field.name not in _TIMES or field.column != field.name:
            return None
        return field.name

    def _result(
        self,
        table: "Table",
        window: WindowedBy | None,
        keys: dict[str, int],
        times: dict[str, str],
        types: dict[str, SqlType],
    ) -> Aggregated:
        store = table.node.store
        assert store is not None
        if HAVING in types:
            table = table.filter(quoted_name(HAVING))
        if self._query.emit is Emit.FINAL:
            table = table.suppress()
        parts = [
            KeyPart(
                text="`_key`" if len(self._by) == 1 else f"`_key`.{quoted_name(f'GROUP_{number}')}",
                type=self._key_types[number],
                columns=tuple(name for name, each in keys.items() if each == number),
            )
            for number in range(len(self._by))
        ]
        named: dict[str, Any] = {}
        for item in self._items:
            if item.name in keys:
                named[item.name] = parts[keys[item.name]].text
            else:
                named[item.name] = _TIMES[times[item.name]] if item.name in times else quoted_name(item.name)
        output: Stream | Table = table.select(**named) if window is None else _with_window(table, named)
        columns = [
            ResultColumn(name=item.name, type=types[item.name], is_key=item.name in keys) for item in self._items
        ]
        return Aggregated(
            output=output,
            columns=tuple(columns),
            keys=tuple(parts),
            window=window,
            store=store,
            times=times,
            has_having=HAVING in types,
        )


def _with_window(table: "Table", named: dict[str, Any]) -> "Stream":
    """The start and end of the window stay beside the key, as long as it is not written."""
    changes = table.to_stream(tombstones=True)
    return changes.select(**named, KSQL_WINDOW_START=_WINDOW["WINDOWSTART"], KSQL_WINDOW_END=_WINDOW["WINDOWEND"])


def window_of(window: Window) -> HoppingWindow | SessionWindow:
    """As `stoker.streams` has it. ksqlDB's grace is a day where the statement says none."""
    grace = DEFAULT_GRACE if window.grace is None else window.grace
    match window.kind:
        case WindowKind.TUMBLING:
            return tumbling(window.size, grace=grace)
        case WindowKind.HOPPING:
            return hopping(window.size, window.advance or timedelta(0), grace=grace)
    return session(window.size, grace=grace)


def window_fields(rows: Rows, query: Query) -> Rows:
    """With WINDOWSTART and WINDOWEND to be named, where the query makes windows; and ROWTIME."""
    wanted = ["ROWTIME"] if query.group_by else []
    if query.window is not None:
        wanted += ["WINDOWSTART", "WINDOWEND"]
    have = {each.column for each in rows.fields}
    added = tuple(_field(name, BIGINT) for name in wanted if name not in have)
    return replace(rows, fields=(*rows.fields, *added))


def refuse_aggregates(expression: exp.Expr, where: str) -> None:
    found = [each.name for each in calls(expression, FunctionKind.AGGREGATE)]
    if found:
        raise SqlError(f"{alternatives(found)} cannot be in {where}: GROUP BY says of which rows it is", expression)


def _top_down(expression: exp.Expr, replace_: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """As `transform`, but what was replaced is left alone."""
    made = replace_(expression)
    if made is not expression:
        return made
    copied = expression.copy()
    for key, value in expression.args.items():
        if isinstance(value, exp.Expr):
            copied.set(key, _top_down(value, replace_))
        elif isinstance(value, list):
            copied.set(key, [_top_down(each, replace_) if isinstance(each, exp.Expr) else each for each in value])
    return copied


def _is_written_out(expression: exp.Expr) -> bool:
    return isinstance(expression, exp.Literal | exp.Star | exp.Boolean)


def _column(name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True))


def _field(name: str, kind: SqlType) -> Field:
    return Field(relation="", name=name, column=name, type=kind)
