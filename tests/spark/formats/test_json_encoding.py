"""Columns to JSON: the texts say what the columns have, and what was read from a text gives it again."""

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import from_arrow_type

from stoker.spark.errors import UnencodableColumn
from stoker.spark.formats.json_decoding import JsonDecoder
from stoker.spark.formats.json_encoding import JsonEncoder
from stoker.spark.schemas import RegisteredSchema
from tests.spark.formats.byte_columns import byte_column

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


@pytest.mark.parametrize(
    ("arrow_type", "value", "text"),
    [
        (pa.string(), 'a"b\\c\n\t\x01ž', r'"a\"b\\c\n\t\u0001ž"'),
        (pa.large_string(), "a", '"a"'),
        (pa.bool_(), True, "true"),
        (pa.int8(), -5, "-5"),
        (pa.int64(), 2**63 - 1, "9223372036854775807"),
        (pa.float64(), 0.1, "0.1"),
        (pa.float64(), 1e300, "1e+300"),
        (pa.float32(), 0.1, "0.1"),
        (pa.float64(), math.nan, '"NaN"'),
        (pa.float64(), math.inf, '"Infinity"'),
        (pa.float64(), -math.inf, '"-Infinity"'),
        (pa.decimal128(10, 2), Decimal("1.5"), "1.50"),
        (pa.date32(), date(2026, 1, 2), '"2026-01-02"'),
        (pa.timestamp("us", tz="UTC"), MOMENT, '"2026-01-02T03:04:05.678901Z"'),
        (pa.timestamp("us", tz="Europe/Prague"), MOMENT, '"2026-01-02T03:04:05.678901Z"'),
        (pa.timestamp("us"), MOMENT.replace(tzinfo=None), '"2026-01-02T03:04:05.678901"'),
        (pa.binary(), b"\xff\0", '"/wA="'),
        (pa.list_(pa.int64()), [1, None], "[1,null]"),
        (pa.list_(pa.list_(pa.string())), [[], None, ["a"]], '[[],null,["a"]]'),
        (pa.map_(pa.string(), pa.int64()), [('a"', 1), ("b", None)], r'{"a\"":1,"b":null}'),
        (pa.map_(pa.int64(), pa.string()), [(1, "x")], '{"1":"x"}'),
        (pa.map_(pa.date32(), pa.string()), [(date(2026, 1, 2), "x")], '{"2026-01-02":"x"}'),
        (pa.struct({"a": pa.int64(), "b": pa.int64()}), {"b": 1}, '{"b":1}'),
        (pa.struct({"a": pa.int64(), "b": pa.int64()}), {"a": 1, "b": None}, '{"a":1}'),
        (pa.struct({"a": pa.int64(), "b": pa.int64()}), {}, "{}"),
        (pa.struct({'"ž': pa.int64()}), {'"ž': 1}, r'{"\"ž":1}'),
        (pa.struct([]), {}, "{}"),
    ],
)
def test_values(arrow_type: pa.DataType, value: object, text: str) -> None:
    """With nulls around it, as a field, in a list, and in a slice."""
    column = pa.array([None, value, None, value], type=arrow_type)
    texts = [None, text.encode(), None, text.encode()]
    encoder = JsonEncoder(None, arrow_type)
    assert encoder.encode(column).type == pa.binary()
    assert encoder.encode(column).to_pylist() == texts
    assert encoder.encode(column.slice(1, 2)).to_pylist() == texts[1:3]
    assert encoder.encode(column.slice(0, 0)).to_pylist() == []
    struct = pa.StructArray.from_arrays([column], names=["x"])
    found = JsonEncoder(None, struct.type).encode(struct).to_pylist()
    assert found == [b"{}", b'{"x":%b}' % text.encode()] * 2
    items = pa.ListArray.from_arrays(pa.array([0, 2, 4], type=pa.int32()), column)
    found = JsonEncoder(None, items.type).encode(items.slice(1)).to_pylist()
    assert found == [b"[null,%b]" % text.encode()]
    if text != "{}":
        json.loads(text)


def test_with_a_schema_comes_its_header() -> None:
    schema = RegisteredSchema(258, "JSON", '{"type": "object", "properties": {"a": {"type": "integer"}}}', {})
    column = pa.array([{"a": 1}, None])
    assert JsonEncoder(schema, column.type).encode(column).to_pylist() == [b'\0\0\0\1\2{"a":1}', None]


@pytest.mark.parametrize(
    ("arrow_type", "schema", "words"),
    [
        (pa.struct({"a": pa.duration("us")}), None, r"a is duration\[us\], which JSON has no form for"),
        (pa.map_(pa.list_(pa.int64()), pa.int64()), None, "whose keys JSON has no form for"),
        (pa.struct({"b": pa.int64()}), '{"properties": {"a": {}}}', "no property 'b': it has a"),
        (pa.struct({"a": pa.string()}), '{"properties": {"a": {"type": "integer"}}}', "a is string, .* says bigint"),
        (pa.struct({"a": pa.string()}), '{"properties": {"a": {"items": {}}}}', r"a is string, .* array<string>"),
        (pa.struct({"a": pa.int64()}), '{"properties": {"a": {}, "b": {}}, "required": ["b"]}', "requires 'b'"),
        (
            pa.struct({"a": pa.list_(pa.struct({"x": pa.bool_()}))}),
            '{"properties": {"a": {"items": {"properties": {"x": {"type": "number"}}}}}}',
            r"a\[\]\.x is bool, and the schema says double",
        ),
        (pa.int64(), '{"type": "object", "additionalProperties": {"type": "string"}}', "the column is int64"),
    ],
)
def test_columns_that_are_refused(arrow_type: pa.DataType, schema: str | None, words: str) -> None:
    with pytest.raises(UnencodableColumn, match=words):
        JsonEncoder(None if schema is None else RegisteredSchema(1, "JSON", schema, {}), arrow_type)


scalars: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.string(), st.text()),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.float32(), st.floats(width=32, allow_nan=False)),
    (pa.bool_(), st.booleans()),
    (pa.timestamp("us", tz="UTC"), st.datetimes(timezones=st.just(UTC))),
    (pa.date32(), st.dates()),
    (pa.binary(), st.binary()),
    (pa.decimal128(10, 2), st.decimals(-(10**7), 10**7, places=2)),
]


def _nested(
    inner: st.SearchStrategy[tuple[pa.DataType, st.SearchStrategy[Any]]],
) -> st.SearchStrategy[tuple[pa.DataType, st.SearchStrategy[Any]]]:
    def struct(
        fields: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]],
    ) -> tuple[pa.DataType, st.SearchStrategy[Any]]:
        types = pa.struct([(name, arrow_type) for name, (arrow_type, _) in fields.items()])
        return types, st.fixed_dictionaries({name: st.none() | values for name, (_, values) in fields.items()})

    return (
        st.dictionaries(st.text(max_size=3), inner, max_size=4).map(struct)
        | inner.map(lambda each: (pa.list_(each[0]), st.lists(st.none() | each[1], max_size=4)))
        | inner.map(
            lambda each: (
                pa.map_(pa.string(), each[0]),
                st.dictionaries(st.text(max_size=3), st.none() | each[1], max_size=3).map(
                    lambda found: [*found.items()]
                ),
            )
        )
    )


@given(st.data())
def test_what_is_written_is_read_again(data: st.DataObject) -> None:
    arrow_type, values = data.draw(st.recursive(st.sampled_from(scalars), _nested, max_leaves=8))
    column = pa.array(data.draw(st.lists(st.none() | values, max_size=20)), type=arrow_type)
    texts = JsonEncoder(None, arrow_type).encode(column).to_pylist()
    assert [text is None for text in texts] == [value is None for value in column.to_pylist()]
    decoded = JsonDecoder(from_arrow_type(arrow_type)).decode(byte_column(texts))
    assert decoded.reasons == []
    assert decoded.column.to_pylist() == column.to_pylist()
