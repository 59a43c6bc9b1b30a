import operator
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringStartsWith,
)

from stoker.client.fetching import PartitionRange
from stoker.client.topic_partition import TopicPartition
from stoker.spark.filters import accept

MOMENT = datetime(2026, 5, 1, 12, tzinfo=UTC)
MILLISECONDS = int(MOMENT.timestamp() * 1000)

COMPARISONS = {
    EqualTo: operator.eq,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
}


@pytest.mark.parametrize(
    "left_to_spark",
    [
        EqualTo(("value",), b"x"),
        EqualTo(("value", "offset"), 5),
        EqualTo(("offset",), None),
        EqualTo(("offset",), 5.0),
        EqualTo(("offset",), True),
        EqualTo(("timestamp",), MOMENT.replace(tzinfo=None)),
        EqualTo(("topic",), 5),
        In(("offset",), (1, None)),
        In(("offset",), ()),
        IsNull(("offset",)),
        Not(IsNotNull(("offset",))),
        StringContains(("topic",), "x"),
    ],
)
def test_what_is_left_to_spark(left_to_spark: Filter) -> None:
    conditions, left = accept([left_to_spark, EqualTo(("partition",), 1)])
    assert left == [left_to_spark]
    assert [each.column for each in conditions.all] == ["partition"]


@pytest.mark.parametrize(
    ("given", "selected"),
    [
        ([EqualTo(("partition",), 1)], ["a-1", "ab-1"]),
        ([EqualNullSafe(("PARTITION",), 1), IsNotNull(("topic",))], ["a-1", "ab-1"]),
        ([Not(EqualTo(("topic",), "a"))], ["ab-0", "ab-1"]),
        ([In(("topic",), ("a", "c")), LessThan(("partition",), 1)], ["a-0"]),
        ([Not(In(("partition",), (0,)))], ["a-1", "ab-1"]),
        ([StringStartsWith(("topic",), "ab")], ["ab-0", "ab-1"]),
    ],
)
def test_partitions_are_selected(given: list[Filter], selected: list[str]) -> None:
    conditions, left = accept(given)
    assert not left
    partitions = [TopicPartition(topic, number) for topic in ("a", "ab") for number in (0, 1)]
    assert [str(each) for each in partitions if conditions.select(each)] == selected


offset_filters = st.one_of(
    st.builds(lambda kind, value: kind(("offset",), value), st.sampled_from(sorted(COMPARISONS, key=str)), st.integers(0, 12)),
    st.builds(lambda values: In(("offset",), tuple(values)), st.lists(st.integers(0, 12), min_size=1)),
).flatmap(lambda each: st.sampled_from([each, Not(each)]))  # fmt: skip


@given(st.lists(offset_filters, max_size=4))
def test_a_narrowed_range_and_the_mask_leave_what_the_filters_leave(filters: list[Filter]) -> None:
    conditions, left = accept(filters)
    assert not left
    narrow = conditions.narrow(PartitionRange("t", 0, 2, 10))
    offsets = np.arange(narrow.start, narrow.end)
    mask = conditions.mask(offsets, np.zeros_like(offsets))
    kept = offsets if mask is None else offsets[mask]
    assert kept.tolist() == [offset for offset in range(2, 10) if all(holds(each, offset) for each in filters)]


def holds(condition: Filter, value: int) -> bool:
    if isinstance(condition, Not):
        return not holds(condition.child, value)
    if isinstance(condition, In):
        return value in condition.value
    return bool(COMPARISONS[type(condition)](value, condition.value))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("condition", "first", "kept"),
    [
        (GreaterThan(("timestamp",), MOMENT), 1, [1, 2]),
        (GreaterThanOrEqual(("timestamp",), MOMENT), 0, [0, 1, 2]),
        (GreaterThanOrEqual(("timestamp",), MOMENT + timedelta(microseconds=1)), 1, [1, 2]),
        (GreaterThan(("timestamp",), MOMENT - timedelta(microseconds=1)), 0, [0, 1, 2]),
        (EqualTo(("timestamp",), MOMENT), 0, [0]),
        (LessThan(("timestamp",), MOMENT), None, [-1]),
        (Not(EqualTo(("timestamp",), MOMENT)), None, [-1, 1, 2]),
    ],
)
def test_times(condition: Filter, first: int | None, kept: list[int]) -> None:
    """In milliseconds from a moment."""
    conditions, left = accept([condition])
    assert not left
    assert conditions.earliest_millisecond == (None if first is None else MILLISECONDS + first)
    times = MILLISECONDS + np.arange(-1, 3)
    mask = conditions.mask(np.zeros_like(times), times)
    assert mask is not None
    assert (times[mask] - MILLISECONDS).tolist() == kept
