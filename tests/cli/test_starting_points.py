"""Where reading begins."""

from collections.abc import Iterable

import pytest

from stoker.cli.failure import CommandFailed
from stoker.cli.starting_points import (
    AtOffset,
    AtOffsets,
    AtTime,
    Beginning,
    End,
    Last,
    MalformedOffset,
    Partition,
    StartingPoint,
    offsets_to_begin_at,
    parse_offset,
)

ZERO, ONE = Partition("orders", 0), Partition("orders", 1)


class FakeOffsets:
    """Partition 0 goes from 10 to 100, partition 1 from 0 to 5."""

    def beginnings(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return {each: {ZERO: 10, ONE: 0}[each] for each in partitions}

    def ends(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return {each: {ZERO: 100, ONE: 5}[each] for each in partitions}

    def at_time(self, partitions: Iterable[Partition], milliseconds: int) -> dict[Partition, int]:
        return {each: {ZERO: 50, ONE: 5}[each] for each in partitions if milliseconds == 77}


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ("0", AtOffset(offset=0)),
        ("100", AtOffset(offset=100)),
        ("-7", AtOffset(offset=-7)),
        ("earliest", Beginning()),
        ("latest", End()),
        ("0:100", AtOffsets(by_partition={0: 100})),
        ("0:100, 2:-5", AtOffsets(by_partition={0: 100, 2: -5})),
    ],
)
def test_parses_offsets(text: str, point: StartingPoint) -> None:
    assert parse_offset(text) == point


@pytest.mark.parametrize("text", ["", "x", "1.5", "-", "--1", "0:", ":1", "0:1,", "a:1", "-1:5", "٣"])
def test_refuses_with_the_choices(text: str) -> None:
    with pytest.raises(MalformedOffset, match="is no offset; give a number, -N for N before the end, earliest"):
        parse_offset(text)


@pytest.mark.parametrize(
    ("point", "zero", "one"),
    [
        (Beginning(), 10, 0),
        (End(), 100, 5),
        (Last(count=3), 100, 5),
        (AtTime(milliseconds=77), 50, 5),
        (AtOffset(offset=5), 10, 5),
        (AtOffset(offset=0), 10, 0),
        (AtOffset(offset=-3), 97, 2),
        (AtOffset(offset=-1000), 10, 0),
        (AtOffsets(by_partition={0: 99, 1: -1}), 99, 4),
    ],
)
def test_offsets_to_begin_at(point: StartingPoint, zero: int, one: int) -> None:
    assert offsets_to_begin_at(point, [ZERO, ONE], FakeOffsets()) == {ZERO: zero, ONE: one}


def test_an_offset_past_the_end_is_refused_with_the_range() -> None:
    assert offsets_to_begin_at(AtOffset(offset=100), [ZERO], FakeOffsets()) == {ZERO: 100}
    with pytest.raises(CommandFailed, match="orders-1 has no offset 6: it goes from 0 to 5"):
        offsets_to_begin_at(AtOffset(offset=6), [ZERO, ONE], FakeOffsets())
