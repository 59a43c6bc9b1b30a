"""Updates of an aggregation into a topic: Spark lets no sink in Python have output mode `update`, but for foreachBatch."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def to_topic(topic: str, options: Mapping[str, object]) -> "Callable[[DataFrame, int], None]":
    """For `writeStream.foreachBatch(...)`: writes each micro-batch to the topic, once, with the `options` of a write.

    A query that writes to one topic twice has to tell these apart, by the option `sink.id`.
    """
    given = {"sink.id": topic, **{name: str(value) for name, value in options.items()}, "topic": topic}

    def write(batch: "DataFrame", batch_id: int) -> None:
        batch.write.format("stoker").mode("append").options(**given).save()

    return write
