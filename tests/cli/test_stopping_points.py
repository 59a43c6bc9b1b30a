"""Where reading has enough."""

from stoker.cli.starting_points import Partition
from stoker.cli.stopping_points import AtEnds, AtMoment, Never, StoppingPoint
from tests.cli.test_record_format import FakeRecord

ZERO, ONE = Partition("orders", 0), Partition("orders", 1)
ENDS = {ZERO: 3, ONE: 10}


def at(partition: int, offset: int, time: int = 0) -> FakeRecord:
    return FakeRecord(in_partition=partition, at_offset=offset, at_time=(1, time))


def admitted(stop: StoppingPoint, *records: FakeRecord) -> list[tuple[int, int]]:
    return [(record.partition(), record.offset()) for record in stop.admit(records)]


def at_ends() -> AtEnds:
    return AtEnds(lambda partitions: {partition: ENDS[partition] for partition in partitions})


def test_never() -> None:
    stop = Never()
    stop.assign({ZERO: 0})
    assert admitted(stop, at(0, 7), at(5, 1)) == [(0, 7), (5, 1)]
    stop.end_of_partition(ZERO, 8)
    stop.revoke([ZERO])
    assert not stop.is_reached


def test_up_to_the_ends() -> None:
    stop = at_ends()
    assert not stop.is_reached
    stop.assign({ZERO: 0, ONE: 0})
    assert admitted(stop, at(0, 0), at(1, 4), at(0, 1)) == [(0, 0), (1, 4), (0, 1)]
    assert not stop.is_reached
    assert admitted(stop, at(0, 2), at(0, 3), at(0, 4), at(1, 8)) == [(0, 2), (1, 8)]
    assert not stop.is_reached
    assert admitted(stop, at(1, 9), at(0, 5)) == [(1, 9)]
    assert stop.is_reached
    assert admitted(stop) == []


def test_one_partition() -> None:
    stop = at_ends()
    stop.assign({ZERO: 0})
    assert admitted(stop) == []
    assert admitted(stop, at(0, 0), at(0, 1)) == [(0, 0), (0, 1)]
    assert not stop.is_reached
    assert admitted(stop, at(0, 2), at(0, 3)) == [(0, 2)]
    assert stop.is_reached


def test_a_gap_over_the_end() -> None:
    """The records before the end may be gone, or be markers: then the next one, or the end of the log, tells."""
    stop = at_ends()
    stop.assign({ZERO: 0, ONE: 0})
    assert admitted(stop, at(0, 7)) == []
    stop.end_of_partition(ONE, 9)
    assert not stop.is_reached
    stop.end_of_partition(ONE, 10)
    assert stop.is_reached


def test_what_is_empty_or_read_already_needs_no_record() -> None:
    stop = at_ends()
    stop.assign({ZERO: 3, ONE: 10})
    assert stop.is_reached
    stop = at_ends()
    stop.assign({ZERO: 3, ONE: 9})
    assert not stop.is_reached


def test_partitions_come_and_go() -> None:
    stop = at_ends()
    stop.assign({ZERO: None})
    assert admitted(stop, at(0, 2)) == [(0, 2)]
    stop.assign({ONE: None})
    assert not stop.is_reached
    stop.revoke([ONE])
    assert stop.is_reached
    stop.revoke([ZERO])
    assert not stop.is_reached


class Clock:
    now = 50

    def __call__(self) -> int:
        return self.now


def test_up_to_a_moment_that_has_been() -> None:
    stop = AtMoment(40, Clock())
    assert not stop.is_reached
    stop.assign({ZERO: 0, ONE: 0})
    assert admitted(stop) == []
    assert admitted(stop, at(0, 0, 10), at(1, 0, 39)) == [(0, 0), (1, 0)]
    # The first that is not older ends its partition; what is older behind it does not count.
    assert admitted(stop, at(0, 1, 40), at(0, 2, 39), at(1, 1, 20)) == [(1, 1)]
    assert not stop.is_reached
    stop.end_of_partition(ONE, 2)
    assert stop.is_reached


def test_up_to_a_moment_to_come() -> None:
    clock = Clock()
    stop = AtMoment(60, clock)
    stop.assign({ZERO: 0, ONE: 0})
    stop.end_of_partition(ZERO, 0)
    stop.end_of_partition(ONE, 0)
    assert not stop.is_reached
    assert admitted(stop, at(1, 0, 55)) == [(1, 0)]
    clock.now = 60
    assert not stop.is_reached  # partition 1 may have more
    stop.end_of_partition(ONE, 1)
    assert stop.is_reached


def test_a_record_of_later_ends_a_partition_before_its_time() -> None:
    stop = AtMoment(60, Clock())
    stop.assign({ZERO: 0})
    assert admitted(stop, at(0, 0, 60)) == []
    assert stop.is_reached
    stop.revoke([ZERO])
    assert not stop.is_reached
