"""Archives of the classes that Apache Kafka and Spark load, so that each of the many JVMs of the tests is up in half the time.

    python -m tests.class_archives      writes them to .cache/class-archives; `make test` does

An archive is of one class path, and of all that begin with it. A JVM that has none starts without.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPOSITORY: Final = Path(__file__).resolve().parent.parent
ARCHIVES: Final = REPOSITORY / ".cache" / "class-archives"

SHORT_LIVED: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""A JVM that lives for seconds uses a third less of the processor until it is up; none wins from compiling more in minutes, either."""
# What is compiled must not be thrown away for want of room, to be compiled again.
SPARK: Final = (*SHORT_LIVED, "-XX:ReservedCodeCacheSize=256m")


def archived(program: str) -> tuple[str, ...]:
    """What makes a JVM read the archive of this program, if there is one. One that does not fit is passed over in silence."""
    archive = ARCHIVES / f"{program}.jsa"
    return (f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off") if archive.exists() else ()


def _make_of_kafka() -> None:
    """Of a broker that makes a topic, takes records and gives them to a group."""
    from confluent_kafka import Consumer, Producer

    from tests.apache_kafka import ApacheKafka

    with ApacheKafka(jvm=_made("kafka")) as kafka:
        address = {"bootstrap.servers": kafka.bootstrap_servers}
        producer = Producer({**address, "transactional.id": "classes"})
        producer.init_transactions()
        producer.begin_transaction()
        producer.produce("classes", b"value", b"key")
        producer.commit_transaction()
        consumer = Consumer({**address, "group.id": "classes", "auto.offset.reset": "earliest"})
        consumer.subscribe(["classes"])
        consumer.consume(1, timeout=30)
        consumer.close()


def _make_of_spark() -> None:
    """Of a driver that joins, counts and writes what comes from Python, in a batch and in a stream."""
    os.environ["SPARK_SUBMIT_OPTS"] = " ".join((*SPARK, *_made("spark")))
    import stoker.spark

    session = stoker.spark.session("classes", master="local[2,4]", config={"spark.log.level": "ERROR"})
    _use(session)
    process = session.sparkContext._gateway.proc  # type: ignore[union-attr]
    session.stop()
    process.stdin.close()
    process.wait()


def _use(session: "SparkSession") -> None:
    from pyspark.sql import functions as f

    from stoker import Broker
    from stoker.streams.application import Streams
    from stoker.streams.test_driver import TestDriver
    from stoker.streams.windows import tumbling

    with Broker() as broker:
        session.conf.set("stoker.bootstrap.servers", broker.bootstrap_servers)
        rows = session.range(100).select(f.col("id").cast("string").alias("value"), f.lit("input").alias("topic"))
        address = {"kafka.bootstrap.servers": broker.bootstrap_servers}
        rows.write.format("stoker").options(**address).mode("append").save()
        values = session.read.format("stoker").options(**address, subscribe="input").load()
        values.join(values.groupBy("value").count(), "value").orderBy("value").collect()
    application = Streams("classes")
    orders = application.stream("orders", value_schema="amount double")
    orders.group_by_key().window(tumbling("1h")).aggregate(revenue="sum(amount)").to("revenue")
    with TestDriver(application, spark=session) as driver:
        for time in range(3):
            driver.send("orders", {"amount": 1.0}, key="ada", timestamp=time)
            driver.read("revenue")


def _made(program: str) -> tuple[str, ...]:
    ARCHIVES.mkdir(parents=True, exist_ok=True)
    archive = ARCHIVES / f"{program}.jsa"
    archive.unlink(missing_ok=True)
    return (f"-XX:ArchiveClassesAtExit={archive}", "-Xlog:disable", "-Xlog:all=error:stderr")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        {"kafka": _make_of_kafka, "spark": _make_of_spark}[sys.argv[1]]()
    else:
        # Side by side: each spends half of its time in one thread that writes.
        commands = [[sys.executable, "-m", "tests.class_archives", each] for each in ("kafka", "spark")]
        makers = [subprocess.Popen(each, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for each in commands]
        said = [maker.communicate()[0].decode(errors="replace") for maker in makers]
        if any(maker.returncode for maker in makers):
            sys.exit("\n".join(["the archives of classes could not be made:", *said]))
