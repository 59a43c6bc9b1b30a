"""Stores as they are read from outside: what is there is what the parts say, whichever way it is asked for."""

import itertools
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.streams import Streams, TestDriver, tumbling
from stoker.streams.errors import ApplicationNotFound, InvalidQuery, StateLost, StoreNotFound
from stoker.streams.state import parts
from stoker.streams.state.json_values import key_text
from stoker.streams.state.snapshots import KeyValue, StoreSnapshot, WindowedValue
from stoker.streams.state.views import StoreView, open_store
from tests.streams.state.written_state import (
    FILES,
    FIRST_COMMIT,
    FROM_FILES_OR_MEMORY,
    STRING_COUNTS,
    STRUCT_KEY,
    WINDOWED_SUMS,
    WrittenState,
    counts,
    reading_from,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOUR = timedelta(hours=1)
NOON = datetime(2026, 2, 1, 12, tzinfo=UTC)


# -- what is there ----------------------------------------------------------------------------------------------------

KEYS = st.sampled_from("abcdefg")
CHANGES = st.dictionaries(KEYS, st.none() | st.integers(0, 99), max_size=5)
BATCHES = st.lists(st.tuples(CHANGES, st.booleans()), min_size=1, max_size=6)
"""What each micro-batch changes, and whether the store is then written anew."""

KINDS: dict[str, tuple[pa.DataType, Callable[[str], Any]]] = {
    "string": (pa.string(), str),
    "bigint": (pa.int64(), ord),
    "double": (pa.float64(), lambda letter: ord(letter) / 3),
    "timestamp": (pa.timestamp("us", "UTC"), lambda letter: NOON + ord(letter) * HOUR),
    "struct": (STRUCT_KEY, lambda letter: {"region": None if letter < "d" else "eu", "number": float(ord(letter))}),
}


@FROM_FILES_OR_MEMORY
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15)
@given(batches=BATCHES)
def test_a_store_is_what_its_parts_make_of_it(
    kind: str, small_rows: int, batches: list[tuple[dict[str, int | None], bool]]
) -> None:
    key_type, key = KINDS[kind]
    schema = pa.schema([("_key", key_type), ("value", pa.int64()), ("_deleted", pa.bool_())])
    model: dict[str, int] = {}

    def rows(values: dict[str, int | None]) -> list[dict[str, Any]]:
        return [{"_key": key(letter), "value": value, "_deleted": value is None} for letter, value in values.items()]

    with tempfile.TemporaryDirectory() as root, reading_from(small_rows):
        state = WrittenState(root)
        view = StoreView(state.directory, "values")
        for changes, is_written_anew in batches:
            state.commit("values", schema, rows(changes))
            model = {letter: value for letter, value in (model | changes).items() if value is not None}
            if is_written_anew:
                state.commit_base("values", schema, rows({**model}))
            expected = sorted((letter, KeyValue(key(letter), value)) for letter, value in model.items())
            assert {letter: view.get(key(letter)) for letter in "abcdefg"} == {
                letter: model.get(letter) for letter in "abcdefg"
            }
            assert sorted(view.all(), key=lambda entry: key_text(entry.key)) == sorted(
                [entry for _, entry in expected], key=lambda entry: key_text(entry.key)
            )
            assert view.count() == len(model)
            if kind != "struct":  # whose nulls come last
                assert list(view.range()) == [entry for _, entry in expected]
                assert list(view.range(key("b"), key("e"))) == [
                    entry for letter, entry in expected if "b" <= letter <= "e"
                ]
                assert list(view.range(key("c"))) == [entry for letter, entry in expected if letter >= "c"]


WINDOWED_CHANGES = st.dictionaries(st.tuples(KEYS, st.integers(0, 3)), st.none() | st.integers(0, 99), max_size=6)


@FROM_FILES_OR_MEMORY
@settings(max_examples=15)
@given(batches=st.lists(st.tuples(WINDOWED_CHANGES, st.booleans()), min_size=1, max_size=5))
def test_a_store_with_windows_is_what_its_parts_make_of_it(
    small_rows: int, batches: list[tuple[dict[tuple[str, int], int | None], bool]]
) -> None:
    model: dict[tuple[str, int], int] = {}

    def entry(key: str, hour: int, value: float) -> WindowedValue:
        return WindowedValue(key, NOON + hour * HOUR, NOON + (hour + 1) * HOUR, {"sum_total": value})

    with tempfile.TemporaryDirectory() as root, reading_from(small_rows):
        state = WrittenState(root)
        view = StoreView(state.directory, "sums")
        for changes, is_written_anew in batches:
            state.commit("sums", WINDOWED_SUMS, [windowed(*place, value) for place, value in changes.items()])
            model = {place: value for place, value in (model | changes).items() if value is not None}
            if is_written_anew:
                state.commit_base("sums", WINDOWED_SUMS, [windowed(*place, value) for place, value in model.items()])
            expected = [entry(*place, value) for place, value in sorted(model.items())]
            assert list(view.range()) == expected
            assert sorted(view.all(), key=lambda each: (each.key, each.window_start)) == expected
            assert view.count() == len(model)
            assert view.windows("a") == [each for each in expected if each.key == "a"]
            assert [view.get("b", NOON + hour * HOUR) for hour in range(4)] == [
                {"sum_total": model["b", hour]} if ("b", hour) in model else None for hour in range(4)
            ]


def windowed(key: str, hour: int, value: float | None) -> dict[str, Any]:
    start = NOON + hour * HOUR
    return {
        "_key": key,
        "window_start": start,
        "window_end": start + HOUR,
        "_state": {"sum_0": value},
        "_timestamp": start,
        "sum_total": value,
        "_deleted": value is None,
    }


def test_windows_of_a_key(state: WrittenState) -> None:
    rows = [windowed("ann", hour, hour / 2) for hour in range(4)] + [windowed("bob", 1, 7)]
    state.commit("sums", WINDOWED_SUMS, rows)
    view = StoreView(state.directory, "sums")
    windows = view.get("ann")
    assert windows == view.windows("ann")
    assert [each.value for each in windows] == [{"sum_total": hour / 2} for hour in range(4)]
    assert windows[0].window_start == NOON
    assert windows[0].window_start.tzinfo is UTC or windows[0].window_start.utcoffset() == timedelta(0)
    assert [each.value["sum_total"] for each in view.windows("ann", NOON + HOUR, NOON + 2 * HOUR)] == [0.5, 1.0]
    assert [each.value["sum_total"] for each in view.windows("ann", since=NOON + 3 * HOUR)] == [1.5]
    assert [each.value["sum_total"] for each in view.windows("ann", until=NOON)] == [0.0]
    assert view.get("ann", round((NOON + HOUR).timestamp() * 1000)) == {"sum_total": 0.5}
    assert view.get("ann", NOON + timedelta(minutes=1)) is None
    assert view.get("carl") == []
    with pytest.raises(InvalidQuery, match="a datetime with a time zone, or milliseconds since 1970"):
        view.get("ann", NOON.replace(tzinfo=None))


def test_a_value_may_have_the_columns_of_a_window(state: WrittenState) -> None:
    """A table of a topic that windows were written to: by its keys alone, of which a later row replaces an earlier."""
    for hour in range(2):
        state.commit("latest", WINDOWED_SUMS, [windowed("ann", hour, hour / 2)], keys=("_key",))
    view = StoreView(state.directory, "latest")
    start = NOON + HOUR
    assert view.get("ann") == {"window_start": start, "window_end": start + HOUR, "sum_total": 0.5}
    assert (view.count(), len(list(view.all())), len(list(view.range()))) == (1, 1, 1)


def test_values_are_what_python_has_for_them(state: WrittenState) -> None:
    """Moments are of UTC, also within others; maps are dicts; nothing of ours is shown."""
    schema = pa.schema(
        [
            ("_key", pa.string()),
            ("at", pa.timestamp("us", "UTC")),
            ("prices", pa.list_(pa.decimal128(10, 2))),
            ("tags", pa.map_(pa.string(), pa.int32())),
            ("last", pa.struct([("seen", pa.timestamp("us", "UTC")), ("raw", pa.binary())])),
            ("_timestamp", pa.timestamp("us", "UTC")),
            ("_deleted", pa.bool_()),
        ]
    )
    value = {
        "at": NOON,
        "prices": [Decimal("1.10")],
        "tags": {"a": 1},
        "last": {"seen": NOON + HOUR, "raw": b"\xff"},
    }
    row = {"_key": "k", **value, "tags": [("a", 1)], "_timestamp": NOON, "_deleted": False}
    state.commit("values", schema, [row])
    view = StoreView(state.directory, "values")
    assert view.get("k") == value
    with reading_from(FILES):
        assert dict(StoreView(state.directory, "values", parts=parts.Parts()).all()) == {"k": value}


# -- which stores -----------------------------------------------------------------------------------------------------


def test_stores_that_are_not_there(state: WrittenState) -> None:
    """Those that an application keeps for itself are not offered; a store is not known by its name alone."""
    view = StoreView(state.directory, "counts")
    with pytest.raises(StoreNotFound, match=r"'counts' .* the application has finished no micro-batch there"):
        view.get("a")
    ours = pa.schema([("_key", pa.string()), ("_time", pa.int64()), ("_row", pa.int64()), ("_deleted", pa.bool_())])
    state.commit("join-1-right", ours, [{"_key": "a", "_time": 1, "_row": 1, "_deleted": False}])
    state.commit("empty", STRING_COUNTS, [])
    state.commit("sums-rows", STRING_COUNTS, [])
    state.commit("turn-left", STRING_COUNTS, counts(a=1))
    for name in ("join-1-right", "nothing"):
        with pytest.raises(StoreNotFound) as refused:
            StoreView(state.directory, name).count()
        assert str(refused.value).endswith("There are: empty, turn-left")
        assert refused.value.choices == ["empty", "turn-left"]
    with pytest.raises(StoreNotFound):
        view.get("a")
    state.commit("counts", STRING_COUNTS, counts(a=1))
    assert view.get("a") == {"count": 1}, "it was only too early"


def test_a_store_without_rows(state: WrittenState) -> None:
    state.commit("empty", STRING_COUNTS, [])
    view = StoreView(state.directory, "empty")
    assert view.get("a") is None
    assert view.windows("a") == []
    assert list(view.range()) == list(view.all()) == []
    assert view.count() == 0


def test_a_store_without_windows_is_not_asked_for_one(state: WrittenState) -> None:
    state.commit("counts", STRING_COUNTS, counts(a=1))
    view = StoreView(state.directory, "counts")
    for question in (lambda: view.windows("a"), lambda: view.get("a", 0)):
        with pytest.raises(InvalidQuery, match="store 'counts' has no windows"):
            question()


def test_stores_are_found_by_the_name_of_the_application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    state = WrittenState(tmp_path / "stoker" / "streams" / "order-processor")
    state.commit("counts", STRING_COUNTS, counts(a=1))
    assert open_store("order-processor", "counts").get("a") == {"count": 1}
    assert open_store("order-processor", "counts", tmp_path / "stoker" / "streams").get("a") == {"count": 1}
    for unknown in ("orders", "..", "order-processor/stores"):
        with pytest.raises(ApplicationNotFound, match="There are: order-processor") as refused:
            open_store(unknown, "counts")
        assert refused.value.choices == ["order-processor"]
    with pytest.raises(ApplicationNotFound, match="There are: none"):
        open_store("order-processor", "counts", tmp_path / "elsewhere")
    with pytest.raises(StoreNotFound, match="There are: counts"):
        open_store("order-processor", "count")


@pytest.mark.acceptance("B137")
def test_another_process_asks_without_spark(state: WrittenState) -> None:
    """A store is queried by key from another process than the application's, which never loads Spark."""
    state.commit("counts", STRING_COUNTS, counts(ann=3))
    program = f"""
import json, sys
from stoker.streams import open_store
view = open_store("application", "counts", {str(Path(str(state.directory)).parent)!r})
print(json.dumps([view.get("ann"), view.batch, view.as_of.isoformat(), "pyspark" in sys.modules]))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == [{"count": 3}, 0, "2026-01-01T00:00:00+00:00", False]


# -- while the application runs ---------------------------------------------------------------------------------------


def test_every_answer_says_how_old_it_is(state: WrittenState) -> None:
    now = FIRST_COMMIT + 30.0
    view = StoreView(state.directory, "counts", clock=lambda: now)
    state.commit("counts", STRING_COUNTS, counts(a=1))
    assert (view.batch, view.as_of, view.staleness) == (0, datetime(2026, 1, 1, tzinfo=UTC), 30.0)
    state.commit("counts", STRING_COUNTS, counts(a=2))
    assert view.batch == 0, "nothing was read since"
    answer = view.read(lambda store: store.get("a"))
    assert answer == ({"count": 2}, 1, datetime(2026, 1, 1, 0, 1, tzinfo=UTC), 0.0), "a clock that is behind"
    now += 45
    assert (view.batch, view.staleness) == (1, 15.0)


def test_compaction_while_a_question_is_answered(state: WrittenState) -> None:
    """What was removed is looked for in the newest state; the question is asked again."""
    first = state.commit("counts", STRING_COUNTS, counts(a=1, b=1))
    view = StoreView(state.directory, "counts", parts=parts.Parts())
    asked = itertools.count(1)

    def ask(store: StoreSnapshot) -> tuple[int, Any]:
        times = next(asked)
        if times == 1:
            state.commit_base("counts", STRING_COUNTS, counts(a=2, b=1))
            state.forget(first)
        return times, store.get("a")

    with reading_from(FILES):
        answer = view.read(ask)
    assert (answer.value, answer.batch) == ((2, {"count": 2}), 1)


@FROM_FILES_OR_MEMORY
def test_many_read_while_one_writes(state: WrittenState, small_rows: int) -> None:
    """Every answer is of one state, however soon its files are removed."""
    keys = [f"key-{number}" for number in range(20)]
    state.commit("counts", STRING_COUNTS, counts(**dict.fromkeys(keys, 0)))
    is_over = threading.Event()

    def read() -> set[tuple[int, ...]]:
        view = StoreView(state.directory, "counts")
        seen = set()
        while True:
            is_last = is_over.is_set()
            answer = view.read(lambda store: ([*store.all(), *store.range()], store.count()))
            entries, count = answer.value
            seen.add((answer.batch, len(entries), count, *{entry.value["count"] for entry in entries}))
            if is_last:
                return seen

    with reading_from(small_rows), ThreadPoolExecutor() as pool:
        readers = [pool.submit(read) for _ in range(3)]
        try:
            for number in range(1, 60):
                write = state.commit_base if number % 5 == 0 else state.commit
                write("counts", STRING_COUNTS, counts(**dict.fromkeys(keys, number)))
                state.forget(*state.directory.manifests()[:-2])
        finally:
            is_over.set()
        answers = [answer for reader in readers for answer in reader.result()]
    assert [answer[0] for answer in answers].count(59) == 3
    assert [answer for answer in answers if answer != (answer[0], 40, 20, answer[0])] == []


@FROM_FILES_OR_MEMORY
def test_compaction_while_all_rows_are_read(state: WrittenState, small_rows: int) -> None:
    """They are those of one state, though its files are removed meanwhile."""
    rows = [{"_key": f"key-{number}", "count": number, "_deleted": False} for number in range(50_000)]
    first = state.commit("counts", STRING_COUNTS, rows)
    with reading_from(small_rows):
        view = StoreView(state.directory, "counts", parts=parts.Parts())
        view.get("key-1")
        everything = view.all()
        found = [next(everything)]
        state.commit_base("counts", STRING_COUNTS, counts(a=2))
        state.forget(first)
        found += everything
        assert len({each.key for each in found}) == len(found) == 50_000
        assert list(view.all()) == [KeyValue("a", {"count": 2})]


@pytest.mark.parametrize("lost", ["_SUCCESS", "part-1.zstd.parquet"])
def test_a_part_that_is_not_whole_is_none(state: WrittenState, lost: str) -> None:
    """The state before is answered of: a base that is written again by a second attempt is not there for a moment."""
    state.commit("counts", STRING_COUNTS, counts(a=1, b=1))
    batch = state.commit_base("counts", STRING_COUNTS, counts(a=1, b=1))
    Path(state.directory.batch_path("counts", f"base-{batch}"), lost).unlink()
    view = StoreView(state.directory, "counts", parts=parts.Parts())
    assert dict(view.all()) == {"a": {"count": 1}, "b": {"count": 1}}
    assert view.batch == 0
    state.directory.remove_part("counts", "batch-0")
    with pytest.raises(StateLost, match="store 'counts' names files that are not in"):
        StoreView(state.directory, "counts", parts=parts.Parts()).count()


def test_an_application_that_began_anew(tmp_path: Path) -> None:
    """Names of parts and numbers of batches come again, what was read of them before does not."""
    state = WrittenState(tmp_path)
    state.commit("counts", STRING_COUNTS, counts(a=1))
    view = StoreView(state.directory, "counts")
    assert view.get("a") == {"count": 1}
    state.directory.remove()
    anew = WrittenState(tmp_path)
    anew.commit("counts", STRING_COUNTS, counts(a=5))
    assert view.get("a") == {"count": 5}


@pytest.mark.spark
@pytest.mark.timeout(300)
@pytest.mark.acceptance("B137")
def test_stores_of_a_topology(spark: "SparkSession") -> None:
    """Named stores are queried by key while the application goes on: the value, or the windows, of a key."""
    app = Streams("orders")
    orders = app.stream("orders", value_schema="customer string, total double").group_by("customer")
    orders.window(tumbling("1 hour")).sum("total", name="revenue", store="hourly-revenue")
    orders.aggregate(0.0, lambda _, row, total: total + row["total"], "double", store="totals")
    with TestDriver(app, spark=spark) as driver:
        driver.send("orders", {"customer": "ann", "total": 2.5}, timestamp=NOON)
        totals, hourly = driver.store("totals"), driver.store("hourly-revenue")
        assert totals.get("ann") == 2.5
        assert totals.get("bob") is None
        assert hourly.get("ann", NOON) == {"revenue": 2.5}
        driver.send("orders", {"customer": "ann", "total": 1.0}, timestamp=NOON + HOUR)
        driver.send("orders", {"customer": "bob", "total": 4.0}, timestamp=NOON + HOUR)
        driver.run()
        assert dict(totals.all()) == {"ann": 3.5, "bob": 4.0}
        assert hourly.get("ann") == [
            WindowedValue("ann", NOON, NOON + HOUR, {"revenue": 2.5}),
            WindowedValue("ann", NOON + HOUR, NOON + 2 * HOUR, {"revenue": 1.0}),
        ]
        assert (hourly.batch, hourly.count()) == (1, 3)
        assert 0 <= hourly.staleness < 300
