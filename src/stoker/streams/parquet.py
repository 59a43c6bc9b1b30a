"""Rows into a directory of Parquet files, each once, however often a micro-batch is run.

A batch is written aside, and its files are then moved to their place: `date=2026-01-31/hour=14/<writer>-<batch>-<task>.parquet`.
What lies aside completely is not computed again but moved, so that a batch that is run again leaves the same files, also when Spark
would now cut it into other tasks. The empty place aside says that all is moved; the next batch takes it away.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from stoker.streams.columns import DELETED, TIMESTAMP
from stoker.streams.compiler.batch import Batch
from stoker.streams.compiler.outputs import output_rows
from stoker.streams.errors import InvalidTopology
from stoker.streams.nodes import ToParquet

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_TIMES: Final = {"date": "yyyy-MM-dd", "hour": "HH", "year": "yyyy", "month": "MM", "day": "dd", "minute": "mm"}
_DONE: Final = "_SUCCESS"
_TASK: Final = re.compile(r"^part-(\d+)-.*?(?:\.c|-c)(\d+)\.")
"""Of the name of a file that Spark writes: the task, and which of its files in a directory it is."""
_ASIDE: Final = "_aside"
"""Readers of the directory do not look at names that begin with _."""


def write_parquet(batch: Batch, sink: ToParquet, rows: "DataFrame", writer: str) -> None:
    """`writer` is a name that no other application, and no other sink of this one, writes files by."""
    jvm = batch.spark._jvm  # the only way to Hadoop's file systems, so that it may be anywhere
    assert jvm is not None
    make: Callable[..., Any] = jvm.org.apache.hadoop.fs.Path
    places = make(f"{sink.path.rstrip('/')}/{_ASIDE}/{writer}")
    files = places.getFileSystem(batch.spark._jsparkSession.sessionState().newHadoopConf())
    aside = make(places, str(batch.number))
    if not files.exists(make(aside, _DONE)):
        written = rows.write.mode("overwrite")
        if sink.partition_by:
            written = written.partitionBy(*sink.partition_by)
        written.parquet(aside.toString())
    _move(make, files, files.makeQualified(aside), files.makeQualified(make(sink.path)), f"{writer}-{batch.number}")
    for each in files.listStatus(places):
        if each.getPath().getName() != str(batch.number):
            files.delete(each.getPath(), True)


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


def _move(make: "Callable[..., Any]", files: Any, source: Any, target: Any, name: str) -> None:
    """What an earlier attempt has moved is no longer there to be moved."""
    listed = files.listFiles(source, True)
    while listed.hasNext():
        path = listed.next().getPath()
        if not path.getName().startswith("part-"):
            continue
        directory = path.getParent().toString()[len(source.toString()) :].strip("/")
        task, number = _TASK.findall(path.getName())[0]
        place = make(f"{target.toString()}/{directory}" if directory else target.toString())
        final = make(place, f"{name}-{task}{'' if int(number) == 0 else f'-{number}'}.parquet")
        files.mkdirs(place)
        if files.exists(final):
            files.delete(final, False)
        files.rename(path, final)
