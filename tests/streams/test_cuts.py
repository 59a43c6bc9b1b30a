"""What comes of records does not depend on where micro-batches end.

Each partition has a time and keys of its own, so that one run is as many cases as it has partitions.
"""

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import hypothesis
import pytest
from hypothesis import strategies

from stoker.streams.application import Streams
from stoker.streams.windows import Window, hopping, session, sliding
from tests.streams.driven import Sent, drive
from tests.streams.inputs import by_stream_time
from tests.streams.kafka_streams import InputRecord
from tests.streams.topologies import identity

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS: Final = 12
BATCHES: Final = 3

steps = strategies.lists(
    strategies.tuples(
        strategies.sampled_from(["orders", "payments"]),
        strategies.sampled_from(["a", "b", None]),
        strategies.integers(min_value=-40, max_value=20),
        strategies.integers(min_value=0, max_value=BATCHES - 1),
    ),
    min_size=4,
    max_size=14,
)
"""A topic, a key, how much later or earlier than the latest, in seconds, and how far the batches are."""


TABLES: Final = ("sessions", "sliding", "hopping")
"""Topics of which what is left is compared; of others, how often there is each record."""


def declare(application: Streams) -> None:
    orders = application.stream("orders", value_schema="n string")
    payments = application.stream("payments", value_schema="n string")
    by_key = orders.group_by_key()
    windows: dict[str, Window] = {
        "sessions": session("10s", grace="5s"),
        "sliding": sliding("30s", grace="10s"),
        "hopping": hopping("20s", "5s", grace="5s"),
    }
    for name, window in windows.items():
        table = by_key.window(window).aggregate(ns="collect_set(n)", last="latest(n)")
        table.to(name, windowed_key=name == "sessions")
        table.late().to(f"{name}-late")
        table.suppress().to(f"{name}-closed")
    orders.deduplicate(within="15s").to("first")
    orders.outer_join(payments, within=("5s", "10s"), grace="5s", columns=["left.n AS l", "right.n AS r"]).to("pairs")


def records(partition: int, given: list[tuple[str, str | None, int, int]]) -> list[InputRecord]:
    """In the order of stream times, in which several topics are taken."""
    topics: dict[str, list[InputRecord]] = {"orders": [], "payments": []}
    latest = dict.fromkeys(topics, 100_000)
    for number, (topic, key, seconds, _) in enumerate(given):
        time = latest[topic] + 1000 * seconds
        latest[topic] = max(latest[topic], time)
        value = {"n": f"{partition}-{number}"}
        topics[topic].append(
            InputRecord(topic=topic, key=key and f"{partition}{key}", value=value, timestamp=max(0, time))
        )
    return by_stream_time(*topics.values())


def outcome(spark: "SparkSession", batches: list[list[Sent]]) -> dict[str, Any]:
    application = Streams("cuts")
    declare(application)
    driven = drive(spark, application, *batches)
    found: dict[str, Any] = {}
    for topic, written in driven.records.items():
        if topic in TABLES:
            latest = {str(identity(each)): repr(each.value) for each in written}
            found[topic] = {key: value for key, value in latest.items() if value != "None"}
        else:
            found[topic] = Counter((str(each.key), repr(each.value)) for each in written)
    late: Counter[str] = Counter()
    for each in driven.late:
        late.update(each)
    return found | {"late": late}


@pytest.mark.soak
@hypothesis.settings(max_examples=20, phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate])
@hypothesis.given(given=strategies.lists(steps, min_size=PARTITIONS, max_size=PARTITIONS))
def test_cuts_change_nothing(spark: "SparkSession", given: list[list[tuple[str, str | None, int, int]]]) -> None:
    """Late rows, sessions, windows, joins: the same in one micro-batch and in several."""
    batches: list[list[Sent]] = [[] for _ in range(BATCHES)]
    for partition, each in enumerate(given):
        ends = sorted(step[3] for step in each)
        for record, batch in zip(records(partition, each), ends, strict=True):
            batches[batch].append(Sent(record.topic, record.key, record.value, record.timestamp, partition))
    whole = [[record for batch in batches for record in batch]]
    assert outcome(spark, batches) == outcome(spark, whole)
