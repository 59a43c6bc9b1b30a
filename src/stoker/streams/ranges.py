"""Which offsets a micro-batch reads, as a Spark source: Spark plans and logs them, and the batch reads them as it needs.

To Spark it has no rows. The application takes the offsets from Spark's log and reads the records by itself, each topic with its own
schema, within the micro-batch: to have Spark hand them over would be a job more in each.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from stoker.client.fetching import PartitionRange
from stoker.spark.offsets import Offsets, QueryOffset
from stoker.spark.options import SourceOptions, Subscribed, source_options
from stoker.spark.planning import limited
from stoker.spark.records import read_records
from stoker.spark.rows import RangeToRead
from stoker.spark.stream_reader import StreamReader

if TYPE_CHECKING:
    from stoker.spark.rows import RowReader

SOURCE: Final = "stoker_ranges"
TABLES: Final = "tables"
"""An option: the topics that are tables, with commas between."""
_SCHEMA: Final = "topic string"
_LOOK_AHEAD: Final = 100
"""Offsets: behind the end of a batch there may be marks of transactions in place of a record."""


class RangesSource(DataSource):
    """Takes the options of `format("stoker")` that say which topics, from where, and how many offsets at once."""

    @classmethod
    def name(cls) -> str:
        return SOURCE

    def schema(self) -> str:
        return _SCHEMA

    def streamReader(self, schema: StructType) -> "RangesReader":  # noqa: N802 (Spark's name)
        return ranges_reader(self.options)


def ranges_reader(options: Mapping[str, str]) -> "RangesReader":
    given = dict(options)
    tables = frozenset(filter(None, given.pop(TABLES, "").split(",")))
    return RangesReader(source_options(given).for_stream(), tables)


class RangesReader(StreamReader):
    """Plans as any stream of topics does, but for tables: these are read up to the time that streams have reached."""

    def __init__(self, options: SourceOptions, tables: frozenset[str]) -> None:
        rows: RowReader = None  # type: ignore[assignment]  # nothing is read here
        super().__init__(options, rows)
        self._tables = tables

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        return super().latestOffset(self._of_today(start), limit)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return []

    def ranges(self, start: dict[str, Any], end: dict[str, Any]) -> list[PartitionRange]:
        """What a micro-batch reads between two offsets of Spark's log. Raises as `partitions` of a stream of topics does."""
        found = super().partitions(self._of_today(start), self._of_today(end))
        return [each.wanted for each in found if isinstance(each, RangeToRead)]

    def _of_today(self, written: dict[str, Any]) -> dict[str, Any]:
        """Without topics that the application no longer reads."""
        selection = self._options.selection
        assert isinstance(selection, Subscribed)
        offset = QueryOffset.from_json(written)
        kept = {each: number for each, number in offset.offsets.items() if each.topic in selection.topics}
        if len(kept) == len(offset.offsets):
            return written
        begins = {each: number for each, number in offset.begins.items() if each.topic in selection.topics}
        return offset._replace(offsets=kept, begins=begins).to_json()

    def _limited(self, start: Offsets, end: Offsets, most: int) -> Offsets:
        """So many offsets of the streams. A table is not read ahead of them: a row must not see what was written after it."""
        streams = {each: number for each, number in end.items() if each.topic not in self._tables}
        tables = {each: number for each, number in end.items() if each.topic in self._tables}
        if not streams or not tables:
            return limited(start, end, most)
        ends = limited(start, streams, most)
        if ends == streams:
            return end
        horizon = self._horizon(ends, streams)
        if horizon is None:
            return end
        first = self._asked.first_at(horizon, tables)
        return ends | {
            each: min(number, max(start.get(each, 0), first.get(each, number))) for each, number in tables.items()
        }

    def _horizon(self, ends: Offsets, latest: Offsets) -> int | None:
        """The time of the first record that the streams do not read yet."""
        times = []
        for partition, end in ends.items():
            if end >= latest[partition]:
                continue
            ahead = PartitionRange(*partition, end, min(end + _LOOK_AHEAD, latest[partition]))
            for records in read_records(self._options.properties, ahead, isolation=self._options.isolation):
                times.append(int(records.timestamps[0]))
                break
        return min(times, default=None)
