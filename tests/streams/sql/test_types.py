"""Types of ksqlDB, and what they are in Spark."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.streams.sql import SqlError, from_spark, parse_type, to_spark_type
from stoker.streams.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    PRIMITIVES,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Custom,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
    resolved,
)

CASES: list[tuple[str, SqlType, str]] = [
    ("BOOLEAN", BOOLEAN, "BOOLEAN"),
    ("INT", INTEGER, "INT"),
    ("integer", INTEGER, "INT"),
    ("BIGINT", BIGINT, "BIGINT"),
    ("DOUBLE", DOUBLE, "DOUBLE"),
    ("VARCHAR", STRING, "STRING"),
    ("STRING", STRING, "STRING"),
    ("VARCHAR(STRING)", STRING, "STRING"),
    ("VARCHAR(255)", STRING, "STRING"),
    ("BYTES", BYTES, "BINARY"),
    ("TIME", TIME, "TIME(3)"),
    ("DATE", DATE, "DATE"),
    ("TIMESTAMP", TIMESTAMP, "TIMESTAMP"),
    ("DECIMAL(10, 2)", Decimal(10, 2), "DECIMAL(10, 2)"),
    ("ARRAY<INT>", Array(INTEGER), "ARRAY<INT>"),
    ("INT ARRAY", Array(INTEGER), "ARRAY<INT>"),
    ("MAP<STRING, ARRAY<BYTES>>", Map(STRING, Array(BYTES)), "MAP<STRING, ARRAY<BINARY>>"),
    ("STRUCT<a INT, `b c` STRING>", Struct((Field("A", INTEGER), Field("b c", STRING))), "STRUCT<`A`: INT, `b c`: STRING>"),
    ("STRUCT<>", Struct(()), "STRUCT<>"),
    ("STRUCT<array INT, `m``m` MAP<STRING, STRING>>", Struct((Field("ARRAY", INTEGER), Field("m`m", Map(STRING, STRING)))), "STRUCT<`ARRAY`: INT, `m``m`: MAP<STRING, STRING>>"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "in_spark"), CASES, ids=[text for text, _, _ in CASES])
def test_types(text: str, kind: SqlType, in_spark: str) -> None:
    assert parse_type(text) == kind
    assert to_spark_type(kind) == in_spark
    assert parse_type(str(kind)) == kind


FROM_SPARK: list[tuple[str, SqlType]] = [
    ("tinyint", INTEGER),
    ("smallint", INTEGER),
    ("float", DOUBLE),
    ("binary", BYTES),
    ("char(3)", STRING),
    ("timestamp_ntz", TIMESTAMP),
    ("time(6)", TIME),
    ("decimal(10,0)", Decimal(10, 0)),
    ("decimal", Decimal(10, 0)),
    (
        "array<struct<a:int,b:map<string,double>>>",
        Array(Struct((Field("a", INTEGER), Field("b", Map(STRING, DOUBLE))))),
    ),
    ("struct<`a b`: int>", Struct((Field("a b", INTEGER),))),
]


@pytest.mark.parametrize(("text", "kind"), FROM_SPARK, ids=[text for text, _ in FROM_SPARK])
def test_types_of_spark(text: str, kind: SqlType) -> None:
    assert from_spark(text) == kind


@pytest.mark.parametrize("text", ["variant", "interval day to second", "array<", "void"])
def test_types_that_ksqldb_has_not(text: str) -> None:
    with pytest.raises(SqlError, match=r"ksqlDB has no type|is no type of Spark"):
        from_spark(text)


NAMES = st.text("abcXYZ 1`", min_size=1, max_size=4)
TYPES = st.recursive(
    st.sampled_from(PRIMITIVES) | st.builds(lambda scale, more: Decimal(scale + more, scale), st.integers(0, 18), st.integers(1, 20)),
    lambda inner: st.one_of(
        inner.map(Array),
        st.tuples(inner, inner).map(lambda parts: Map(*parts)),
        st.lists(st.builds(Field, NAMES, inner), min_size=1, max_size=3).map(lambda fields: Struct(tuple(fields))),
    ),
    max_leaves=8,
)  # fmt: skip


@given(TYPES)
def test_any_type_survives_spark_and_being_written(kind: SqlType) -> None:
    assert from_spark(to_spark_type(kind)) == kind
    assert parse_type(str(kind)) == kind


def test_custom_types_are_put_in() -> None:
    known = {"ADDRESS": Struct((Field("CITY", STRING), Field("AT", Custom("POINT")))), "POINT": Array(DOUBLE)}
    kind = parse_type("MAP<STRING, address>")
    assert kind == Map(STRING, Custom("ADDRESS"))
    assert to_spark_type(kind, known) == "MAP<STRING, STRUCT<`CITY`: STRING, `AT`: ARRAY<DOUBLE>>>"
    with pytest.raises(SqlError, match="there is no type ADDRES: did you mean ADDRESS"):
        resolved(Custom("ADDRES"), known)
    with pytest.raises(SqlError, match="there is no type A"):
        to_spark_type(Custom("A"), {"A": Array(Custom("A"))})


@pytest.mark.parametrize(
    "text",
    ["DECIMAL", "DECIMAL(10)", "DECIMAL(39, 1)", "DECIMAL(0, 0)", "ARRAY<>", "MAP<INT>", "STRUCT<a>", "", "INT(3)"],
)
def test_types_that_are_none(text: str) -> None:
    with pytest.raises(SqlError, match=r"line 1, column \d+: found"):
        parse_type(text)
