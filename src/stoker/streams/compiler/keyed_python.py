"""Python for all rows of a key, with the state of that key: folds and processors.

The rows of a batch and the states of their keys meet by cogroup, a key at a time. What comes out is rows and the new state in one
frame, told apart by `_is_state`.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from stoker.streams.compiler.python_rows import to_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

Work = Callable[[list[dict[str, Any]], dict[str, Any] | None], Iterator[dict[str, Any]]]
"""The rows of a key in order, and its row in the store; gives rows of the result."""


def for_each_key(
    rows: "DataFrame", states: "DataFrame", keys: list[str], work: Work, schema: "StructType", order: list[str]
) -> "DataFrame":
    from pyspark.sql.pandas.types import to_arrow_schema

    arrow = to_arrow_schema(schema, timezone="UTC")

    def run(mine: pa.Table, stored: pa.Table) -> pa.Table:
        given = to_rows(mine.sort_by([(name, "ascending") for name in order])) if mine.num_rows else []
        found = to_rows(stored)
        made = list(work(given, found[0] if found else None))
        return pa.Table.from_pylist(made, schema=arrow)

    return rows.groupBy(*keys).cogroup(states.groupBy(*keys)).applyInArrow(run, schema)
