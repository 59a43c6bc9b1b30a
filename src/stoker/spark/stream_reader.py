"""`spark.readStream.format("stoker")`: where the next micro-batch ends, and what its tasks read."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from stoker.client.fetching import Isolation
from stoker.spark.data_loss import DataLoss
from stoker.spark.errors import InvalidOption
from stoker.spark.offsets import Offsets, QueryOffset, shown
from stoker.spark.options import LATEST, AtOffsets, Everywhere, SourceOptions
from stoker.spark.planning import backlog, limited, ranges_between, split
from stoker.spark.rows import RangeToRead, RowReader
from stoker.spark.topics import Topics

if TYPE_CHECKING:
    import pyarrow as pa

_LOGGER: Final = logging.getLogger(__name__)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans in one process, for the whole life of a query, and reads in others, where only `read` is called."""

    def __init__(
        self,
        options: SourceOptions,
        rows: RowReader,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._options = options
        self._rows = rows
        self._clock = clock
        self._sleep = sleep
        self._loss = DataLoss(fail=options.fail_on_data_loss)
        # Of the process that plans.
        self._topics: Topics | None = None
        self._initial: QueryOffset | None = None
        self._target: Offsets | None = None
        self._latest: Offsets | None = None
        self._last_batch = float("-inf")
        self._has_planned = False

    def initialOffset(self) -> dict[str, Any]:
        """Where a new query begins: always the same in one run, though "latest" moves on."""
        if self._initial is None:
            place = self._options.starting or Everywhere(LATEST)
            offsets = self._asked.resolve(place, self._asked.existing_partitions(), is_start=True)
            if isinstance(place, AtOffsets):
                self._refuse_behind_the_end(offsets)
            self._initial = QueryOffset(offsets, is_initial=True)
            if self._target is not None:  # which was asked for a moment before
                self._target |= {each: max(offset, self._target.get(each, 0)) for each, offset in offsets.items()}
        return self._initial.to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        """Spark hands it back to `latestOffset`, but for triggers that read all there is. It has no limit of two sides."""
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """The query ends where the partitions end now."""
        self._target = self._asked.latest(self._asked.partitions())

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """The end of the next batch; the start itself if there is none."""
        begin = QueryOffset.from_json(start)
        latest = self._latest_after(begin.offsets)
        begins = self._begins(begin, latest)
        from_here = begin.offsets | begins
        end = latest
        if not isinstance(limit, ReadAllAvailable):
            if self._should_wait(from_here, latest):
                return start
            if isinstance(limit, ReadMaxRows):
                end = self._limited(from_here, latest, limit.max_rows)
        if end == begin.offsets and not begins and not begin.is_initial:
            return start
        self._last_batch = self._clock()
        return QueryOffset(end, begins).to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return QueryOffset(self._latest).to_json() if self._latest is not None else None

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Raises DataLost, if that is wanted, for what the offsets alone tell to be gone."""
        if start == end:  # there is no batch in between, though the end may say where the one before it began
            return []
        begin, until = QueryOffset.from_json(start), QueryOffset.from_json(end)
        from_here = begin.offsets | until.begins
        unknown = until.offsets.keys() - from_here.keys()  # in a checkpoint that Spark's own source wrote
        from_here |= self._asked.earliest(unknown)
        ends = {partition: offset for partition, offset in until.offsets.items() if partition in from_here}
        if not self._has_planned:
            self._has_planned = True
            from_here = self._loss.clamp(from_here, ends, self._asked.earliest(ends))
        ranges = split(ranges_between(from_here, ends), self._options.limits)
        return [RangeToRead(each) for each in ranges]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        assert isinstance(partition, RangeToRead)
        return self._rows.read(partition)

    def stop(self) -> None:
        if self._topics is not None:
            self._topics.close()
            self._topics = None

    def _limited(self, start: Offsets, end: Offsets, most: int) -> Offsets:
        """Where a batch of about `most` offsets ends."""
        return limited(start, end, most)

    @property
    def _asked(self) -> Topics:
        if self._topics is None:
            self._topics = Topics(self._options)
        return self._topics

    def _latest_after(self, known: Offsets) -> Offsets:
        """Where the partitions end, or are to end; asked again if that lies before what is known (KAFKA-7703)."""
        if self._target is not None:
            self._latest = self._not_before(known, self._target)
            return self._latest
        for retry in range(self._options.offset_retries + 1):
            if retry:
                self._sleep(self._options.offset_retry_interval_ms / 1000)
            latest = self._not_before(known, self._asked.latest(self._asked.partitions(known)))
            if not any(offset < known.get(partition, 0) for partition, offset in latest.items()):
                break
        self._latest = latest
        return latest

    def _refuse_behind_the_end(self, start: Offsets) -> None:
        for partition, end in sorted(self._asked.ends(start).items()):
            if start[partition] > end:
                raise InvalidOption(
                    f"startingOffsets of {partition} is {start[partition]}, which lies behind its end, {end}"
                )

    def _not_before(self, known: Offsets, latest: Offsets) -> Offsets:
        """An open transaction may have begun before what is known: then nothing is lost, and nothing to be read yet."""
        behind = [each for each, offset in latest.items() if offset < known.get(each, 0)]
        if not behind or self._options.isolation is not Isolation.READ_COMMITTED:
            return latest
        return latest | {each: known[each] for each, end in self._asked.ends(behind).items() if end >= known[each]}

    def _begins(self, start: QueryOffset, latest: Offsets) -> Offsets:
        """Where the batch begins in the partitions that are not simply read on: that is logged with its end.

        All of them in a first batch. New ones begin with their first record. Those that end before what was read have
        been truncated or made anew: what was to come is lost, and what is there is read.
        """
        known = start.offsets
        gone = known.keys() - latest.keys()
        if gone:
            self._loss.report(f"there is no longer a partition {shown(gone)}: deleted, with what was to be read of it")
        shrunk = {partition for partition, offset in latest.items() if offset < known.get(partition, 0)}
        for partition in sorted(shrunk):
            self._loss.report(
                f"{partition} was read up to offset {known[partition]} and now ends at {latest[partition]}: it was "
                "truncated, or deleted and made anew"
            )
        new = latest.keys() - known.keys()
        if new:
            _LOGGER.info("new partitions: %s", shown(new))
        begins = self._asked.earliest(new | shrunk)
        for partition in sorted(new):
            if begins.get(partition, 0) > 0:
                self._loss.report(
                    f"the new partition {partition} begins at offset {begins[partition]}, not at 0: what was before is deleted"
                )
        if start.is_initial:
            begins = {each: offset for each, offset in known.items() if each in latest} | begins
        return begins

    def _should_wait(self, start: Offsets, latest: Offsets) -> bool:
        minimum = self._options.min_offsets_per_trigger
        if minimum is None or self._target is not None or backlog(start, latest) >= minimum:
            return False
        return self._clock() - self._last_batch < self._options.max_trigger_delay_ms / 1000
