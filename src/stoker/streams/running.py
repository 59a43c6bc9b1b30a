"""An application that runs: a Spark query whose every micro-batch is one execution of the topology."""

import json
import logging
import re
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from stoker.client.admin.group_offsets import alter_committed_offsets
from stoker.client.admin.offsets import EARLIEST, LATEST
from stoker.client.topic_partition import TopicPartition
from stoker.errors import StokerError
from stoker.streams.checkpoint import Checkpoint
from stoker.streams.columnar.planning import columnar_sinks
from stoker.streams.columnar.sink import ColumnarSink
from stoker.streams.compiler.batch import Batch
from stoker.streams.compiler.outputs import records
from stoker.streams.errors import ApplicationFailed, StateLost
from stoker.streams.execution import Execution, compile_dry
from stoker.streams.fingerprint import check_unchanged, fingerprint
from stoker.streams.kafka_inputs import (
    Access,
    KafkaInputs,
    Range,
    Ranges,
    ResolvedSource,
    only_used,
    resolve,
    resolved_like,
)
from stoker.streams.kafka_outputs import KafkaOutputs
from stoker.streams.nodes import StreamSource, TableSource, TopicSource, ToTopic, in_order, sources
from stoker.streams.preparation import (
    cluster_of,
    make_topics,
    offsets_of,
    partitions_of,
    planned_topics,
    registered_formats,
)
from stoker.streams.ranges import SOURCE, TABLES, RangesReader, RangesSource, ranges_reader
from stoker.streams.restoring import restored
from stoker.streams.sessions import prepared
from stoker.streams.state.directory import StateDirectory
from stoker.streams.state.manifest import Manifest
from stoker.streams.topology import Topology
from stoker.streams.used_columns import uses

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

_LOGGER: Final = logging.getLogger(__name__)
MOST_ROWS: Final = 1_000_000
"""Of one micro-batch, unless the user says otherwise."""
_SHUFFLE: Final = "spark.sql.shuffle.partitions"
_CUT: Final = ("spark.sql.files.minPartitionNum", "spark.sql.leafNodeDefaultParallelism")
"""What is as many as there are cores unless it is said: tasks that read files."""
_RAISED: Final = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt|Iteration)\b")
"""The line of a traceback that has the error."""
_COMMIT_SECONDS: Final = 10.0


@dataclass(frozen=True, kw_only=True)
class Status:
    """How an application is, as of its last micro-batch."""

    name: str
    state: str
    """`created`, `running`, `stopped` or `failed`."""
    batch: int = -1
    committed_at: datetime | None = None
    rows_per_second: float = 0.0
    rows: dict[str, int] = field(default_factory=dict)
    """By topic, all that were read since the application was first started."""
    late: dict[str, int] = field(default_factory=dict)
    dead_letters: dict[str, int] = field(default_factory=dict)
    lag: dict[str, int] = field(default_factory=dict)
    """By topic, how many offsets are still to be read."""
    stores: dict[str, int] = field(default_factory=dict)
    """By store, at most so many rows; one that has changed lately counts again."""
    error: str | None = None


class Running:
    """One run of an application, from `start` to `stop`."""

    def __init__(
        self,
        name: str,
        topology: Topology,
        spark: "SparkSession",
        access: Access,
        directory: StateDirectory,
        *,
        logged: frozenset[str],
        most_rows: int = MOST_ROWS,
        trigger: str = "0 seconds",
        available_now: bool = False,
    ) -> None:
        self._name = name
        self._topology = topology
        self._access = access
        self._directory = directory
        self._logged = logged
        self._most_rows = most_rows
        self._trigger = trigger
        self._available_now = available_now
        self.spark = prepared(spark)
        self._query: StreamingQuery | None = None
        self._sources: dict[TopicSource, ResolvedSource] = {}
        self._layouts: dict[str, DataFrame] = {}
        """By store, an empty frame with its columns."""
        self._columnar: dict[ToTopic, ColumnarSink] = {}
        self._reader: RangesReader | None = None
        self._cut: dict[str, str] = {}
        """Spark's settings that say into how many tasks a micro-batch is cut."""
        self._turn = threading.Condition()
        """Of the two that follow."""
        self._is_busy = False
        self._is_stopping = False
        self.manifest: Manifest | None = None
        """Of the last micro-batch of this run."""

    def start(self) -> None:
        """Check everything, then run. Raises what is wrong before anything is read."""
        self._topology.check()
        with cluster_of(self._access) as cluster:
            topics = planned_topics(cluster, self._topology, self._name, self._logged)
            batch = self.compiled()
            state = self._checked_state()
            make_topics(cluster, topics)
        self._query = self._started_query(batch.layouts, state)

    def check(self) -> Batch:
        """What `start` would refuse is refused now; nothing is made. Gives a micro-batch that was compiled."""
        self._topology.check()
        with cluster_of(self._access) as cluster:
            planned_topics(cluster, self._topology, self._name, self._logged)
        batch = self.compiled()
        self._compared()
        return batch

    def compiled(self) -> Batch:
        """A micro-batch without rows, so that what Spark would refuse is refused now."""
        inputs = KafkaInputs(self._access, self._sources, {}, self._directory, 0)
        batch = Batch(self.spark, number=0, inputs=inputs, directory=self._directory, manifest=Manifest(), is_dry=True)
        outputs = KafkaOutputs(self._access, self._name, self._sources, self._logged)
        self._resolve_sources(batch, outputs)
        compile_dry(self._topology, batch, outputs)
        self._layouts = {name: like for name, (_, like) in batch.stores.items()}
        for source, use in uses(batch, self._topology, self._sources).items():
            self._sources[source] = only_used(self._sources[source], use)
        self._columnar = columnar_sinks(
            self.spark, self._topology, self._access, self._sources, self._layouts, outputs, self._directory
        )
        return batch

    def _resolve_sources(self, batch: Batch, outputs: KafkaOutputs) -> None:
        """What is written here first (`through`) is read with the columns that it is written with."""
        ours = [
            each for each in self._topology.sources if isinstance(each, StreamSource) and each.written_by is not None
        ]
        formats = registered_formats(self._access, [each.topic for each in self._topology.sources if each not in ours])
        for source in self._topology.sources:
            if source not in ours:
                self._sources[source] = resolve(self.spark, self._access, source, formats[source.topic])
        while ours:
            ready = [
                each
                for each in ours
                if each.written_by is not None
                and all(origin in self._sources for origin in sources(in_order([each.written_by])))
            ]
            for source in ready:
                assert source.written_by is not None
                frame, options = outputs.prepared(records(batch, source.written_by), source.written_by)
                self._sources[source] = resolved_like(source, frame.schema, options)
                ours.remove(source)

    def everything(self, directory: StateDirectory) -> KafkaInputs:
        """All that the topics hold now."""
        with cluster_of(self._access) as cluster:
            first = offsets_of(cluster, self._topology.topics, EARLIEST)
            last = offsets_of(cluster, self._topology.topics, LATEST)
        ranges: Ranges = {}
        for (topic, partition), end in last.items():
            start = first[TopicPartition(topic, partition)]
            if start < end:
                ranges.setdefault(topic, {})[partition] = Range(start, end)
        return KafkaInputs(self._access, self._sources, ranges, directory, 0)

    def _compared(self) -> dict[str, Any]:
        """What the topology is, if it fits the state that is there. Raises TopologyChanged and StateLost."""
        columns = {name: like.schema.jsonValue() for name, like in self._layouts.items()}
        now = fingerprint(self._topology, columns)
        before = self._directory.read_topology()
        if before is None:
            return {**now, "state": uuid4().hex[:8]}
        for line in check_unchanged(before, now, self._name):
            _LOGGER.info("%s: %s", self._name, line)
        if self._directory.manifests() and not self._directory.has_checkpoint():
            raise StateLost(
                f"Spark's checkpoint is gone from {self._directory}, though there is a state that was made by it. Restore the "
                "directory, or begin anew: reset() forgets state and offsets"
            )
        return {**before, **now}

    def _checked_state(self) -> str:
        """Which state it is: the one that is there, or another than any before."""
        now = self._compared()
        self._cut = {
            _SHUFFLE: str(self.spark.conf.get(_SHUFFLE)),
            **dict.fromkeys(_CUT, str(self.spark.sparkContext.defaultParallelism)),
        }
        if self._is_to_be_run_again():
            self._cut |= now.get("cut", {})  # it must be cut into the same tasks
        self._directory.write_topology({**now, "cut": self._cut})
        return str(now["state"])

    def _is_to_be_run_again(self) -> bool:
        """Whether there is a micro-batch that was planned, and perhaps written in part."""
        planned = Checkpoint(self._directory).last_planned()
        return planned is not None and self._directory.read_manifest(planned) is None

    def _started_query(self, layouts: "dict[str, StructType]", state: str) -> "StreamingQuery":
        self.spark.dataSource.register(RangesSource)
        outputs = KafkaOutputs(self._access, self._name, self._sources, self._logged, state, self._columnar)
        execution = Execution(
            self._topology,
            self._directory,
            outputs,
            name=f"{self._name}-{state}",
            layouts=layouts,
            restore=lambda spark, batch: restored(
                spark,
                batch,
                self._name,
                self._layouts,
                self._access,
                self._directory,
                self._logged,
                state,
                Checkpoint(self._directory).offsets(batch),
            ),
        )

        def run(frame: "DataFrame", number: int) -> None:
            with self._turn:
                if self._is_stopping:
                    raise _Stopped
                self._is_busy = True
            try:
                self.manifest = self._written(number) or self._run(execution, frame, number)
                self._commit_offsets(self.manifest)
            finally:
                with self._turn:
                    self._is_busy = False
                    self._turn.notify_all()

        tables = sorted({each.topic for each in self._topology.sources if isinstance(each, TableSource)})
        streams = {each.topic for each in self._topology.sources if isinstance(each, StreamSource)}
        options = {
            **self._access.read_options(),
            "subscribe": ",".join(self._topology.topics),
            "startingOffsets": self._starting(),
            "maxOffsetsPerTrigger": str(self._most_rows),
            TABLES: ",".join(each for each in tables if each not in streams),
        }
        for name in [each for each in options if each.startswith("schema.registry")]:
            del options[name]
        self._reader = ranges_reader(options)
        frame = self.spark.readStream.format(SOURCE).options(**options).load()
        writer = frame.writeStream.foreachBatch(run).option("checkpointLocation", self._directory.checkpoint)
        writer = writer.queryName(f"stoker-streams-{self._name}-{id(self)}")
        writer = (
            writer.trigger(availableNow=True) if self._available_now else writer.trigger(processingTime=self._trigger)
        )
        return writer.start()

    def _written(self, number: int) -> Manifest | None:
        """Of a batch that was all done when Spark was killed, though Spark does not know it yet."""
        content = self._directory.read_manifest(number)
        return None if content is None else Manifest.from_json(content)

    def _run(self, execution: Execution, frame: "DataFrame", number: int) -> Manifest:
        spark = frame.sparkSession
        for name, value in self._cut.items():
            spark.conf.set(name, value)  # Spark has taken some of them from its checkpoint
        ranges = self._ranges(number)
        offsets = {topic: {str(each): found.end for each, found in parts.items()} for topic, parts in ranges.items()}
        inputs = KafkaInputs(self._access, self._sources, ranges, self._directory, number, self._most_rows)
        return execution.run(spark, number, inputs, offsets)

    def _ranges(self, number: int) -> Ranges:
        """What a micro-batch reads, as Spark has logged it. Raises StateLost."""
        assert self._reader is not None
        checkpoint = Checkpoint(self._directory)
        start, end = checkpoint.written(number - 1) if number else {}, checkpoint.written(number)
        if start is None or end is None:
            raise StateLost(
                f"Spark runs micro-batch {number}, and its checkpoint in {self._directory} does not say what that reads: there is no file "
                f"offsets/{number if end is None else number - 1}. Restore the directory, or begin anew: reset() forgets state and offsets"
            )
        found: Ranges = {}
        try:
            for each in self._reader.ranges(start, end):
                found.setdefault(each.topic, {})[each.partition] = Range(each.start, each.end)
        finally:
            self._reader.stop()
        return found

    def _starting(self) -> str:
        """`earliest`, unless some topics begin at their end."""
        late = {each.topic for each in self._topology.sources if each.starting == "latest"}
        if not late:
            return "earliest"
        with cluster_of(self._access) as cluster:
            counts = partitions_of(cluster, self._topology.topics)
        return json.dumps(
            {
                topic: {str(each): -1 if topic in late else -2 for each in range(count)}
                for topic, count in counts.items()
            }
        )

    def _commit_offsets(self, manifest: Manifest) -> None:
        """For people and their tools, who look at the lag of a group by the application's name; nothing here reads them."""
        offsets = {
            TopicPartition(topic, int(partition)): offset
            for topic, partitions in manifest.offsets.items()
            if topic in self._topology.topics
            for partition, offset in partitions.items()
        }
        try:
            with cluster_of(self._access) as cluster:
                alter_committed_offsets(cluster, self._name, offsets)
        except StokerError as problem:
            _LOGGER.warning("%s: the group's offsets could not be committed: %s", self._name, problem)

    # -- while it runs

    @property
    def is_running(self) -> bool:
        return self._query is not None and self._query.isActive

    def wait(self, timeout: float | None = None) -> bool:
        """Until it has ended, or so many seconds; whether it has. Raises ApplicationFailed if it ended by an error."""
        assert self._query is not None
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.is_running and (deadline is None or time.monotonic() < deadline):
            self._query_wait(0.2 if deadline is None else max(0.01, min(0.2, deadline - time.monotonic())))
        self._raise_failure()
        return not self.is_running

    def _query_wait(self, seconds: float) -> None:
        from pyspark.errors import StreamingQueryException

        assert self._query is not None
        try:
            self._query.awaitTermination(timeout=max(1, round(seconds))) if seconds >= 1 else time.sleep(seconds)
        except StreamingQueryException:
            pass  # which `_raise_failure` tells

    def stop(self) -> None:
        """Let the micro-batch that runs come to its end, then stop."""
        if self._query is None:
            return
        with self._turn:
            self._is_stopping = True
            while self._is_busy and self.is_running:
                self._turn.wait(1.0)
        self._await_commit()
        self._query.stop()
        self._raise_failure()

    def _await_commit(self) -> None:
        """Until Spark knows, too, that the last micro-batch is done."""
        checkpoint = Checkpoint(self._directory)
        deadline = time.monotonic() + _COMMIT_SECONDS
        while (
            self.manifest is not None
            and self.is_running
            and not checkpoint.is_committed(self.manifest.batch)
            and time.monotonic() < deadline
        ):
            time.sleep(0.01)

    def _raise_failure(self) -> None:
        problem = self.failure()
        if problem is not None:
            raise ApplicationFailed(f"application {self._name} has failed: {problem}")

    def failure(self) -> str | None:
        if self._query is None or self._query.isActive:
            return None
        found = self._query.exception()
        if found is None or _Stopped.__name__ in str(found):
            return None
        return _reason(str(found))

    def status(self) -> Status:
        manifest = self.manifest or newest_manifest(self._directory)
        failure = self.failure()
        state = (
            "running"
            if self.is_running
            else "failed"
            if failure
            else "stopped"
            if self._query is not None
            else "created"
        )
        return status_of(self._name, state, manifest, self._lag(manifest), failure)

    def _lag(self, manifest: Manifest | None) -> dict[str, int]:
        with cluster_of(self._access) as cluster:
            ends = offsets_of(cluster, self._topology.topics, LATEST)
            begins = offsets_of(cluster, self._topology.topics, EARLIEST)
        read = {} if manifest is None else manifest.offsets
        lag: dict[str, int] = {}
        for place, end in ends.items():
            known = read.get(place.topic, {}).get(str(place.partition), 0)
            lag[place.topic] = lag.get(place.topic, 0) + max(0, end - max(known, begins.get(place, 0)))
        return lag


class _Stopped(Exception):
    """Ends a query whose application is being stopped, before it begins another batch."""


def status_of(
    name: str, state: str, manifest: Manifest | None, lag: dict[str, int], error: str | None = None
) -> Status:
    if manifest is None:
        return Status(name=name, state=state, lag=lag, error=error)
    progress: dict[str, Any] = manifest.progress
    total = progress.get("total", {})
    seconds = progress.get("seconds", 0.0)
    return Status(
        name=name,
        state=state,
        batch=manifest.batch,
        committed_at=datetime.fromtimestamp(manifest.committed_at, UTC),
        rows_per_second=round(sum(progress.get("rows", {}).values()) / seconds, 1) if seconds else 0.0,
        rows=total.get("rows", {}),
        late=total.get("late", {}),
        dead_letters=total.get("dead_letters", {}),
        lag=lag,
        stores={store: files.total for store, files in manifest.stores.items()},
        error=error,
    )


def newest_manifest(directory: StateDirectory) -> Manifest | None:
    for batch in reversed(directory.manifests()):
        content = directory.read_manifest(batch)
        if content is not None:
            return Manifest.from_json(content)
    return None


def _reason(text: str) -> str:
    """What went wrong, of the many lines that Spark and Python make of it: the last error of Python, else Spark's first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith(("stoker.", "pyspark.errors")) and ": " in line]
    if ours:
        return ours[-1].split(": ", 1)[1]
    raised = [line for line in lines if _RAISED.match(line)] if any("Traceback" in line for line in lines) else []
    return raised[-1] if raised else (lines[0] if lines else "unknown")
