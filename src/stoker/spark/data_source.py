"""`format("stoker")`: what Spark finds by that name, and makes readers and writers of.

Spark imports this in several processes, some of which only look for names: what is behind it is imported where it is used.
"""

import sys
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import CaseInsensitiveDict, DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import BinaryType, DataType, LongType, StructField, StructType

from stoker.spark.source_schema import (
    ERROR,
    ERROR_TYPE,
    ERROR_WITH_RECORD_TYPE,
    HEADERS,
    HEADERS_TYPE,
    METADATA,
    STREAM_TIME,
    check_columns,
)

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter

    from stoker.spark.formats import ReaderSchema
    from stoker.spark.options import Side, SourceOptions
    from stoker.spark.rows import RowReader

_FILTERING_WORKER: Final = "pyspark.sql.worker.data_source_pushdown_filters"
"""In whose process alone Spark asks a reader for filters. Elsewhere it refuses one that has `pushFilters`, if they are off."""


class StokerDataSource(DataSource):
    """Kafka topics as tables and streams, with the options and columns of Spark's own `kafka` source."""

    _key: "ReaderSchema | None" = None
    _value: "ReaderSchema | None" = None
    _has_schemas = False
    """Found when the query is defined, and sent along with this object, so that all of a query reads by the same."""

    @classmethod
    def name(cls) -> str:
        return "stoker"

    def schema(self) -> StructType:
        """All columns. Raises InvalidOption, and what a registry that is to be asked raises."""
        from stoker.spark.options import source_options

        options = source_options(self.options)
        self._find_schemas(options, {})
        return StructType([StructField(name, kind) for name, kind in self._columns(options).items()])

    def reader(self, schema: StructType) -> DataSourceReader:
        from stoker.spark.batch_reader import BatchReader, FilteringBatchReader
        from stoker.spark.options import source_options

        options = source_options(self.options).for_batch()
        can_filter = options.push_filters and _FILTERING_WORKER in sys.modules
        return (FilteringBatchReader if can_filter else BatchReader)(options, self._rows(options, schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from stoker.spark.options import source_options
        from stoker.spark.stream_reader import StreamReader

        options = source_options(self.options).for_stream()
        return StreamReader(options, self._rows(options, schema))

    def writer(self, schema: StructType, overwrite: bool) -> "DataSourceArrowWriter":
        from stoker.spark.sink import batch_writer

        return batch_writer(self.options, schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> "DataSourceStreamArrowWriter":
        from stoker.spark.sink import stream_writer

        return stream_writer(self.options, schema, overwrite=overwrite)

    def _rows(self, options: "SourceOptions", schema: StructType) -> "RowReader":
        """Of the columns in `schema`, which the user may have given to get no others."""
        from stoker.spark.rows import RowReader

        if not self._has_schemas:
            self._find_schemas(options, {field.name: field.dataType for field in schema})
        check_columns(schema, self._columns(options))
        return RowReader(
            schema=schema,
            key=self._key,
            value=self._value,
            on_error=options.on_error,
            properties=options.properties,
            isolation=options.isolation,
            fail_on_data_loss=options.fail_on_data_loss,
            event_time=self._event_time(options),
            report=options.report,
        )

    def _find_schemas(self, options: "SourceOptions", wanted: dict[str, DataType]) -> None:
        """`wanted` are the columns that the user gave; a format whose column is not among them is not asked for."""
        self._has_schemas = True
        given: dict[Side, str | None] = {"key": options.key_format, "value": options.value_format}
        formats = {
            side: form
            for side, form in given.items()
            if form is not None and (not wanted or side in wanted or ERROR in wanted)
        }
        if not formats:
            return
        from stoker.spark.formats import reader_schema_for

        topics = _topics(options)
        found = {
            side: reader_schema_for(form, side, topics, options.given, wanted.get(side))
            for side, form in formats.items()
        }
        self._key, self._value = found.get("key"), found.get("value")

    def _columns(self, options: "SourceOptions") -> dict[str, DataType]:
        """Those that there are, in the order of Spark's source."""
        from stoker.spark.options import OnError

        columns: dict[str, DataType] = {
            "key": self._key.type if self._key is not None else BinaryType(),
            "value": self._value.type if self._value is not None else BinaryType(),
        }
        columns |= METADATA
        if options.include_headers:
            columns[HEADERS] = HEADERS_TYPE
        if options.on_error is OnError.COLUMN:
            columns[ERROR] = ERROR_WITH_RECORD_TYPE if options.error_record else ERROR_TYPE
        if options.stream_time is not None:
            columns[STREAM_TIME] = LongType()
        return columns

    def _event_time(self, options: "SourceOptions") -> tuple[str, ...] | None:
        """The path of the column that `streamTime` is made of. Raises InvalidOption."""
        if options.stream_time is None:
            return None
        from stoker.spark.event_time import event_time_path

        return event_time_path(options.stream_time, None if self._value is None else self._value.type)


def row_reader(options: Mapping[str, str], schema: StructType) -> "RowReader":
    """What reads these columns for a program that runs its tasks itself, as `load()` would have it. Raises as that does."""
    from stoker.spark.options import source_options

    given = CaseInsensitiveDict(dict(options))
    return StokerDataSource(given)._rows(source_options(given).for_batch(), schema)


def _topics(options: "SourceOptions") -> list[str]:
    """Whose schemas are asked for."""
    from stoker.spark.options import Assigned, Subscribed

    selection = options.selection
    if isinstance(selection, Subscribed):
        return list(selection.topics)
    if isinstance(selection, Assigned):
        return sorted({each.topic for each in selection.partitions})
    from stoker.spark.topics import Topics

    with closing(Topics(options)) as topics:
        return sorted({each.topic for each in topics.partitions()})
