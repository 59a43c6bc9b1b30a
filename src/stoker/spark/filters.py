"""Filters of a query that the reader can apply itself: on topic, partition, offset and timestamp.

Spark hands filters to Python sources in batches alone, and only if `spark.sql.python.filterPushdown.enabled` is true. It
keeps the reader that got them for all later queries over the same `load()` (PythonDataSourceV2.setReadInfo in Spark 4.3),
also for those with other filters or none, which then miss rows. So filters are taken only where the user asks for it.
"""

import operator
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from stoker.client.fetching import PartitionRange
from stoker.client.topic_partition import TopicPartition
from stoker.spark.columns import microseconds
from stoker.wire.batch_columns import Integers

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_COMPARISONS: Final[dict[type[Filter], Callable[[Any, Any], Any]]] = {
    EqualTo: operator.eq,
    EqualNullSafe: operator.eq,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
}


class Condition(NamedTuple):
    """`compare(column, value)`, or not that. Timestamps are in microseconds."""

    column: str
    compare: Callable[[Any, Any], Any]
    value: Any
    is_negated: bool = False

    def holds(self, value: Any) -> bool:
        return bool(self.compare(value, self.value)) is not self.is_negated

    def mask(self, column: Integers) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = np.asarray(self.compare(column, self.value), dtype=np.bool_)
        return ~found if self.is_negated else found


class Conditions(NamedTuple):
    """All of them must hold."""

    all: tuple[Condition, ...] = ()

    def select(self, partition: TopicPartition) -> bool:
        """Whether a partition can have records for which they hold."""
        return all(
            each.holds(partition.topic if each.column == "topic" else partition.partition)
            for each in self.all
            if each.column in ("topic", "partition")
        )

    def narrow(self, wanted: PartitionRange) -> PartitionRange:
        """Without the offsets at both ends for which they do not hold; perhaps empty."""
        start, end = wanted.start, wanted.end
        for each in self.all:
            if each.column != "offset" or each.is_negated:
                continue
            if each.compare in (operator.eq, operator.ge):
                start = max(start, each.value)
            if each.compare is operator.gt:
                start = max(start, each.value + 1)
            if each.compare in (operator.eq, operator.le):
                end = min(end, each.value + 1)
            if each.compare is operator.lt:
                end = min(end, each.value)
            if each.compare is _is_in:
                start, end = max(start, min(each.value)), min(end, max(each.value) + 1)
        return wanted._replace(start=start, end=max(start, end))

    @property
    def earliest_millisecond(self) -> int | None:
        """Every record for which they hold is as late as this; None if they do not say."""
        bounds = [
            -(-each.value // 1000) if each.compare is not operator.gt else each.value // 1000 + 1
            for each in self.all
            if each.column == "timestamp"
            and not each.is_negated
            and each.compare in (operator.eq, operator.ge, operator.gt)
        ]
        return max(bounds, default=None)

    def mask(self, offsets: Integers, milliseconds: Integers) -> NDArray[np.bool_] | None:
        """The records for which they hold; None for all."""
        masks = [
            each.mask(offsets if each.column == "offset" else microseconds(milliseconds))
            for each in self.all
            if each.column in ("offset", "timestamp")
        ]
        mask: NDArray[np.bool_] | None = np.logical_and.reduce(masks) if masks else None
        return None if mask is None or mask.all() else mask


def accept(filters: Iterable[Filter]) -> tuple[Conditions, list[Filter]]:
    """What the reader applies, exactly, and what is left to Spark."""
    accepted: list[Condition] = []
    left: list[Filter] = []
    for each in filters:
        found = _condition(each)
        if found is None:
            left.append(each)
        else:
            accepted.extend(found)
    return Conditions(tuple(accepted)), left


def _condition(given: Filter) -> list[Condition] | None:
    is_negated = isinstance(given, Not)
    inner = given.child if isinstance(given, Not) else given
    path: tuple[str, ...] = getattr(inner, "attribute", ())
    if len(path) != 1 or path[0].lower() not in ("topic", "partition", "offset", "timestamp"):
        return None
    column = path[0].lower()
    if isinstance(inner, IsNotNull):
        return None if is_negated else []  # these columns have no nulls
    if isinstance(inner, In):
        values = [_value(column, value) for value in inner.value]
        if not values or None in values:
            return None
        return [Condition(column, _is_in, tuple(values), is_negated)]
    if isinstance(inner, StringStartsWith) and column == "topic":
        return [Condition(column, str.startswith, inner.value, is_negated)]
    compare = _COMPARISONS.get(type(inner))
    value = _value(column, getattr(inner, "value", None))
    if compare is None or value is None:
        return None
    return [Condition(column, compare, value, is_negated)]


def _value(column: str, value: object) -> str | int | None:
    """As the column is compared; None if it is of another kind."""
    if column == "topic":
        return value if isinstance(value, str) else None
    if column == "timestamp":
        return (value - _EPOCH) // _MICROSECOND if isinstance(value, datetime) and value.tzinfo is not None else None
    return value if type(value) is int else None


def _is_in(column: Any, values: tuple[Any, ...]) -> Any:
    return np.isin(column, values) if isinstance(column, np.ndarray) else column in values
