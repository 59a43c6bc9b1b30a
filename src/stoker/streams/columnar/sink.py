"""A sink whose rows are made on Arrow columns: found out once, when an application is started, and run in every micro-batch."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from stoker.client.fetching import PartitionRange
from stoker.spark.driven_writes import DrivenWrites, Tell, write_and_tell
from stoker.spark.planning import Limits, split
from stoker.spark.rows import RangeToRead, RowReader
from stoker.spark.sink_plan import SinkPlan
from stoker.streams import nodes
from stoker.streams.columnar.catalyst import check_lasting, plan_of
from stoker.streams.columnar.expressions import Unsupported
from stoker.streams.columnar.steps import Frame, Plan
from stoker.streams.compiler.batch import Inputs
from stoker.streams.state.directory import StateDirectory
from stoker.streams.state.manifest import Manifest, StoreFiles
from stoker.streams.state.store import SMALL

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from stoker.streams.kafka_inputs import KafkaInputs

_ROW_BY_ROW: Final = (nodes.Filter, nodes.Select, nodes.Rekey)


class Endpoints(NamedTuple):
    """How the records of a sink are read, made and written: found where it is first needed, since a schema may be registered by it."""

    rows: RowReader
    limits: Limits
    plan: Plan
    sink: SinkPlan


class _Work(NamedTuple):
    """What is sent to the tasks."""

    rows: RowReader
    plan: Plan
    sink: SinkPlan
    table: "Broadcast[Frame] | None"


@dataclass(kw_only=True)
class ColumnarSink:
    """Not shared between threads."""

    source: nodes.StreamSource
    table: nodes.TableSource | None
    table_columns: pa.Schema | None
    plan: Plan
    directory: StateDirectory
    connect: Callable[[], Endpoints]
    _endpoints: Endpoints | None = None
    _broadcast: "tuple[StoreFiles, Broadcast[Frame]] | None" = field(default=None, repr=False)
    _writes: DrivenWrites | None = field(default=None, repr=False)

    def fits(self, manifest: Manifest, inputs: Inputs) -> bool:
        """Whether a micro-batch after this manifest can be run so: the table must be there, small, and at rest."""
        if self.table is None:
            return True
        files = manifest.stores.get(self.table.name, StoreFiles())
        return not inputs.partitions(self.table.topic) and bool(files.parts) and files.total <= SMALL

    def write(self, spark: "SparkSession", manifest: Manifest, inputs: "KafkaInputs") -> None:
        """Read what the batch has of the topic and write what comes of it, once, however often the batch is run."""
        if self._endpoints is None:
            self._endpoints = self.connect()
        rows, limits, plan, sink = self._endpoints
        ranges = inputs.ranges(self.source.topic)
        wanted = [PartitionRange(self.source.topic, each, *ranges[each]) for each in sorted(ranges)]
        tasks = [RangeToRead(each) for each in split(wanted, limits)]
        work = _Work(replace(rows, report=inputs.report_uri), plan, sink, self._table(spark, manifest))
        if self._writes is None:
            self._writes = DrivenWrites(spark)

        def job(tell: Tell) -> None:
            spark.sparkContext.parallelize(tasks, len(tasks)).foreachPartition(lambda given: _run(work, given, tell))

        self._writes.run(sink, job)

    def _table(self, spark: "SparkSession", manifest: Manifest) -> "Broadcast[Frame] | None":
        """Read and sent once, for as long as it does not change."""
        if self.table is None:
            return None
        files = manifest.stores[self.table.name]
        if self._broadcast is None or self._broadcast[0] != files:
            if self._broadcast is not None:
                self._broadcast[1].destroy()
            from stoker.streams.state.latest_rows import latest_rows  # which tasks do not need

            rows = latest_rows(self.directory, self.table.name, files)
            assert self.table_columns is not None
            found = self.plan.table(rows.select(self.table_columns.names).cast(self.table_columns))
            self._broadcast = files, spark.sparkContext.broadcast(found)
        return self._broadcast[1]


def _run(work: _Work, tasks: Iterable[RangeToRead], tell: Tell) -> None:
    """In a task of Spark."""
    table = None if work.table is None else work.table.value
    for task in tasks:
        write_and_tell(work.sink, _made(work, task, table), tell)


def _made(work: _Work, task: RangeToRead, table: Frame | None) -> Iterator[pa.RecordBatch]:
    for batch in work.rows.read(task):
        if batch.num_rows:
            made = work.plan.of(batch, table)
            del batch  # before the next one is there
            if made.num_rows:
                yield made


def may_be_columnar(sink: nodes.ToTopic) -> tuple[nodes.StreamSource, nodes.TableSource | None] | None:
    """The topic that it is made of and the table that is looked into, if it is made of rows one by one as far as its nodes tell."""
    table = None
    node: nodes.Node = sink.parent
    while not isinstance(node, nodes.StreamSource):
        if isinstance(node, nodes.TableLookup) and isinstance(node.right, nodes.TableSource) and table is None:
            table, node = node.right, node.left
        elif isinstance(node, _ROW_BY_ROW):
            node = node.parent
        else:
            return None
    return node, table


def columnar_plan(frame: "DataFrame", read: "StructType", table_columns: pa.Schema | None) -> Plan:
    """The plan of a sink's rows, tried on no rows of the columns that are read. Raises Unsupported."""
    execution = frame._jdf.queryExecution()
    check_lasting(execution.analyzed().toJSON())
    plan = plan_of(execution.optimizedPlan().toJSON())
    try:
        made = plan.of(_no_rows(read), None if table_columns is None else plan.table(table_columns.empty_table()))
    except pa.ArrowException as error:
        raise Unsupported(str(error)) from error
    wanted = to_arrow_schema(frame.schema, timezone="UTC")
    for given, expected in zip(made.schema, wanted, strict=True):
        if given.name != expected.name or _plain(given.type) != _plain(expected.type):
            raise Unsupported(f"column {expected.name} of type {expected.type}")
    return plan


def _no_rows(schema: "StructType") -> pa.RecordBatch:
    fields = to_arrow_schema(schema, timezone="UTC")
    return pa.RecordBatch.from_arrays([pa.array([], each.type) for each in fields], schema=fields)


def _plain(kind: pa.DataType) -> Any:
    """Whether nulls are allowed does not matter here."""
    if pa.types.is_struct(kind):
        return [(each.name, _plain(each.type)) for each in kind]
    if pa.types.is_list(kind):
        return ["list", _plain(kind.value_type)]
    if pa.types.is_map(kind):
        return ["map", _plain(kind.key_type), _plain(kind.item_type)]
    return kind
