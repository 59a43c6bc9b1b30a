"""A Python function for each row: the slow way, for what no expression says."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from stoker.streams.columns import values_of
from stoker.streams.errors import InvalidTopology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def mapped(rows: "DataFrame", function: Callable[[dict[str, Any]], Any], schema: str) -> "DataFrame":
    """What the function gives for a row: a dict, several, or None. The record's own columns stay."""
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    ours = [field for field in rows.schema if field.name.startswith("_")]
    made = StructType([*columns_of(schema), *ours])
    names = values_of(rows.columns)
    arrow = to_arrow_schema(made, timezone="UTC")

    def each_batch(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            out = []
            for row in to_rows(batch):
                kept = {field.name: row[field.name] for field in ours}
                out += [result | kept for result in several(function({name: row[name] for name in [*names, "_key"]}))]
            yield pa.RecordBatch.from_pylist(out, schema=arrow)

    return rows.mapInArrow(each_batch, made)


def to_rows(table: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """As Python values; maps are dicts."""
    rows: list[dict[str, Any]] = table.to_pylist(maps_as_pydicts="strict")
    return rows


def several(found: Any) -> Iterable[dict[str, Any]]:
    if found is None:
        return ()
    return (found,) if isinstance(found, dict) else found


def columns_of(schema: str) -> "StructType":
    """Raises InvalidTopology if it is the type of one value."""
    from pyspark.sql.types import StructType, _parse_datatype_string

    parsed = _parse_datatype_string(schema)
    if not isinstance(parsed, StructType):
        raise InvalidTopology(
            f"schema {schema!r} has no names: it takes columns, such as 'order_id string, total double'"
        )
    return parsed
