"""What a partition, a broker and an executor can do, and where each default comes from."""

from dataclasses import dataclass
from typing import Final

from stoker.capacity.load import ImpossiblePlan, refuse_absurd
from stoker.capacity.measured import STREAMS_WORK

DISK_FILL: Final = 0.75
"""At this share of a disk operators are woken; the rest is for segments that are not full yet, and for bad days."""
HEAP_BYTES: Final = 6e9
"""-Xms6g -Xmx6g, the usual heap of a Kafka broker. The rest of the memory is page cache."""
CACHE_SECONDS: Final = 30.0
"""Apache Kafka's documentation: memory for what is written in 30 seconds, so that readers need no disk."""
ELECTION_SECONDS: Final = (0.001, 0.005)
"""What one partition's new leader costs its cluster."""
EXECUTOR_HEAP_PER_CORE: Final = 1e9
PYTHON_WORKERS_PER_TASK: Final = 2
"""One that reads, one that writes."""


@dataclass(frozen=True, kw_only=True)
class Machines:
    """Limits of one machine or partition; bytes, and bytes a second."""

    headroom: float = 2.0
    """Rates are planned this many times as high as the peak: for catching up, and for skew."""
    partition_write: float = 10e6
    partition_read: float = 50e6
    partitions_per_broker: int = 4000
    broker_disk: float = 16e12
    broker_write: float = 125e6
    broker_network: float = 200e6
    broker_memory: float = 32e9
    broker_cores: int = 4
    work: str = STREAMS_WORK
    core_rate: float | None = None
    """Events a second that one core of Spark does of the real work; None takes the benchmark's."""
    executor_cores: int = 4

    def __post_init__(self) -> None:
        refuse_absurd(self)
        if self.broker_memory <= HEAP_BYTES:
            raise ImpossiblePlan(
                f"a broker with {self.broker_memory / 1e9:g} GB of memory has no page cache beside a heap of "
                f"{HEAP_BYTES / 1e9:g} GB: take more memory, 32 GB is usual"
            )


SOURCES: Final = {
    "record_bytes": "the middle size of the benchmarks",
    "peak": "the throughput that is given is taken as the peak",
    "compression": "no compression, the worst case; text and JSON usually reach 3 to 5 with zstd",
    "retention_seconds": "Kafka's default, log.retention.hours=168",
    "replication_factor": "usual in production, with min.insync.replicas=2",
    "failures": "one broker down, or one in a rolling restart",
    "consumers": "one group reads everything",
    "state_bytes": "a guess: a key, a window and a few numbers",
    "headroom": "usual rule for partitions (2x); here for every rate",
    "partition_write": "usual rule for one partition on NVMe",
    "partition_read": "usual rule for one partition on NVMe; what your slowest consumer does is better",
    "partitions_per_broker": "usual rule; KRaft carries more, at the price of slower elections",
    "broker_disk": "one large network volume; several are possible with log.dirs",
    "broker_write": "what a gp3 volume gives without extra charge; more can be bought, io2 and NVMe have more",
    "broker_network": "a guess at what a cloud machine of 4 cores sustains, each way; 'up to 10 Gbit/s' is a burst",
    "broker_memory": "usual broker machine, such as r6i.xlarge: 4 cores, 32 GB",
    "broker_cores": "usual broker machine, such as r6i.xlarge: 4 cores, 32 GB",
    "work": "what Stoker is mostly for: exactly once, with state, topic to topic",
    "core_rate": "docs/benchmarks-spark.md and docs/benchmarks-streams.md",
    "executor_cores": "as large as a broker machine",
}
"""Where the default of a field of Load and Machines comes from, for those that are a judgement."""
