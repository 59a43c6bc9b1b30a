"""What of a topic's records a topology uses: nothing else is decoded, nor handed from Python to Spark.

Spark itself says it: the plan of every output, optimized, names the fields that are left of the value of each source. What cannot be
told for sure counts as used.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from stoker.streams.compiler.batch import Batch
from stoker.streams.compiler.outputs import output_rows, records
from stoker.streams.nodes import ForEachBatch, Peek, SinkNode, StreamSource, ToParquet, TopicSource, ToTopic
from stoker.streams.parquet import parquet_rows
from stoker.streams.topology import Topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from stoker.streams.kafka_inputs import ResolvedSource

_SETTINGS: Final = {
    # A source or a store without rows would make Spark leave out all that depends on it; and a condition that is never met would
    # become a relation without rows, which looks like such a source.
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.PropagateEmptyRelation,"
    "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation,"
    "org.apache.spark.sql.catalyst.optimizer.PruneFilters",
    "spark.sql.debug.maxToStringFields": "100000",
}
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VALUE: Final = re.compile(r"\bvalue#(\d+)L?(\.([A-Za-z_][A-Za-z0-9_]*))?")
_LEAF: Final = re.compile(r"(?:LogicalRDD|LocalRelation(?: <empty>)?,?) \[([^\]]*)\]")
_TIME: Final = re.compile(r"\bstreamTime#(\d+)")
_NUMBER: Final = re.compile(r"#(\d+)")
OF_THE_RECORD: Final = ("partition", "offset", "timestamp", "streamTime")
_COLUMNS: Final = ("value", *OF_THE_RECORD)
_HARMLESS: Final = re.compile(r"isnotnull\(value#\d+\)|isnull\(value#\d+\)|LogicalRDD \[[^\]]*\]|LocalRelation [^\n]*")


class Use(NamedTuple):
    """Of one source."""

    fields: frozenset[str] | None
    """Of its values, those that are used; None if all may be."""
    unused: frozenset[str]
    """Those of `OF_THE_RECORD` that nobody looks at."""


def uses(batch: Batch, topology: Topology, sources: "Mapping[TopicSource, ResolvedSource]") -> dict[StreamSource, Use]:
    """By source of a stream. `batch` is a dry one that has compiled the topology."""
    with whole_plans(batch.spark):
        plans = list(_plans(batch, topology))
    streams = {each: batch.stream(each) for each in topology.sources if isinstance(each, StreamSource)}
    numbers = {(source, name): _numbers(frame, name) for source, frame in streams.items() for name in _COLUMNS}
    known = set().union(*numbers.values())
    if any(
        int(number) not in known for plan in plans for leaf in _LEAF.findall(plan) for number in _TIME.findall(leaf)
    ):
        return {}  # a topic that is joined with itself has other numbers on one side
    above = [_HARMLESS.sub("", plan) for plan in plans]
    named = {int(number) for plan in above for number in _NUMBER.findall(plan)}
    in_a_job_of_its_own = any(isinstance(node, Peek) for node in topology.nodes)  # it sorts what it shows
    return {
        source: Use(
            _used_fields(above, numbers[source, "value"], source, sources[source]),
            frozenset(name for name in OF_THE_RECORD if not in_a_job_of_its_own and not numbers[source, name] & named),
        )
        for source in streams
    }


def _used_fields(
    plans: Sequence[str], numbers: set[int], source: StreamSource, resolved: "ResolvedSource"
) -> frozenset[str] | None:
    from pyspark.sql.types import StructType

    kind = resolved.schema["value"].dataType
    names = kind.names if isinstance(kind, StructType) else []
    if not all(_PLAIN.fullmatch(name) for name in names):
        return None
    found = {field for plan in plans for number, _, field in _VALUE.findall(plan) if int(number) in numbers}
    if "" in found:  # the value as a whole
        return None
    return frozenset(found | ({source.timestamp} if source.timestamp else set())) & frozenset(names)


def _plans(batch: Batch, topology: Topology) -> Iterator[str]:
    frames = [frame for _, frame in batch.stores.values()]
    for root in topology.roots:
        if isinstance(root, ToTopic):
            frames.append(records(batch, root))
        elif isinstance(root, ToParquet):
            frames.append(parquet_rows(batch, root))
        elif isinstance(root, ForEachBatch) or not isinstance(root, SinkNode):
            frames.append(output_rows(batch, root.parent if isinstance(root, SinkNode) else root)[0])
    for frame in frames:
        yield frame._jdf.queryExecution().optimizedPlan().toString()


def _numbers(frame: "DataFrame", column: str) -> set[int]:
    """The numbers that Spark has given to this column of the source that the rows come from."""
    plan = frame._jdf.queryExecution().analyzed().toString()
    return {int(number) for leaf in _LEAF.findall(plan) for number in re.findall(rf"\b{column}#(\d+)", leaf)}


@contextmanager
def whole_plans(spark: "SparkSession") -> Iterator[None]:
    """While plans are optimized of sources and stores that have no rows yet, as if they had."""
    before = {name: spark.conf.get(name, None) for name in _SETTINGS}
    for name, value in _SETTINGS.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, earlier)
