from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.client.fetching import PartitionRange
from stoker.client.topic_partition import TopicPartition
from stoker.spark.offsets import Offsets
from stoker.spark.planning import Limits, backlog, limited, ranges_between, split


def places(*offsets: int) -> Offsets:
    return {TopicPartition("t", partition): offset for partition, offset in enumerate(offsets)}


def ranges(*sizes: int, begin: int = 0) -> list[PartitionRange]:
    return [PartitionRange("t", partition, begin, begin + size) for partition, size in enumerate(sizes)]


def test_the_backlog_counts_what_lies_ahead_alone() -> None:
    assert backlog(places(5, 5, 9), places(8, 5, 2)) == 3


@pytest.mark.parametrize(
    ("start", "end", "most", "expected"),
    [
        (places(0, 0), places(100, 300), 40, places(10, 30)),
        (places(50, 0), places(100, 50), 10, places(55, 5)),
        # Nothing is starved: a partition that would get less than one offset gets one.
        (places(0, 0), places(1, 999), 10, places(1, 9)),
        # All fits.
        (places(0, 0), places(3, 4), 7, places(3, 4)),
        # A partition that ends before its start is for others to judge.
        (places(7, 0), places(5, 100), 10, places(5, 10)),
        (places(7), places(7), 10, places(7)),
    ],
)
def test_a_limit_is_shared_in_proportion(start: Offsets, end: Offsets, most: int, expected: Offsets) -> None:
    assert limited(start, end, most) == expected


@given(st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**40)), max_size=10), st.integers(1, 2**41))
def test_a_limited_end_lies_between(pairs: list[tuple[int, int]], most: int) -> None:
    start = places(*(begin for begin, _ in pairs))
    end = places(*(begin + size for begin, size in pairs))
    nearer = limited(start, end, most)
    assert all(start[each] <= nearer[each] <= end[each] for each in end)
    assert all(nearer[each] > start[each] for each in end if end[each] > start[each])
    assert backlog(start, nearer) <= most + len(pairs)


def test_ranges_are_in_order_and_not_empty() -> None:
    assert ranges_between(places(0, 5, 9), places(4, 5, 10)) == [
        PartitionRange("t", 0, 0, 4),
        PartitionRange("t", 2, 9, 10),
    ]


@pytest.mark.parametrize(
    ("sizes", "limits", "expected"),
    [
        ((10, 10), Limits(), [10, 10]),
        ((10, 10), Limits(min_partitions=2), [10, 10]),
        ((10, 10), Limits(min_partitions=4), [5, 5, 5, 5]),
        ((100, 1), Limits(min_partitions=5), [25, 25, 25, 25, 1]),
        ((3,), Limits(min_partitions=10), [1, 1, 1]),
        ((10, 3), Limits(max_records_per_partition=4), [3, 3, 4, 3]),
        ((10, 3), Limits(min_partitions=3, max_records_per_partition=100), [5, 5, 3]),
        ((), Limits(min_partitions=3), []),
    ],
)
def test_ranges_are_cut(sizes: tuple[int, ...], limits: Limits, expected: list[int]) -> None:
    assert [piece.end - piece.start for piece in split(ranges(*sizes), limits)] == expected


@given(
    st.lists(st.integers(1, 500), max_size=8),
    st.none() | st.integers(1, 50),
    st.none() | st.integers(1, 50),
)
def test_pieces_are_the_whole(sizes: list[int], least: int | None, most: int | None) -> None:
    whole = ranges(*sizes, begin=7)
    pieces = split(whole, Limits(least, most))
    assert all(piece.start < piece.end for piece in pieces)
    assert most is None or all(piece.end - piece.start <= most for piece in pieces)
    for each in whole:
        parts = [piece for piece in pieces if piece.partition == each.partition]
        assert parts[0].start == each.start
        assert parts[-1].end == each.end
        assert all(first.end == second.start for first, second in pairwise(parts))
