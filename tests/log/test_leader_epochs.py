"""Which leader epoch wrote which offsets."""

from pathlib import Path

import pytest

from stoker.log.errors import CorruptCheckpoint
from stoker.log.leader_epochs import EpochEntry, LeaderEpochs
from tests.log.batches import batch, new_log, reopen


def epochs(*entries: tuple[int, int]) -> LeaderEpochs:
    return LeaderEpochs([EpochEntry(*entry) for entry in entries])


ASSIGNED = {
    "first": ([], (3, 0), [(3, 0)]),
    "next": ([(3, 0)], (5, 10), [(3, 0), (5, 10)]),
    "the same again": ([(3, 0)], (3, 10), [(3, 0)]),
    "the same, earlier": ([(2, 0), (3, 10)], (3, 8), [(2, 0), (3, 8)]),
    "nothing written meanwhile": ([(3, 0), (4, 10)], (5, 10), [(3, 0), (5, 10)]),
    "an older epoch": ([(3, 0), (5, 10)], (4, 20), [(3, 0), (4, 20)]),
    "an earlier offset": ([(3, 0), (5, 10)], (6, 5), [(3, 0), (6, 5)]),
}


@pytest.mark.parametrize("case", ASSIGNED)
def test_assign(case: str) -> None:
    before, (epoch, start_offset), after = ASSIGNED[case]
    subject = epochs(*before)
    subject.assign(epoch, start_offset)
    assert subject.entries == after
    assert subject.is_dirty == (before != after)


@pytest.mark.parametrize(
    ("requested", "expected"),
    [(-1, (-1, -1)), (1, (1, 5)), (2, (2, 20)), (3, (2, 20)), (4, (4, 30)), (5, (4, 30)), (7, (7, 99)), (8, (-1, -1))],
)
def test_the_end_offset_of_an_epoch_is_where_the_next_began(requested: int, expected: tuple[int, int]) -> None:
    assert epochs((2, 5), (4, 20), (7, 30)).end_offset_for(requested, 99) == expected


def test_without_epochs_no_end_offset_is_known() -> None:
    assert epochs().end_offset_for(0, 10) == (-1, -1)
    assert epochs().latest == -1


@pytest.mark.parametrize(("offset", "epoch"), [(0, -1), (5, 2), (19, 2), (20, 4), (500, 7)])
def test_the_epoch_of_an_offset(offset: int, epoch: int) -> None:
    assert epochs((2, 5), (4, 20), (7, 30)).epoch_of(offset) == epoch


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (0, [(2, 5), (4, 20)]),
        (5, [(2, 5), (4, 20)]),
        (6, [(2, 6), (4, 20)]),
        (20, [(4, 20)]),
        (25, [(4, 25)]),
    ],
)
def test_truncate_from_start(start: int, expected: list[tuple[int, int]]) -> None:
    subject = epochs((2, 5), (4, 20))
    subject.truncate_from_start(start)
    assert subject.entries == expected


@pytest.mark.parametrize(
    ("end", "expected"), [(0, []), (5, []), (6, [(2, 5)]), (20, [(2, 5)]), (21, [(2, 5), (4, 20)])]
)
def test_truncate_from_end(end: int, expected: list[tuple[int, int]]) -> None:
    subject = epochs((2, 5), (4, 20))
    subject.truncate_from_end(end)
    assert subject.entries == expected


def test_the_checkpoint_has_kafkas_format(tmp_path: Path) -> None:
    path = tmp_path / "leader-epoch-checkpoint"
    subject = epochs((0, 0))
    subject.assign(3, 120)
    subject.save(str(path), sync=False)
    assert path.read_text() == "0\n2\n0 0\n3 120\n"
    assert LeaderEpochs.load(str(path)).entries == [(0, 0), (3, 120)]
    path.write_text("0\n1\nthree 120\n")
    with pytest.raises(CorruptCheckpoint):
        LeaderEpochs.load(str(path))


@pytest.mark.parametrize("clean", [True, False])
def test_epochs_survive_a_restart(tmp_path: Path, clean: bool) -> None:
    log = new_log(tmp_path)
    for epoch in (0, 0, 2, 5):
        log.append(batch(b"a"), leader_epoch=epoch)
    log.assign_leader_epoch(6)
    assert log.leader_epoch == 6
    log = reopen(log, clean=clean)
    assert log.leader_epoch == 5, "nothing was written in epoch 6"
    assert [log.end_offset_for_epoch(epoch) for epoch in (0, 1, 2, 5)] == [(0, 2), (0, 2), (2, 3), (5, 4)]
    assert log.epoch_of(2) == 2


def test_a_damaged_checkpoint_is_rebuilt_from_the_log(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for epoch in (0, 2, 5):
        log.append(batch(b"a"), leader_epoch=epoch)
    log.close()
    (tmp_path / "topic-0" / "leader-epoch-checkpoint").write_bytes(b"\xff\xfe")
    log = reopen(log, clean=False)
    assert [log.end_offset_for_epoch(epoch) for epoch in (0, 2, 5)] == [(0, 1), (2, 2), (5, 3)]
