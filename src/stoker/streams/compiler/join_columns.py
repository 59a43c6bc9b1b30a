"""Which columns a join gives."""

from typing import TYPE_CHECKING

from stoker.streams.columns import values_of
from stoker.streams.errors import InvalidTopology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def joined_columns(
    rows: "DataFrame", left: list[str], right: list[str], found: str, wanted: tuple[str, ...] | None
) -> "DataFrame":
    """All of the left side, then those of the right, which is a struct: `right_` before names that the left has too.

    Or what is `wanted`: expressions of `left` and `right`, such as `left.*`, `right.name AS customer`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    values = values_of(left)
    ours = [name for name in rows.columns if name.startswith("_") and name != found]
    if wanted is None:
        others = [F.col(f"{found}.{name}").alias(f"right_{name}" if name in values else name) for name in right]
        return rows.select(*values, *others, *ours)
    sides = rows.select(F.struct(*values).alias("left"), F.col(found).alias("right"), *ours)
    made = sides.select(*[F.expr(each) if not each.strip().endswith(".*") else each for each in wanted], *ours)
    twice = sorted({name for name in made.columns if made.columns.count(name) > 1})
    if twice:
        raise InvalidTopology(
            f"the join gives the column {twice[0]!r} twice: choose by columns=[...], such as 'left.*', 'right.{twice[0]} AS other'"
        )
    return made
