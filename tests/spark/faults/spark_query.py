"""A streaming query from topic to topic, in a process of its own that may be killed: python -m tests.spark.faults.spark_query '{...}'"""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import stoker.spark
from tests.spark.faults.doom import Dooms, Victim
from tests.spark.faults.doomed_source import DoomedSource


@dataclass(frozen=True, kw_only=True)
class SparkQuery:
    """It ends when it has written all that is in the source."""

    bootstrap_servers: str
    source: str
    target: str
    checkpoint: str
    dooms: str
    rows_per_batch: int
    shuffles_into: int | None = None
    """The rows are shuffled into so many tasks; None: each task writes what it has read."""

    def as_text(self) -> str:
        return json.dumps(asdict(self))

    def run(self) -> None:
        spark = stoker.spark.session("doomed", master="local[2,4]", config={"spark.log.level": "ERROR"})
        pid = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
        Dooms(Path(self.dooms)).victim(Victim.DRIVER, pid)
        spark.dataSource.register(DoomedSource)
        broker = {"kafka.bootstrap.servers": self.bootstrap_servers}
        rows = (
            spark.readStream.format("stoker")
            .options(**broker, subscribe=self.source, startingOffsets="earliest")
            .option("maxOffsetsPerTrigger", self.rows_per_batch)
            .load()
            .select("key", "value")
        )
        if self.shuffles_into is not None:
            rows = rows.repartition(self.shuffles_into, "value")
        writing = rows.writeStream.format("doomed").options(
            **broker, topic=self.target, checkpointLocation=self.checkpoint
        )
        writing.trigger(availableNow=True).start().awaitTermination()
        spark.stop()


if __name__ == "__main__":
    SparkQuery(**json.loads(sys.argv[1])).run()
