"""State that was lost is had back from the changelogs of its stores."""

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from stoker.streams.columns import BEFORE, DELETED, KEY, PARTITION, TIMESTAMP, WINDOW
from stoker.streams.errors import StateLost
from stoker.streams.kafka_inputs import Access
from stoker.streams.kafka_outputs import BATCH_HEADER, JSON_OPTIONS, STATE_HEADER, changelog
from stoker.streams.state.directory import StateDirectory
from stoker.streams.state.manifest import Manifest, StoreFiles

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_LOGGER: Final = logging.getLogger(__name__)


def restored(
    spark: "SparkSession",
    batch: int,
    application: str,
    layouts: "Mapping[str, DataFrame]",
    access: Access,
    directory: StateDirectory,
    logged: frozenset[str],
    state: str,
    offsets: dict[str, dict[str, int]],
) -> Manifest:
    """The state after `batch`, when topics had been read up to `offsets`. Raises StateLost if some store has no changelog.

    Stream times are those of the rows that are there: what was dropped as late may have been later.
    """
    missing = sorted(set(layouts) - logged)
    if missing:
        raise StateLost(
            f"the state after micro-batch {batch} is not in {directory}, and cannot be had back from changelogs: only stores that "
            f"you have named (store=...) have one, and these are without: {', '.join(missing)}. Restore the directory, or begin "
            "anew: reset() forgets state and offsets"
        )
    stores = {}
    watermarks: dict[str, dict[str, int]] = {}
    for name, layout in layouts.items():
        rows = _rows(spark, batch, changelog(application, name), layout, access, state)
        part = f"base-{batch}"
        rows.write.mode("overwrite").parquet(directory.batch_uri(name, part))
        count = directory.count_rows(name, part)
        stores[name] = StoreFiles().with_part(part, count)
        watermarks[name] = _latest(spark.read.parquet(directory.batch_uri(name, part))) if count else {}
        _LOGGER.info("%s: store %s restored from its changelog: %d rows", application, name, count)
    manifest = Manifest(batch=batch, committed_at=time.time(), stores=stores, watermarks=watermarks, offsets=offsets)
    directory.write_manifest(batch, manifest.to_json())
    return manifest


def _rows(
    spark: "SparkSession", batch: int, topic: str, layout: "DataFrame", access: Access, state: str
) -> "DataFrame":
    """The latest row of each key that was written up to that batch."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StructType

    keys = StructType([field for field in layout.schema if field.name in (KEY, *WINDOW)])
    content = StructType([field for field in layout.schema if field.name not in (*keys.names, BEFORE, DELETED)])
    read = (
        spark.read.format("stoker")
        .options(**access.read_options())
        .options(subscribe=topic, includeHeaders="true")
        .options(**{"key.format": "string", "value.format": "string"})
        .load()
    )

    def header(name: str) -> "Column":
        return F.get(F.filter("headers", lambda each: each["key"] == name), F.lit(0))["value"].cast("string")

    known = read.where((header(BATCH_HEADER).cast("bigint") <= batch) & (header(STATE_HEADER) == state))
    latest = known.groupBy("key").agg(F.max_by("value", F.struct("partition", "offset")).alias("value"))
    parsed = latest.where(F.col("value").isNotNull()).select(
        F.from_json("key", keys, JSON_OPTIONS).alias("_keys"),
        F.from_json("value", content, JSON_OPTIONS).alias("_content"),
    )
    rows = parsed.select("_keys.*", "_content.*", F.lit(False).alias(DELETED))
    return rows.select(*[name for name in layout.columns if name != BEFORE])


def _latest(rows: "DataFrame") -> dict[str, int]:
    from pyspark.sql import functions as F  # noqa: N812

    found = rows.groupBy(PARTITION).agg(F.max(F.unix_millis(TIMESTAMP)).alias("time")).collect()
    return {str(row[PARTITION]): row["time"] for row in found if row[PARTITION] is not None}
