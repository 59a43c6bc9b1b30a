"""JSON to columns: read together or one by one, the rows are the same, and a bad one harms no other."""

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CalendarIntervalType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from stoker.spark.errors import InvalidOption
from stoker.spark.formats.json_decoding import JsonDecoder
from stoker.spark.formats.json_values import json_value_reader
from tests.spark.formats.byte_columns import byte_column


def struct(**fields: DataType) -> StructType:
    return StructType([StructField(name, each) for name, each in fields.items()])


NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
ORDER = struct(
    id=StringType(),
    amount=DoubleType(),
    count=LongType(),
    paid=BooleanType(),
    tags=ArrayType(StringType()),
    address=struct(city=StringType(), zip=LongType()),
)


@pytest.mark.parametrize(
    ("column", "text", "value"),
    [
        (StringType(), '"ž\\u00e9\\n\\ud83d\\ude00"', "žé\n😀"),
        (StringType(), '"\\u0000"', "\0"),
        (StringType(), "5", "5"),
        (StringType(), "1.50", "1.5"),
        (StringType(), '{"a": [1, "ž", null]}', '{"a":[1,"ž",null]}'),
        (StringType(), "true", "true"),
        (LongType(), "9223372036854775807", 2**63 - 1),
        (LongType(), "-9223372036854775808", -(2**63)),
        (LongType(), "5.0", 5),
        (LongType(), "1e3", 1000),
        (ByteType(), "-128", -128),
        (DoubleType(), "5", 5.0),
        (DoubleType(), "1e-7", 1e-7),
        (DoubleType(), "1e400", math.inf),
        (DoubleType(), '"-Infinity"', -math.inf),
        (DoubleType(), "Infinity", math.inf),
        (FloatType(), "16777217", 16777216.0),
        (DecimalType(10, 2), "1.25", Decimal("1.25")),
        (DecimalType(10, 2), "1.255", Decimal("1.26")),
        (DecimalType(10, 2), '"-7"', Decimal("-7.00")),
        (DecimalType(38, 0), "9" * 38, Decimal("9" * 38)),
        (DecimalType(38, 18), f"-{'1' * 20}.{'2' * 17}25", Decimal(f"-{'1' * 20}.{'2' * 17}3")),
        (DateType(), '"2026-01-02"', date(2026, 1, 2)),
        (TimestampType(), '"2026-01-02T12:00:00Z"', NOON),
        (TimestampType(), '"2026-01-02 14:00:00+02:00"', NOON),
        (TimestampType(), '"2026-01-02T12:00:00"', NOON),
        (TimestampType(), '"2026-01-02T12:00:00.123456789Z"', NOON.replace(microsecond=123456)),
        (TimestampNTZType(), '"2026-01-02T12:00:00"', NOON.replace(tzinfo=None)),
        (BinaryType(), '"/wA="', b"\xff\0"),
        (ArrayType(LongType()), "[1,null,3]", [1, None, 3]),
        (MapType(StringType(), LongType()), '{"a":1,"b":null}', [("a", 1), ("b", None)]),
        (struct(b=LongType()), '{"b":1,"c":2}', {"b": 1}),
        (struct(b=LongType()), "{}", {"b": None}),
        (struct(), '{"b":1}', {}),
    ],
)
def test_values(column: DataType, text: str, value: object) -> None:
    """As a field, in a list, at the top, and among values that Arrow refuses: always the same."""
    documents = [f'{{"a": {text}}}'.encode(), b'{"a": null}', b"{}"]
    rows: list[Any] = [{"a": value}, {"a": None}, {"a": None}]
    refused = b'{"a": 1, "a": null}'
    for texts, expected in [(documents, rows), ([refused, *documents], [{"a": None}, *rows])]:
        decoder = JsonDecoder(struct(a=column))
        decoded = decoder.decode(byte_column(texts))
        assert decoded.column.to_pylist() == expected
        assert decoded.column.type == decoder.type == to_arrow_type(struct(a=column), timezone="UTC")
        decoded.column.validate(full=True)
    items = JsonDecoder(ArrayType(column)).decode(byte_column([f"[{text}]".encode()])).column.to_pylist()
    assert items == [[value]]
    assert JsonDecoder(column).decode(byte_column([text.encode(), b"null"])).column.to_pylist() == [value, None]


@pytest.mark.parametrize(
    ("column", "text", "reason"),
    [
        (ORDER, "", "not JSON: expecting value (character 0 of 0)"),
        (ORDER, "[]", "the value is [], which is no object"),
        (ORDER, "{}{}", "not JSON: extra data (character 2 of 4)"),
        (ORDER, "{} {}", "not JSON: extra data (character 3 of 5)"),
        (ORDER, '{"id":"a"', "not JSON: expecting ',' delimiter (character 9 of 9)"),
        (ORDER, '{"id":"a\nb"}', "not JSON: invalid control character at (character 8 of 12)"),
        (ORDER, '{"id":"a"}\0}', "not JSON: extra data (character 10 of 12)"),
        (ORDER, '{"count":"5"}', 'count is "5", which is no integer of 64 bits'),
        (ORDER, '{"count":1.5}', "count is 1.5, which is no integer of 64 bits"),
        (ORDER, '{"count":9223372036854775808}', "count is 9223372036854775808, which is no integer of 64 bits"),
        (ORDER, '{"count":true}', "count is true, which is no integer of 64 bits"),
        (ORDER, '{"amount":"x"}', 'amount is "x", which is no double'),
        (ORDER, '{"paid":1}', "paid is 1, which is no boolean"),
        (ORDER, '{"tags":{}}', "tags is {}, which is no array"),
        (ORDER, '{"address":{"zip":[]}}', "address.zip is [], which is no integer of 64 bits"),
        (ORDER, '{"id":"\\ud800"}', "not JSON: half a surrogate pair"),
        (ORDER, '{"count":%s}' % ("9" * 5000), "a number that cannot be read"),
        (struct(a=DateType()), '{"a":"2026-02-30"}', 'a is "2026-02-30", which is no date'),
        (struct(a=TimestampType()), '{"a":"noon"}', 'a is "noon", which is no timestamp'),
        (struct(a=TimestampType()), '{"a":5}', "a is 5, which is no timestamp"),
        (struct(a=DecimalType(3, 1)), '{"a":99.96}', "a is 99.96, which is no decimal(3,1)"),
        (struct(a=DecimalType(5, 2)), '{"a":12345}', "a is 12345, which is no decimal(5,2)"),
        (struct(a=DecimalType(38, 18)), '{"a":9940439977775914742554}', "a is 9940439977775914742554, which is no"),
        (struct(a=DecimalType(38, 38)), '{"a":1e60}', "a is 1e+60, which is no decimal(38,38)"),
        (struct(b=struct(a=DecimalType(5, 2))), '{"b":{"a":"1e3"}}', 'b.a is "1e3", which is no decimal(5,2)'),
        (struct(a=BinaryType()), '{"a":"?"}', 'a is "?", which is no binary'),
        (struct(a=MapType(StringType(), LongType())), '{"a":{"b":""}}', 'a[] is "", which is no integer of 64 bits'),
        (struct(a=StringType()), '{"a":' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deep"),
    ],
)
def test_bad_ones(column: StructType, text: str, reason: str) -> None:
    good = [b"{}"] * 50
    decoded = JsonDecoder(column).decode(byte_column([*good, text.encode(), *good]))
    assert decoded.bad.tolist() == [50]
    assert decoded.reasons[0].startswith(reason)
    nothing = {field.name: None for field in column.fields}
    assert decoded.column.to_pylist() == [nothing] * 50 + [None] + [nothing] * 50


def test_bytes_that_are_no_utf8() -> None:
    decoded = JsonDecoder(struct(a=StringType())).decode(byte_column([b'{"b":"\xff"}', b'{"a":"x"}', b"\xff"]))
    assert decoded.reasons == ["byte 6 (0xff) is no UTF-8", "byte 0 (0xff) is no UTF-8"]
    assert decoded.column.to_pylist() == [None, {"a": "x"}, None]


def test_values_that_would_join_or_part_are_told_from_each_other() -> None:
    """As many objects as values, and yet not one each."""
    texts = [b'{"a":1}{"a":2}', b'{"a":{}', b"{}}", b'{"a":"', b'"}', b'{"a":"}', b'{"}', b'{"a":7}']
    decoded = JsonDecoder(struct(a=LongType())).decode(byte_column(texts, between=b""))
    assert decoded.bad.tolist() == list(range(7))
    assert decoded.column.to_pylist() == [None] * 7 + [{"a": 7}]


def test_with_the_header_of_the_registry_or_without() -> None:
    texts = [
        b'\0\0\0\0\x07{"a":1}',
        b'{"a":2}',
        b' \n{"a":3}\n\n',
        None,
        b"\0\0\0\0\x07",
        b'\0{"a":4}',
        b"\0\0\0\0\x07null",
    ]
    decoded = JsonDecoder(struct(a=LongType())).decode(byte_column(texts))
    assert decoded.column.to_pylist() == [{"a": 1}, {"a": 2}, {"a": 3}, None, None, None, None]
    assert decoded.bad.tolist() == [4, 5]


def test_nothing_at_all() -> None:
    for column in (ORDER, MapType(StringType(), StringType())):
        assert JsonDecoder(column).decode(byte_column([])).column.to_pylist() == []
        assert JsonDecoder(column).decode(byte_column([None, None])).column.to_pylist() == [None, None]


def test_a_type_without_a_form() -> None:
    with pytest.raises(InvalidOption, match=r"a\.b is interval, which JSON has no form for"):
        JsonDecoder(struct(a=struct(b=CalendarIntervalType())))


@pytest.mark.parametrize(
    ("column", "where"),
    [
        (struct(a=StructType([StructField("b", LongType(), nullable=False)])), r"a\.b"),
        (struct(a=ArrayType(LongType(), containsNull=False)), r"a\[\]"),
        (struct(a=MapType(StringType(), LongType(), valueContainsNull=False)), r"a\[\]"),
    ],
)
def test_nothing_in_json_is_never_null(column: StructType, where: str) -> None:
    with pytest.raises(InvalidOption, match=rf"{where} is never null \(NOT NULL\), but JSON may leave it out"):
        JsonDecoder(column)


numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.sampled_from([0, 1, -1, 2**63, 1.5])
scalars = st.none() | st.booleans() | numbers | st.text(max_size=5) | st.sampled_from(["2026-01-02", "NaN", "x}\n{y"])
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
)
fields = st.sampled_from(
    [StringType(), LongType(), DoubleType(), BooleanType(), DateType(), TimestampType(), ArrayType(LongType()), ORDER]
)
columns = st.recursive(
    fields, lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=3).map(lambda each: struct(**each))
)
texts = (
    json_values.map(lambda value: json.dumps(value).encode())
    | st.dictionaries(st.sampled_from("abcd"), json_values).map(lambda value: json.dumps(value, indent=1).encode())
    | st.binary(max_size=8)
    | st.text(alphabet='{}[]",:ab1 \n', max_size=12).map(str.encode)
    | st.sampled_from([b"{}", b'{"a":1}', b'{"a":1,"a":2}', b"{} {}", b"", b'{"a":"'])
)


@given(st.dictionaries(st.sampled_from("abcd"), columns), st.lists(st.none() | texts, max_size=60))
def test_together_or_one_by_one(types: dict[str, DataType], values: list[bytes | None]) -> None:
    column = struct(**types)
    read = json_value_reader(column)
    expected: list[Any] = []
    bad = []
    for row, value in enumerate(values):
        try:
            expected.append(None if value is None else read(value))
        except ValueError:
            expected.append(None)
            bad.append(row)
    decoded = JsonDecoder(column).decode(byte_column(values))
    decoded.column.validate(full=True)
    assert repr(decoded.column.to_pylist()).replace("zoneinfo.ZoneInfo(key='UTC')", "datetime.timezone.utc") == repr(
        expected
    )
    assert decoded.bad.tolist() == bad
