"""The harness tells what Kafka Streams does: cases worked out by hand, one step after the other."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.clients.client import Record
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.records import KEEP_FOREVER
from tests.faults.broker_process import BrokerProcess
from tests.streams.kafka_streams import (
    InputRecord,
    KafkaStreamsFailed,
    KafkaStreamsPeer,
    Key,
    RunningKafkaStreams,
    WindowedKey,
)

pytestmark = pytest.mark.java

SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
GONE: Final = None

Changes = list[tuple[Key, dict[str, Any] | None]]
Steps = list[tuple[InputRecord, Changes]]


def row(topic: str, key: str | None, timestamp: int, **fields: object) -> InputRecord:
    return InputRecord(topic=topic, key=key, value=fields, timestamp=timestamp)


def deleted(topic: str, key: str, timestamp: int) -> InputRecord:
    return InputRecord(topic=topic, key=key, value=None, timestamp=timestamp)


def order(key: str | None, timestamp: int, **fields: object) -> InputRecord:
    return row("orders", key, timestamp, **(fields or {"amount": 1}))


def payment(key: str, timestamp: int, **fields: object) -> InputRecord:
    return row("payments", key, timestamp, **fields)


def line(text: str, timestamp: int) -> InputRecord:
    return row("text-input", None, timestamp, line=text)


def window(key: str, start: int, end: int, **content: object) -> tuple[Key, dict[str, Any] | None]:
    return WindowedKey(key, start, end), content or GONE


def joined(key: str | None, **content: object) -> tuple[Key, dict[str, Any] | None]:
    return key, content or GONE


CASES: dict[str, tuple[str, Steps]] = {
    "a window of an hour is open until five minutes after its end, and closed from then on": (
        "hourly-revenue",
        [
            (order("ada", 0, amount=2), [window("ada", 0, HOUR, revenue=2, orders=1)]),
            (order("bob", HOUR + 5 * MINUTE - 1), [window("bob", HOUR, 2 * HOUR, revenue=1, orders=1)]),
            (order("ada", HOUR - 1, amount=3), [window("ada", 0, HOUR, revenue=5, orders=2)]),
            (order("bob", HOUR + 5 * MINUTE), [window("bob", HOUR, 2 * HOUR, revenue=2, orders=2)]),
            (order("ada", HOUR - 1), []),
        ],
    ),
    "without grace a window is closed as soon as any key has reached its end": (
        "hourly-no-grace",
        [
            (order("ada", 0), [window("ada", 0, HOUR, revenue=1, orders=1)]),
            (order("bob", HOUR), [window("bob", HOUR, 2 * HOUR, revenue=1, orders=1)]),
            (order("ada", HOUR - 1), []),
        ],
    ),
    "what has no key is in no window and moves no time; what has no value is counted": (
        "hourly-no-grace",
        [
            (order(None, 5 * HOUR), []),
            (deleted("orders", "ada", 0), [window("ada", 0, HOUR, revenue=0, orders=1)]),
        ],
    ),
    "a late record is in those hopping windows that are open": (
        "hopping",
        [
            (
                order("ada", 7 * MINUTE),
                [window("ada", start * MINUTE, (start + 5) * MINUTE, count=1) for start in (3, 4, 5, 6, 7)],
            ),
            (
                order("bob", 9 * MINUTE),
                [window("bob", start * MINUTE, (start + 5) * MINUTE, count=1) for start in (5, 6, 7, 8, 9)],
            ),
            (
                order("ada", 7 * MINUTE),
                [window("ada", start * MINUTE, (start + 5) * MINUTE, count=2) for start in (4, 5, 6, 7)],
            ),
        ],
    ),
    "a sliding window ends at each record, or begins right after it": (
        "sliding",
        [
            (order("ada", 100 * SECOND, amount=1), [window("ada", 70_000, 100_000, count=1, sum=1)]),
            (
                order("ada", 110 * SECOND, amount=2),
                [window("ada", 100_001, 130_001, count=1, sum=2), window("ada", 80_000, 110_000, count=2, sum=3)],
            ),
        ],
    ),
    "sessions that a record joins are deleted, and one takes their place": (
        "sessions-with-grace",
        [
            (order("ada", 0), [window("ada", 0, 0, count=1)]),
            (order("ada", 11_000), [window("ada", 11_000, 11_000, count=1)]),
            (
                order("ada", 6_000),
                [window("ada", 0, 0), window("ada", 11_000, 11_000), window("ada", 0, 11_000, count=3)],
            ),
        ],
    ),
    "a gap of exactly 30 minutes is in the session, and a session is closed when gap and grace are over": (
        "sessions",
        [
            (order("ada", 0), [window("ada", 0, 0, count=1)]),
            (order("ada", 30 * MINUTE), [window("ada", 0, 0), window("ada", 0, 30 * MINUTE, count=2)]),
            (order("bob", 61 * MINUTE), [window("bob", 61 * MINUTE, 61 * MINUTE, count=1)]),
            (order("ada", 31 * MINUTE - 1), []),
            (order("ada", 31 * MINUTE), [window("ada", 31 * MINUTE, 31 * MINUTE, count=1)]),
        ],
    ),
    "what is suppressed comes once, when its window closes, with the time of its last record": (
        "suppressed",
        [
            (order("bob", 0), []),
            (order("ada", 0), []),
            (order("cem", 70 * SECOND - 1), []),
            (order("ada", 59 * SECOND), []),
            (
                order("cem", 70 * SECOND),
                [window("ada", 0, MINUTE, count=2), window("bob", 0, MINUTE, count=1)],
            ),
            (order("ada", 59 * SECOND), []),
        ],
    ),
    "regions per minute": (
        "region-per-minute",
        [
            (order("1", 0, region="eu"), [window("eu", 0, MINUTE, count=1)]),
            (order("2", 59_999, region="eu"), [window("eu", 0, MINUTE, count=2)]),
            (order("3", 0, amount=1), []),
        ],
    ),
    "averages": (
        "average-order-value",
        [
            (order("1", 0, region="eu", amount=1), [window("eu", 0, 5 * MINUTE, average=1)]),
            (order("2", 1, region="eu", amount=2), [window("eu", 0, 5 * MINUTE, average=1.5)]),
        ],
    ),
    "an order meets the customer as she is now, whatever the timestamps say": (
        "enrichment",
        [
            (order("ada", 10, n=1), [joined("ada", order={"n": 1}, customer=None)]),
            (row("customers", "ada", 20, tier="gold"), []),
            (order("ada", 5, n=2), [joined("ada", order={"n": 2}, customer={"tier": "gold"})]),
            (row("customers", "ada", 1, tier="old"), []),
            (order("ada", 30, n=3), [joined("ada", order={"n": 3}, customer={"tier": "old"})]),
            (deleted("customers", "ada", 40), []),
            (order("ada", 50, n=4), [joined("ada", order={"n": 4}, customer=None)]),
            (order(None, 60, n=5), [joined(None, order={"n": 5}, customer=None)]),
        ],
    ),
    "an inner join drops orders without customers": (
        "enrichment-inner",
        [
            (order("ada", 10, n=1), []),
            (row("customers", "ada", 20, tier="gold"), []),
            (order("ada", 30, n=2), [joined("ada", order={"n": 2}, customer={"tier": "gold"})]),
        ],
    ),
    "a global table is joined by a field of the order": (
        "global-enrichment",
        [
            (row("regions", "eu", 10, tax=20), []),
            (order("1", 0, region="eu"), [joined("1", order={"region": "eu"}, region={"tax": 20})]),
            (order("2", 0, region="us"), []),
        ],
    ),
    "five minutes are within five minutes": (
        "matching-payments",
        [
            (order("1", 0, n=1), []),
            (payment("1", 5 * MINUTE, p=1), [joined("1", order={"n": 1}, payment={"p": 1})]),
            (payment("1", 5 * MINUTE + 1, p=2), []),
        ],
    ),
    "a late order is joined with what the other side still has": (
        "matching-payments",
        [
            (payment("1", 5 * MINUTE, p=1), []),
            (payment("2", 14 * MINUTE, p=2), []),
            (order("1", 0, n=1), [joined("1", order={"n": 1}, payment={"p": 1})]),
            (payment("2", 15 * MINUTE, p=2), []),
            (order("1", 0, n=2), []),
        ],
    ),
    "an order without payment comes after a minute, its grace of 30 seconds and a millisecond": (
        "matching-left",
        [
            (order("1", 0, n=1), []),
            (payment("2", 90 * SECOND, p=2), []),
            (payment("2", 90 * SECOND + 1, p=3), [joined("1", order={"n": 1}, payment=None)]),
        ],
    ),
    "payments without order, too, and of the same time first": (
        "matching-outer",
        [
            (order("1", 0, n=1), []),
            (payment("2", 0, p=2), []),
            (
                payment("3", 100 * SECOND, p=3),
                [joined("2", order=None, payment={"p": 2}), joined("1", order={"n": 1}, payment=None)],
            ),
        ],
    ),
    "joined tables follow both, the order of arrival counts, and a deletion may come twice": (
        "table-table",
        [
            (row("left", "k", 10, n=1), []),
            (row("right", "k", 5, n=2), [joined("k", left={"n": 1}, right={"n": 2})]),
            (row("left", "k", 3, n=3), [joined("k", left={"n": 3}, right={"n": 2})]),
            (deleted("right", "k", 20), [joined("k")]),
            (deleted("right", "k", 21), [joined("k")]),
            (deleted("left", "k", 22), []),
        ],
    ),
    "a left join of tables": (
        "table-table-left",
        [
            (row("left", "k", 0, n=1), [joined("k", left={"n": 1}, right=None)]),
            (row("right", "k", 0, n=2), [joined("k", left={"n": 1}, right={"n": 2})]),
            (deleted("left", "k", 0), [joined("k")]),
            (deleted("right", "k", 0), []),
        ],
    ),
    "an outer join of tables": (
        "table-table-outer",
        [
            (row("right", "k", 0, n=2), [joined("k", left=None, right={"n": 2})]),
            (row("left", "k", 0, n=1), [joined("k", left={"n": 1}, right={"n": 2})]),
            (deleted("left", "k", 0), [joined("k", left=None, right={"n": 2})]),
            (deleted("right", "k", 0), [joined("k")]),
        ],
    ),
    "a join by foreign key deletes even what was never there": (
        "foreign-key",
        [
            (order("1", 0, customer_id="ada"), []),
            (order("1", 1, customer_id="bob"), [joined("1")]),
            (row("customers", "bob", 2, n=2), [joined("1", order={"customer_id": "bob"}, customer={"n": 2})]),
            (order("2", 3, customer_id="bob"), [joined("2", order={"customer_id": "bob"}, customer={"n": 2})]),
            (deleted("customers", "bob", 4), [joined("1"), joined("2")]),
            (deleted("orders", "1", 5), [joined("1")]),
            (deleted("orders", "1", 6), []),
        ],
    ),
    "a left join by foreign key": (
        "foreign-key-left",
        [
            (order("1", 0, customer_id="ada"), [joined("1", order={"customer_id": "ada"}, customer=None)]),
            (order("1", 1, n=1), [joined("1", order={"n": 1}, customer=None)]),
            (deleted("orders", "1", 2), [joined("1")]),
        ],
    ),
    "a filtered table deletes all that does not pass, even if it never did": (
        "table-filter",
        [
            (order("1", 0, amount=100), [joined("1")]),
            (order("1", 0, amount=101), [joined("1", amount=101)]),
            (order("1", 0, amount=99), [joined("1")]),
            (deleted("orders", "2", 0), [joined("2")]),
        ],
    ),
    "a table of other values": (
        "table-map",
        [(order("1", 0, amount=4), [joined("1", doubled=8)]), (deleted("orders", "1", 0), [joined("1")])],
    ),
    "who moves is taken from one group, then given to the other; an empty group stays": (
        "table-group",
        [
            (row("users", "ada", 1, region="eu", amount=3), [joined("eu", count=1, sum=3)]),
            (row("users", "ada", 2, region="eu", amount=5), [joined("eu", count=1, sum=5)]),
            (
                row("users", "ada", 3, region="us", amount=5),
                [joined("eu", count=0, sum=0), joined("us", count=1, sum=5)],
            ),
            (deleted("users", "ada", 4), [joined("us", count=0, sum=0)]),
        ],
    ),
    "two topics in one": (
        "merge",
        [
            (row("orders-eu", "1", 1, n=1), [joined("1", n=1)]),
            (row("orders-us", "2", 0, n=2), [joined("2", n=2)]),
        ],
    ),
    "another key": (
        "rekey",
        [
            (order("1", 0, customer_id="ada"), [joined("ada", count=1)]),
            (order("2", 0, customer_id="ada"), [joined("ada", count=2)]),
            (order("3", 0, n=1), []),
        ],
    ),
}


@pytest.mark.parametrize("title", CASES)
def test_case(kafka_streams: KafkaStreamsPeer, title: str) -> None:
    name, steps = CASES[title]
    results = kafka_streams.run(name, [record for record, _ in steps])
    for number, (_, expected) in enumerate(steps):
        changes = [(each.identity, each.content) for each in results.records if each.input == number]
        assert changes == expected, f"step {number}"
    assert len({each.topic for each in results.records}) == 1


def test_word_count(kafka_streams: KafkaStreamsPeer) -> None:
    """Java's words are of ASCII letters: the accent is between two words."""
    results = kafka_streams.run("word-count", [line("Hello Kafka, hello", 5), line("caf\u00e9 kafka", 3)])
    assert [(each.key, each.value, each.timestamp) for each in results.of("word-counts")] == [
        ("hello", {"count": 1}, 5),
        ("kafka", {"count": 1}, 5),
        ("hello", {"count": 2}, 5),
        ("caf", {"count": 1}, 3),
        ("kafka", {"count": 2}, 5),
    ]
    assert results.stores == {"word-counts-store": {"hello": 2, "kafka": 2, "caf": 1}}


def test_order_processing(kafka_streams: KafkaStreamsPeer) -> None:
    urgent = {"priority": "high", "items": ["hat", "cup"]}
    plain = {"priority": "normal", "items": []}
    results = kafka_streams.run(
        "order-processing", [order("1", 0, **urgent), deleted("orders", "2", 0), order("3", 0, **plain)]
    )
    assert {topic: results.latest(topic) for topic in {each.topic for each in results.records}} == {
        "enriched-orders": {"1": urgent | {"item_count": 2}, "3": plain | {"item_count": 0}},
        "high-priority-orders": {"1": urgent},
        "normal-priority-orders": {"3": plain},
        "items": {"1": {"item": "cup"}},
    }
    assert [each.value for each in results.of("items")] == [{"item": "hat"}, {"item": "cup"}]


def test_stateful(kafka_streams: KafkaStreamsPeer) -> None:
    """What has no value is not counted here, other than in a window; the time of a result is that of its latest record."""
    amounts = [("ada", 5, 10), ("ada", 7, 5), ("ada", 7, 20), ("bob", 1, 30)]
    events = [row("order-events", key, timestamp, amount=amount) for key, amount, timestamp in amounts]
    results = kafka_streams.run("stateful", [*events, deleted("order-events", "ada", 40)])
    assert results.stores == {"order-count-store": {"ada": 3, "bob": 1}, "spend-store": {"ada": 19, "bob": 1}}
    assert results.latest("order-counts") == {"ada": {"count": 3}, "bob": {"count": 1}}
    assert results.latest("spend") == {"ada": {"spend": 19}, "bob": {"spend": 1}}
    assert results.latest("max-order") == {"ada": {"amount": 7}, "bob": {"amount": 1}}
    assert [each.timestamp for each in results.of("order-counts")] == [10, 10, 20, 30]


def test_stores_of_windows(kafka_streams: KafkaStreamsPeer) -> None:
    """They forget what is older than the window and its grace, as of the newest window."""
    results = kafka_streams.run("hourly-revenue", [order("ada", 0), order("ada", HOUR), order("bob", HOUR)])
    windows = [("ada", 0, HOUR), ("ada", HOUR, 2 * HOUR), ("bob", HOUR, 2 * HOUR)]
    assert results.stores == {
        "hourly-revenue-store": {WindowedKey(*each): {"revenue": 1, "orders": 1} for each in windows}
    }
    results = kafka_streams.run("sessions-with-grace", [order("ada", 0), order("ada", 5_000), order("bob", 20_001)])
    assert results.stores == {"sessions-with-grace-store": {WindowedKey("bob", 20_001, 20_001): 1}}
    assert results.latest("sessions-with-grace") == {
        WindowedKey("ada", 0, 5_000): {"count": 2},
        WindowedKey("bob", 20_001, 20_001): {"count": 1},
    }


@pytest.mark.parametrize(
    ("name", "records", "cause"),
    [
        ("nothing", [], "no topology nothing in .*word-count"),
        ("merge", [order("1", 0)], "Unknown topic: orders"),
        ("merge", [row("orders-eu", "1", -1, n=1)], "Invalid timestamp: -1"),
    ],
    ids=["topology", "topic", "timestamp"],
)
def test_an_error_ends_its_case_alone(
    kafka_streams: KafkaStreamsPeer, name: str, records: list[InputRecord], cause: str
) -> None:
    with pytest.raises(KafkaStreamsFailed, match=cause):
        kafka_streams.run(name, records)
    assert kafka_streams.run("merge", [row("orders-eu", "1", 0, n=1)]).latest("all-orders") == {"1": {"n": 1}}


@pytest.fixture
def bootstrap_servers(tmp_path: Path) -> Iterator[str]:
    with BrokerProcess(tmp_path / "broker", options={"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker.bootstrap_servers


def test_running_against_stoker(kafka_streams: KafkaStreamsPeer, bootstrap_servers: str) -> None:
    """Exactly what the driver says, before and after a restart whose state comes back from the changelog."""
    confluent = ConfluentKafka(bootstrap_servers)
    for topic in ("text-input", "word-counts"):
        confluent.create_ready_topic(topic, configs=KEEP_FOREVER)
    lines = [line(text, 1_000 + number) for number, text in enumerate(["all that is", "is that all", "all is well"])]
    expected = [
        (each.key, each.value, each.timestamp) for each in kafka_streams.run("word-count", lines).of("word-counts")
    ]
    for count, some in [(6, lines[:2]), (9, lines[2:])]:
        with RunningKafkaStreams(
            "word-count", bootstrap_servers=bootstrap_servers, settings={"statestore.cache.max.bytes": "0"}
        ):
            confluent.produce(
                "text-input",
                [Record(value=json.dumps(each.value).encode(), timestamp=each.timestamp) for each in some],
            )
            found = confluent.read("word-counts", 0, count=count)
        assert [
            (each.key and each.key.decode(), each.value and json.loads(each.value), each.timestamp) for each in found
        ] == expected[:count]
