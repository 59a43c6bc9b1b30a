"""What must be carried, and how safely."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from stoker.capacity.options import DAY_SECONDS, option
from stoker.errors import StokerError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LARGEST: Final = 1e18
"""Of any number that is given: an exabyte, a thousand million years."""
SEGMENT_BYTES: Final = 1_073_741_824
"""Kafka's default of segment.bytes."""
ROLL_SECONDS: Final = 7 * DAY_SECONDS
"""Kafka's default of segment.ms."""


class ImpossiblePlan(StokerError):
    """A load that no number of machines carries; the message says why, and what could be asked for instead."""


def refuse_absurd(given: "DataclassInstance") -> None:
    """No number is infinite, none at all, or so large that arithmetic fails."""
    for each in fields(given):
        value = getattr(given, each.name)
        if isinstance(value, (int, float)) and not abs(value) <= LARGEST:
            shown = f"{value:g}" if isinstance(value, float) else f"of {len(str(value))} digits"
            raise ImpossiblePlan(f"{option(each.name)} {shown}: must be a number up to {LARGEST:g}")


@dataclass(frozen=True, kw_only=True)
class Load:
    """Rates are bytes a second of keys and values, before compression, over all topics together."""

    throughput: float
    """On average: it fills the disks. Rates are planned for the peak."""
    record_bytes: float = 1000.0
    peak: float = 1.0
    """The highest rate over the average."""
    compression: float = 1.0
    """Bytes before compression over bytes after it."""
    retention_seconds: float | None = 7 * DAY_SECONDS
    """None is forever, which only a compacted topic can promise: then `keys` is needed."""
    keys: int | None = None
    topics: int = 1
    replication_factor: int = 3
    failures: int = 1
    """Brokers, executors and instances that may be down while the peak is carried."""
    consumers: int = 1
    """Groups that each read everything."""
    group_size: int = 1
    """Consumers that work at the same time in the largest group."""
    state_keys: int = 0
    """Keys, or keys times windows, that streams applications remember."""
    state_bytes: float = 100.0

    def __post_init__(self) -> None:
        refuse_absurd(self)
        if self.failures >= self.replication_factor:
            raise ImpossiblePlan(
                f"{self.failures} failed brokers can take every copy of a partition when the replication factor is "
                f"{self.replication_factor}: take a replication factor of at least {self.failures + 1}, "
                f"or at most {self.replication_factor - 1} failures"
            )
        if self.retention_seconds is None and self.keys is None:
            raise ImpossiblePlan(
                "a topic that keeps everything forever outgrows any disk: give the number of keys of a compacted topic, "
                "or a retention such as 7d"
            )

    @property
    def written(self) -> float:
        """Bytes a second that producers send on average, compressed."""
        return self.throughput / self.compression

    @property
    def written_at_peak(self) -> float:
        return self.written * self.peak

    @property
    def processed_at_peak(self) -> float:
        """Bytes a second that a consumer has in its hands, decompressed."""
        return self.throughput * self.peak

    @property
    def events_at_peak(self) -> float:
        return self.processed_at_peak / self.record_bytes

    @property
    def min_insync_replicas(self) -> int:
        """Two where there are three copies or more, so that an acknowledged record is never in one place alone."""
        return 2 if self.replication_factor >= 3 else 1
