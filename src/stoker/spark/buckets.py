"""Buckets for the values of a field, made of one sample and counted in two.

A number with many values is cut at its deciles; a field with few values has a bucket for each. All fields of a sample are
looked at in one pass.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame, functions

from stoker.spark.profiles import Field, UnknownField, UnusableField, fields_of
from stoker.spark.stability import NotComparable

MOST_VALUES: Final = 20
LEAST_SHARE: Final = 0.05
DECILES: Final = tuple(tenth / 10 for tenth in range(1, 10))
OTHERS: Final = "(others)"
SAMPLES: Final = ("expected", "actual")

_ACCURACY: Final = 10_000
_NUMBER: Final = "a number"
_FAMILIES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"), _NUMBER),
    **dict.fromkeys(("string", "char", "varchar"), "a string"),
    "boolean": "a boolean",
}


class Edges(NamedTuple):
    """A bucket up to the first edge, one from each edge (without it) to the next (with it), and one above the last."""

    edges: tuple[float, ...]

    def labels(self) -> list[str]:
        return [_label(low, high, self.edges) for low, high in pairwise((-math.inf, *self.edges, math.inf))]

    def place(self, value: str) -> Column:
        """The number of the bucket of this SQL expression, from 0 on; null for null. NaN is above all edges."""
        # As text: a call for each edge of each field takes seconds, and Spark is quickest with this.
        cases = " ".join(f"WHEN {value} <= double('{edge!r}') THEN {at}" for at, edge in enumerate(self.edges))
        return functions.expr(f"CASE WHEN {value} IS NULL THEN null {cases} ELSE {len(self.edges)} END")


class Values(NamedTuple):
    """A bucket for each value, and one for all others."""

    values: tuple[str | float, ...]

    def labels(self) -> list[str]:
        return [*(each if isinstance(each, str) else _number(each) for each in self.values), OTHERS]

    def place(self, value: str) -> Column:
        """The number of the bucket of this SQL expression, from 0 on; null for null."""
        values = functions.array(*map(functions.lit, self.values))
        position = functions.array_position(values, functions.expr(value)).cast("int")  # from 1 on, or 0
        return functions.when(position == 0, functions.lit(len(self.values))).otherwise(position - 1)


Buckets = Edges | Values


def shared_fields(expected: DataFrame, actual: DataFrame, names: Iterable[str]) -> dict[str, tuple[Field, Field]]:
    """Each field in both samples. Raises UnknownField and UnusableField, which say in which of them."""
    wanted = [names] if isinstance(names, str) else list(names)
    of_expected, of_actual = (
        fields_of(frame, wanted, f"the {sample} sample")
        for frame, sample in zip((expected, actual), SAMPLES, strict=True)
    )
    for pair in zip(of_expected, of_actual, strict=True):
        for sample, field in zip(SAMPLES, pair, strict=True):
            if field.type not in _FAMILIES:
                raise UnusableField(
                    f"field {field.name!r} of the {sample} sample is {field.data_type.simpleString()}: distributions are those "
                    "of numbers, strings and booleans. Of a time compare what does not move on by itself: hour(), dayofweek()."
                )
        before, after = pair
        if _FAMILIES[before.type] != _FAMILIES[after.type]:
            raise UnusableField(
                f"field {before.name!r} is {before.data_type.simpleString()} in the expected sample and "
                f"{after.data_type.simpleString()} in the actual one: cast one of them, or compare their profiles"
            )
    return {before.name: (before, after) for before, after in zip(of_expected, of_actual, strict=True)}


def given_edges(edges: Mapping[str, Sequence[float]], fields: Mapping[str, tuple[Field, Field]]) -> dict[str, Buckets]:
    """Buckets as somebody wants them. Raises UnknownField, UnusableField and NotComparable."""
    for name, given in edges.items():
        if name not in fields:
            raise UnknownField(
                f"there are edges for {name!r}, which is not compared. Compared are: {', '.join(fields)}"
            )
        field = fields[name][0]
        if _FAMILIES[field.type] != _NUMBER:
            raise UnusableField(
                f"there are edges for {name!r}, which is {field.data_type.simpleString()}: only numbers have edges"
            )
        if not given or list(given) != sorted(set(given)):
            raise NotComparable(
                f"the edges of {name!r} make no buckets: {list(given)}. Give at least one, each greater than the one before."
            )
    return {name: Edges(tuple(map(float, given))) for name, given in edges.items()}


def find_buckets(frame: DataFrame, fields: Sequence[Field]) -> dict[str, Buckets]:
    """Buckets for each field that suit this sample, in one pass over it.

    A field with at most 20 values has one for each, and one for all others. A number with more is cut at its deciles: a
    value that is several deciles at once gets a bucket of its own. Of others the 20 most frequent values have buckets, and one
    is for all others. Raises NotComparable for a field without values, and for one in which those 20 are less than 5 %.
    """
    if not fields:
        return {}
    aggregates: list[Column] = []
    for field in fields:
        column = functions.expr(_comparable(field))
        # One more than there are buckets, as null is a value here.
        frequent = functions.call_function("approx_top_k", column, functions.lit(MOST_VALUES + 1))
        is_number = _FAMILIES[field.type] == _NUMBER
        deciles = functions.percentile_approx(column, list(DECILES), _ACCURACY) if is_number else functions.lit(None)
        aggregates += [functions.count(column), frequent, deciles]
    found = frame.agg(*aggregates).collect()[0]
    return {field.name: _suitable(field, *found[3 * at : 3 * at + 3]) for at, field in enumerate(fields)}


def counted(
    expected: DataFrame,
    actual: DataFrame,
    fields: Mapping[str, tuple[Field, Field]],
    buckets: Mapping[str, Buckets],
) -> dict[str, tuple[list[int], list[int]]]:
    """How many values of each sample are in each bucket, in one pass over both. Null is no value."""
    placed = [
        frame.select(
            functions.lit(sample).alias("sample"),
            functions.inline(
                functions.array(
                    *(_placed(at, pair[sample], buckets[name]) for at, (name, pair) in enumerate(fields.items()))
                )
            ),
        )
        for sample, frame in enumerate((expected, actual))
    ]
    rows = (
        placed[0].unionAll(placed[1]).where("bucket IS NOT NULL").groupBy("sample", "field", "bucket").count().collect()
    )
    sizes = [len(buckets[name].labels()) for name in fields]
    counts = [([0] * size, [0] * size) for size in sizes]
    for sample, field, bucket, count in rows:
        counts[field][sample][bucket] = count
    for name, pair in zip(fields, counts, strict=True):
        for sample, of_sample in zip(SAMPLES, pair, strict=True):
            if not any(of_sample):
                raise _no_values(name, sample)
    return dict(zip(fields, counts, strict=True))


def _placed(at: int, field: Field, buckets: Buckets) -> Column:
    return functions.struct(functions.lit(at).alias("field"), buckets.place(_comparable(field)).alias("bucket"))


def _comparable(field: Field) -> str:
    """In SQL, with the same type in both samples, though one has integers and the other decimals."""
    return f"CAST({field.quoted} AS {'DOUBLE' if _FAMILIES[field.type] == _NUMBER else 'STRING'})"


def _suitable(field: Field, count: int, frequent: list[Any], deciles: list[float] | None) -> Buckets:
    if not count:
        raise _no_values(field.name, "expected")
    found = {item: times for item, times in frequent if item is not None}
    are_all = sum(found.values()) == count
    if are_all and len(found) <= MOST_VALUES:
        return Values(tuple(sorted(found)))
    if deciles is not None:
        return Edges(_edges(deciles))
    frequent_ones = tuple(found)[:MOST_VALUES]
    if sum(found[each] for each in frequent_ones) < LEAST_SHARE * count:
        raise NotComparable(
            f"field {field.name!r} of the expected sample makes no buckets: its values are rare, and the {MOST_VALUES} most "
            f"frequent ones less than {LEAST_SHARE:.0%} of it. Compare its cardinality instead (profile_drift), or a field that "
            "groups it, as its first letters."
        )
    return Values(frequent_ones)


def _edges(deciles: Sequence[float]) -> tuple[float, ...]:
    """With one right below each value that is several deciles, so that it has a bucket for itself."""
    times = Counter(each for each in deciles if not math.isnan(each))
    below = {math.nextafter(each, -math.inf) for each, number in times.items() if number > 1}
    return tuple(sorted(below | times.keys())) or (math.inf,)


def _label(low: float, high: float, edges: Sequence[float]) -> str:
    if high == math.inf:
        return f"above {_number(low)}"
    if math.nextafter(high, -math.inf) == low:
        return _number(high)
    above = math.nextafter(high, math.inf)
    upper = _number(above if above in edges else high)  # which has the next bucket for itself
    if low == -math.inf:
        return f"{'below' if above in edges else 'up to'} {upper}"
    return f"{_number(low)} to {upper}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1e6 <= abs(value) < 1e15 else f"{value + 0.0:.6g}"  # adding 0.0 makes -0 a 0


def _no_values(name: str, sample: str) -> NotComparable:
    return NotComparable(
        f"field {name!r} has no values in the {sample} sample: it has no rows, or only nulls. Choose another day, or look at the "
        "null rates (profile_drift)."
    )
