"""Streams and tables of the catalogue as rows of an application: with SQL's names and types for what is in their topics."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from stoker.streams.sql.catalogue import Column, Source, WindowedBy
from stoker.streams.sql.conversion import converted, quoted_name
from stoker.streams.sql.keys import KEY, KeyCodec, codec_of, number_of
from stoker.streams.sql.scope import Field
from stoker.streams.sql.statements import ColumnRole
from stoker.streams.sql.types import BIGINT, INTEGER, STRING, SqlType, Struct, to_spark_type
from stoker.streams.sql.types import Field as StructField

if TYPE_CHECKING:
    from stoker.streams.application import Streams
    from stoker.streams.stream import Stream
    from stoker.streams.table import Table

ROWTIME: Final = "unix_millis(`_timestamp`)"
_WITHOUT_REGISTRY: Final = {"schema.registry.url": ""}


Opened = dict[tuple[str, str], Any]
"""Streams and tables of topics, by the name of the source and where its topic is read from first."""


@dataclass(frozen=True, kw_only=True)
class Named:
    """What a query names: columns, of whatever source, and sources all of whose columns it wants (None: all sources)."""

    columns: frozenset[str]
    sources: frozenset[str | None] = frozenset()

    def has_all_of(self, relation: str) -> bool:
        return None in self.sources or relation in self.sources


@dataclass(frozen=True, kw_only=True)
class KeyPart:
    """A column that the key of rows has: its value as Spark SQL of `_key`, and the columns of the rows that are the same."""

    text: str
    type: SqlType
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Rows in the making. `codec` is how `_key` is written where it is still the one of a topic."""

    output: "Stream | Table"
    fields: tuple[Field, ...]
    keys: tuple[KeyPart, ...]
    codec: KeyCodec | None = None
    window: WindowedBy | None = None
    sources: tuple[str, ...] = ()

    @property
    def is_table(self) -> bool:
        from stoker.streams.table import Table

        return isinstance(self.output, Table)

    @property
    def table(self) -> "Table":
        from stoker.streams.table import Table

        assert isinstance(self.output, Table)
        return self.output

    @property
    def stream(self) -> "Stream":
        from stoker.streams.stream import Stream

        assert isinstance(self.output, Stream)
        return self.output

    @property
    def is_keyed_by_text(self) -> bool:
        """Whether `_key` is the value of its one column as it is."""
        return self.codec is None or (self.codec.form == "string" and self.codec.format == "KAFKA")

    def with_output(self, output: "Stream | Table") -> "Rows":
        return replace(self, output=output)


def read(
    application: "Streams",
    source: Source,
    relation: str,
    *,
    is_one_of_many: bool,
    named: Named,
    starting: str,
    opened: Opened,
) -> Rows:
    """The rows of a source, with those columns that the query names; `opened` is what the application reads already."""
    codec = codec_of(source)
    output = opened.get((source.name, starting))
    if output is None:
        arguments = _arguments(application, source, codec, starting)
        output = (application.table if source.is_table else application.stream)(source.topic, **arguments)
        opened[source.name, starting] = output
    texts = _texts(source, codec, named.columns)
    prefix = f"{relation}__" if is_one_of_many else ""
    keys = {each.name for each in source.keys}
    chosen: dict[str, Any] = {
        f"{prefix}{name}": text
        for name, (text, _) in texts.items()
        if name in keys or name in named.columns or named.has_all_of(relation)
    }
    fields = tuple(
        Field(relation=relation, name=name, column=f"{prefix}{name}", type=kind) for name, (_, kind) in texts.items()
    )
    parts = tuple(
        KeyPart(text=text, type=column.type, columns=(f"{prefix}{column.name}",))
        for text, column in zip(codec.read(), source.keys, strict=True)
    ) if source.keys else ()  # fmt: skip
    return Rows(
        output=output.select(**(chosen or {"KSQL_NOTHING": "1"})),
        fields=fields,
        keys=parts,
        codec=codec,
        window=source.window,
        sources=(source.name,),
    )


def _arguments(application: "Streams", source: Source, codec: KeyCodec, starting: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "key_format": codec.form,
        "value_format": value_form(source),
        "starting": starting,
        "headers": any(each.role in (ColumnRole.HEADERS, ColumnRole.HEADER) for each in source.columns),
    }
    if source.value_format == "JSON" and not source.is_registered:
        found["value_schema"] = f"struct{to_spark_type(_record(source)).removeprefix('STRUCT')}"
        found["key_schema"] = codec.form if codec.form in ("string", "binary") else None
        if application.registry is not None:
            found["options"] = _WITHOUT_REGISTRY
    if source.timestamp is not None:
        column = source.column(source.timestamp)
        assert column is not None
        found["timestamp"] = column.spelling
    return found


def value_form(source: Source) -> str:
    """As `stoker.streams` calls the format."""
    if source.value_format == "KAFKA":
        return "string" if source.values[0].type == STRING else "binary"
    return {"DELIMITED": "string", "JSON_SR": "json"}.get(source.value_format, source.value_format.lower())


def _record(source: Source) -> Struct:
    return Struct(tuple(StructField(each.spelling, each.stored) for each in source.values))


def _texts(source: Source, codec: KeyCodec, wanted: frozenset[str]) -> dict[str, tuple[str, SqlType]]:
    """By name, each column as Spark SQL, and its type; pseudo columns after the others."""
    keys = dict(zip((each.name for each in source.keys), codec.read() if source.keys else (), strict=True))
    found = {each.name: (keys[each.name] if each.is_key else _text(source, each), each.type) for each in source.columns}
    others: dict[str, tuple[str, SqlType]] = {"ROWTIME": (ROWTIME, BIGINT)}
    if not source.is_table:
        others |= {"ROWPARTITION": ("`_partition`", INTEGER), "ROWOFFSET": ("`_offset`", BIGINT)}
    if source.window is not None:
        start, end = codec.window_times()
        others |= {"WINDOWSTART": (start, BIGINT), "WINDOWEND": (end, BIGINT)}
    found |= {name: each for name, each in others.items() if name in wanted and name not in found}
    return found


def _text(source: Source, column: Column) -> str:
    if column.role is ColumnRole.HEADERS:
        return "transform(`_headers`, __h -> named_struct('KEY', __h.key, 'VALUE', __h.value))"
    if column.role is ColumnRole.HEADER:
        name = (column.header or "").replace("'", "\\'")
        return f"try_element_at(filter(`_headers`, __h -> __h.key = '{name}'), -1).value"
    if source.value_format == "KAFKA":
        return number_of("`value`", column.type)
    if source.value_format == "DELIMITED":
        kind = ", ".join(f"{quoted_name(each.spelling)} {to_spark_type(each.stored)}" for each in source.values)
        separator = source.delimiter.replace("\t", "\\t").replace("'", "\\'")
        return f"from_csv(`value`, '{kind}', map('sep', '{separator}')).{quoted_name(column.spelling)}"
    return converted(quoted_name(column.spelling), column.stored, column.type)


__all__ = ["KEY", "ROWTIME", "KeyPart", "Rows", "read", "value_form"]
