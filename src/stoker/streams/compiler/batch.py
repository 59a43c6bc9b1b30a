"""One micro-batch: its input, its state and its clocks, and the DataFrames that nodes have become."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from stoker.streams.columns import PARTITION
from stoker.streams.compiler.times import delay_before, keeps_partitions, time_sources
from stoker.streams.errors import InvalidTopology
from stoker.streams.nodes import Node, TableNode, TopicSource, in_order
from stoker.streams.state.directory import StateDirectory
from stoker.streams.state.manifest import Manifest, StoreFiles
from stoker.streams.state.store import Store, no_rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Observation, SparkSession
    from pyspark.sql.types import StructField, StructType

    from stoker.spark.range_report import RangeReport
    from stoker.streams.compiler.frames import TableFrame

NEVER: Final = -(2**62)
"""A stream time before any record."""
EVERYWHERE: Final = "*"


class Inputs(Protocol):
    """Where the rows of a micro-batch come from."""

    def frame(self, spark: "SparkSession", source: TopicSource) -> "DataFrame":
        """`key`, `value`, `partition`, `offset`, `timestamp`, `streamTime`; `headers` and `error` if the source has them."""

    def partitions(self, topic: str) -> list[int]:
        """Of which there is something in this batch."""

    def reports(self, spark: "SparkSession", source: TopicSource) -> "list[RangeReport]":
        """What was read of each partition. If no job has read the topic yet, one does now."""

    def unread(self, source: TopicSource) -> "Sequence[StructField]":
        """Fields of the value that nobody uses, so that they are not read: they may be named, and are null."""

    def is_behind(self, topic: str, partition: int) -> bool:
        """Whether there was more of it than this batch reads: then its next records may be older than those of other topics."""


class Batch:
    """What a micro-batch knows while it is compiled and run; used by one thread."""

    def __init__(
        self,
        spark: "SparkSession",
        *,
        number: int,
        inputs: Inputs,
        directory: StateDirectory,
        manifest: Manifest,
        shared: frozenset[Node] = frozenset(),
        is_dry: bool = False,
        is_at_rest: bool = False,
        layouts: "Mapping[str, StructType] | None" = None,
    ) -> None:
        self.spark = spark
        self.number = number
        self.inputs = inputs
        self.manifest = manifest
        """Of the batch before."""
        self.is_dry = is_dry
        """Only to see whether it can be: nothing is read, nothing written."""
        self.is_at_rest = is_at_rest
        """Of a dry one: as if no table had changed."""
        self._directory = directory
        self._layouts = layouts or {}
        """By store, the columns of its changes, as far as they are known."""
        self.layouts: dict[str, StructType] = {}
        """The same, as this batch has made them."""
        self._shared = shared
        """Nodes of whose rows more than one job is made: these are kept while the batch lasts."""
        self._made: dict[Node, Any] = {}
        self._kept: list[DataFrame] = []
        self._observations: dict[str, Observation] = {}
        self._observed: dict[str, dict[str, Any]] = {}
        self._clocks: dict[str, dict[int, int]] = {}
        self.stores: dict[str, tuple[Store, DataFrame]] = {}
        self.expiry: dict[str, Column] = {}
        """By store: which rows still count."""
        self.late_rows: dict[Node, DataFrame] = {}
        self.watermarks: dict[str, dict[str, int]] = {name: dict(each) for name, each in manifest.watermarks.items()}

    # -- nodes

    def stream(self, node: Node) -> "DataFrame":
        """The rows of a stream node."""
        made: DataFrame = self._compiled(node)
        return made

    def table(self, node: Node) -> "TableFrame":
        """The changes of a table node."""
        made: TableFrame = self._compiled(node)
        return made

    def _compiled(self, node: Node) -> Any:
        from stoker.streams.compiler import COMPILERS

        if node not in self._made:
            with refused_by_name(node):
                made = COMPILERS[type(node)](self, node)
            if node in self._shared and not self.is_dry and not isinstance(node, TableNode):
                made = self.keep(made)
            self._made[node] = made
        return self._made[node]

    def keep(self, frame: "DataFrame") -> "DataFrame":
        """Computed once, however often it is used in this batch."""
        if not self.is_dry:
            self._kept.append(frame.persist())
        return frame

    def release(self) -> None:
        for frame in self._kept:
            frame.unpersist()
        self._kept.clear()

    # -- state

    def store(self, name: str, keys: list[str]) -> Store:
        files = self.manifest.stores.get(name, StoreFiles())
        return Store(self.spark, self._directory, name, files, keys, self.number)

    def write(
        self, store: Store, rows: "DataFrame", expiry: "Column | None" = None, but: Sequence[str] = ()
    ) -> "DataFrame":
        """The changed rows of a store, from now on as they are in its files.

        Rows that do not meet `expiry` may be forgotten; columns in `but` are of this batch alone.
        """
        if expiry is not None:
            self.expiry[store.name] = expiry
        written = rows if self.is_dry else store.write(rows)
        self.stores[store.name] = store, written.drop(*but)
        self.layouts[store.name] = written.schema
        return written

    def changes(
        self,
        node: Node,
        store: Store,
        make: "Callable[[], DataFrame]",
        expiry: "Column | None" = None,
        but: Sequence[str] = (),
    ) -> "DataFrame":
        """The rows of a store that the batch changes, as they are in its files.

        They are made now, unless an earlier attempt of this batch has made them, or nothing has come that could change any.
        """
        layout = self.layout(store)
        if layout is not None and self.is_idle(node):
            return self.nothing(layout)
        rows = store.read_written() if not self.is_dry and store.is_written else make()
        return self.write(store, rows, expiry, but)

    def layout(self, store: Store) -> "StructType | None":
        """The columns of a store's changes, if they are known."""
        return self._layouts.get(store.name)

    def nothing(self, layout: "StructType") -> "DataFrame":
        return no_rows(self.spark, layout)

    def is_idle(self, node: Node) -> bool:
        """Whether none of the topics that a node is made of has anything in this batch."""
        if self.is_dry:
            return False
        return not any(self.inputs.partitions(each.topic) for each in in_order([node]) if isinstance(each, TopicSource))

    def write_bases(self) -> dict[str, StoreFiles]:
        """The files of each store after this batch; those with many parts are written anew."""
        for name, (store, like) in self.stores.items():
            if store.needs_base():
                store.write_base(like, self.expiry.get(name))
        return {name: store.after for name, (store, _) in self.stores.items()}

    # -- what is counted on the way

    def observe(self, frame: "DataFrame", name: str, **columns: "Column") -> "DataFrame":
        """Aggregates of rows that some job computes anyway; `observed` gives them when it has."""
        if self.is_dry or name in self._observations:
            return frame
        from pyspark.sql import Observation

        self._observations[name] = Observation(f"{name}-{self.number}")
        return frame.observe(self._observations[name], *[column.alias(each) for each, column in columns.items()])

    def observed(self, name: str) -> dict[str, Any]:
        """To be asked for when a job has used the frame. Nothing if none has, or if Spark saw that it needs none of its rows."""
        if name not in self._observed:
            observation = self._observations.get(name)
            # `get` waits for ever where no job has come by, and fails where its rows were not needed.
            found = observation._jo if observation is not None else None
            if found is None or not found.future().isCompleted() or not found.getRow().length():
                return {}
            assert observation is not None
            self._observed[name] = dict(observation.get)
        return self._observed[name]

    def late_count(self, store: str) -> int:
        """Of the node with this store."""
        return int(self.observed(late_name(store)).get("late") or 0)  # null, if there were no rows at all

    # -- clocks

    def clock_before(self, topic: str) -> dict[int, int]:
        """Stream times of the topic's partitions before this batch."""
        return self.manifest.clocks.get(topic, {})

    def clock_after(self, source: TopicSource) -> dict[int, int]:
        """The same after it. If no job has read the topic yet, one does now."""
        topic = source.topic
        if topic not in self._clocks:
            clock = dict(self.clock_before(topic))
            if self.inputs.partitions(topic):
                for report in self.inputs.reports(self.spark, source):
                    if report.stream_time is not None:
                        clock[report.partition] = max(clock.get(report.partition, NEVER), report.stream_time)
            self._clocks[topic] = clock
        return self._clocks[topic]

    def advance_watermark(self, node: Node, name: str) -> tuple[dict[str, int], dict[str, int]]:
        """Up to where the windows of a node are closed: before this batch, and now that its rows have been seen.

        Each partition by its own clock, if the rows of a key come from one partition; else all by the slowest of those
        that had rows. Of several topics the one that is ahead counts, as in Kafka Streams, unless there is more of another
        to be read, which would come too late. What others hold back is waited for.
        """
        before = dict(self.manifest.watermarks.get(name, {}))
        if self.is_dry:
            return before, before
        delay = delay_before(node)
        seen = {partition: time - delay for partition, time in self._latest_times(node).items()}
        after = dict(before)
        if keeps_partitions(node):
            for partition, time in seen.items():
                after[str(partition)] = max(after.get(str(partition), NEVER), time)
        elif seen:
            after[EVERYWHERE] = max(after.get(EVERYWHERE, NEVER), min(seen.values()))
        self.watermarks[name] = after
        return before, after

    def since(self, name: str, span: int) -> "Column":
        """The time of a row's partition in the windows of a node, before this batch, less a span: who is older may be forgotten."""
        return by_partition(self.manifest.watermarks.get(name, {})) - span

    def _latest_times(self, node: Node) -> dict[int, int]:
        """Of the partitions that had rows in this batch."""
        latest: dict[int, int] = {}
        bounds: dict[int, int] = {}
        for source in time_sources(node):
            clock = self.clock_after(source)
            for partition in self.inputs.partitions(source.topic):
                time = clock.get(partition, NEVER)
                latest[partition] = max(latest.get(partition, NEVER), time)
                if self.inputs.is_behind(source.topic, partition):
                    bounds[partition] = min(bounds.get(partition, time), time)
        return {partition: min(time, bounds.get(partition, time)) for partition, time in latest.items()}


@contextmanager
def refused_by_name(node: Node) -> Iterator[None]:
    """What Spark refuses, as an error of ours that names the node; Spark says which columns there are."""
    from pyspark.errors import AnalysisException, ParseException

    try:
        yield
    except (AnalysisException, ParseException) as error:
        lines = str(error).strip().split(" SQLSTATE")[0].splitlines()
        ours = [line.split(": ", 1)[1] for line in lines if line.startswith("stoker.") and ": " in line]
        reason = ours[-1] if ours else lines[0]
        raise InvalidTopology(f"{node.describe()}: {reason}") from error


def late_name(store: str) -> str:
    """Of the observation that counts the late rows of a store."""
    return f"late for {store}"


def by_partition(times: Mapping[str, int]) -> "Column":
    """A time of each row, by its partition, from what is known of partitions; one of all is under `*`."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.expr(by_partition_sql(times))


def by_partition_sql(times: Mapping[str, int], partition: str = PARTITION) -> str:
    """Of numbers that change with every batch Spark would compile new code each time; of an array it does not."""
    if EVERYWHERE in times:
        return f"get(array({times[EVERYWHERE]}L), coalesce({partition}, 0) * 0)"
    highest = max((int(each) for each in times), default=0)
    listed = ", ".join(f"{times.get(str(each), NEVER)}L" for each in range(highest + 1))
    return f"coalesce(get(array({listed}), {partition}), {NEVER}L)"
