"""Which columns a join gives."""

from typing import TYPE_CHECKING

from stoker.streams.columns import values_of
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
    from pyspark.sql import functions as F  # noqa: N812

    values = values_of(left)
    ours = [name for name in rows.columns if name.startswith("_") and name not in (FOUND, HAS_LEFT)]
    if wanted is None:
        others = [F.col(f"{FOUND}.{name}").alias(f"right_{name}" if name in values else name) for name in right]
        made = rows.select(*values, *others, *ours)
    else:
        one = F.struct(*values)
        if HAS_LEFT in rows.columns:
            one = F.when(F.col(HAS_LEFT).isNotNull(), one)
        sides = rows.select(one.alias("left"), F.col(FOUND).alias("right"), *ours)
        made = sides.select(*[F.expr(each) if not each.strip().endswith(".*") else each for each in wanted], *ours)
    twice = sorted({name for name in made.columns if made.columns.count(name) > 1})
    if twice:
        raise InvalidTopology(
            f"the join gives the column {twice[0]!r} twice: choose by columns=[...], such as 'left.*', 'right.{twice[0]} AS other'"
        )
    return made
