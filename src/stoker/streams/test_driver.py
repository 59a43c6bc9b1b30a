"""Feed rows to a topology and read what comes out, without a broker: the micro-batches are real, and so is Spark."""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from stoker.spark.range_report import RangeReport
from stoker.streams import nodes
from stoker.streams.compiler.batch import NEVER, Batch, Inputs, refused_by_name
from stoker.streams.compiler.outputs import records
from stoker.streams.errors import InvalidTopology
from stoker.streams.execution import Execution
from stoker.streams.nodes import TopicSource
from stoker.streams.sessions import prepared
from stoker.streams.state.manifest import Manifest
from stoker.streams.state.small_directory import SmallStateDirectory, collected, in_one_task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField, StructType

    from stoker.streams.application import Streams
    from stoker.streams.state.views import StoreView


@dataclass(frozen=True, kw_only=True)
class Record:
    """Of a topic: `timestamp` is in milliseconds."""

    key: Any
    value: Any
    timestamp: int
    partition: int = 0
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass
class _Topic:
    pending: list[Record] = field(default_factory=list)
    next_offsets: dict[int, int] = field(default_factory=dict)


_FEW_ROWS: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.optimizer.disableHints": "true",
}
"""To compile takes longer than to run, and to send rows to where they are needed longer than to have all in one place."""


class TestDriver:
    """`send` records, `read` what a topic got; every `read` runs what was sent since as one micro-batch.

    What the application writes to a topic that it reads (`through`) is sent to it in another micro-batch. `schemas` are the types of values, by topic (`"total double, region string"`), where the application leaves them to a
    registry; keys are strings unless `key_schemas` says otherwise.
    """

    __test__ = False  # it is no test of its own, whatever its name

    def __init__(
        self,
        application: "Streams",
        *,
        spark: "SparkSession | None" = None,
        schemas: Mapping[str, str] | None = None,
        key_schemas: Mapping[str, str] | None = None,
    ) -> None:
        self._application = application
        self._spark = prepared(spark or application.session())
        for name, value in _FEW_ROWS.items():
            self._spark.conf.set(name, value)
        self._schemas = dict(schemas or {})
        self._key_schemas = dict(key_schemas or {})
        self._root = tempfile.mkdtemp(prefix="stoker-test-driver-")
        self._directory = SmallStateDirectory(self._root)
        self._inputs: dict[str, _Topic] = {}
        self._outputs: dict[str, list[Record]] = {}
        self._written: dict[str, list[Record]] = {}
        """By the micro-batch that runs."""
        self._number = 0
        self.topology = application.topology
        self.topology.check()
        self._execution = Execution(self.topology, self._directory, self)
        self.progress: dict[str, Any] = {}
        """Of the last micro-batch: rows, late ones, seconds."""

    def __enter__(self) -> "TestDriver":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget all state."""
        shutil.rmtree(self._root, ignore_errors=True)

    def send(
        self,
        topic: str,
        value: Any,
        *,
        key: Any = None,
        timestamp: int | datetime = 0,
        partition: int = 0,
        headers: Mapping[str, bytes] | None = None,
    ) -> None:
        """One record, to be read by the next micro-batch. A dict is a value with fields; None is a tombstone."""
        if topic not in self.topology.topics:
            raise InvalidTopology(
                f"the application reads no topic {topic!r}. It reads: {', '.join(self.topology.topics)}"
            )
        time = round(timestamp.timestamp() * 1000) if isinstance(timestamp, datetime) else timestamp
        given = tuple((headers or {}).items())
        record = Record(key=key, value=value, timestamp=time, partition=partition, headers=given)
        self._topic(topic).pending.append(record)

    def run(self) -> None:
        """What was sent since the last time, as one micro-batch. One that fails can be run again."""
        inputs = _Sent(self)
        self._written = {}
        manifest = self._execution.run(self._spark, self._number, inputs, {})
        self.progress = manifest.progress
        inputs.done()
        self._number += 1
        for topic, found in self._written.items():
            self._outputs.setdefault(topic, []).extend(found)
            if topic in self.topology.topics:
                self._topic(topic).pending += found

    def _run_all(self) -> None:
        while any(each.pending for each in self._inputs.values()):
            self.run()

    def read(self, topic: str) -> list[Record]:
        """What the topic got since it was last read, in order of time."""
        self._run_all()
        known = [each.topic for each in self.topology.sinks if isinstance(each, nodes.ToTopic)]
        if topic not in known:
            raise InvalidTopology(f"the application writes no topic {topic!r}. It writes: {', '.join(known)}")
        return self._outputs.pop(topic, [])

    def store(self, name: str) -> "StoreView":
        """A store, after what was sent so far."""
        from stoker.streams.state.views import StoreView

        self._run_all()
        return StoreView(self._directory, name)

    def _topic(self, name: str) -> "_Topic":
        return self._inputs.setdefault(name, _Topic())

    # -- what an execution writes to

    def prepare(self, batch: Batch, sink: nodes.ToTopic) -> Callable[[], None]:
        with refused_by_name(sink):
            frame = records(batch, sink)
        if sink.topic in self.topology.topics:
            self._key_schemas.setdefault(sink.topic, frame.schema["key"].dataType.simpleString())
            self._schemas.setdefault(sink.topic, frame.schema["value"].dataType.simpleString())
        return partial(self._collect, sink, frame)

    def _collect(self, sink: nodes.ToTopic, frame: "DataFrame") -> None:
        found = sorted(map(_record, collected(frame)), key=lambda each: each.timestamp)
        self._written.setdefault(sink.topic, []).extend(found)

    def write_changes(self, batch: Batch, store: str, rows: "DataFrame") -> None:
        """Nobody will ever restore it."""

    def write_dead_letters(self, batch: Batch, source: nodes.TopicSource) -> int:
        return 0

    def apart(self, manifest: Manifest, inputs: Inputs) -> frozenset[nodes.Node]:
        return frozenset()


class _Sent:
    """What was sent, as the input of a micro-batch."""

    def __init__(self, driver: TestDriver) -> None:
        self._driver = driver

    def partitions(self, topic: str) -> list[int]:
        return sorted({each.partition for each in self._topic(topic).pending})

    def is_behind(self, topic: str, partition: int) -> bool:
        return False

    def unread(self, source: TopicSource) -> "Sequence[StructField]":
        return ()

    def reports(self, spark: "SparkSession", source: TopicSource) -> list[RangeReport]:
        times: dict[int, list[int]] = {}
        for record in self._topic(source.topic).pending:
            times.setdefault(record.partition, []).append(_event_time(record, source.timestamp))
        return [RangeReport(source.topic, each, 0, 0, len(found), 0, max(found)) for each, found in times.items()]

    def frame(self, spark: "SparkSession", source: TopicSource) -> "DataFrame":
        topic = self._topic(source.topic)
        value = self._driver._schemas.get(source.topic) or source.value.schema or "string"
        key = self._driver._key_schemas.get(source.topic) or source.key.schema or "string"
        schema = _schema(key, value, headers=source.headers)
        offsets, rows = dict(topic.next_offsets), []
        times: dict[int, int] = {}
        for record in topic.pending:
            offset = offsets.get(record.partition, 0)
            offsets[record.partition] = offset + 1
            time = _event_time(record, source.timestamp)
            times[record.partition] = max(times.get(record.partition, NEVER), time)
            moment = datetime.fromtimestamp(record.timestamp / 1000, UTC)
            headers = [{"key": name, "value": content} for name, content in record.headers]
            row = [record.key, record.value, record.partition, offset, moment, times[record.partition]]
            rows.append(dict(zip(schema.names, [*row, headers], strict=False)))
        return in_one_task(spark, _table(source.topic, rows, schema), schema)

    def done(self) -> None:
        for topic in self._driver._inputs.values():
            for record in topic.pending:
                topic.next_offsets[record.partition] = topic.next_offsets.get(record.partition, 0) + 1
            topic.pending.clear()

    def _topic(self, name: str) -> _Topic:
        return self._driver._topic(name)


def _schema(key: str, value: str, *, headers: bool) -> "StructType":
    from pyspark.sql.types import StructType, _parse_datatype_string

    columns = f"key {key}, value {_type(value)}, partition int, offset bigint, timestamp timestamp, streamTime bigint"
    parsed = _parse_datatype_string(
        f"{columns}, headers array<struct<key: string, value: binary>>" if headers else columns
    )
    assert isinstance(parsed, StructType)
    return parsed


def _table(topic: str, rows: list[dict[str, Any]], schema: "StructType") -> pa.Table:
    """Raises InvalidTopology for what was sent and does not fit."""
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    kind = schema["value"].dataType
    for row in rows:
        if not isinstance(kind, StructType) or row["value"] is None:
            continue
        if not isinstance(row["value"], dict) or not row["value"].keys() <= set(kind.names):
            raise InvalidTopology(
                f"{row['value']!r} is no value of topic {topic}. Its fields are: {', '.join(kind.names)}"
            )
    try:
        return pa.Table.from_pylist(rows, schema=to_arrow_schema(schema, timezone="UTC"))
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        types = f"{schema['key'].dataType.simpleString()} and {kind.simpleString()}"
        raise InvalidTopology(
            f"what was sent to topic {topic} is not of the types of its key and value, {types}: {error}"
        ) from error


def _event_time(record: Record, name: str | None) -> int:
    value = record.value.get(name) if name is not None and isinstance(record.value, dict) else None
    if value is None:
        return record.timestamp
    return round(value.timestamp() * 1000) if isinstance(value, datetime) else int(value)


def _type(schema: str) -> str:
    """A list of columns is a struct, and anything else the type itself."""
    return (
        f"struct<{schema}>"
        if " " in schema.strip() and not schema.strip().startswith(("struct<", "array<", "map<"))
        else schema
    )


def _record(row: dict[str, Any]) -> Record:
    return Record(
        key=row["key"],
        value=row["value"],
        timestamp=round(row["timestamp"].timestamp() * 1000),
        headers=tuple((each["key"], each["value"]) for each in row.get("headers") or ()),
    )
