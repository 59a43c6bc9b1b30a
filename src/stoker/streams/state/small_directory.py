"""State of few rows: in memory, so that to read it takes no Spark job, and in files, so that others find it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from stoker.streams.state.directory import StateDirectory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


class SmallStateDirectory(StateDirectory):
    """Of one process, from its beginning to its end."""

    def __init__(self, root: str | Path) -> None:
        super().__init__(root)
        self._parts: dict[tuple[str, str], tuple[pa.Table, StructType]] = {}

    def write_part(self, rows: "DataFrame", store: str, part: str) -> int:
        from pyspark.sql.pandas.types import to_arrow_schema

        schema = rows.schema.toNullable()  # in a struct that is null so are fields that never are otherwise
        table = pa.Table.from_pylist(collected(rows), schema=to_arrow_schema(schema, timezone="UTC"))
        path = self.batch_path(store, part)
        self.files.create_dir(path)
        parquet.write_table(table, f"{path}/part-0.parquet", filesystem=self.files)
        self.complete(store, part)
        self._parts[store, part] = table, schema
        return int(table.num_rows)

    def read_parts(
        self,
        spark: "SparkSession",
        store: str,
        parts: Sequence[str],
        schema: "StructType | None" = None,
        place: str | None = None,
    ) -> "DataFrame":
        from pyspark.sql.types import IntegerType, StructField, StructType

        known = [self._parts[store, part] for part in parts]
        wanted = known[0][1] if schema is None else schema.toNullable()
        tables = [table.select(wanted.names) for table, _ in known]
        if place is not None:
            wanted = StructType([*wanted.fields, StructField(place, IntegerType())])
            tables = [
                each.append_column(place, pa.repeat(pa.scalar(number, pa.int32()), len(each)))
                for number, each in enumerate(tables)
            ]
        return in_one_task(spark, pa.concat_tables(tables), wanted)

    def remove_part(self, store: str, part: str) -> None:
        self._parts.pop((store, part), None)
        super().remove_part(store, part)


def in_one_task(spark: "SparkSession", table: pa.Table, schema: "StructType") -> "DataFrame":
    """As Spark knows: it moves no rows to bring those of a key together."""
    return spark.createDataFrame(table, schema).coalesce(1)


def collected(rows: "DataFrame") -> list[dict[str, Any]]:
    """As Python values, moments in UTC."""
    return [_in_utc(row.asDict(recursive=True)) for row in rows.collect()]


def _in_utc(value: Any) -> Any:
    """Spark gives moments in the time zone of the machine, without saying so."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, dict):
        return {name: _in_utc(each) for name, each in value.items()}
    return [_in_utc(each) for each in value] if isinstance(value, list) else value
