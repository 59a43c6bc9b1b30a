"""One micro-batch from input to manifest: the same for a running application, a test and a DataFrame."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from stoker.streams import nodes
from stoker.streams.compiler.batch import Batch, Inputs, late_name, refused_by_name
from stoker.streams.compiler.outputs import output_rows, records
from stoker.streams.errors import StateLost
from stoker.streams.parallel import at_once
from stoker.streams.parquet import parquet_rows, write_parquet
from stoker.streams.state.directory import StateDirectory
from stoker.streams.state.manifest import Manifest
from stoker.streams.topology import Topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from stoker.streams.kafka_outputs import KafkaOutputs

_KEPT_MANIFESTS = 20
"""Somebody may just be reading a store by one of the last of them."""


class Outputs(Protocol):
    """Where the records of a micro-batch go."""

    def apart(self, manifest: Manifest, inputs: Inputs) -> frozenset[nodes.Node]:
        """The sinks that read their topics by themselves in a batch, of which nothing else is to be computed."""

    def prepare(self, batch: Batch, sink: nodes.ToTopic) -> Callable[[], None]:
        """A function that writes the records of a sink to its topic."""

    def write_changes(self, batch: Batch, store: str, rows: "DataFrame") -> None:
        """The changed rows of a store, to its changelog."""

    def write_dead_letters(self, batch: Batch, source: nodes.TopicSource) -> int:
        """The records of a source that could not be decoded, and how many they were."""


class Execution:
    """Runs the micro-batches of one topology, one after the other."""

    def __init__(
        self,
        topology: Topology,
        directory: StateDirectory,
        outputs: Outputs,
        *,
        name: str = "application",
        layouts: "Mapping[str, StructType] | None" = None,
        clock: Callable[[], float] = time.time,
        restore: "Callable[[SparkSession, int], Manifest | None] | None" = None,
    ) -> None:
        self._topology = topology
        self._directory = directory
        self._outputs = outputs
        self._clock = clock
        self._restore = restore
        self._name = name
        """For files that are written: no other application has it, nor this one after it was reset."""
        self._layouts: dict[str, StructType] = dict(layouts or {})
        """By store, the columns of its changes; known from the start, or once it has had some.

        Where it is known, another plan may be made for a store that does not change: an application that may be killed must know it
        from the start, or a batch that is run again would be cut into other tasks.
        """

    def run(self, spark: "SparkSession", number: int, inputs: Inputs, offsets: dict[str, dict[str, int]]) -> Manifest:
        """When this returns, everything of the batch is written, and the manifest says so."""
        began = self._clock()
        before = self._manifest_before(spark, number)
        batch = Batch(
            spark,
            number=number,
            inputs=inputs,
            directory=self._directory,
            manifest=before,
            shared=self._topology.shared_but(self._outputs.apart(before, inputs)),
            layouts=self._layouts,
        )
        try:
            writes = [write for root in self._topology.roots if (write := self._prepared(batch, root)) is not None]
            writes += [
                partial(self._outputs.write_changes, batch, name, rows)
                for name, (_, rows) in list(batch.stores.items())
            ]
            at_once(spark, writes)
            bad = {
                source.topic: self._outputs.write_dead_letters(batch, source)
                for source in self._topology.sources
                if source.on_error == "dead-letter" and inputs.partitions(source.topic)
            }
            manifest = self._finished(batch, before, offsets, bad, began)
            self._directory.write_manifest(number, manifest.to_json())
            self._layouts |= batch.layouts
            self._forget_old(number)
            self._directory.remove_reports(number)
            return manifest
        finally:
            batch.release()

    def _manifest_before(self, spark: "SparkSession", number: int) -> Manifest:
        if number == 0:
            return Manifest()
        content = self._directory.read_manifest(number - 1)
        if content is not None:
            return Manifest.from_json(content)
        restored = self._restore(spark, number - 1) if self._restore is not None else None
        if restored is None:
            raise StateLost(
                f"the state after micro-batch {number - 1} is not in {self._directory}, though Spark's checkpoint is there. "
                "Restore the directory, or begin anew: reset() forgets state and offsets"
            )
        return restored

    def _prepared(self, batch: Batch, root: nodes.Node) -> Callable[[], None] | None:
        """Compute the stores that a root is made of; what is left to do is to write its rows."""
        if batch.is_idle(root):
            return None
        if isinstance(root, nodes.ToTopic):
            return self._outputs.prepare(batch, root)
        if isinstance(root, nodes.ToParquet):
            return partial(write_parquet, batch, root, parquet_rows(batch, root), f"{self._name}-{root.name}")
        if isinstance(root, nodes.ForEachBatch):
            return partial(root.function, output_rows(batch, root.parent)[0], batch.number)
        if isinstance(root, nodes.TableNode):
            batch.table(root)
        else:
            batch.stream(root)
        return None

    def _finished(
        self, batch: Batch, before: Manifest, offsets: dict[str, dict[str, int]], bad: dict[str, int], began: float
    ) -> Manifest:
        stores = {**before.stores, **batch.write_bases()}
        for name in [each.name for each in self._topology.nodes if isinstance(each, nodes.Aggregate) and each.window]:
            node = self._topology.stores[name]
            batch.advance_watermark(node, name)
        clocks = {topic: dict(each) for topic, each in before.clocks.items()}
        for source in self._topology.sources:
            clocks[source.topic] = batch.clock_after(source)
        return Manifest(
            batch=batch.number,
            committed_at=self._clock(),
            clocks=clocks,
            watermarks=batch.watermarks,
            offsets={
                topic: before.offsets.get(topic, {}) | offsets.get(topic, {}) for topic in {**before.offsets, **offsets}
            },
            stores=stores,
            progress=self._progress(batch, before, bad, began),
        )

    def _progress(self, batch: Batch, before: Manifest, bad: dict[str, int], began: float) -> dict[str, Any]:
        rows = {
            source.topic: sum(each.rows for each in batch.inputs.reports(batch.spark, source))
            for source in self._topology.sources
        }
        late = {name: self._late_count(batch, name, node) for name, node in self._topology.stores.items()}
        total = before.progress.get("total", {})

        def added(name: str, counts: dict[str, int]) -> dict[str, int]:
            known = total.get(name, {})
            return {each: known.get(each, 0) + counts.get(each, 0) for each in {**known, **counts}}

        late = {store: count for store, count in late.items() if count}
        return {
            "seconds": round(self._clock() - began, 3),
            "rows": rows,
            "late": late,
            "dead_letters": bad,
            "total": {
                "rows": added("rows", rows),
                "late": added("late", late),
                "dead_letters": added("dead_letters", bad),
            },
        }

    def _late_count(self, batch: Batch, store: str, node: nodes.Node) -> int:
        """If an earlier attempt of this batch has computed the store, nobody has counted in this one."""
        if node in batch.late_rows and not batch.observed(late_name(store)) and not batch.is_idle(node):
            return batch.late_rows[node].count()
        return batch.late_count(store)

    def _forget_old(self, number: int) -> None:
        """Manifests of long ago, and the files that no manifest names any more."""
        kept = [each for each in self._directory.manifests() if each <= number]
        for old in kept[:-_KEPT_MANIFESTS]:
            self._directory.remove_manifest(old)
        if number % _KEPT_MANIFESTS:
            return
        named: dict[str, set[str]] = {}
        for each in self._directory.manifests():
            content = self._directory.read_manifest(each)
            for store, files in (content or {"stores": {}})["stores"].items():
                named.setdefault(store, set()).update(files["parts"])
        for store in self._directory.stores():
            for part in self._directory.parts(store):
                if part not in named.get(store, set()) and int(part.rsplit("-", 1)[1]) < number:
                    self._directory.remove_part(store, part)


def compile_dry(topology: Topology, batch: Batch, outputs: "KafkaOutputs") -> None:
    """Everything but the jobs. Raises InvalidTopology, naming the node."""
    for root in topology.roots:
        if isinstance(root, nodes.ToTopic):
            with refused_by_name(root):
                outputs.prepared(records(batch, root), root)
        elif isinstance(root, nodes.ToParquet):
            parquet_rows(batch, root)
        elif isinstance(root, nodes.ForEachBatch):
            output_rows(batch, root.parent)
        elif isinstance(root, nodes.TableNode):
            batch.table(root)
        else:
            batch.stream(root)
