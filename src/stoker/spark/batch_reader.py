"""`spark.read.format("stoker")`: from where to where a batch is read, and what each of its tasks reads."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from stoker.client.topic_partition import TopicPartition
from stoker.spark.data_loss import DataLoss
from stoker.spark.errors import InvalidOption
from stoker.spark.filters import Conditions, accept
from stoker.spark.offsets import Offsets
from stoker.spark.options import EARLIEST, LATEST, AtOffsets, Everywhere, SourceOptions
from stoker.spark.planning import ranges_between, split
from stoker.spark.rows import RangeToRead, RowReader
from stoker.spark.topics import Topics

if TYPE_CHECKING:
    import pyarrow as pa


class BatchReader(DataSourceReader):
    """Plans in one process and reads in others."""

    def __init__(self, options: SourceOptions, rows: RowReader) -> None:
        self._options = options
        self._rows = rows
        self._conditions = Conditions()

    def partitions(self) -> Sequence[InputPartition]:
        """Raises InvalidOption, and DataLost if that is wanted."""
        with closing(Topics(self._options)) as topics:
            start, end = self._bounds(topics, topics.existing_partitions())
            end = {partition: offset for partition, offset in end.items() if self._conditions.select(partition)}
            timestamp = self._conditions.earliest_millisecond
            if timestamp is not None and timestamp >= 0:
                first = topics.first_at(timestamp, end)
                start = {partition: max(start[partition], first.get(partition, 0)) for partition in end}
        wanted = [self._conditions.narrow(each) for each in ranges_between(start, end)]
        wanted = [each for each in wanted if each.start < each.end]
        return [RangeToRead(each, self._conditions) for each in split(wanted, self._options.limits)]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        if not isinstance(partition, RangeToRead):  # Spark makes one of its own if there is nothing to read
            return iter(())
        return self._rows.read(partition)

    def _bounds(self, topics: Topics, partitions: list[TopicPartition]) -> tuple[Offsets, Offsets]:
        options = self._options
        loss = DataLoss(fail=options.fail_on_data_loss)
        starting, ending = options.starting or Everywhere(EARLIEST), options.ending or Everywhere(LATEST)
        start = topics.resolve(starting, partitions, is_start=True)
        end = topics.resolve(ending, partitions, is_start=False)
        both = start.keys() & end.keys()
        start, end = {each: start[each] for each in both}, {each: end[each] for each in both}
        if isinstance(ending, AtOffsets):
            for partition, last in sorted(topics.latest(both).items()):
                if end[partition] > last:
                    loss.report(f"{partition} is to be read up to offset {end[partition]}, but ends at {last}")
                    end[partition] = last
        if isinstance(starting, AtOffsets):
            for partition in sorted(both):
                if start[partition] > end[partition]:
                    raise InvalidOption(
                        f"startingOffsets of {partition} is {start[partition]}, which lies behind its end, {end[partition]}"
                    )
            start = loss.clamp(start, end, topics.earliest(both))
        return start, end


class FilteringBatchReader(BatchReader):
    """The same where Spark asks for filters. It refuses readers that could filter where it does not."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """What is not returned is applied here, exactly."""
        self._conditions, left = accept(filters)
        return left
