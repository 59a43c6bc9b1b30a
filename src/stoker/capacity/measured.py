"""Figures that the plan takes from our benchmarks, each with the row of the page that has it. A test compares them."""

from dataclasses import dataclass
from typing import Final

from stoker.capacity.measured_streams import STREAMS_CORES, STREAMS_EVENTS_PER_SECOND


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One cell of a page of docs/."""

    value: float
    unit: str
    page: str
    section: str
    row: str
    column: str


def _spark(value: float, section: str) -> Measurement:
    return Measurement(
        value=value,
        unit="µs a record",
        page="benchmarks-spark.md",
        section=section,
        row="CPU of Spark and its workers, on Apache Kafka",
        column="Stoker",
    )


KAFKA_PRODUCED: Final = Measurement(
    value=6.04,
    unit="s/GB",
    page="benchmarks.md",
    section="Canned requests, and the physical limit",
    row="broker CPU produced 1 KB in 16 KB batches",
    column="Kafka",
)
KAFKA_FETCHED: Final = Measurement(
    value=0.47,
    unit="s/GB",
    page="benchmarks.md",
    section="librdkafka",
    row="broker CPU fetched 1 KB",
    column="Kafka",
)
STOKER_PRODUCED: Final = Measurement(
    value=5.31,
    unit="s/GB",
    page="benchmarks.md",
    section="Canned requests, and the physical limit",
    row="broker CPU produced 1 KB in 16 KB batches",
    column="Stoker",
)
STOKER_FETCHED: Final = Measurement(
    value=0.58,
    unit="s/GB",
    page="benchmarks.md",
    section="librdkafka",
    row="broker CPU fetched 1 KB",
    column="Stoker",
)

SPARK_WORK: Final = {
    "raw": _spark(0.69, "A topic's raw columns"),
    "avro": _spark(0.96, "Avro as columns"),
    "aggregate": _spark(1.06, "Sum and count by customer"),
    "json": _spark(3.30, "JSON as columns"),
    "parquet": _spark(2.51, "A topic to Parquet"),
    "topic": _spark(1.69, "To a topic, exactly once"),
}
"""Processor time for one record, by what a query does with it."""

SPARK_CORES: Final = 2
"""The machine's, while it read values of 100 KB; Spark had both, the broker a part of them."""
SPARK_LARGE_VALUES: Final = Measurement(
    value=528,
    unit="MB/s",
    page="benchmarks-spark.md",
    section="As values grow",
    row="100 KB, on Apache Kafka",
    column="Stoker",
)
PYTHON_WORKER_MEMORY: Final = Measurement(
    value=257,
    unit="MB",
    page="benchmarks-spark.md",
    section="Memory of a Python worker",
    row="record batches of 50 MB with values of 100 B, on Apache Kafka",
    column="Stoker",
)

REGISTRY_FETCHES: Final = Measurement(
    value=16_173,
    unit="calls/s",
    page="benchmarks-registry.md",
    section="Calls, as subjects grow",
    row="fetch by id, 8 connections",
    column="10,000 subjects",
)
REGISTRY_MEMORY: Final = Measurement(
    value=128,
    unit="MB",
    page="benchmarks-registry.md",
    section="Start and memory",
    row="memory after the loads",
    column="Stoker",
)

MEASUREMENTS: Final = (
    KAFKA_PRODUCED,
    KAFKA_FETCHED,
    STOKER_PRODUCED,
    STOKER_FETCHED,
    *SPARK_WORK.values(),
    SPARK_LARGE_VALUES,
    PYTHON_WORKER_MEMORY,
    REGISTRY_FETCHES,
    REGISTRY_MEMORY,
)

STREAMS_WORK: Final = "streams"
WORK: Final = (*SPARK_WORK, STREAMS_WORK)
"""What a core can be asked to do with a record."""


def core_seconds(work: str) -> float:
    """Processor time of one small record."""
    if work == STREAMS_WORK:
        return STREAMS_CORES / STREAMS_EVENTS_PER_SECOND
    return SPARK_WORK[work].value / 1e6


def core_bytes_per_second() -> float:
    """What one core reads of values so large that their number does not count."""
    return SPARK_LARGE_VALUES.value * 1e6 / SPARK_CORES
