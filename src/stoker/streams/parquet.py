"""Rows into a directory of Parquet files, each once, however often a micro-batch is run.

A batch is written aside, and its files are then moved to their place under names that are the same when it is run again:
`date=2026-01-31/hour=14/<application's sink>-<batch>-<task>.parquet`.
"""

from typing import TYPE_CHECKING, Final

from stoker.streams.columns import DELETED, TIMESTAMP
from stoker.streams.compiler.batch import Batch
from stoker.streams.compiler.outputs import output_rows
from stoker.streams.errors import InvalidTopology
from stoker.streams.nodes import ToParquet

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_TIMES: Final = {"date": "yyyy-MM-dd", "hour": "HH", "year": "yyyy", "month": "MM", "day": "dd", "minute": "mm"}
_ASIDE: Final = "_aside"
"""Readers of the directory do not look at names that begin with _."""


def write_parquet(batch: Batch, sink: ToParquet, rows: "DataFrame") -> None:
    aside = f"{sink.path.rstrip('/')}/{_ASIDE}/{sink.name}-{batch.number}"
    writer = rows.write.mode("overwrite")
    if sink.partition_by:
        writer = writer.partitionBy(*sink.partition_by)
    writer.parquet(aside)
    _move(batch, sink, aside)


def parquet_rows(batch: Batch, sink: ToParquet) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    rows, values = output_rows(batch, sink.parent)
    if DELETED in rows.columns:
        rows = rows.where(~F.col(DELETED))
    parts: list[Column] = []
    for name in sink.partition_by:
        if name in values:
            continue
        if name not in _TIMES:
            raise InvalidTopology(
                f"to_parquet(partition_by={list(sink.partition_by)}): there is no column {name!r}, nor is it a part of the time. "
                f"The columns are: {', '.join(values)}; of the time: {', '.join(_TIMES)}"
            )
        parts.append(F.date_format(TIMESTAMP, _TIMES[name]).alias(name))
    key = [F.col("_key"), F.col(TIMESTAMP)]
    return rows.select(*values, *key, *parts)


def _move(batch: Batch, sink: ToParquet, aside: str) -> None:
    """By Hadoop's file system, so that it may be anywhere."""
    jvm = batch.spark._jvm  # the only way to it
    assert jvm is not None
    configuration = batch.spark._jsparkSession.sessionState().newHadoopConf()
    source = jvm.org.apache.hadoop.fs.Path(aside)
    files = source.getFileSystem(configuration)
    source = files.makeQualified(source)
    target = files.makeQualified(jvm.org.apache.hadoop.fs.Path(sink.path))
    listed = files.listFiles(source, True)
    while listed.hasNext():
        path = listed.next().getPath()
        if not path.getName().startswith("part-"):
            continue
        directory = path.getParent().toString()[len(source.toString()) :].strip("/")
        task = path.getName().split("-")[1]
        place = jvm.org.apache.hadoop.fs.Path(f"{target}/{directory}" if directory else target.toString())
        final = jvm.org.apache.hadoop.fs.Path(place, f"{sink.name}-{batch.number}-{task}.parquet")
        files.mkdirs(place)
        if files.exists(final):
            files.delete(final, False)
        files.rename(path, final)
    files.delete(source, True)
