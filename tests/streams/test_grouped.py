"""Aggregates and windows, at their edges: nulls, several micro-batches, late rows, what Python gives."""

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pytest

from stoker.streams.aggregates import FUNCTIONS
from stoker.streams.application import Streams
from stoker.streams.errors import InvalidTopology
from stoker.streams.grouped import GroupedStream
from stoker.streams.windows import Window, hopping, session, sliding, tumbling
from tests.streams.driven import Driven, Sent, drive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES: Final = "n int, price decimal(6,2), name string"


def value(n: int | None, name: str | None = None) -> dict[str, Any]:
    return {"n": n, "price": None if n is None else Decimal(n) / 4, "name": name}


EXPRESSIONS: Final[dict[str, tuple[str, Any, Any]]] = {
    # What comes of n = 3, null, 1 and name = b, null, a in the first batch; of 3 and c in the second.
    "rows": ("count(*)", 3, 4),
    "count": ("count(n)", 2, 3),
    "sum": ("sum(n)", 4, 7),
    "sum_of_decimals": ("sum(price)", Decimal(1), Decimal("1.75")),
    "avg": ("avg(n)", 2, 7 / 3),
    "min": ("min(n)", 1, 1),
    "max": ("max(name)", "b", "c"),
    "latest": ("latest(name)", "a", "c"),
    "earliest": ("earliest(name)", "b", "b"),
    "collect_list": ("collect_list(n)", [3, 1], [3, 1, 3]),
    "collect_set": ("collect_set(n)", [1, 3], [1, 3]),
    "count_distinct": ("count(DISTINCT n)", 2, 2),
    "topk": ("topk(n, 2)", [3, 1], [3, 3]),
    "topkdistinct": ("topkdistinct(n, 2)", [3, 1], [3, 1]),
    "stddev_samp": ("stddev_samp(n)", 2**0.5, (4 / 3) ** 0.5),
    "of_some": ("sum(n) FILTER (WHERE name > 'a')", 3, 6),
    "rows_of_some": ("count(*) FILTER (WHERE name > 'a')", 1, 2),
    "expression": ("round(sum(n) / count(*), 2) + 1", 2.33, 2.75),
    "of_the_key": ("concat(_key, ':', count(*))", "k:3", "k:4"),
}
NOTHING: Final = {
    "count": 0,
    "rows_of_some": 0,
    "count_distinct": 0,
    "rows": 1,
    "of_the_key": "null:1",
    "collect_list": [],
    "collect_set": [],
    "topk": [],
    "topkdistinct": [],
}
"""For a key with nothing but nulls; other results are null."""


def longest(so_far: dict[str, Any], row: dict[str, Any]) -> dict[str, Any] | None:
    """None for a name that is null, which deletes."""
    if row["name"] is None:
        return None
    return row if row["n"] > so_far["n"] else so_far


def counted(_: str, row: dict[str, Any], state: dict[str, Any]) -> dict[str, Any] | None:
    """Changes its state in place; deletes it at a name that is null."""
    if row["name"] is None:
        return None
    state["names"].append(row["name"])
    return state


@pytest.fixture(scope="module")
def driven(spark: "SparkSession") -> Driven:
    application = Streams("aggregates")
    rows = application.stream("rows", value_schema=VALUES)
    aggregates: dict[str, Any] = {name: sql for name, (sql, _, _) in EXPRESSIONS.items()}
    rows.group_by_key().aggregate(**aggregates).to("aggregates")
    steps = application.stream("steps", value_schema=VALUES).group_by_key()
    steps.reduce(longest).to("reduced")
    steps.aggregate({"names": []}, counted, "names array<string>").to("folded")
    steps.aggregate(lambda: 1, lambda _, row, product: product * row["n"], "int").to("product")
    steps.window(hopping("10s", "5s")).aggregate(0, lambda _, row, total: total + row["n"], "int").to("hops")
    return drive(
        spark,
        application,
        [
            *[Sent("rows", "k", value(n, name)) for n, name in ((3, "b"), (None, None), (1, "a"))],
            Sent("rows", "null", value(None)),
            Sent("rows", None, value(9)),
            *[
                Sent("steps", key, value(n, name), 4_000)
                for key, n, name in (("a", 2, "x"), ("b", 3, "y"), ("c", 5, None))
            ],
        ],
        [
            Sent("rows", "k", value(3, "c")),
            *[
                Sent("steps", key, value(n, name), 6_000)
                for key, n, name in (("a", 4, None), ("a", 1, "z"), ("b", 4, None))
            ],
        ],
        [Sent("steps", "b", value(1, "w"), 12_000)],
    )


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_aggregates_are_carried_from_one_batch_to_the_next(driven: Driven, name: str) -> None:
    _, *expected = EXPRESSIONS[name]
    found = [result[name] for key, result in driven.rows("aggregates") if key == "k"]
    assert found == [pytest.approx(each) if isinstance(each, float) else each for each in expected]
    assert [result[name] for key, result in driven.rows("aggregates") if key == "null"] == [NOTHING.get(name)]


def test_every_function_is_tried() -> None:
    assert FUNCTIONS.keys() <= EXPRESSIONS.keys()


def test_rows_without_a_key_are_in_no_group(driven: Driven) -> None:
    assert {key for key, _ in driven.rows("aggregates")} == {"k", "null"}


@pytest.mark.acceptance("B134")
def test_python_takes_rows_one_after_the_other(driven: Driven) -> None:
    """A function gives the running result of each key; None deletes it, and the next row begins anew."""
    assert [(key, value and value["n"]) for key, value in driven.rows("reduced")] == [
        ("a", 2), ("b", 3), ("c", 5), ("a", 1), ("b", None), ("b", 1),
    ]  # fmt: skip
    assert driven.rows("folded") == [
        ("a", {"names": ["x"]}), ("b", {"names": ["y"]}), ("a", {"names": ["z"]}), ("b", None), ("b", {"names": ["w"]}),
    ]  # fmt: skip
    assert driven.table("product") == {"a": 8, "b": 12, "c": 5}
    assert driven.table("hops")["b", 5_000, 15_000] == {"value": 5}
    assert driven.table("hops")["b", 0, 10_000] == {"value": 7}


LATE: Final = [
    Sent("rows", "now", value(0), 100_000),
    *[Sent("rows", str(late), value(late), 100_000 - 1_000 * late) for late in (10, 11, 15, 16, 20, 21, 25, 26)],
]
"""Rows of as many keys, later and later."""


@pytest.fixture(scope="module")
def late(spark: "SparkSession") -> Driven:
    application = Streams("late")
    rows = application.stream("rows", value_schema=VALUES).group_by_key()
    windows: dict[str, Window] = {
        "tumbling": tumbling("10s", grace="5s"),
        "hopping": hopping("20s", "10s", grace="5s"),
        "sliding": sliding("20s", grace="5s"),
        "session": session("10s", grace="5s"),
    }
    for name, window in windows.items():
        table = rows.window(window).count(store=name)
        table.late().to(f"late-for-{name}")
        table.suppress().to(f"closed-{name}")
        table.to(name, windowed_key=True)
    return drive(spark, application, LATE, [Sent("rows", "now", value(0), 1_000_000)])


@pytest.mark.acceptance("B142")
@pytest.mark.parametrize(
    ("name", "in_time"),
    [
        ("tumbling", 10),  # in [90, 100), which is open until 105; the next is in [80, 90), until 95
        ("session", 15),  # 85 + 10 + 5 is 100; the next is alone, and a second too late
        ("hopping", 20),  # in [80, 100); the next is in [70, 90) and [60, 80)
        ("sliding", 25),  # 75 + 20 + 5 is 100
    ],
)
def test_late_rows_are_counted_and_kept_aside(late: Driven, name: str, in_time: int) -> None:
    """On both sides of the limit: what is within grace counts, what is later is dropped, counted, and had by late()."""
    too_late = [each.value["n"] for each in LATE if each.value["n"] > in_time]
    assert sorted(each["n"] for each in late.values(f"late-for-{name}")) == too_late
    assert [each.get(name, 0) for each in late.late] == [len(too_late), 0]


def test_closed_windows_come_once_and_as_they_are_for_good(late: Driven) -> None:
    assert late.table("closed-tumbling") == {
        ("10", 90_000, 100_000): {"count": 1},
        ("now", 100_000, 110_000): {"count": 1},
    }
    assert late.table("closed-session") == {
        (key, time, time): {"count": 1}
        for key, time in (("10", 90_000), ("11", 89_000), ("15", 85_000), ("now", 100_000))
    }
    assert late.table("closed-sliding") == {("now", 80_000, 100_000): {"count": 1}}
    assert late.table("closed-hopping").keys() == {
        *[(key, 80_000, 100_000) for key in ("11", "15", "16", "20")],
        *[("10", start, start + 20_000) for start in (80_000, 90_000)],
        *[("now", start, start + 20_000) for start in (90_000, 100_000)],
    }
    assert all(
        len(late.values(f"closed-{name}")) == len(late.table(f"closed-{name}")) for name in ("hopping", "session")
    )


@pytest.mark.acceptance("B143")
def test_keys_of_windows_as_kafka_streams_writes_them(late: Driven) -> None:
    """The key and the start of its window; of a session, the key, its end and its start: eight bytes each."""
    assert bytes(late.records["tumbling"][-1].key) == b"now" + (1_000_000).to_bytes(8, "big")
    last = late.records["session"][-1]
    assert bytes(last.key) == b"now" + (1_000_000).to_bytes(8, "big") * 2


REFUSED: Final[dict[str, tuple[Callable[[GroupedStream], object], str]]] = {
    "no aggregate": (lambda rows: rows.aggregate(x="n + 1"), "x='n . 1' has no aggregate.*count, sum, avg"),
    "a column of a row": (lambda rows: rows.aggregate(x="sum(n) / n"), r"n is of a row.*such as latest\(n\)"),
    "not to be carried on": (lambda rows: rows.aggregate(x="median(n)"), "median cannot be carried.*topkdistinct"),
    "of an aggregate": (lambda rows: rows.aggregate(x="max(sum(n))"), "aggregate of an aggregate needs two"),
    "of different values": (lambda rows: rows.aggregate(x="sum(DISTINCT n)"), r"count\(DISTINCT .* not sum"),
    "over": (lambda rows: rows.aggregate(x="sum(n) OVER ()"), "makes windows of time"),
    "no SQL": (lambda rows: rows.aggregate(x="sum("), "x='sum.' is no expression"),
    "nothing": (lambda rows: rows.aggregate(), "takes SQL by name"),
    "Python without a type": (
        lambda rows: rows.aggregate(0, lambda _, row, so_far: so_far),
        "needs the type of its state",
    ),
    "Python over sessions": (
        lambda rows: rows.window(session("1s")).reduce(longest),
        "session.*use SQL aggregates.*or a Processor",
    ),
    "no window": (lambda rows: rows.window("1 hour"), "tumbling.*session.*not '1 hour'"),  # type: ignore[arg-type]
    "suppress without windows": (lambda rows: rows.count().suppress(), "this table has no windows"),
    "late without windows": (lambda rows: rows.count().late(), "nothing can be late"),
    "suppress of what had windows": (
        lambda rows: rows.window(tumbling("1s")).count().group_by("count").count().suppress(),
        "this table has no windows",
    ),
    "min of a table": (
        lambda rows: rows.count().group_by("count").aggregate(x="min(count)"),
        "min of a table cannot take a row out again.*count, sum, avg",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_declared_is_refused(name: str) -> None:
    declare, message = REFUSED[name]
    with pytest.raises(InvalidTopology, match=f"(?s){message}"):
        declare(Streams("refused").stream("rows").group_by_key())
