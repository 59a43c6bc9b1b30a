"""Keys of stores: of which type they are, how they are written, and in which order they come."""

import base64
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from stoker.streams.errors import InvalidQuery
from stoker.streams.state.json_values import key_text
from stoker.streams.state.views import StoreView
from tests.streams.state.written_state import FROM_FILES_OR_MEMORY, STRUCT_KEY, WrittenState, reading_from

NOON = datetime(2026, 2, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("key_type", "key", "text", "wrong"),
    [
        (pa.string(), "a/b c", "a/b c", 5),
        (pa.string(), "", "", b"a"),
        (pa.int64(), -5, "-5", "5"),
        (pa.int32(), 7, "7", 2**40),
        (pa.int64(), 1, "1", True),
        (pa.float64(), 2.5, "2.5", "x"),
        (pa.bool_(), True, "true", 1),
        (pa.binary(), b"\x00\xff", base64.b64encode(b"\x00\xff").decode(), "AP8="),
        (pa.decimal128(10, 2), Decimal("1.50"), "1.50", 1.5),
        (pa.timestamp("us", "UTC"), NOON, "2026-02-01T12:00:00.000Z", NOON.replace(tzinfo=None)),
        (pa.date32(), date(2026, 2, 1), "2026-02-01", NOON),
        (STRUCT_KEY, {"region": "eu", "number": 1.0}, '{"region": "eu", "number": 1.0}', {"region": "eu"}),
        (STRUCT_KEY, {"region": None, "number": 1.0}, '{"region": null, "number": 1.0}', ("eu", "1")),
    ],
    ids=str,
)
@FROM_FILES_OR_MEMORY
def test_keys_are_of_their_type(
    state: WrittenState, key_type: pa.DataType, key: Any, text: str, wrong: Any, small_rows: int
) -> None:
    schema = pa.schema([("_key", key_type), ("value", pa.int64()), ("_deleted", pa.bool_())])
    state.commit("values", schema, [{"_key": key, "value": 1, "_deleted": False}])
    with reading_from(small_rows):
        view = StoreView(state.directory, "values")
        assert view.get(key) == 1
        assert [each.key for each in view.range(key, key)] == [key]
        assert key_text(key) == text
        assert view.read(lambda store: store.get(store.key_of_text(text))).value == 1
        with pytest.raises(InvalidQuery) as refused:
            view.get(wrong)
    assert str(refused.value) == (
        f"the keys of store 'values' are of type {key_type if key_type != pa.timestamp('us', 'UTC') else 'timestamp[us, tz=+00:00]'}: "
        f"{wrong!r} ({type(wrong).__name__}) is none"
    )


def test_a_struct_is_asked_for_as_a_tuple_too(state: WrittenState) -> None:
    schema = pa.schema([("_key", STRUCT_KEY), ("value", pa.int64()), ("_deleted", pa.bool_())])
    keys = [("eu", 2.0), ("eu", 10.0), ("us", 1.0), (None, 1.0)]
    rows = [
        {"_key": {"region": region, "number": number}, "value": place, "_deleted": False}
        for place, (region, number) in enumerate(keys)
    ]
    state.commit("values", schema, rows[::-1])
    view = StoreView(state.directory, "values")
    assert [view.get(key) for key in keys] == [0, 1, 2, 3]
    assert [each.value for each in view.range()] == [0, 1, 2, 3], "by the first field, then by the second; null is last"
    assert [each.value for each in view.range(("eu", 5), ("us", 1))] == [1, 2]
    assert view.read(lambda store: store.key_of_text('["us", 1]')).value == {"region": "us", "number": 1.0}
    with pytest.raises(InvalidQuery, match="'us' is none \\(write it as JSON\\)"):
        view.read(lambda store: store.key_of_text("us"))


@FROM_FILES_OR_MEMORY
def test_what_is_no_number_comes_after_all_numbers(state: WrittenState, small_rows: int) -> None:
    schema = pa.schema([("_key", pa.float64()), ("value", pa.int64()), ("_deleted", pa.bool_())])
    rows = [
        {"_key": key, "value": place, "_deleted": False}
        for place, key in enumerate([-1.5, 0.0, float("inf"), float("nan")])
    ]
    state.commit("values", schema, rows)
    with reading_from(small_rows):
        view = StoreView(state.directory, "values")
        assert [view.get(row["_key"]) for row in rows] == [0, 1, 2, 3]
        assert [each.value for each in view.range(0)] == [1, 2, 3]
        assert [each.value for each in view.range(0, float("inf"))] == [1, 2]
