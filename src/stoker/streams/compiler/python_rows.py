"""A Python function for each row: the slow way, for what no expression says."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from stoker.streams.columns import values_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def mapped(rows: "DataFrame", function: Callable[[dict[str, Any]], Any], schema: str) -> "DataFrame":
    """What the function gives for a row: a dict, several, or None. The record's own columns stay."""
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    ours = [field for field in rows.schema if field.name.startswith("_")]
    made = StructType([*_parsed(rows, schema), *ours])
    names = values_of(rows.columns)
    arrow = to_arrow_schema(made, timezone="UTC")

    def each_batch(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            given = batch.to_pylist()
            out = []
            for row in given:
                kept = {field.name: row[field.name] for field in ours}
                out += [result | kept for result in several(function({name: row[name] for name in [*names, "_key"]}))]
            yield pa.RecordBatch.from_pylist(out, schema=arrow)

    return rows.mapInArrow(each_batch, made)


def several(found: Any) -> Iterable[dict[str, Any]]:
    if found is None:
        return ()
    return (found,) if isinstance(found, dict) else found


def _parsed(rows: "DataFrame", schema: str) -> Any:
    from pyspark.sql.types import _parse_datatype_string  # type: ignore[attr-defined]

    return _parse_datatype_string(schema)
