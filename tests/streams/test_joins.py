"""Joins at their edges: who meets whom, when, and with which columns."""

from typing import TYPE_CHECKING, Any, Final

import pytest

from stoker.streams.application import Streams
from stoker.streams.errors import InvalidTopology
from stoker.streams.test_driver import TestDriver
from stoker.streams.windows import tumbling
from tests.streams.driven import Driven, Sent, drive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES: Final = ["left.n AS one", "right.n AS other"]


def order(n: str, second: int, key: str | None = "k") -> Sent:
    return Sent("orders", key, {"n": n, "customer": n}, 1000 * second)


def payment(n: str, second: int, key: str | None = "k") -> Sent:
    return Sent("payments", key, {"n": n}, 1000 * second)


@pytest.fixture(scope="module")
def streams(spark: "SparkSession") -> Driven:
    """Within 5 s before and 10 s after, grace 5 s: of a row, what is up to 20 s before stream time is kept."""
    application = Streams("streams")
    orders = application.stream("orders", value_schema="n string, customer string")
    payments = application.stream("payments", value_schema="n string")
    for how in ("inner", "left", "outer"):
        orders.join(payments, within=("5s", "10s"), grace="5s", how=how, columns=NAMES).to(how)
    orders.join(payments, within="10s").to("all-columns")
    orders.join(payments, within="0s", columns=NAMES).to("same-time")
    return drive(
        spark,
        application,
        [
            *[payment("too early", 94), payment("at the start", 95), payment("without a key", 99, None)],
            *[order("o", 100), payment("same time", 100), order("nobody's", 100, "j"), order("no key", 100, None)],
            *[payment("at the end", 110), payment("too late", 111)],
        ],
        # When 115 s are over the window of the orders closes; what comes then still meets what is kept.
        [payment("after the window, in time", 115), payment("it closes", 116, "x"), payment("out of order", 105)],
        # Of 100 s nothing is kept at 120 s.
        [payment("nobody knows him", 120, "x"), payment("much too late", 105)],
    )


def pairs(driven: Driven, topic: str) -> set[tuple[str | None, str | None]]:
    found = [(value["one"], value["other"]) for value in driven.values(topic)]
    assert len(found) == len(set(found))
    return set(found)


INNER: Final = {("o", "at the start"), ("o", "same time"), ("o", "at the end"), ("o", "out of order")}
ALONE: Final = {("nobody's", None), ("no key", None)}


@pytest.mark.acceptance("B144")
def test_streams_within_a_span(streams: Driven) -> None:
    """Rows with the same key meet whichever comes first, its edges included; what is outside of the span does not."""
    assert pairs(streams, "inner") == INNER
    assert pairs(streams, "same-time") == {("o", "same time")}


def test_rows_without_a_partner(streams: Driven) -> None:
    """When none can come any more; at once, if they have no key."""
    assert pairs(streams, "left") == INNER | ALONE
    assert pairs(streams, "outer") == INNER | ALONE | {
        (None, each) for each in ("too early", "without a key", "much too late")
    }


def test_the_time_of_a_pair_is_the_later_one(streams: Driven) -> None:
    times = {each.value["other"]: each.timestamp for each in streams.records["inner"]}
    assert times == {"at the start": 100_000, "same time": 100_000, "at the end": 110_000, "out of order": 105_000}


def test_names_that_are_on_both_sides(streams: Driven) -> None:
    assert {"n": "o", "customer": "o", "right_n": "at the start"} in streams.values("all-columns")


def row(topic: str, key: str | None, n: str | None, time: int, **others: Any) -> Sent:
    return Sent(topic, key, None if n is None else {"n": n, **others}, time)


@pytest.fixture(scope="module")
def tables(spark: "SparkSession") -> Driven:
    application = Streams("tables")
    orders = application.stream("orders", value_schema="n string, region string")
    customers = application.table("customers", value_schema="n string")
    orders.left_join(customers, columns=NAMES).to("lookup")
    orders.join(customers.filter("n != 'b'").select(n="upper(n)"), columns=NAMES).to("lookup-of-a-view")
    orders.left_join(application.stream("visits", value_schema="n string").to_table(), columns=NAMES).to(
        "lookup-of-rows"
    )
    regions = application.global_table("regions", value_schema="n string")
    orders.left_join(regions, on="region", columns=NAMES).to("global")
    left, right = (application.table(topic, value_schema="n string, link string") for topic in ("left", "right"))
    for how in ("inner", "left", "outer"):
        left.join(right, how=how, columns=["left", "right"]).to(f"tables-{how}")
    left.join(right, on="link", columns=NAMES).to("foreign")
    left.left_join(right, on="link", columns=NAMES).to("foreign-left")
    hours = [
        application.stream(topic, value_schema="n string").group_by_key().window(tumbling("1 hour"))
        for topic in ("orders-a", "orders-b")
    ]
    hours[0].count(name="a").outer_join(hours[1].count(name="b")).to("hours")
    both = [Sent(topic, "k", {"n": "x"}, 10) for topic in ("orders-a", "orders-b")]
    return drive(
        spark,
        application,
        [
            # All of it in one micro-batch: an order meets what the customer is at its time, the table first at the same time.
            *[row("customers", "k", n, time) for n, time in (("a", 10), ("b", 20), (None, 30), ("c", 40))],
            *[row("visits", "k", n, time) for n, time in (("a", 10), ("b", 20))],
            *[row("orders", "k", str(time), time, region="eu") for time in (5, 10, 15, 25, 35, 45)],
            row("orders", None, "no key", 46, region=None),
            *[row("regions", "eu", "Europe", 99), *both],
            *[row("left", "1", "l1", 1, link="r"), row("right", "r", "r1", 2), row("right", "1", "r2", 3)],
        ],
        [
            *[
                row("customers", "k", "d", 50),
                row("regions", "eu", None, 99),
                row("orders", "k", "47", 47, region="eu"),
            ],
            *[row("left", "2", "l2", 4, link=None), row("left", "3", "l3", 5, link="r"), row("right", "1", None, 6)],
            *[row("left", "1", "l4", 7, link="q"), row("right", "9", "r9", 8), row("right", "8", None, 9), *both],
        ],
    )


@pytest.mark.acceptance("B145")
def test_a_table_as_it_was(tables: Driven) -> None:
    """A row meets what the table had at its time, of several changes in one micro-batch too; later ones give nothing new."""
    found = [(value["one"], value["other"]) for value in tables.values("lookup")]
    assert found == [
        ("5", None), ("10", "a"), ("15", "a"), ("25", "b"), ("35", None), ("45", "c"), ("no key", None), ("47", "c"),
    ]  # fmt: skip
    views = [(value["one"], value["other"]) for value in tables.values("lookup-of-a-view")]
    assert views == [("10", "A"), ("15", "A"), ("45", "C"), ("47", "C")]
    assert [value["other"] for value in tables.values("lookup-of-rows")] == [None, "a", "a", "b", "b", "b", None, "b"]


@pytest.mark.acceptance("B132", "B146")
def test_a_global_table(tables: Driven) -> None:
    """A row finds what the table has now, by any of its columns; null finds nothing."""
    assert [value["other"] for value in tables.values("global")] == ["Europe"] * 6 + [None, None]


@pytest.mark.acceptance("B147")
def test_tables_follow_both_sides(tables: Driven) -> None:
    """By key or by foreign key: a row changes with either side, is deleted with what it needs, and no deletion comes for nothing."""

    def names(topic: str) -> list[Any]:
        return [
            (key, value and tuple(each and each["n"] for each in (value["left"], value["right"])))
            for key, value in tables.rows(topic)
        ]

    assert names("tables-inner") == [("1", ("l1", "r2")), ("1", None)]
    assert sorted(names("tables-left"), key=str) == [
        ("1", ("l1", "r2")), ("1", ("l4", None)), ("2", ("l2", None)), ("3", ("l3", None)),
    ]  # fmt: skip
    assert tables.table("tables-outer").keys() == {"1", "2", "3", "r", "9"}
    assert ("r", (None, "r1")) in names("tables-outer")
    assert {key: value["other"] for key, value in tables.table("foreign").items()} == {"3": "r1"}
    assert {key: value["other"] for key, value in tables.table("foreign-left").items()} == {
        "1": None,
        "2": None,
        "3": "r1",
    }


def test_tables_of_windows_are_joined_by_window(tables: Driven) -> None:
    assert tables.table("hours") == {("k", 0, 3_600_000): {"a": 2, "b": 2}}


def test_a_column_twice_is_refused(spark: "SparkSession") -> None:
    application = Streams("twice")
    left, right = (application.stream(topic, value_schema="n int, right_n int") for topic in ("one", "other"))
    left.join(right, within="1s").to("out")
    with TestDriver(application, spark=spark) as driver:
        driver.send("one", None)
        with pytest.raises(InvalidTopology, match="'right_n' twice: choose by"):
            driver.run()


def test_what_cannot_be_joined_is_refused() -> None:
    application = Streams("refused")
    table, stream = application.table("t"), application.stream("s")
    with pytest.raises(InvalidTopology, match="with a table, not with Stream; streams join tables"):
        table.join(stream)  # type: ignore[arg-type]
    with pytest.raises(InvalidTopology, match="foreign key is inner or left"):
        table.join(table, on="n", how="outer")
