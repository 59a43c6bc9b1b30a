"""Applications driven by hand-written records, many operations at once: a micro-batch costs most of what a test does."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from stoker.streams.application import Streams
from stoker.streams.test_driver import Record, TestDriver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Sent(NamedTuple):
    """A record to be sent; times are milliseconds."""

    topic: str
    key: Any
    value: Any
    timestamp: int = 0
    partition: int = 0


@dataclass(frozen=True, kw_only=True)
class Driven:
    """What came of it."""

    records: Mapping[str, list[Record]]
    """By topic, in order of time."""
    late: list[dict[str, int]]
    """Of each micro-batch, by store."""

    def rows(self, topic: str) -> list[tuple[Any, Any]]:
        """Keys and values."""
        return [(each.key, each.value) for each in self.records[topic]]

    def values(self, topic: str) -> list[Any]:
        return [each.value for each in self.records[topic]]

    def table(self, topic: str) -> dict[Any, Any]:
        """What is left by key, or by key and window as (key, start, end) in milliseconds: the window is in the value."""
        found: dict[Any, Any] = {}
        for each in self.records[topic]:
            value = each.value
            place = each.key
            if isinstance(value, dict) and "window_start" in value:
                value = dict(value)
                place = (each.key, *[milliseconds(value.pop(name)) for name in ("window_start", "window_end")])
            found[place] = value
        return {place: value for place, value in found.items() if value is not None}


def drive(spark: "SparkSession", application: Streams, *batches: Iterable[Sent]) -> Driven:
    """Each of them as one micro-batch."""
    late = []
    with TestDriver(application, spark=spark) as driver:
        for batch in batches:
            for each in batch:
                driver.send(each.topic, each.value, key=each.key, timestamp=each.timestamp, partition=each.partition)
            driver.run()
            late.append(driver.progress["late"])
        topics = {sink.topic for sink in driver.topology.sinks if hasattr(sink, "topic")}
        return Driven(records={topic: driver.read(topic) for topic in topics}, late=late)


def milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
