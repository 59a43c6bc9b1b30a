"""The engine room: Kafka topics in Spark, by `format("stoker")`, without a jar.

import stoker.spark

spark = stoker.spark.session()
spark.readStream.format("stoker").option("kafka.bootstrap.servers", "localhost:9092").option("subscribe", "orders")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

__all__ = ["attach", "explain_settings", "session", "to_topic"]

if TYPE_CHECKING:
    from stoker.spark.catalog import attach
    from stoker.spark.each_batch import to_topic
    from stoker.spark.spark_session import explain_settings, session


_HOMES: Final = {
    "attach": "stoker.spark.catalog",
    "explain_settings": "stoker.spark.spark_session",
    "session": "stoker.spark.spark_session",
    "to_topic": "stoker.spark.each_batch",
}


def __getattr__(name: str) -> Any:
    # Spark's workers import this for every task: pyspark's SQL and what else is not needed there is left alone.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'stoker.spark' has no attribute {name!r}. It has: {', '.join(__all__)}")
