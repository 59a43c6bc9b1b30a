"""What comes of a topology is what comes of it in Kafka Streams 4.3, wherever micro-batches are cut; and where it is not."""

import random
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from stoker.streams.application import Streams
from stoker.streams.nodes import ToTopic
from stoker.streams.state.views import StoreView
from stoker.streams.test_driver import TestDriver
from tests.streams.inputs import INPUTS, SHORT, Records, at, by_stream_time, edges
from tests.streams.kafka_streams import KafkaStreamsPeer, WindowedKey
from tests.streams.test_kafka_streams_peer import HOUR, MINUTE, SECOND, deleted, order, payment, row
from tests.streams.topologies import STORES, TOPOLOGIES, Outcome, counted, ours, theirs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.java


class Difference(NamedTuple):
    reason: str
    topology: str
    records: Records
    ours: Outcome
    theirs: Outcome


def window(key: str, start: int, end: int, **content: object) -> dict[Any, Any]:
    return {WindowedKey(key, start, end): content}


def events(*found: tuple[str | None, dict[str, Any]]) -> Counter[Any]:
    return counted(found)


DIFFERENCES: Final[Mapping[str, Difference]] = {
    "rows without a value": Difference(
        "A record without a value is left out of a stream. Kafka Streams leaves it out of joins and of aggregates without windows, and counts it in windows.",
        "hourly-no-grace",
        [order("ada", 0, amount=2.0), deleted("orders", "ada", 1)],
        {"hourly-no-grace": window("ada", 0, HOUR, revenue=2, orders=1)},
        {"hourly-no-grace": window("ada", 0, HOUR, revenue=2, orders=2)},
    ),
    "what moves time": Difference(
        "Stream time is that of the partition: every record moves it that is read. In Kafka Streams each operation has a time of its own, moved by the records that come to it, so that those without a key, or that a filter leaves out, move none.",
        "hourly-no-grace",
        [order(None, 5 * HOUR), order("ada", 0, amount=1.0)],
        {},
        {"hourly-no-grace": window("ada", 0, HOUR, revenue=1, orders=1)},
    ),
    "a session at the very end": Difference(
        "A session is open for a record when stream time has passed its end by exactly gap and grace. Kafka Streams has forgotten it by then, and makes another.",
        "sessions-with-grace",
        [order("ada", 0), order("bob", 15 * SECOND), order("ada", 5 * SECOND)],
        {"sessions-with-grace": window("ada", 0, 5_000, count=2) | window("bob", 15_000, 15_000, count=1)},
        {
            "sessions-with-grace": window("ada", 0, 0, count=1)
            | window("bob", 15_000, 15_000, count=1)
            | window("ada", 5_000, 5_000, count=1)
        },
    ),
    "later than the grace, in a sliding window that is open": Difference(
        "A record that is later than the grace counts in every sliding window that is open. In Kafka Streams it counts in those that are there already, and not in those that later records make.",
        "sliding",
        [
            order("ada", 40_000, amount=1.0),
            order("bob", 60_000, amount=1.0),
            order("ada", 45_000, amount=2.0),
            order("ada", 70_000, amount=4.0),
        ],
        {
            "sliding": window("ada", 10_000, 40_000, count=1, sum=1)
            | window("bob", 30_000, 60_000, count=1, sum=1)
            | window("ada", 40_001, 70_001, count=2, sum=6)
            | window("ada", 45_001, 75_001, count=1, sum=4)
            | window("ada", 40_000, 70_000, count=3, sum=7)
        },
        {
            "sliding": window("ada", 10_000, 40_000, count=1, sum=1)
            | window("bob", 30_000, 60_000, count=1, sum=1)
            | window("ada", 40_001, 70_001, count=2, sum=6)
            | window("ada", 40_000, 70_000, count=2, sum=5)
        },
    ),
    "the order of several topics": Difference(
        "Records of several topics are taken in the order of their stream times, as a running Kafka Streams does with what it has read. Its test driver takes them as they come.",
        "enrichment",
        [order("ada", 10, n="1"), row("customers", "ada", 20, n="gold"), order("ada", 15, n="2")],
        {"enriched": events(("ada", {"order": {"n": "1"}}), ("ada", {"order": {"n": "2"}}))},
        {"enriched": events(("ada", {"order": {"n": "1"}}), ("ada", {"order": {"n": "2"}, "customer": {"n": "gold"}}))},
    ),
    "how long rows wait for a late partner": Difference(
        "A row of a stream that is joined is kept until the stream time of the join has passed it by before, after and grace. In Kafka Streams only records of its own side make it be forgotten.",
        "matching-payments",
        [order("1", 0, n="1"), payment("2", 20 * MINUTE, n="2"), payment("1", 0, n="3")],
        {},
        {"matched": events(("1", {"order": {"n": "1"}, "payment": {"n": "3"}}))},
    ),
    "groups of a table without rows": Difference(
        "A group that all rows of a table have left is deleted. Kafka Streams keeps it with what its subtractor has left over.",
        "table-group",
        [row("users", "ada", 1, region="eu", amount=3.0), row("users", "ada", 2, region="us", amount=5.0)],
        {"users-by-region": {"us": {"count": 1, "sum": 5}}},
        {"users-by-region": {"eu": {"count": 0, "sum": 0}, "us": {"count": 1, "sum": 5}}},
    ),
}
"""Where results are others than those of Kafka Streams, and why. docs/streams.md tells them too."""

SNIPPETS: Final = {
    "order-processing": ("S058", "S067", "B133"),
    "stateful": ("S059", "B134"),
    "hourly-no-grace": ("S060",),
    "hopping": ("S061",),
    "sessions": ("S062", "S068", "S074"),
    "hourly-revenue": ("S063", "S067", "S069"),
    "enrichment-inner": ("S064", "S068"),
    "matching-payments": ("S065",),
    "global-enrichment": ("S066",),
    "word-count": ("S071",),
    "region-per-minute": ("S072",),
    "average-order-value": ("S073",),
}


class Case(NamedTuple):
    topology: str
    records: Records


def run(spark: "SparkSession", cases: Mapping[str, Case], batches: Mapping[str, list[Records]]) -> dict[str, Outcome]:
    """All of them in one application: in micro-batch n the nth part of the records of each."""
    application = Streams("cases")
    prefixes = {name: f"case-{number}." for number, name in enumerate(cases)}
    for name, case in cases.items():
        TOPOLOGIES[case.topology](application, partial("{}{}".format, prefixes[name]))
    with TestDriver(application, spark=spark) as driver:
        for number in range(max(map(len, batches.values()))):
            for name, parts in batches.items():
                for each in parts[number] if number < len(parts) else ():
                    value = None if each.value is None else dict(each.value)
                    driver.send(f"{prefixes[name]}{each.topic}", value, key=each.key, timestamp=each.timestamp)
            driver.run()
        written = {sink.topic: driver.read(sink.topic) for sink in driver.topology.sinks if isinstance(sink, ToTopic)}
        stores = {
            name: {store: stored(driver.store(f"{prefixes[name]}{store}")) for store in STORES.get(case.topology, ())}
            for name, case in cases.items()
        }
    return {
        name: ours(
            case.topology,
            {
                topic.removeprefix(prefixes[name]): found
                for topic, found in written.items()
                if topic.startswith(prefixes[name])
            },
            stores[name],
        )
        for name, case in cases.items()
    }


def stored(store: StoreView) -> dict[Any, Any]:
    """A number where it counts or sums, as in Kafka Streams."""
    return {
        each.key: next(iter(each.value.values())) if isinstance(each.value, dict) else each.value
        for each in store.all()
    }


def cut_by_chance(name: str, records: Records) -> list[Records]:
    """In two parts, somewhere in the middle."""
    place = random.Random(name).randint(len(records) // 4, len(records) * 3 // 4)
    return [records[:place], records[place:]]


CASES: Final = {
    **{topology: Case(topology, records) for topology, records in INPUTS.items()},
    **{name: Case(each.topology, at(0, each.records)) for name, each in DIFFERENCES.items()},
}
CUTS: Final = {
    "one batch": {name: [case.records] for name, case in CASES.items()},
    "cut by chance": {name: cut_by_chance(name, case.records) for name, case in CASES.items() if name in INPUTS},
    "one by one": {name: [[each] for each in edges(name)] for name in SHORT},
}


@pytest.fixture(scope="module")
def expected(kafka_streams: KafkaStreamsPeer) -> dict[str, Outcome]:
    """Of Kafka Streams."""
    return {name: theirs(case.topology, kafka_streams.run(case.topology, case.records)) for name, case in CASES.items()}


@pytest.fixture(scope="module")
def expected_of_edges(kafka_streams: KafkaStreamsPeer) -> dict[str, Outcome]:
    return {name: theirs(name, kafka_streams.run(name, edges(name))) for name in SHORT}


@pytest.fixture(scope="module")
def found(spark: "SparkSession") -> dict[str, dict[str, Outcome]]:
    """By how the input was cut, and by case."""
    return {cut: run_cut(spark, cut) for cut in ("one batch", "cut by chance")}


def run_cut(spark: "SparkSession", cut: str) -> dict[str, Outcome]:
    return run(spark, {name: CASES[name] for name in CUTS[cut]}, CUTS[cut])


@pytest.fixture(scope="module")
def found_one_by_one(spark: "SparkSession") -> dict[str, Outcome]:
    return run_cut(spark, "one by one")


@pytest.mark.parametrize(
    "topology",
    [
        pytest.param(name, marks=[pytest.mark.acceptance(*SNIPPETS[name])] if name in SNIPPETS else [])
        for name in INPUTS
    ],
)
def test_results_are_those_of_kafka_streams(
    topology: str, found: dict[str, dict[str, Outcome]], expected: dict[str, Outcome]
) -> None:
    """The topology gives what it gives in Kafka Streams 4.3, also for late records, in one micro-batch or in several."""
    assert found["one batch"][topology] == expected[topology]
    assert found["cut by chance"][topology] == expected[topology]


@pytest.mark.soak
@pytest.mark.parametrize("topology", SHORT)
def test_results_of_one_record_after_the_other(
    topology: str, found_one_by_one: dict[str, Outcome], expected_of_edges: dict[str, Outcome]
) -> None:
    assert found_one_by_one[topology] == expected_of_edges[topology]


@pytest.mark.parametrize("name", DIFFERENCES)
def test_differences(name: str, found: dict[str, dict[str, Outcome]], expected: dict[str, Outcome]) -> None:
    """Both are as they are said to be."""
    assert found["one batch"][name] == DIFFERENCES[name].ours
    assert expected[name] == DIFFERENCES[name].theirs


def test_all_topologies_are_compared() -> None:
    assert INPUTS.keys() == TOPOLOGIES.keys()
    assert all(len(by_stream_time(records)) == len(records) > 1 for records in INPUTS.values())
