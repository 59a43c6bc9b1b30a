"""A Spark session for streams: settings that make a micro-batch the same when it is run again."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS: Final = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.files.maxPartitionBytes": "64m",
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "false",
}
"""Plans that do not depend on what Spark finds out while it runs: a batch that is run again must be cut into the same tasks."""


def prepared(spark: "SparkSession") -> "SparkSession":
    """A session of its own in the same Spark, so that these settings are nobody else's."""
    session = spark.newSession()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    session.conf.set("spark.sql.shuffle.partitions", spark.conf.get("spark.sql.shuffle.partitions"))
    return session
