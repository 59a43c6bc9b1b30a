"""One store in one micro-batch: what its rows were before, and what the batch makes of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from stoker.streams.columns import BEFORE, DELETED, struct_of
from stoker.streams.state.directory import StateDirectory
from stoker.streams.state.manifest import StoreFiles

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

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
        count = (
            self._directory.count_rows(self.name, self._part)
            if self.is_written
            else self._directory.write_part(rows, self.name, self._part)
        )
        self.after = self.before.with_part(self._part, count)
        return self._directory.read_parts(self._spark, self.name, [self._part], rows.schema)

    def read_written(self) -> "DataFrame":
        """What an earlier attempt of this batch has written."""
        return self._directory.read_parts(self._spark, self.name, [self._part])

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
        if not files.parts:
            return no_rows(self._spark, schema).drop(DELETED)
        # The place of a part, not its number, says which is later: Spark would compile other code in every batch.
        place = _PLACE if len(files.parts) > 1 and self._keys else None
        rows = self._directory.read_parts(self._spark, self.name, files.parts, schema, place)
        if keys is not None:
            rows = rows.join(keys, self._keys, "left_semi")
        if place is not None:
            others = struct_of(name for name in schema.names if name not in self._keys)
            latest = F.expr(f"max_by({others}, {place}) AS _latest")
            rows = rows.groupBy(*self._keys).agg(latest).select(*self._keys, "_latest.*")
        # Of a row that has changed the condition is one for what it is now: where it is one of the keys Spark looks before.
        rows = rows.where(f"NOT {DELETED}").drop(DELETED)
        return rows if where is None else rows.where(where)

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
        count = self._directory.write_part(rows.withColumn(DELETED, F.lit(False)), self.name, part)
        self.after = StoreFiles(keys=self.after.keys).with_part(part, count)


def no_rows(spark: "SparkSession", schema: "StructType") -> "DataFrame":
    """So that Spark knows that there are none, and computes nothing of them."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return spark.createDataFrame(to_arrow_schema(schema, timezone="UTC").empty_table(), schema)
