"""A SELECT as nodes of an application: sources, joins, WHERE, GROUP BY or PARTITION BY, and the columns of the result."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from stoker.streams.sql.calls import FunctionKind
from stoker.streams.sql.catalogue import Catalogue, WindowedBy
from stoker.streams.sql.conversion import quoted_name
from stoker.streams.sql.errors import SqlError
from stoker.streams.sql.grouping import Aggregated, Grouping, refuse_aggregates, window_fields
from stoker.streams.sql.joins import Joining
from stoker.streams.sql.projection import Item, ResultColumn, items_of
from stoker.streams.sql.reading import ROWTIME, KeyPart, Named, Opened, Rows, read
from stoker.streams.sql.scope import Field, Scope, Typing, calls
from stoker.streams.sql.statements import AllColumns, AllFields, Emit, Projection, Query, Relation
from stoker.streams.sql.types import BIGINT

if TYPE_CHECKING:
    from stoker.streams.application import Streams
    from stoker.streams.stream import Stream
    from stoker.streams.table import Table

_EXPLODED: Final = "KSQL_EXPLODED"


@dataclass(frozen=True, kw_only=True)
class Planned:
    """The result of a query: `output` has its columns, under their names in SQL, and `_key`."""

    output: "Stream | Table"
    columns: tuple[ResultColumn, ...]
    keys: tuple[KeyPart, ...]
    """What is in the key; `columns` of each are the names that the result has for it."""
    is_table: bool
    sources: tuple[str, ...]
    window: WindowedBy | None = None
    aggregated: Aggregated | None = None

    @property
    def key_columns(self) -> tuple[ResultColumn, ...]:
        return tuple(each for each in self.columns if each.is_key)

    @property
    def value_columns(self) -> tuple[ResultColumn, ...]:
        return tuple(each for each in self.columns if not each.is_key)


class Planner:
    """For one application. Raises SqlError, where, and what the choices are."""

    def __init__(
        self, application: "Streams", catalogue: Catalogue, *, starting: str = "earliest", opened: Opened | None = None
    ) -> None:
        self._application = application
        self._catalogue = catalogue
        self._starting = starting
        self._opened: Opened = {} if opened is None else opened
        self._typing = Typing(application.session())

    def plan(self, query: Query, *, store: str | None = None) -> Planned:
        """`store` is the name for the store of an aggregation, if there is one."""
        rows = self._rows(query)
        rows, items, scope = self._selected(window_fields(rows, query), query)
        if query.group_by:
            return self._grouped(rows, query, items, scope, store)
        for each in items:
            refuse_aggregates(each.expression, "SELECT without GROUP BY")
        for present, what in ((query.window, "WINDOW"), (query.having, "HAVING")):
            if present is not None:
                raise SqlError(f"{what} is for what is aggregated: there is no GROUP BY", query.source.name)
        if query.emit is Emit.FINAL:
            raise SqlError("EMIT FINAL waits until a window closes: there is no WINDOW here", query.source.name)
        if query.partition_by:
            rows = self._partitioned(rows, query, scope)
        return self._projected(rows, items, scope)

    # -- FROM, JOIN, WHERE

    def _rows(self, query: Query) -> Rows:
        relations = [query.source, *(each.right for each in query.joins)]
        names = [str(each.alias or each.name) for each in relations]
        twice = next((relation for number, relation in enumerate(relations) if names[number] in names[:number]), None)
        if twice is not None:
            raise SqlError(f"{names[-1]} is there twice: give one of them another name", twice.name)
        named = _named(query)
        many = len(relations) > 1
        rows = self._read(query.source, many, named)
        for join in query.joins:
            right = self._read(join.right, many, named)
            scope = Scope([*rows.fields, *right.fields], self._catalogue.types)
            rows = Joining(rows, right, join, scope, self._typing).rows()
        if many and "ROWTIME" in named.columns:
            rows = rows.with_output(rows.output.with_columns(ROWTIME=ROWTIME))
            rows = _with_field(rows, Field(relation="", name="ROWTIME", column="ROWTIME", type=BIGINT))
        if query.where is not None:
            scope = Scope(rows.fields, self._catalogue.types)
            condition = scope.resolved(query.where)
            refuse_aggregates(condition, "WHERE (HAVING is for them)")
            self._typing.types(scope, [condition])
            rows = rows.with_output(rows.output.filter(scope.text(condition)))
        return rows

    def _read(self, relation: Relation, many: bool, named: Named) -> Rows:
        source = self._catalogue.get(relation.name)
        name = str(relation.alias or relation.name)
        return read(
            self._application,
            source,
            name,
            is_one_of_many=many,
            named=named,
            starting=self._starting,
            opened=self._opened,
        )

    # -- SELECT

    def _selected(self, rows: Rows, query: Query) -> tuple[Rows, list[Item], Scope]:
        scope = Scope(rows.fields, self._catalogue.types)
        items = items_of(query.items, scope)
        exploding = {call for each in items for call in calls(each.expression, FunctionKind.TABLE)}
        if not exploding:
            return rows, items, scope
        if len(exploding) > 1:
            raise SqlError("one EXPLODE is all that a query can have: explode in two steps", next(iter(exploding)))
        (call,) = exploding
        if rows.is_table:
            raise SqlError(f"{call.name} is for streams: a table has one row for each key", call)
        array = scope.text(call).removeprefix("explode(").removesuffix(")")
        inner = self._typing.types(scope, [call])[0]
        rows = rows.with_output(rows.stream.flat_map(array, _EXPLODED, keep=True))
        rows = _with_field(rows, Field(relation="", name=_EXPLODED, column=_EXPLODED, type=inner))
        exploded = exp.column(exp.to_identifier(_EXPLODED, quoted=True))

        def replaced(node: exp.Expr) -> exp.Expr:
            return exploded.copy() if node == call else node

        items = [Item(name=each.name, expression=each.expression.transform(replaced), at=each.at) for each in items]
        return rows, items, Scope(rows.fields, self._catalogue.types)

    def _grouped(self, rows: Rows, query: Query, items: list[Item], scope: Scope, store: str | None) -> Planned:
        if query.partition_by:
            raise SqlError("PARTITION BY cannot be beside GROUP BY, which sets the key", query.partition_by[0])
        found = Grouping(rows, query, items, scope, self._typing, store=store).aggregated()
        return Planned(
            output=found.output,
            columns=found.columns,
            keys=found.keys,
            is_table=True,
            sources=rows.sources,
            window=found.window,
            aggregated=found,
        )

    def _partitioned(self, rows: Rows, query: Query, scope: Scope) -> Rows:
        if rows.is_table:
            raise SqlError("PARTITION BY is for streams: a table keeps its key", query.partition_by[0])
        by = [scope.resolved(each) for each in query.partition_by]
        if len(by) == 1 and isinstance(by[0], exp.Null):
            return Rows(
                output=rows.stream.key_by("CAST(NULL AS BINARY)"), fields=rows.fields, keys=(), sources=rows.sources
            )
        types = self._typing.types(scope, by)
        names = [f"KEY_{number}" for number in range(len(by))]
        texts = [scope.text(each) for each in by]
        struct = ", ".join(f"'{name}', {text}" for name, text in zip(names, texts, strict=True))
        output = rows.stream.key_by(texts[0] if len(by) == 1 else f"named_struct({struct})")
        keys = tuple(
            KeyPart(
                text="`_key`" if len(by) == 1 else f"`_key`.{quoted_name(name)}",
                type=kind,
                columns=(each.name if isinstance(each, exp.Column) else f"={each.sql()}",),
            )
            for name, each, kind in zip(names, by, types, strict=True)
        )
        return Rows(output=output, fields=rows.fields, keys=keys, sources=rows.sources)

    def _projected(self, rows: Rows, items: list[Item], scope: Scope) -> Planned:
        types = self._typing.types(scope, [each.expression for each in items])
        taken: dict[int, str] = {}
        for item in items:
            number = _key_of(item.expression, rows.keys)
            if number is not None and number not in taken:
                taken[number] = item.name
        named: dict[str, Any] = {each.name: scope.text(each.expression) for each in items}
        if rows.window is not None:
            start, end = rows.codec.window_times() if rows.codec is not None else ("0L", "0L")
            named |= {"KSQL_WINDOW_START": start, "KSQL_WINDOW_END": end}
        keys = tuple(
            KeyPart(text=each.text, type=each.type, columns=(taken[number],) if number in taken else ())
            for number, each in enumerate(rows.keys)
        )
        columns = tuple(
            ResultColumn(name=each.name, type=kind, is_key=each.name in taken.values())
            for each, kind in zip(items, types, strict=True)
        )
        return Planned(
            output=rows.output.select(**named),
            columns=columns,
            keys=keys,
            is_table=rows.is_table,
            sources=rows.sources,
            window=rows.window,
        )


def _key_of(expression: exp.Expr, keys: tuple[KeyPart, ...]) -> int | None:
    name = expression.name if isinstance(expression, exp.Column) else f"={expression.sql()}"
    return next((number for number, each in enumerate(keys) if name in each.columns), None)


def _with_field(rows: Rows, field: Field) -> Rows:
    return Rows(
        output=rows.output, fields=(*rows.fields, field), keys=rows.keys, codec=rows.codec, window=rows.window,
        sources=rows.sources,
    )  # fmt: skip


def _named(query: Query) -> Named:
    """What of its sources the query names."""
    expressions = [each.expression for each in query.items if isinstance(each, Projection)]
    expressions += [each.struct for each in query.items if isinstance(each, AllFields)]
    expressions += [*query.group_by, *query.partition_by, *(each.on for each in query.joins)]
    expressions += [each for each in (query.where, query.having) if each is not None]
    columns = {column.name for each in expressions for column in each.find_all(exp.Column)}
    starred = [each.source for each in query.items if isinstance(each, AllColumns)]
    sources = frozenset(None if each is None else str(each) for each in starred)
    return Named(columns=frozenset(columns), sources=sources)
