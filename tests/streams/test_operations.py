"""Every operation by hand-checked expectations: one application does most of them at once, for a micro-batch costs the most."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from stoker.streams import Processor, Streams, TestDriver, hopping, session, sliding, tumbling
from stoker.streams.errors import InvalidTopology

SECOND, MINUTE, HOUR = 1000, 60_000, 3_600_000
ORDER = "id string, amount double, region string, items array<string>"


def at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def values(driver: TestDriver, topic: str) -> list[tuple[Any, Any]]:
    """Keys and values, sorted."""
    return sorted(((each.key, each.value) for each in driver.read(topic)), key=repr)


def windows(driver: TestDriver, topic: str, column: str = "count") -> dict[tuple[str, int, int], Any]:
    """The last value of each key and window."""
    return {
        (
            each.key,
            round(each.value["window_start"].timestamp() * 1000),
            round(each.value["window_end"].timestamp() * 1000),
        ): each.value[column]
        for each in driver.read(topic)
        if each.value is not None
    }


class Alarm(Processor):
    """The third record of a key raises an alarm; a minute without any is a farewell."""

    def process(self, key: str, record: dict[str, Any], context: Any) -> None:
        context.cancel(context.state.get("timer", 0))
        context.state["seen"] = context.state.get("seen", 0) + 1
        context.state["timer"] = context.timestamp + MINUTE
        context.schedule(context.state["timer"])
        if context.state["seen"] == 3:
            context.forward({"what": f"alarm of {key}"})

    def on_timer(self, key: str, time: int, context: Any) -> None:
        context.forward({"what": f"farewell of {key}"})
        context.state.clear()


def declare(app: Streams) -> None:
    orders = app.stream("orders", value_schema=ORDER)
    orders.to("events")
    orders.filter("amount > 1000").to("large")
    orders.filter_not(lambda row: row.amount > 1000).select("id").to("small")
    orders.select("id", gross="amount * 1.2").to("selected")
    orders.with_columns(amount=F.col("amount") * 2).select("amount").to("doubled")
    orders.flat_map("items", "item").to("items")
    orders.flat_map("transform(items, i -> struct(i AS name, length(i) AS size))").to("item-structs")
    orders.map(lambda row: [{"twice": row["id"] * 2}] if row["amount"] < 100 else None, "twice string").to("mapped")
    orders.transform(lambda frame: frame.withColumn("shout", F.upper("region"))).select("shout").to("shouted")
    branches = orders.split({"eu": "region = 'eu'", "us": "region = 'us'"}, default="rest", prefix="branch-")
    for name, branch in branches.items():
        branch.select("id").to(name)
    branches["branch-eu"].merge(branches["branch-us"]).select("id").to("merged")
    orders.key_by("region").select("id").to("by-region")
    grouped = orders.group_by_key()
    grouped.count(store="counts").to("counts")
    orders.group_by("region", "amount > 100").count().to("two-keys")
    grouped.aggregate(
        total="sum(amount)",
        mean="avg(amount)",
        least="min(amount)",
        most="max(amount)",
        first="earliest(id)",
        last="latest(id)",
        ids="collect_list(id)",
        regions="collect_set(region)",
        top="topk(amount, 2)",
        different="count_distinct(region)",
        share="sum(amount) / count(*)",
    ).to("aggregates")
    grouped.aggregate(0.0, lambda key, row, total: total + row["amount"], "double", store="spend").to("spend")
    grouped.reduce(lambda one, other: one if one["amount"] >= other["amount"] else other).select("id").to("largest")
    orders.deduplicate("id", within="1 hour").select("id").to("unique")
    orders.process(Alarm, "what string", store="alarms").to("alarms")


@pytest.fixture(scope="module")
def driven(spark: SparkSession) -> Iterator[TestDriver]:
    app = Streams("operations", spark=spark)
    declare(app)
    with TestDriver(app, spark=spark) as driver:
        for number, (key, order, time) in enumerate(
            [
                ("ada", {"id": "o1", "amount": 50.0, "region": "eu", "items": ["pen", "ink"]}, 1 * SECOND),
                ("ada", {"id": "o2", "amount": 1500.0, "region": "us", "items": []}, 2 * SECOND),
                ("ben", {"id": "o3", "amount": 1000.0, "region": None, "items": None}, 3 * SECOND),
                ("ada", {"id": "o1", "amount": 50.0, "region": "eu", "items": ["pen"]}, 4 * SECOND),
                ("eve", {"id": "o4", "amount": 1.0, "region": "jp", "items": ["cup"]}, 10 * MINUTE),
            ]
        ):
            driver.send("orders", order, key=key, timestamp=time)
            if number == 1:
                driver.run()
        driver.run()
        driver.send(
            "orders", {"id": "o5", "amount": 2.0, "region": "jp", "items": []}, key="eve", timestamp=11 * MINUTE
        )
        driver.run()
        yield driver


@pytest.mark.acceptance("B130", "S070")
def test_events(driven: TestDriver) -> None:
    """Each record is an event: the same key and value again is there again; filters keep 1001 and leave 1000 out."""
    assert [key for key, _ in values(driven, "events")] == ["ada", "ada", "ada", "ben", "eve", "eve"]
    assert values(driven, "large") == [("ada", {"id": "o2", "amount": 1500.0, "region": "us", "items": []})]
    assert [value["id"] for _, value in values(driven, "small")] == ["o1", "o1", "o3", "o4", "o5"]


CASES: dict[str, list[Any]] = {
    "doubled": [
        {"amount": 100.0},
        {"amount": 100.0},
        {"amount": 2.0},
        {"amount": 2000.0},
        {"amount": 3000.0},
        {"amount": 4.0},
    ],
    "items": [{"item": "cup"}, {"item": "ink"}, {"item": "pen"}, {"item": "pen"}],
    "item-structs": [
        {"name": "cup", "size": 3},
        {"name": "ink", "size": 3},
        {"name": "pen", "size": 3},
        {"name": "pen", "size": 3},
    ],
    "mapped": [{"twice": "o1o1"}, {"twice": "o1o1"}, {"twice": "o4o4"}, {"twice": "o5o5"}],
    "shouted": [{"shout": "EU"}, {"shout": "EU"}, {"shout": "JP"}, {"shout": "JP"}, {"shout": "US"}, {"shout": None}],
    "branch-eu": [{"id": "o1"}, {"id": "o1"}],
    "branch-us": [{"id": "o2"}],
    "branch-rest": [{"id": "o3"}, {"id": "o4"}, {"id": "o5"}],
    "merged": [{"id": "o1"}, {"id": "o1"}, {"id": "o2"}],
    "unique": [{"id": "o1"}, {"id": "o2"}, {"id": "o3"}, {"id": "o4"}, {"id": "o5"}],
    "alarms": [
        {"what": f"{each}"} for each in ("alarm of ada", "farewell of ada", "farewell of ben", "farewell of eve")
    ],
}


@pytest.mark.parametrize("topic", CASES)
def test_rows(driven: TestDriver, topic: str) -> None:
    found = sorted((value for _, value in values(driven, topic)), key=repr)
    assert found == sorted(CASES[topic], key=repr)


def test_keys(driven: TestDriver) -> None:
    assert sorted(key or "" for key, _ in values(driven, "by-region")) == ["", "eu", "eu", "jp", "jp", "us"]


def test_running_results(driven: TestDriver) -> None:
    """Counts, sums and Python functions give the last result of each key."""
    assert {each.key: each.value["count"] for each in driven.read("counts")} == {"ada": 3, "ben": 1, "eve": 2}
    assert {each.key: each.value for each in driven.read("spend")} == {"ada": 1600.0, "ben": 1000.0, "eve": 3.0}
    assert {each.key: each.value["id"] for each in driven.read("largest")} == {"ada": "o2", "ben": "o3", "eve": "o5"}
    pairs = {(each.key["region"], list(each.key.values())[1]): each.value["count"] for each in driven.read("two-keys")}
    assert pairs == {("eu", False): 2, ("us", True): 1, (None, True): 1, ("jp", False): 2}


def test_aggregates(driven: TestDriver) -> None:
    last = {each.key: each.value for each in driven.read("aggregates")}
    assert last["ada"] == {
        "total": 1600.0,
        "mean": pytest.approx(533.33, abs=0.01),
        "least": 50.0,
        "most": 1500.0,
        "first": "o1",
        "last": "o1",
        "ids": ["o1", "o2", "o1"],
        "regions": ["eu", "us"],
        "top": [1500.0, 50.0],
        "different": 2,
        "share": pytest.approx(533.33, abs=0.01),
    }


# -- windows ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def windowed(spark: SparkSession) -> Iterator[TestDriver]:
    app = Streams("windows", spark=spark)
    clicks = app.stream("clicks", value_schema="page string").group_by_key()
    hourly = clicks.window(tumbling("1 hour", grace="5 minutes")).count(store="hourly")
    hourly.to("hourly")
    hourly.suppress().to("final")
    hourly.late().to("late")
    clicks.window(tumbling("1 hour", grace="5 minutes")).count().to("windowed-keys", windowed_key=True)
    clicks.window(hopping("5 minutes", "1 minute", grace="2 hours")).count().to("hopping")
    clicks.window(sliding("30 seconds", grace="2 hours")).count().to("sliding")
    clicks.window(session("30 minutes", grace="2 hours")).count(store="sessions").to("sessions")
    with TestDriver(app, spark=spark) as driver:
        for time in (0, HOUR - 1, HOUR):
            driver.send("clicks", {"page": "a"}, key="ada", timestamp=time)
        driver.run()
        # Within grace, at its very end, and after it; then what closes the second hour.
        for time in (
            20 * MINUTE,
            HOUR + 5 * MINUTE - 1,
            40 * MINUTE,
            HOUR + 5 * MINUTE,
            50 * MINUTE,
            2 * HOUR + 5 * MINUTE,
        ):
            driver.send("clicks", {"page": "b"}, key="ada", timestamp=time)
        driver.run()
        yield driver


@pytest.mark.acceptance("B138", "B142", "B143")
def test_tumbling_windows(windowed: TestDriver) -> None:
    """Hours are [start, end) since 1970; what comes within grace counts, what comes later is dropped and counted as late."""
    assert windows(windowed, "hourly") == {
        ("ada", 0, HOUR): 4,
        ("ada", HOUR, 2 * HOUR): 3,
        ("ada", 2 * HOUR, 3 * HOUR): 1,
    }
    late = windowed.read("late")
    assert [(each.key, each.value, each.timestamp) for each in late] == [("ada", {"page": "b"}, 50 * MINUTE)]
    assert windowed.progress["total"]["late"]["hourly"] == 1
    assert windows(windowed, "final") == {("ada", 0, HOUR): 4, ("ada", HOUR, 2 * HOUR): 3}


def test_keys_of_windows_as_kafka_streams_writes_them(windowed: TestDriver) -> None:
    keys = {bytes(each.key) for each in windowed.read("windowed-keys")}
    assert keys == {b"ada" + start.to_bytes(8, "big") for start in (0, HOUR, 2 * HOUR)}


@pytest.mark.acceptance("B139")
def test_hopping_windows(windowed: TestDriver) -> None:
    """A record is in size / advance windows, but for those that would begin before 1970."""
    found = windows(windowed, "hopping")
    of_one = [start for (_, start, end) in found if start <= 2 * HOUR + 5 * MINUTE < end]
    assert sorted(of_one) == [2 * HOUR + minute * MINUTE for minute in (1, 2, 3, 4, 5)]
    assert [start for (_, start, end) in found if start <= 0 < end] == [0]


@pytest.mark.acceptance("B140")
def test_sliding_windows(windowed: TestDriver) -> None:
    """Records that lie at most 30 s apart share a window."""
    found = windows(windowed, "sliding")
    together = {end for (_, _, end), count in found.items() if count == 2}
    assert together == {HOUR, HOUR + 5 * MINUTE}
    assert all(end - start == 30 * SECOND for _, start, end in found)


@pytest.mark.acceptance("B141")
def test_sessions(windowed: TestDriver) -> None:
    """A record between two sessions bridges them into one; the old ones are deleted."""
    found = [
        (each.window_start, each.window_end, each.value["count"]) for each in windowed.store("sessions").get("ada")
    ]
    assert found == [(at(0), at(HOUR + 5 * MINUTE), 8), (at(2 * HOUR + 5 * MINUTE), at(2 * HOUR + 5 * MINUTE), 1)]


# -- joins ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def joined(spark: SparkSession) -> Iterator[TestDriver]:
    app = Streams("joins", spark=spark)
    orders = app.stream("orders", value_schema="id string, region string")
    payments = app.stream("payments", value_schema="method string")
    customers = app.table("customers", value_schema="name string", store="customers")
    tiers = app.table("tiers", value_schema="tier string, name string")
    regions = app.global_table("regions", value_schema="label string")
    orders.join(payments, within="5 minutes", columns=["left.id", "right.method"]).to("paid")
    orders.left_join(payments, within="5 minutes", columns=["left.id", "right.method"]).to("paid-or-not")
    orders.left_join(customers, columns=["left.id", "right.name"]).to("enriched")
    orders.join(regions, on="region", columns=["left.id", "right.label"]).to("located")
    customers.join(tiers).to("members")
    customers.to("customers-out")
    customers.filter("name != 'Ben'").to("others")
    with TestDriver(app, spark=spark) as driver:
        driver.send("customers", {"name": "Ada"}, key="c1", timestamp=0)
        driver.send("customers", {"name": "Ben"}, key="c2", timestamp=0)
        driver.send("regions", {"label": "Europe"}, key="eu", timestamp=0, partition=5)
        driver.send("tiers", {"tier": "gold", "name": "Tier"}, key="c1", timestamp=0)
        driver.send("payments", {"method": "early"}, key="c1", timestamp=4 * MINUTE)
        driver.send("orders", {"id": "o1", "region": "eu"}, key="c1", timestamp=5 * MINUTE)
        driver.send("orders", {"id": "o2", "region": "xx"}, key="c2", timestamp=6 * MINUTE)
        driver.run()
        driver.send("payments", {"method": "edge"}, key="c1", timestamp=10 * MINUTE)
        driver.send("payments", {"method": "outside"}, key="c1", timestamp=10 * MINUTE + 1)
        driver.send("customers", {"name": "Ada II"}, key="c1", timestamp=7 * MINUTE)
        driver.send("customers", None, key="c2", timestamp=8 * MINUTE)
        driver.send("orders", {"id": "o3", "region": "eu"}, key="c1", timestamp=20 * MINUTE)
        driver.send("orders", {"id": "o4", "region": "eu"}, key="c2", timestamp=20 * MINUTE)
        driver.run()
        yield driver


@pytest.mark.acceptance("B144")
def test_streams(joined: TestDriver) -> None:
    """Rows of the same key within the span, both orders of arrival; its edge is inside, a millisecond more is not."""
    pairs = [(value["id"], value["method"]) for _, value in values(joined, "paid")]
    assert sorted(pairs) == [("o1", "early"), ("o1", "edge")]
    left = [(value["id"], value["method"]) for _, value in values(joined, "paid-or-not")]
    assert sorted(left, key=str) == [("o1", "early"), ("o1", "edge"), ("o2", None)]


@pytest.mark.acceptance("B145")
def test_stream_and_table(joined: TestDriver) -> None:
    """What the table has at that time; its later changes give no new rows."""
    found = [(value["id"], value["name"]) for _, value in values(joined, "enriched")]
    assert sorted(found, key=str) == [("o1", "Ada"), ("o2", "Ben"), ("o3", "Ada II"), ("o4", None)]


@pytest.mark.acceptance("B132", "B146")
def test_stream_and_global_table(joined: TestDriver) -> None:
    """Any row finds the whole table by what it has, whatever the partitions are."""
    found = [(value["id"], value["label"]) for _, value in values(joined, "located")]
    assert sorted(found) == [("o1", "Europe"), ("o3", "Europe"), ("o4", "Europe")]


@pytest.mark.acceptance("B131", "B147")
def test_tables(joined: TestDriver) -> None:
    """The latest value of each key, null deletes; a join of tables is a table, and follows both."""
    changes = [(each.key, None if each.value is None else each.value["name"]) for each in joined.read("customers-out")]
    assert dict(changes) == {"c1": "Ada II", "c2": None}
    assert joined.store("customers").get("c1") == {"name": "Ada II"}
    assert joined.store("customers").get("c2") is None
    members = joined.read("members")
    assert members[-1].key == "c1"
    assert members[-1].value == {"name": "Ada II", "tier": "gold", "right_name": "Tier"}
    assert {each.key for each in joined.read("others")} == {"c1"}


REFUSED = {
    "there is no column": lambda app: app.stream("t", value_schema="a int").select("missing").to("out"),
    "join gives the column 'a' twice": lambda app: (
        app.stream("t", value_schema="a int")
        .join(app.table("u", value_schema="a int"), columns=["left.a", "right.a"])
        .to("out")
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, spark: SparkSession) -> None:
    """By node, with the columns that there are."""
    app = Streams("refused", spark=spark)
    REFUSED[case](app)
    with TestDriver(app, spark=spark) as driver:
        driver.send("t", {"a": 1}, key="k")
        with pytest.raises(InvalidTopology, match=r"twice|cannot be resolved"):
            driver.run()
