"""Which columns a join gives."""

from typing import TYPE_CHECKING

from stoker.streams.columns import quoted, struct_of, values_of
from stoker.streams.errors import InvalidTopology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FOUND = "_found"
"""The row of the right side as a struct, null if it has none."""
HAS_LEFT = "_has_left"
"""Where only the right side may be there: null if the left is not."""


def joined_columns(rows: "DataFrame", left: list[str], right: list[str], wanted: tuple[str, ...] | None) -> "DataFrame":
    """All of the left side, then those of the right, which is `_found`: `right_` before names that the left has too.

    Or what is `wanted`: expressions of `left` and `right`, such as `left.*`, `right.name AS customer`.
    """
    values = values_of(left)
    ours = [name for name in rows.columns if name.startswith("_") and name not in (FOUND, HAS_LEFT)]
    if wanted is None:
        others = [f"{FOUND}.{quoted(name)} AS {quoted(f'right_{name}' if name in values else name)}" for name in right]
        made = rows.selectExpr(*map(quoted, values), *others, *ours)
    else:
        one = struct_of(values)
        if HAS_LEFT in rows.columns:
            one = f"IF({HAS_LEFT} IS NOT NULL, {one}, NULL)"
        made = rows.selectExpr(f"{one} AS left", f"{FOUND} AS right", *ours).selectExpr(*wanted, *ours)
    twice = sorted({name for name in made.columns if made.columns.count(name) > 1})
    if twice:
        raise InvalidTopology(
            f"the join gives the column {twice[0]!r} twice: choose by columns=[...], such as 'left.*', 'right.{twice[0]} AS other'"
        )
    return made
