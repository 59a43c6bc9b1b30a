"""The engine room: Kafka topics in Spark, by `format("stoker")`, without a jar.

import stoker.spark

spark = stoker.spark.session()
spark.readStream.format("stoker").option("kafka.bootstrap.servers", "localhost:9092").option("subscribe", "orders")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

__all__ = [
    "DriftThresholds",
    "attach",
    "chi_square",
    "distribution_drift",
    "explain_settings",
    "partition_path",
    "population_stability_index",
    "profile",
    "profile_drift",
    "read_profile",
    "session",
    "to_topic",
    "write_profile",
]

if TYPE_CHECKING:
    from stoker.spark.catalog import attach
    from stoker.spark.drift import DriftThresholds, distribution_drift, profile_drift
    from stoker.spark.each_batch import to_topic
    from stoker.spark.profiles import partition_path, profile, read_profile, write_profile
    from stoker.spark.spark_session import explain_settings, session
    from stoker.spark.stability import chi_square, population_stability_index


_HOMES: Final = {
    "DriftThresholds": "stoker.spark.drift",
    "attach": "stoker.spark.catalog",
    "chi_square": "stoker.spark.stability",
    "distribution_drift": "stoker.spark.drift",
    "explain_settings": "stoker.spark.spark_session",
    "partition_path": "stoker.spark.profiles",
    "population_stability_index": "stoker.spark.stability",
    "profile": "stoker.spark.profiles",
    "profile_drift": "stoker.spark.drift",
    "read_profile": "stoker.spark.profiles",
    "session": "stoker.spark.spark_session",
    "to_topic": "stoker.spark.each_batch",
    "write_profile": "stoker.spark.profiles",
}


def __getattr__(name: str) -> Any:
    # Spark's workers import this for every task: pyspark's SQL and what else is not needed there is left alone.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'stoker.spark' has no attribute {name!r}. It has: {', '.join(__all__)}")
