"""`df.write.format("stoker")` and `df.writeStream.format("stoker")`: rows become records."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from time import monotonic, monotonic_ns
from typing import Final, NamedTuple

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from stoker.client.cluster import Cluster
from stoker.client.cluster_pool import borrow_cluster, return_cluster
from stoker.client.producing import BatchProducer, ProducerIdentity, idempotent_producer
from stoker.spark import exactly_once
from stoker.spark.errors import InvalidOption
from stoker.spark.exactly_once import TaskOutcome
from stoker.spark.row_writer import RowWriter, forget_limits
from stoker.spark.sink_options import Delivery
from stoker.spark.sink_plan import SinkPlan, sink_plan

CHUNK_BYTES: Final = 8 * 1024 * 1024
CHUNK_ROWS: Final = 100_000
"""Rows are encoded by so many at once: large batches for Kafka, and little memory."""

_PLAN_SECONDS: Final = 300.0
_MOST_PLANS: Final = 100
_plans: dict[Hashable, tuple[SinkPlan, float]] = {}

_BATCH_ID: Final = "streaming.sql.batchId"
_QUERY_ID: Final = "sql.streaming.queryId"
_RUN_ID: Final = "spark.jobGroup.id"
"""A streaming query runs its jobs in a group with the id of the run."""


@dataclass
class Written(WriterCommitMessage):
    """What a task did."""

    rows: int
    outcome: TaskOutcome | None = None
    """Of a task that writes exactly once."""


class BatchWriter(DataSourceArrowWriter):
    """For `df.write`. When `write` returns, the task is mostly done; what is left to decide, `commit` does in the driver."""

    def __init__(self, plan: SinkPlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return write_task(self._plan, iterator, SinkTask.of_write(self._plan))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        exactly_once.finish(self._plan.options.properties, _outcomes(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        exactly_once.abandon(self._plan.options.properties, _outcomes(messages))


class StreamWriter(DataSourceStreamArrowWriter):
    """For `df.writeStream`, likewise."""

    def __init__(self, plan: SinkPlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return write_task(self._plan, iterator, SinkTask.of_query())

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        exactly_once.finish(self._plan.options.properties, _outcomes(messages))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        exactly_once.abandon(self._plan.options.properties, _outcomes(messages))


def batch_writer(given: Mapping[str, str], schema: StructType, overwrite: bool) -> BatchWriter:
    """Raises InvalidOption, and what a registry that is to be asked raises."""
    if overwrite:
        raise InvalidOption('mode("overwrite") is not for topics, whose records stay: write with mode("append")')
    return BatchWriter(sink_plan(given, schema))


def stream_writer(given: Mapping[str, str], schema: StructType, overwrite: bool) -> StreamWriter:
    """Likewise. In output mode `complete`, which `overwrite` means, every micro-batch appends all rows, as in Spark's sink."""
    plan = recent_plan(given, schema)
    if plan.options.sink_id is not None:
        raise InvalidOption("sink.id is for df.write: a streaming query has an id of its own, in its checkpoint")
    return StreamWriter(plan)


def recent_plan(given: Mapping[str, str], schema: StructType) -> SinkPlan:
    """As `sink_plan` makes it. For those who ask in every micro-batch: it is made anew, and a registry asked, when it is old."""
    key = (frozenset(given.items()), schema.json())
    plan, best_before = _plans.get(key, (None, 0.0))
    if plan is None or monotonic() > best_before:
        plan = sink_plan(given, schema)
        if len(_plans) >= _MOST_PLANS:
            _plans.clear()
        _plans[key] = (plan, monotonic() + _PLAN_SECONDS)
    return plan


class SinkTask(NamedTuple):
    """Which task this is: the same when it is run again, but for `run`, which is another one when a query is started again."""

    sink_id: str
    number: int
    batch: int = 0
    run: str | None = None

    @classmethod
    def of_query(cls) -> "SinkTask":
        """The current one, of a streaming query."""
        query_id = _property(_QUERY_ID)
        assert query_id is not None, "Spark tells a task of a streaming query which query it is of"
        return cls._of_batch(query_id)

    @classmethod
    def of_write(cls, plan: SinkPlan) -> "SinkTask":
        """The current one, of `df.write`: of a sink of its own, unless `sink.id` says which.

        In `foreachBatch` a sink with a name belongs to the query. Without a name nothing tells two writes of a batch apart.
        """
        name = plan.options.sink_id
        if name is None:
            return cls(plan.write_id, _context().partitionId())
        query_id = _property(_QUERY_ID)
        if query_id is not None:
            return cls._of_batch(f"{query_id}-{name}")
        return cls(name, _context().partitionId(), run=plan.write_id)

    @classmethod
    def _of_batch(cls, sink_id: str) -> "SinkTask":
        return cls(sink_id, _context().partitionId(), int(_property(_BATCH_ID) or 0), _property(_RUN_ID))


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "a task of Spark has a context"
    return context


def _property(name: str) -> str | None:
    return _context().getLocalProperty(name)


def write_task(plan: SinkPlan, batches: Iterator[pa.RecordBatch], task: SinkTask) -> Written:
    """Write the rows of one task."""
    rest = _chunks(batches)
    first = list(islice(rest, 1))
    has_rows = bool(first)
    chunks = _one_by_one(first, rest)
    if plan.options.delivery is Delivery.AT_LEAST_ONCE:
        return _write_at_least_once(plan, chunks) if has_rows else Written(0)
    return _write_exactly_once(plan, task, chunks) if has_rows else _write_nothing(plan, task)


def _one_by_one(first: list[pa.RecordBatch], rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Chunks that nobody holds any more once they are given away."""
    while first:
        yield first.pop()
    yield from rest


def _outcomes(messages: list[WriterCommitMessage | None]) -> list[TaskOutcome | None]:
    """A task that failed has no message."""
    return [each.outcome for each in messages if isinstance(each, Written)]


def _write_nothing(plan: SinkPlan, task: SinkTask) -> Written:
    """Where nothing can have been written before, nobody is asked."""
    if task.run is None:
        return Written(0)
    outcome = exactly_once.nothing_to_write(
        plan.options.properties, sink_id=task.sink_id, run=task.run, batch=task.batch, task=task.number
    )
    return Written(0, outcome)


def _write_at_least_once(plan: SinkPlan, chunks: Iterator[pa.RecordBatch]) -> Written:
    cluster = borrow_cluster(plan.options.properties)
    try:
        producer = _producer(plan, cluster, idempotent_producer(cluster))
        writer = RowWriter(plan, cluster, producer, start=monotonic_ns())
        for chunk in chunks:
            writer.write(chunk)
            del chunk  # before the next one is there
        producer.flush()
    except BaseException:
        cluster.close()  # somebody may still answer to what was sent
        forget_limits()
        raise
    return_cluster(cluster)
    return Written(writer.rows)


def _write_exactly_once(plan: SinkPlan, this: SinkTask, chunks: Iterator[pa.RecordBatch]) -> Written:
    cluster = borrow_cluster(plan.options.properties)
    try:
        with exactly_once.task(
            plan.options.properties,
            sink_id=this.sink_id,
            run=this.run,
            task=this.number,
            batch=this.batch,
            transaction_timeout_ms=plan.options.transaction_timeout_ms,
        ) as task:
            producer = None if task.committed is not None else _producer(plan, cluster, task.producer)
            writer = RowWriter(plan, cluster, producer, start=this.batch + this.number, with_digest=True)
            for chunk in chunks:
                writer.write(chunk)
                del chunk
            if producer is None:
                task.check_replay(writer.rows, writer.digest)
            else:
                producer.flush()
                task.commit(writer.rows, writer.digest, producer.partitions)
    except BaseException:
        cluster.close()
        forget_limits()
        raise
    return_cluster(cluster)
    return Written(writer.rows, task.outcome)


def _producer(plan: SinkPlan, cluster: Cluster, identity: ProducerIdentity) -> BatchProducer:
    return BatchProducer(
        cluster,
        identity,
        delivery_timeout_ms=plan.options.delivery_timeout_ms,
        buffer_bytes=plan.options.buffer_bytes,
    )


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows again, several small batches as one and a large one as several."""
    gathered: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        for piece in _pieces(batch):
            if gathered and (rows + len(piece) > CHUNK_ROWS or size + piece.nbytes > CHUNK_BYTES):
                yield _joined(gathered)
                gathered, rows, size = [], 0, 0
            gathered.append(piece)
            rows += len(piece)
            size += piece.nbytes
            del piece
        del batch  # `gathered` alone has what is not written yet
        if rows >= CHUNK_ROWS or size >= CHUNK_BYTES:
            yield _joined(gathered)
            gathered, rows, size = [], 0, 0
    if gathered:
        yield _joined(gathered)


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if not len(batch):
        return
    step = max(1, min(CHUNK_ROWS, len(batch) * CHUNK_BYTES // max(batch.nbytes, 1)))
    for begin in range(0, len(batch), step):
        yield batch.slice(begin, step)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
