"""A program of somebody who has a Spark master: reads a topic on its workers, and says where.

python -m tests.clusters.job_on_workers spark://HOST:PORT BOOTSTRAP_SERVERS TOPIC
"""

import json
import os
import sys
from collections.abc import Iterator

import pyarrow as pa

import stoker.spark


def place(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What is counted where: the directory is that of an executor, and the packages are ours."""
    import stoker

    for batch in batches:
        yield pa.RecordBatch.from_pydict(
            {
                "rows": [batch.num_rows],
                "directory": [os.getcwd()],
                "python": [sys.executable],
                "stoker": [stoker.__file__],
            }
        )


if __name__ == "__main__":
    master, bootstrap_servers, topic = sys.argv[1:]
    everywhere = {"spark.scheduler.minRegisteredResourcesRatio": "1.0"}  # tasks wait until both workers are there
    spark = stoker.spark.session("job on workers", master=master, config=everywhere)
    reader = spark.read.format("stoker").option("kafka.bootstrap.servers", bootstrap_servers)
    rows = reader.option("subscribe", topic).load()
    counted = rows.mapInArrow(place, "rows long, directory string, python string, stoker string").collect()
    print(json.dumps([row.asDict() for row in counted]))
    spark.stop()
