"""A topic as a table: the fields of its values are columns, and what Kafka knows of a record follows with a `_` in front.

Spark forgets the options of a table that a Python source serves, and does not read views as streams. So each table has a
source of its own, a class that knows its options; Spark sends the class to where it is used.
"""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from pyspark.sql.datasource import (
    CaseInsensitiveDict,
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    Filter,
    InputPartition,
    Not,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructField, StructType

if TYPE_CHECKING:
    import pyarrow as pa

VALUE: Final = "value"
_LEFT_OUT: Final = ("topic", "timestampType")
"""The same in each row."""
_WRITTEN: Final = ("key", VALUE, "headers", "partition", "timestamp")
_OF_THE_CATALOGUE: Final = ("owner", "provider", "location", "comment", "path", "external", "is_managed_location")
_ITS_OPTIONS: Final = "option."
"""Spark adds what it knows of a table to the options of its source."""


class Column(NamedTuple):
    """A column of the table, and where it comes from: a column of the source, or a field of one."""

    name: str
    source: str
    field: str | None = None


class Layout(NamedTuple):
    """The columns of a table in their order."""

    columns: tuple[Column, ...]
    schema: StructType

    def source_schema(self) -> StructType:
        """What to ask the source for."""
        fields: list[StructField] = []
        nested: StructType | None = None
        for column, field in zip(self.columns, self.schema.fields, strict=True):
            if column.field is None:
                fields.append(StructField(column.source, field.dataType))
                continue
            if nested is None:
                nested = StructType()
                fields.append(StructField(column.source, nested))
            nested.add(StructField(column.field, field.dataType))
        return StructType(fields)

    def flat(self, batch: "pa.RecordBatch") -> "pa.RecordBatch":
        """The rows of the source as rows of the table. A value that is null has null in all of its fields."""
        import pyarrow as pa

        fields = (
            iter(batch.column(VALUE).flatten()) if any(each.field is not None for each in self.columns) else iter(())
        )
        arrays = [batch.column(each.source) if each.field is None else next(fields) for each in self.columns]
        return pa.RecordBatch.from_arrays(arrays, names=[each.name for each in self.columns])

    def sink_schema(self) -> StructType:
        """Of what is written: offsets are the broker's to give."""
        return StructType([each for each in self.source_schema().fields if each.name in _WRITTEN])

    def nested(self, batch: "pa.RecordBatch") -> "pa.RecordBatch":
        """Rows of the table as rows for the sink."""
        import pyarrow as pa

        arrays: dict[str, pa.Array] = {}
        fields: dict[str, pa.Array] = {}
        for column, array in zip(self.columns, batch.columns, strict=True):
            if column.field is not None:
                fields[column.field] = array
                arrays[VALUE] = array  # holds the place
            elif column.source in _WRITTEN:
                arrays[column.source] = array
        if fields:
            arrays[VALUE] = pa.StructArray.from_arrays(list(fields.values()), names=list(fields))
        return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


def layout_of(source: StructType) -> Layout:
    """The fields of a value that is a struct become columns. A name of ours that one of them has gets one more `_`."""
    columns: list[Column] = []
    fields: list[StructField] = []
    value = source[VALUE].dataType
    if isinstance(value, StructType) and _are_distinct(value.names):
        columns += [Column(each.name, VALUE, each.name) for each in value.fields]
        fields += [StructField(each.name, each.dataType) for each in value.fields]
    else:
        columns.append(Column(VALUE, VALUE))
        fields.append(StructField(VALUE, value))
    taken = {each.name.lower() for each in columns}
    for each in source.fields:
        if each.name == VALUE or each.name in _LEFT_OUT:
            continue
        name = f"_{each.name}"
        while name.lower() in taken:
            name = f"_{name}"
        columns.append(Column(name, each.name))
        fields.append(StructField(name, each.dataType))
    return Layout(tuple(columns), StructType(fields))


def _are_distinct(names: Sequence[str]) -> bool:
    """For Spark, which does not tell large letters from small ones."""
    return len({name.lower() for name in names}) == len(names) > 0


class AttachedTopic(DataSource):
    """The source of one table; `attached_topic` makes a subclass for each."""

    source_name: ClassVar[str]
    fixed_options: ClassVar[Mapping[str, str]]
    layout: ClassVar[Layout]

    def __init__(self, options: MutableMapping[str, str]) -> None:
        asked = {
            name: value
            for name, value in options.items()
            if name.lower() not in _OF_THE_CATALOGUE and not name.lower().startswith(_ITS_OPTIONS)
        }
        super().__init__({**self.fixed_options, **asked})

    @classmethod
    def name(cls) -> str:
        return cls.source_name

    def schema(self) -> StructType:
        return self.layout.schema

    def reader(self, schema: StructType) -> DataSourceReader:
        source = self._source().reader(self.layout.source_schema())
        # Spark refuses a reader that takes filters where it does not send any.
        takes_filters = getattr(source.pushFilters, "__func__", None) is not DataSourceReader.pushFilters
        return (FilteringAttachedReader if takes_filters else AttachedReader)(source, self.layout)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return AttachedStreamReader(self._source().streamReader(self.layout.source_schema()), self.layout)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        from stoker.spark.sink import batch_writer

        return AttachedWriter(batch_writer(self._sink_options(), self.layout.sink_schema(), overwrite), self.layout)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        from stoker.spark.sink import stream_writer

        return AttachedStreamWriter(
            stream_writer(self._sink_options(), self.layout.sink_schema(), overwrite), self.layout
        )

    def _sink_options(self) -> dict[str, str]:
        from stoker.spark.sink_options import SINK_OPTIONS

        options = {name.lower(): value for name, value in self.options.items()}
        return _known(options, SINK_OPTIONS) | {"topic": options["subscribe"]}

    def _source(self) -> DataSource:
        from stoker.spark.data_source import StokerDataSource

        return StokerDataSource(CaseInsensitiveDict(source_options_of(self.options)))


def source_options_of(options: Mapping[str, str]) -> dict[str, str]:
    """A table has options for both ways: those that only a write has are no mistake when it is read."""
    from stoker.spark.options import OPTIONS
    from stoker.spark.sink_options import SINK_OPTIONS

    given = {name.lower(): value for name, value in options.items()}
    only_written = _known(given, SINK_OPTIONS).keys() - _known(given, OPTIONS).keys()
    return {name: value for name, value in given.items() if name not in only_written}


def _known(options: Mapping[str, str], ones: Iterable[Any]) -> dict[str, str]:
    names = {each.name.lower() for each in ones}
    return {name: value for name, value in options.items() if name in names or name.startswith("kafka.")}


def attached_topic(name: str, options: Mapping[str, str], layout: Layout) -> type[AttachedTopic]:
    """A source for one table. What a query says `WITH (...)` is stronger than `options`."""
    return type(
        "AttachedTopic", (AttachedTopic,), {"source_name": name, "fixed_options": dict(options), "layout": layout}
    )


class AttachedReader(DataSourceReader):
    """Reads as the source does, by the columns of the table."""

    def __init__(self, source: DataSourceReader, layout: Layout) -> None:
        self._source = source
        self._layout = layout

    def partitions(self) -> Sequence[InputPartition]:
        return self._source.partitions()

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        return map(self._layout.flat, self._source.read(partition))


class FilteringAttachedReader(AttachedReader):
    """Of a source that takes filters: those on what Kafka knows of a record reach it, by its own names."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        names = {each.name: each.source for each in self._layout.columns if each.field is None}
        renamed = [(each, _renamed(each, names)) for each in filters]
        left = {id(each) for each in self._source.pushFilters([theirs for _, theirs in renamed if theirs is not None])}
        return [ours for ours, theirs in renamed if theirs is None or id(theirs) in left]


def _renamed(filter_: Filter, names: Mapping[str, str]) -> Filter | None:
    """The filter by the names of the source; None if it is on a field of the value."""
    if isinstance(filter_, Not):
        child = _renamed(filter_.child, names)
        return None if child is None else Not(child)
    attribute: tuple[str, ...] = getattr(filter_, "attribute", ())
    if not attribute or attribute[0] not in names:
        return None
    return replace(filter_, attribute=(names[attribute[0]], *attribute[1:]))  # type: ignore[call-arg]  # all but Not have it


class AttachedStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The same for a stream: offsets and batches are the source's."""

    def __init__(self, source: DataSourceStreamReader, layout: Layout) -> None:
        self._source = source
        self._layout = layout

    def initialOffset(self) -> dict[str, Any]:
        return self._source.initialOffset()

    def getDefaultReadLimit(self) -> ReadLimit:
        return self._source.getDefaultReadLimit()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        return self._source.latestOffset(start, limit)

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return self._source.reportLatestOffset()

    def prepareForTriggerAvailableNow(self) -> None:
        assert isinstance(self._source, SupportsTriggerAvailableNow)
        self._source.prepareForTriggerAvailableNow()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return self._source.partitions(start, end)

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        return map(self._layout.flat, self._source.read(partition))

    def commit(self, end: dict[str, Any]) -> None:
        self._source.commit(end)

    def stop(self) -> None:
        self._source.stop()


class AttachedWriter(DataSourceArrowWriter):
    """For INSERT."""

    def __init__(self, sink: DataSourceArrowWriter, layout: Layout) -> None:
        self._sink = sink
        self._layout = layout

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        return self._sink.write(map(self._layout.nested, iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._sink.commit(messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._sink.abort(messages)


class AttachedStreamWriter(DataSourceStreamArrowWriter):
    """For `writeStream.toTable`, likewise."""

    def __init__(self, sink: DataSourceStreamArrowWriter, layout: Layout) -> None:
        self._sink = sink
        self._layout = layout

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        return self._sink.write(map(self._layout.nested, iterator))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self._sink.commit(messages, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self._sink.abort(messages, batchId)
