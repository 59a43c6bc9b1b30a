"""Python for all rows of a key, with the state of that key: folds and processors.

The rows of a batch and the states of their keys meet by cogroup, a key at a time. What comes out is rows and the new state in one
frame, told apart by `_is_state`.
"""

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

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
        given = mine.sort_by([(name, "ascending") for name in order]).to_pylist() if mine.num_rows else []
        found = stored.to_pylist()
        made = list(work(given, found[0] if found else None))
        return pa.Table.from_pylist(made, schema=arrow)

    return rows.groupBy(*keys).cogroup(states.groupBy(*keys)).applyInArrow(run, schema)  # type: ignore[arg-type]


def to_text(state: Any) -> str | None:
    """State as it is kept: JSON, so that anybody can read it."""
    return None if state is None else json.dumps(state)
