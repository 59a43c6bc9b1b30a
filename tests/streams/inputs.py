"""Records for the topologies of Kafka Streams: by hand where edges matter, by chance where it is the many that do.

By chance is in order, out of order, and late on both sides of every limit; but for what `DIFFERENCES` in
test_against_kafka_streams.py says, of which there is none here.
"""

import random
from collections.abc import Callable, Iterable
from typing import Final

from tests.streams.kafka_streams import InputRecord
from tests.streams.test_kafka_streams_peer import CASES, HOUR, MINUTE, SECOND, deleted, order, row

Records = list[InputRecord]

FIELDS_OF_THEIR_OWN: Final = {"p", "tier", "tax"}
DIFFERENT: Final = (
    "what has no key is in no window",
    "an order meets the customer as she is now",
    "a late order is joined with what the other side still has",
    "who moves is taken from one group",
)
"""Cases of test_kafka_streams_peer.py that show a difference."""
LONG_AFTER: Final = 1000 * HOUR
"""Between cases that follow each other in one topology: a whole number of all windows, and more than any is kept."""


def at(time: int, records: Iterable[InputRecord]) -> Records:
    """The same, later, with values that both sides know."""
    return [
        InputRecord(topic=each.topic, key=each.key, value=_value(each), timestamp=each.timestamp + time)
        for each in records
    ]


def _value(record: InputRecord) -> dict[str, object] | None:
    if record.value is None:
        return None
    return {
        "n" if name in FIELDS_OF_THEIR_OWN else name: str(each) if name in {"n", *FIELDS_OF_THEIR_OWN} else each
        for name, each in record.value.items()
    }


def edges(topology: str) -> Records:
    """The cases of a topology that were worked out by hand, one after the other."""
    cases = [
        [record for record, _ in steps]
        for title, (name, steps) in CASES.items()
        if name == topology and not title.startswith(DIFFERENT)
    ]
    return [record for number, case in enumerate(cases) for record in at(number * LONG_AFTER, case)]


def in_time(
    seed: str, count: int, step: int, latest: int, is_wanted: Callable[[int], bool] = lambda _: True
) -> Records:
    """Orders of three keys, some of which come up to so much later than others; those whose lateness is wanted."""
    chance = random.Random(seed)
    records: Records = []
    now = time = 50 * LONG_AFTER
    while len(records) < count:
        time += chance.choice([0, 1, step // 7, step // 3, step])
        late = chance.choice([0, 0, 0, latest // 4, latest // 2, latest - 1, latest, latest + 1])
        now = max(now, time - late)
        if is_wanted(now - (time - late)):
            values = {"amount": float(chance.randint(1, 9)), "region": chance.choice(["eu", "us"])}
            records.append(order(chance.choice("abc"), time - late, **values))
    return records


def pairs(seed: str, count: int, step: int, latest: int) -> Records:
    """Orders and payments as Kafka Streams takes them, by their stream times; then one of each long after all others."""
    chance = random.Random(seed)
    sides = []
    for topic in ("orders", "payments"):
        times, now = [], 0
        for number in range(count):
            now += chance.choice([0, step // 3, step, 2 * step])
            time = max(0, now - chance.choice([0, 0, 0, latest // 2, latest]))
            times.append(row(topic, chance.choice(["a", "b", "a", "b", None]), time, n=f"{topic[0]}{number}"))
        sides.append(times)
    last = [row(topic, "z", LONG_AFTER + number, n="z") for number, topic in enumerate(("orders", "payments"))]
    return at(60 * LONG_AFTER, [*by_stream_time(*sides), *last])


def by_stream_time(*topics: Records) -> Records:
    timed = []
    for place, records in enumerate(topics):
        now = 0
        for number, each in enumerate(records):
            now = max(now, each.timestamp)
            timed.append((now, place, number, each))
    return [each for *_, each in sorted(timed, key=lambda found: found[:3])]


def changes(seed: str, count: int, *topics: str) -> Records:
    """Of tables: rows of three keys are set, set anew and deleted, one after the other."""
    chance = random.Random(seed)
    records = []
    for number in range(count):
        topic, key, time = chance.choice(topics), chance.choice("xyz"), 70 * LONG_AFTER + number
        customer = chance.choice(["x", "y", "q"])
        values = {"n": str(number), "amount": chance.choice([99.0, 101.0]), "region": chance.choice(["eu", "us"])}
        records.append(
            deleted(topic, key, time)
            if chance.random() < 0.3
            else row(topic, key, time, **values, customer_id=customer)
        )
    return records


def looked_up(seed: str, count: int, table: str) -> Records:
    """Orders and rows of a table in the order of their times."""
    records = changes(seed, count, "orders", table)
    return [each for each in records if each.topic == table or each.value is not None]


def text(*lines: str) -> Records:
    return [row("text-input", None, number, line=each) for number, each in enumerate(lines)]


def _stateful() -> Records:
    chance = random.Random("stateful")
    amounts = [(chance.choice("abc"), float(chance.randint(1, 50))) for _ in range(12)]
    return [row("order-events", key, number, amount=amount) for number, (key, amount) in enumerate(amounts)]


def _processed() -> Records:
    cases = [("high", ["hat", "cup"]), ("normal", []), ("low", ["cup"]), ("high", []), (None, ["hat"])]
    orders = [
        order(str(number), number, priority=priority, items=items) for number, (priority, items) in enumerate(cases)
    ]
    return [*orders, deleted("orders", "9", 9)]


def sliding_wants(late: int) -> bool:
    """No later than the grace, or too late for all windows."""
    return late <= 10 * SECOND or late > 40 * SECOND


INPUTS: Final[dict[str, Records]] = {
    "word-count": text("Hello Kafka, hello", "caf\u00e9 kafka", "", "all that is", "is that all?"),
    "order-processing": _processed(),
    "merge": [*edges("merge"), row("orders-eu", "1", 5, n="3"), row("orders-us", "1", 4, n="4")],
    "stateful": _stateful(),
    "rekey": [*edges("rekey"), *[order(key, 9, customer_id=key) for key in "abcab"]],
    "hourly-revenue": [*edges("hourly-revenue"), *in_time("revenue", 25, 20 * MINUTE, 65 * MINUTE)],
    "hourly-no-grace": [*edges("hourly-no-grace"), *in_time("no grace", 20, 20 * MINUTE, HOUR)],
    "hopping": [*edges("hopping"), *in_time("hopping", 20, 2 * MINUTE, 6 * MINUTE)],
    "sliding": [*edges("sliding"), *in_time("sliding", 30, 12 * SECOND, 41 * SECOND, sliding_wants)],
    "sessions": [*edges("sessions"), *in_time("sessions", 20, 29 * MINUTE, 61 * MINUTE)],
    "sessions-with-grace": [*edges("sessions-with-grace"), *in_time("grace", 30, 9 * SECOND, 16 * SECOND)],
    "suppressed": [*edges("suppressed"), *in_time("suppressed", 25, 30 * SECOND, 70 * SECOND)],
    "region-per-minute": [*edges("region-per-minute"), *in_time("region", 20, 20 * SECOND, MINUTE)],
    "average-order-value": [*edges("average-order-value"), *in_time("average", 20, 2 * MINUTE, 330 * SECOND)],
    "enrichment": looked_up("enrichment", 20, "customers"),
    "enrichment-inner": [*edges("enrichment-inner"), *looked_up("inner", 20, "customers")],
    "global-enrichment": [
        *edges("global-enrichment"),
        *[order(str(number), 99, region=region) for number, region in enumerate(["eu", "us", "eu"])],
    ],
    "matching-payments": [*edges("matching-payments"), *pairs("payments", 20, 2 * MINUTE, 6 * MINUTE)],
    "matching-left": [*edges("matching-left"), *pairs("left", 20, 40 * SECOND, 80 * SECOND)],
    "matching-outer": [*edges("matching-outer"), *pairs("outer", 20, 40 * SECOND, 40 * SECOND)],
    "table-table": [*edges("table-table"), *changes("inner", 25, "left", "right")],
    "table-table-left": [*edges("table-table-left"), *changes("left", 25, "left", "right")],
    "table-table-outer": [*edges("table-table-outer"), *changes("outer", 25, "left", "right")],
    "foreign-key": [*edges("foreign-key"), *changes("foreign", 25, "orders", "customers")],
    "foreign-key-left": [*edges("foreign-key-left"), *changes("foreign left", 25, "orders", "customers")],
    "table-filter": [*edges("table-filter"), *changes("filter", 20, "orders")],
    "table-map": [*edges("table-map"), *changes("map", 15, "orders")],
    "table-group": [
        *changes("group", 25, "users"),
        *[row("users", f"u{each}", 10**12, region=each, amount=1.0) for each in ("eu", "us")],
    ],
}
"""By topology."""

SHORT: Final = (
    "hopping",
    "sessions-with-grace",
    "sliding",
    "enrichment-inner",
    "matching-outer",
    "table-table-outer",
    "foreign-key",
)
"""Whose edges are also given one record at a time."""
