"""A Spark session for streams: settings that make a micro-batch the same when it is run again."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS: Final = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # Spark's own has nanoseconds, which end in the year 2262
    "spark.sql.ansi.enabled": "true",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.timeType.enabled": "true",
    "spark.sql.files.maxPartitionBytes": "64m",
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "false",
}
"""Plans that do not depend on what Spark finds out while it runs: a batch that is run again must be cut into the same tasks."""


_CLASSES: Final = (
    "functions",
    "PythonUtils",
    "PythonSQLUtils",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.classic.SparkSession",
)
"""Of the JVM, by the names that PySpark has for them."""


def prepared(spark: "SparkSession") -> "SparkSession":
    """A session of its own in the same Spark, so that these settings are nobody else's."""
    _remember_classes(spark)
    session = spark.newSession()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    session.conf.set("spark.sql.shuffle.partitions", str(spark.conf.get("spark.sql.shuffle.partitions")))
    return session


def _remember_classes(spark: "SparkSession") -> None:
    """py4j looks for a class in every jar of the JVM each time that one is named: a quarter of what it takes to plan a small batch."""
    jvm = spark._jvm
    for name in _CLASSES:
        if name not in vars(jvm):
            setattr(jvm, name, getattr(jvm, name))
