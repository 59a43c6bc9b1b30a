"""One store in one micro-batch: what its rows were before, and what the batch makes of them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Final

from stoker.streams.columns import BEFORE, DELETED
from stoker.streams.state.directory import StateDirectory
from stoker.streams.state.manifest import StoreFiles

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

MOST_PARTS: Final = 8
"""A store with more is written anew: every part is some files to open in each micro-batch."""
SMALL: Final = 200_000
"""Rows of a store that every task may as well have all of: a join with it moves no other rows."""

_PLACE: Final = "_place"


class Store:
    """`keys` are the columns that tell its rows apart; without any, rows are only added, and go by their age."""

    def __init__(
        self,
        spark: "SparkSession",
        directory: StateDirectory,
        name: str,
        files: StoreFiles,
        keys: Sequence[str],
        batch: int,
    ) -> None:
        self._spark = spark
        self._directory = directory
        self._keys = list(keys)
        self._batch = batch
        self._part = f"batch-{batch}"
        self.name = name
        self.before = self.after = replace(files, keys=tuple(keys))

    @property
    def is_written(self) -> bool:
        """By an earlier attempt of this very batch: what it has computed counts, and is not computed again."""
        return self._directory.is_complete(self.name, self._part)

    def write(self, rows: "DataFrame") -> "DataFrame":
        """The rows that the batch has changed, with `_deleted`; given back as they now are in the files."""
        uri = self._directory.batch_uri(self.name, self._part)
        if not self.is_written:
            rows.write.mode("overwrite").parquet(uri)
        self.after = self.before.with_part(self._part, self._directory.count_rows(self.name, self._part))
        return self._spark.read.schema(rows.schema).parquet(uri)

    def read_written(self) -> "DataFrame":
        """What an earlier attempt of this batch has written."""
        return self._spark.read.parquet(self._directory.batch_uri(self.name, self._part))

    def rows_before(
        self, like: "DataFrame", keys: "DataFrame | None" = None, where: "Column | None" = None
    ) -> "DataFrame":
        """All rows as they were before the batch; of these `keys` only, and where the condition holds.

        `like` has the columns of the store: an empty one is made after it.
        """
        return self._rows(self.before, like, keys, where)

    def rows_after(
        self, like: "DataFrame", keys: "DataFrame | None" = None, where: "Column | None" = None
    ) -> "DataFrame":
        return self._rows(self.after, like, keys, where)

    def _rows(
        self, files: StoreFiles, like: "DataFrame", keys: "DataFrame | None", where: "Column | None"
    ) -> "DataFrame":
        from pyspark.sql import functions as F  # noqa: N812
        from pyspark.sql.types import StructType

        schema = StructType([field for field in like.schema if field.name != BEFORE])
        plain = [name for name in schema.names if name != DELETED]
        if not files.parts:
            return self._spark.createDataFrame([], schema).select(*plain)
        uris = [self._directory.batch_uri(self.name, part) for part in files.parts]
        if len(uris) == 1 or not self._keys:
            rows = _chosen(self._spark.read.schema(schema).parquet(*uris), self._keys, keys, where)
            return rows.where(~F.col(DELETED)).select(*plain)
        # The place of a part, not its number, says which is later: Spark would compile other code in every batch.
        parts = [
            _chosen(self._spark.read.schema(schema).parquet(uri), self._keys, keys, where).withColumn(
                _PLACE, F.lit(place)
            )
            for place, uri in enumerate(uris)
        ]
        rows = reduce(lambda one, other: one.unionByName(other), parts)
        others = [name for name in schema.names if name not in self._keys]
        latest = F.max_by(F.struct(*others), F.col(_PLACE)).alias("_latest")
        rows = rows.groupBy(*self._keys).agg(latest).select(*self._keys, "_latest.*")
        return rows.where(~F.col(DELETED)).select(*plain)

    def needs_base(self) -> bool:
        files = self.after
        return len(files.parts) > MOST_PARTS or (
            len(files.parts) > 2 and sum(files.rows[1:]) > max(SMALL, files.rows[0])
        )

    def write_base(self, like: "DataFrame", where: "Column | None" = None) -> None:
        """All rows that count now as one part; what does not meet the condition is forgotten."""
        from pyspark.sql import functions as F  # noqa: N812

        part = f"base-{self._batch}"
        rows = self.rows_after(like, where=where)
        rows.withColumn(DELETED, F.lit(False)).write.mode("overwrite").parquet(
            self._directory.batch_uri(self.name, part)
        )
        empty = StoreFiles(keys=self.after.keys)
        self.after = empty.with_part(part, self._directory.count_rows(self.name, part))


def _chosen(rows: "DataFrame", names: list[str], keys: "DataFrame | None", where: "Column | None") -> "DataFrame":
    if where is not None:
        rows = rows.where(where)
    return rows if keys is None else rows.join(keys, names, "left_semi")
