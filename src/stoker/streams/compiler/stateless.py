"""Nodes that look at one row at a time."""

from typing import TYPE_CHECKING, Any

from stoker.streams import nodes
from stoker.streams.columns import (
    DELETED,
    HEADERS,
    KEY,
    OFFSET,
    PARTITION,
    STREAM_COLUMNS,
    STREAM_TIME,
    TIMESTAMP,
    quoted,
    values_of,
)
from stoker.streams.compiler.batch import Batch, by_partition_sql
from stoker.streams.compiler.python_rows import mapped
from stoker.streams.errors import InvalidTopology
from stoker.streams.expressions import column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType


def source(batch: Batch, node: nodes.TopicSource) -> "DataFrame":
    """The rows of a topic: the fields of the value as columns, or the column `value` if it has none."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StructType

    rows = batch.inputs.frame(batch.spark, node)
    if "error" in rows.columns:
        rows = rows.where(F.col("error").isNull())
    kind = rows.schema["value"].dataType
    _refuse_our_names(node, kind.names if isinstance(kind, StructType) else ["value"])
    if isinstance(node, nodes.StreamSource) and isinstance(kind, StructType):
        rows = rows.where("value IS NOT NULL")
    before = {str(each): time for each, time in batch.clock_before(node.topic).items()}
    return rows.selectExpr(
        "value.*" if isinstance(kind, StructType) else "value",
        *[f"CAST(NULL AS {each.dataType.simpleString()}) AS {quoted(each.name)}" for each in batch.inputs.unread(node)],
        *([f"value IS NULL AS {DELETED}"] if isinstance(node, nodes.TableSource) else []),
        f"key AS {KEY}",
        f"{_event_time(node, kind)} AS {TIMESTAMP}",
        f"partition AS {PARTITION}",
        f"offset AS {OFFSET}",
        f"greatest(streamTime, {by_partition_sql(before, 'partition')}) AS {STREAM_TIME}",
        *([f"headers AS {HEADERS}"] if node.headers else []),
    )


def _event_time(node: nodes.TopicSource, kind: "DataType") -> str:
    """A timestamp as it is, a number as milliseconds; where it is null, that of the record."""
    from pyspark.sql.types import LongType, StructType

    if node.timestamp is None:
        return "timestamp"
    types = {field.name: field.dataType for field in kind} if isinstance(kind, StructType) else {}
    if node.timestamp not in types:
        raise InvalidTopology(
            f"timestamp={node.timestamp!r} is no field of the values of topic {node.topic}. The fields are: {', '.join(types)}"
        )
    field = f"value.{quoted(node.timestamp)}"
    time = (
        f"timestamp_millis({field})" if isinstance(types[node.timestamp], LongType) else f"CAST({field} AS timestamp)"
    )
    return f"coalesce({time}, timestamp)"


def _refuse_our_names(node: nodes.TopicSource, names: list[str]) -> None:
    taken = [name for name in names if name.startswith("_")]
    if taken:
        raise InvalidTopology(
            f"the values of topic {node.topic} have the field {taken[0]!r}: names that begin with _ are those of the record "
            f"({', '.join(STREAM_COLUMNS)})"
        )


def filtered(batch: Batch, node: nodes.Filter) -> "DataFrame":
    """A condition that is null is not met."""
    from pyspark.sql import functions as F  # noqa: N812

    rows = batch.stream(node.parent)
    condition = column(node.condition, rows)
    return rows.where(~F.coalesce(condition, F.lit(False)) if node.is_negated else condition)


def selected(batch: Batch, node: nodes.Select) -> "DataFrame":
    return select(batch.stream(node.parent), node.columns, node.named)


def select(rows: "DataFrame", columns: tuple[Any, ...], named: Any) -> "DataFrame":
    """These columns, and those that every row has; one that is named as another takes its place."""
    from pyspark.sql import functions as F  # noqa: N812

    wanted: list[Any] = []
    for each in columns:
        if isinstance(each, str) and each.strip() == "*":
            wanted += [F.col(f"`{name}`") for name in values_of(rows.columns) if name not in named]
        else:
            wanted.append(column(each, rows))
    wanted += [column(each, rows).alias(name) for name, each in named.items()]
    made = rows.select(*wanted, *[name for name in rows.columns if name.startswith("_")])
    twice = sorted({name for name in made.columns if made.columns.count(name) > 1})
    if twice:
        raise InvalidTopology(f"select gives the column {twice[0]!r} twice: give one of them another name (... AS ...)")
    return made


def flat_mapped(batch: Batch, node: nodes.FlatMap) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StructType

    rows = batch.stream(node.parent)
    kept = [name for name in rows.columns if name.startswith("_") or (node.keep and name != node.name)]
    array = column(node.array, rows)
    exploded = rows.select(*kept, F.explode(array).alias(node.name or "_element"))
    if node.name is not None:
        return exploded
    kind = exploded.schema["_element"].dataType
    if not isinstance(kind, StructType):
        raise InvalidTopology(
            f"flat_map without a name needs an array of structs, whose fields become the columns; this is one of {kind.simpleString()}: "
            "say how the column is to be called"
        )
    return exploded.select("_element.*", *kept)


def rows_mapped(batch: Batch, node: nodes.MapRows) -> "DataFrame":
    return mapped(batch.stream(node.parent), node.function, node.schema)


def transformed(batch: Batch, node: nodes.Transform) -> "DataFrame":
    made: DataFrame = node.function(batch.stream(node.parent))
    missing = [name for name in STREAM_COLUMNS if name not in made.columns]
    if missing:
        raise InvalidTopology(
            f"the function of transform gave a DataFrame without {', '.join(missing)}: keep the columns that begin with _ "
            "(df.withColumn and df.where do)"
        )
    return made


def rekeyed(batch: Batch, node: nodes.Rekey) -> "DataFrame":
    rows = batch.stream(node.parent)
    return rows.withColumn(KEY, column(node.key, rows))


def peeked(batch: Batch, node: nodes.Peek) -> "DataFrame":
    """In order, since Spark stops at the first rows it finds otherwise, and what is counted on the way would be too few."""
    rows = batch.keep(batch.stream(node.parent))
    if not batch.is_dry:
        first = rows.orderBy(STREAM_TIME, PARTITION, OFFSET).limit(node.most)
        node.function([row.asDict(recursive=True) for row in first.collect()])
    return rows


def merged(batch: Batch, node: nodes.Merge) -> "DataFrame":
    streams = [batch.stream(each) for each in node.streams]
    first = values_of(streams[0].columns)
    for each in streams[1:]:
        if sorted(values_of(each.columns)) != sorted(first):
            raise InvalidTopology(
                f"merge: the streams have different columns: {', '.join(first)} and {', '.join(values_of(each.columns))}; "
                "select the same ones of each"
            )
    names = [*first, *STREAM_COLUMNS]
    made = streams[0].select(*names)
    for each in streams[1:]:
        made = made.unionByName(each.select(*names))
    return made


def to_stream(batch: Batch, node: nodes.ToStream) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    table = batch.table(node.parent)
    rows = table.changes if node.tombstones else table.changes.where(~F.col(DELETED))
    windows = [name for name in table.keys if name != KEY]
    time = F.unix_millis(F.col(TIMESTAMP))
    return rows.select(
        *windows,
        *[F.when(~F.col(DELETED), F.col(name)).alias(name) for name in table.values],
        KEY,
        TIMESTAMP,
        PARTITION,
        F.lit(-1).cast("bigint").alias(OFFSET),
        time.alias(STREAM_TIME),
        *([DELETED] if node.tombstones else []),
    )


def late(batch: Batch, node: nodes.Late) -> "DataFrame":
    batch.table(node.parent)
    return batch.late_rows[node.parent]
