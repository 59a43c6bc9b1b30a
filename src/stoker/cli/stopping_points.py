"""Where `stoker consume` has read enough of a partition."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from stoker.cli.record_format import Record
from stoker.cli.starting_points import Partition

R = TypeVar("R", bound=Record)


class StoppingPoint(Protocol):
    """Told of everything that is read; says what counts, and when all is read."""

    @property
    def is_reached(self) -> bool: ...
    def assign(self, begins: Mapping[Partition, int | None]) -> None:
        """These are read too from now on, from these offsets if they are known."""
        ...

    def revoke(self, partitions: Iterable[Partition]) -> None:
        """These are read by somebody else from now on."""
        ...

    def admit(self, records: Sequence[R]) -> Sequence[R]:
        """Those of the records that are before the stopping point."""
        ...

    def end_of_partition(self, partition: Partition, offset: int) -> None:
        """There is nothing at this offset yet."""
        ...


class Never:
    """Follow."""

    is_reached = False

    def assign(self, begins: Mapping[Partition, int | None]) -> None:
        pass

    def revoke(self, partitions: Iterable[Partition]) -> None:
        pass

    def admit(self, records: Sequence[R]) -> Sequence[R]:
        return records

    def end_of_partition(self, partition: Partition, offset: int) -> None:
        pass


class AtEnds:
    """What was there at the start, or when a partition was assigned: up to its end of that moment."""

    def __init__(self, find_ends: Callable[[list[Partition]], Mapping[Partition, int]]) -> None:
        self._find_ends = find_ends
        self._ends: dict[Partition, int] = {}
        self._done: set[Partition] = set()

    @property
    def is_reached(self) -> bool:
        return bool(self._ends) and len(self._done) == len(self._ends)

    def assign(self, begins: Mapping[Partition, int | None]) -> None:
        found = self._find_ends(list(begins))
        self._ends |= found
        self._done |= {partition for partition, end in found.items() if end <= (begins[partition] or 0)}

    def revoke(self, partitions: Iterable[Partition]) -> None:
        for partition in partitions:
            self._ends.pop(partition, None)
            self._done.discard(partition)

    def admit(self, records: Sequence[R]) -> Sequence[R]:
        is_past_an_end = False
        latest = {next(iter(self._ends)): records[-1]} if len(self._ends) == 1 and records else _latest(records)
        for partition, record in latest.items():
            offset, end = record.offset() or 0, self._ends.get(partition, 0)
            if offset >= end - 1:
                self._done.add(partition)
            is_past_an_end |= offset >= end
        if not is_past_an_end:
            return records
        return [record for record in records if (record.offset() or 0) < self._ends.get(_partition(record), 0)]

    def end_of_partition(self, partition: Partition, offset: int) -> None:
        # The last offsets may be those of transaction markers, or of records that compaction has removed.
        if offset >= self._ends.get(partition, 0):
            self._done.add(partition)


class AtMoment:
    """Up to the first record of each partition that is not older; and when that moment has come, up to the end."""

    def __init__(self, milliseconds: int, now_ms: Callable[[], int]) -> None:
        self._milliseconds = milliseconds
        self._now_ms = now_ms
        self._assigned: set[Partition] = set()
        self._done: set[Partition] = set()
        self._at_end: set[Partition] = set()

    @property
    def is_reached(self) -> bool:
        if not self._assigned:
            return False
        if self._done >= self._assigned:
            return True
        return self._done | self._at_end >= self._assigned and self._now_ms() >= self._milliseconds

    def assign(self, begins: Mapping[Partition, int | None]) -> None:
        self._assigned.update(begins)

    def revoke(self, partitions: Iterable[Partition]) -> None:
        gone = set(partitions)
        self._assigned -= gone
        self._done -= gone
        self._at_end -= gone

    def admit(self, records: Sequence[R]) -> Sequence[R]:
        if not records:
            return records
        if self._at_end:
            self._at_end -= _latest(records).keys()
        if not self._done and max([record.timestamp()[1] for record in records]) < self._milliseconds:
            return records
        return [record for record in records if self._counts(record)]

    def _counts(self, record: Record) -> bool:
        if record.timestamp()[1] >= self._milliseconds:
            self._done.add(_partition(record))
        return _partition(record) not in self._done

    def end_of_partition(self, partition: Partition, offset: int) -> None:
        self._at_end.add(partition)


def _partition(record: Record) -> Partition:
    return Partition(record.topic() or "", record.partition() or 0)


def _latest(records: Sequence[R]) -> dict[Partition, R]:
    """The last record of each partition; offsets only grow. Called for every batch, so it does little for each record."""
    latest = {(record.topic(), record.partition()): record for record in records}
    return {Partition(topic or "", number or 0): record for (topic, number), record in latest.items()}
