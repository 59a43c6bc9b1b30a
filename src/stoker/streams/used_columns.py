"""Which fields of a topic's values a topology uses: no others are decoded, nor handed from Python to Spark.

Spark itself says it: the plan of every output, optimized, names the fields that are left of the value of each source. What cannot be
told for sure counts as used.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from stoker.streams.compiler.batch import Batch
from stoker.streams.compiler.outputs import output_rows, records
from stoker.streams.nodes import ForEachBatch, SinkNode, StreamSource, ToParquet, TopicSource, ToTopic
from stoker.streams.parquet import parquet_rows
from stoker.streams.topology import Topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from stoker.streams.kafka_inputs import ResolvedSource

_SETTINGS: Final = {
    # A source or a store without rows would make Spark leave out all that depends on it.
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.PropagateEmptyRelation,"
    "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
    "spark.sql.debug.maxToStringFields": "100000",
}
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VALUE: Final = re.compile(r"\bvalue#(\d+)L?(\.([A-Za-z_][A-Za-z0-9_]*))?")
_HARMLESS: Final = re.compile(r"isnotnull\(value#\d+\)|isnull\(value#\d+\)|LogicalRDD \[[^\]]*\]|LocalRelation [^\n]*")


def used_fields(
    batch: Batch, topology: Topology, sources: "dict[TopicSource, ResolvedSource]"
) -> dict[TopicSource, frozenset[str]]:
    """By source; without those of which all fields may be used. `batch` is a dry one that has compiled the topology."""
    from pyspark.sql.types import StructType

    streams = [each for each in topology.sources if isinstance(each, StreamSource)]
    ids = {source: _value_ids(batch.stream(source)) for source in streams}
    found: dict[int, set[str]] = {}
    whole: set[int] = set()
    with _set(batch.spark):
        for plan in _plans(batch, topology):
            for number, _, field in _VALUE.findall(_HARMLESS.sub("", plan)):
                if field:
                    found.setdefault(int(number), set()).add(field)
                else:
                    whole.add(int(number))
    known = {number for numbers in ids.values() for number in numbers}
    if not (found.keys() | whole) <= known:
        return {}  # a topic that is joined with itself has other numbers on one side
    used: dict[TopicSource, frozenset[str]] = {}
    for source, numbers in ids.items():
        kind = sources[source].schema["value"].dataType
        names = kind.names if isinstance(kind, StructType) else []
        if numbers & whole or not all(_PLAIN.fullmatch(name) for name in names):
            continue
        fields = {field for number in numbers for field in found.get(number, ())}
        used[source] = frozenset(fields | ({source.timestamp} if source.timestamp else set())) & frozenset(names)
    return used


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


def _value_ids(frame: "DataFrame") -> set[int]:
    """The numbers that Spark has given to the column `value` of the source that the rows come from."""
    plan = frame._jdf.queryExecution().analyzed().toString()
    leaves = re.findall(r"(?:LogicalRDD|LocalRelation(?: <empty>)?,?) \[([^\]]*)\]", plan)
    return {int(number) for leaf in leaves for number in re.findall(r"\bvalue#(\d+)", leaf)}


@contextmanager
def _set(spark: "SparkSession") -> Iterator[None]:
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
