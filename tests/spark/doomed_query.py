"""A query in a process of its own, to be killed in its first batch: `python -m tests.spark.doomed_query ...`.

It begins at the end of a topic and waits, between that and the end of its first batch, for records to come. The first batch
then never ends.
"""

import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import functions
from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.types import StringType, StructType

import stoker.spark
from stoker.spark.data_source import StokerDataSource

RESOLVED, PRODUCED, RUNNING = "resolved", "produced", "running"


class SlowReader(DataSourceStreamReader):
    """The reader itself, which takes its time between the beginning and the end."""

    def __init__(self, reader: DataSourceStreamReader, signals: Path) -> None:
        self._reader = reader
        self._signals = signals

    def initialOffset(self) -> dict[str, Any]:
        offset = self._reader.initialOffset()
        (self._signals / RESOLVED).touch()
        while not (self._signals / PRODUCED).exists():
            time.sleep(0.01)
        return offset

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        return self._reader.latestOffset(start, limit)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Any:
        return self._reader.partitions(start, end)

    def read(self, partition: Any) -> Any:
        return self._reader.read(partition)


class SlowSource(StokerDataSource):
    @classmethod
    def name(cls) -> str:
        return "slow"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        options = dict(self.options)
        signals = options.pop("signals")
        return SlowReader(StokerDataSource(options).streamReader(schema), Path(signals))

    def schema(self) -> StructType:
        return StokerDataSource({name: value for name, value in self.options.items() if name != "signals"}).schema()


def main(bootstrap_servers: str, topic: str, directory: str) -> None:
    place = Path(directory)

    @functions.udf(StringType(), useArrow=False)
    def never_end(value: str) -> str:
        (place / RUNNING).touch()
        time.sleep(3600)
        return value

    spark = stoker.spark.session("doomed", master="local[1]")
    spark.dataSource.register(SlowSource)
    records = (
        spark.readStream.format("slow")
        .options(**{"kafka.bootstrap.servers": bootstrap_servers, "subscribe": topic, "signals": directory})
        .load()
    )
    (
        records.select(never_end(records.value.cast("string")).alias("value"))
        .writeStream.format("parquet")
        .option("checkpointLocation", str(place / "checkpoint"))
        .start(str(place / "out"))
        .awaitTermination()
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
