"""INSERT INTO ... VALUES: one record, written as the topic has them."""

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from stoker.streams.kafka_inputs import Access
from stoker.streams.sql.catalogue import Catalogue, Source, choices
from stoker.streams.sql.conversion import converted, fits
from stoker.streams.sql.errors import SqlError
from stoker.streams.sql.keys import codec_of
from stoker.streams.sql.reading import value_form
from stoker.streams.sql.scope import Scope, Typing
from stoker.streams.sql.script import Name
from stoker.streams.sql.statements import ColumnRole, InsertValues
from stoker.streams.sql.types import (
    BIGINT,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Decimal,
    SqlType,
    to_spark_type,
)
from stoker.streams.sql.writing import value_texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OF_TEXT: Final = (TIMESTAMP, DATE, TIME, BYTES)


def insert(statement: InsertValues, catalogue: Catalogue, access: Access, spark: "SparkSession") -> None:
    """Raises SqlError, where; and what a write of Spark raises."""
    source = catalogue.get(statement.name)
    if source.is_source:
        raise SqlError(f"{source.name} was made by CREATE SOURCE: it can only be read", statement.name)
    if source.window is not None:
        raise SqlError(f"{source.name} has windows: nothing can be inserted into it", statement.name)
    typing = Typing(spark)
    texts = _texts(statement, source, typing, Scope([], catalogue.types))
    time = texts.pop("ROWTIME", None)
    for each in source.keys:
        if source.is_table and each.name not in texts:
            raise SqlError(f"a row of table {source.name} needs its key, {each.name}", statement.name)
    keys = [texts.get(each.name) or f"CAST(NULL AS {to_spark_type(each.type)})" for each in source.keys]
    codec = codec_of(source)
    key = codec.write(keys) if keys and any(each.name in texts for each in source.keys) else "CAST(NULL AS BINARY)"
    values = {
        each.spelling: converted(texts[each.name], each.type, each.stored)
        if each.name in texts
        else f"CAST(NULL AS {to_spark_type(each.stored)})"
        for each in source.values
    }
    made = value_texts(source, values)
    fields = ", ".join(f"'{name}', {text}" for name, text in made.items())
    value = made["value"] if source.value_format in ("KAFKA", "DELIMITED") else f"named_struct({fields})"
    row = [f"{key} AS key", f"{value} AS value"]
    if time is not None:
        row.append(f"timestamp_millis({time}) AS timestamp")
    frame = typing.spark.range(1).coalesce(1).selectExpr(*row)
    options = access.write_options()
    if source.value_format == "JSON":
        options.pop("schema.registry.url", None)
    if keys and codec.form != "binary" and key != "CAST(NULL AS BINARY)":
        options["key.format"] = codec.form
    if value_form(source) != "binary":
        options["value.format"] = value_form(source)
    frame.write.format("stoker").mode("append").options(**options).option("topic", source.topic).save()


def _texts(statement: InsertValues, source: Source, typing: Typing, scope: Scope) -> dict[str, str]:
    known = {
        each.name: each.type for each in source.columns if each.role not in (ColumnRole.HEADERS, ColumnRole.HEADER)
    }
    names: list[str] = [*statement.columns] if statement.columns else [*known]
    if len(names) != len(statement.values):
        raise SqlError(
            f"{source.name} has {len(names)} columns ({', '.join(names)}), and there are {len(statement.values)} values",
            statement.name,
        )
    known["ROWTIME"] = BIGINT
    found: dict[str, str] = {}
    for name, value in zip(names, statement.values, strict=True):
        if name not in known:
            raise SqlError(
                f"{source.name} has no column {name}: {choices(name, known, 'DESCRIBE lists them')}",
                name if isinstance(name, Name) else value,
            )
        resolved = scope.resolved(value)
        kind = typing.types(scope, [resolved])[0]
        if not isinstance(value, exp.Null) and not _can_be(kind, known[name]):
            raise SqlError(f"column {name} is {known[name]}, not {kind}", value)
        text = scope.text(resolved)
        found[name] = (
            f"CAST({text} AS {to_spark_type(known[name])})"
            if not _is_nested(kind)
            else converted(text, kind, known[name])
        )
    return found


def _is_nested(kind: SqlType) -> bool:
    return "<" in str(kind)


def _can_be(have: SqlType, want: SqlType) -> bool:
    def is_number(kind: SqlType) -> bool:
        return kind in (INTEGER, BIGINT, DOUBLE) or isinstance(kind, Decimal)

    return fits(have, want) or (is_number(have) and is_number(want)) or (have == STRING and want in _OF_TEXT)
