"""Idempotent producers: what is a duplicate, a gap, an old epoch, and what survives a restart."""

from pathlib import Path

import pytest

from stoker.log.config import LogConfig
from stoker.log.errors import AppendRefused, CorruptCheckpoint
from stoker.log.partition import AppendResult, PartitionLog
from stoker.log.producer_state import AppendOrigin, ProducerStates, TransactionMarker, last_sequence_of
from stoker.wire.error_codes import ErrorCode
from stoker.wire.record_batch import ControlType, build_end_transaction_batch
from tests.log.batches import NOW_MS, FakeClock, batch, new_log, reopen, values_of

MAX_SEQUENCE = 2**31 - 1


def produce(
    log: PartitionLog, sequence: int, count: int = 1, *, producer_id: int = 7, epoch: int = 0, timestamp: int = NOW_MS
) -> AppendResult:
    values = [b"%d" % (sequence + number) for number in range(count)]
    records = batch(*values, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, timestamp=timestamp)
    return log.append(records, leader_epoch=0)


def refused(log: PartitionLog, sequence: int, count: int = 1, *, producer_id: int = 7, epoch: int = 0) -> ErrorCode:
    with pytest.raises(AppendRefused) as refusal:
        produce(log, sequence, count, producer_id=producer_id, epoch=epoch)
    return refusal.value.error_code


@pytest.mark.acceptance("B059")
def test_a_batch_sent_twice_is_written_once(tmp_path: Path) -> None:
    """The second copy is answered with the offset of the first, and is not written."""
    log = new_log(tmp_path)
    first = produce(log, 0, 3)
    again = produce(log, 0, 3)
    assert (first.base_offset, first.last_offset, first.duplicate) == (0, 2, False)
    assert (again.base_offset, again.last_offset, again.duplicate) == (0, 2, True)
    assert values_of(log) == [b"0", b"1", b"2"]


@pytest.mark.acceptance("B062")
def test_the_last_five_batches_are_remembered(tmp_path: Path) -> None:
    """Five batches in flight may all come again, in any order; the sixth last one is out of sequence."""
    log = new_log(tmp_path)
    for sequence in range(6):
        produce(log, sequence)
    for sequence in (5, 1, 3, 2, 4):
        assert produce(log, sequence)[:2] == (sequence, sequence)
    assert refused(log, 0) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.log_end_offset == 6


@pytest.mark.acceptance("B060")
def test_a_gap_is_refused(tmp_path: Path) -> None:
    """A sequence number that is not the next gets OUT_OF_ORDER_SEQUENCE_NUMBER, and nothing is written."""
    log = new_log(tmp_path)
    produce(log, 0, 2)
    for sequence, count in ((3, 1), (1, 1), (0, 1), (0, 3), (MAX_SEQUENCE, 1)):
        assert refused(log, sequence, count) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produce(log, 2).base_offset == 2


@pytest.mark.acceptance("B061")
def test_another_session_is_another_producer(tmp_path: Path) -> None:
    """Duplicates are found per producer id; with a new id the same records are written again."""
    log = new_log(tmp_path)
    produce(log, 0, producer_id=7)
    assert not produce(log, 0, producer_id=8).duplicate
    assert values_of(log) == [b"0", b"0"]


def test_epochs(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    produce(log, 0, epoch=1)
    assert refused(log, 1, epoch=0) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert refused(log, 1, epoch=2) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produce(log, 0, epoch=2).base_offset == 1
    assert refused(log, 1, epoch=1) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_an_unknown_producer_may_begin_anywhere(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    assert produce(log, 41).base_offset == 0
    assert refused(log, 43) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produce(log, 42).base_offset == 1


def test_sequences_go_on_with_0_after_the_largest(tmp_path: Path) -> None:
    assert last_sequence_of(MAX_SEQUENCE - 1, 1) == MAX_SEQUENCE
    assert last_sequence_of(MAX_SEQUENCE - 1, 3) == 1
    assert last_sequence_of(-1, 3) == -1
    log = new_log(tmp_path)
    produce(log, MAX_SEQUENCE - 1, 2)
    assert produce(log, 0).base_offset == 2
    assert produce(log, MAX_SEQUENCE - 1, 2).duplicate
    produce(log, MAX_SEQUENCE - 1, 4, producer_id=9)
    assert produce(log, 2, producer_id=9).base_offset == 7


@pytest.mark.parametrize("clean", [True, False])
def test_duplicates_gaps_and_old_epochs_across_a_restart(tmp_path: Path, clean: bool) -> None:
    log = new_log(tmp_path, LogConfig(segment_bytes=2000))
    for number in range(100):
        produce(log, 3 * number, 3, epoch=4)
        produce(log, number, producer_id=8)
        log.append(batch(b"no producer"), leader_epoch=0)
    log = reopen(log, clean=clean)
    assert log.log_end_offset == 500
    for number in range(95, 100):
        assert produce(log, 3 * number, 3, epoch=4) == (5 * number, 5 * number + 2, -1, 0, True)
        assert produce(log, number, producer_id=8).duplicate
    assert refused(log, 301, epoch=4) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(log, 300, epoch=3) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert produce(log, 300, epoch=4).base_offset == 500
    assert log.active_producers()[8].epoch == 0


def test_state_survives_several_clean_restarts_without_the_producer(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    produce(log, 0, 3)
    for _ in range(3):
        log = reopen(log, clean=True)
        log.append(batch(b"x"), leader_epoch=0)
    assert produce(log, 0, 3).duplicate
    assert len(list(Path(log.directory).glob("*.snapshot"))) == 1


def test_a_damaged_snapshot_costs_time_not_truth(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(segment_bytes=1000))
    for sequence in range(50):
        produce(log, sequence)
    log.close(clean=False)
    for snapshot in Path(log.directory).glob("*.snapshot"):
        content = bytearray(snapshot.read_bytes())
        content[-1] ^= 1
        snapshot.write_bytes(content)
    log = reopen(log, clean=False)
    assert produce(log, 49).duplicate
    assert produce(log, 50).base_offset == 50


def test_idle_producers_expire(tmp_path: Path) -> None:
    clock = FakeClock()
    log = new_log(tmp_path, LogConfig(producer_id_expiration_ms=1000), clock)
    produce(log, 0)
    produce(log, 0, producer_id=8, timestamp=NOW_MS + 500)
    log.expire_producers(NOW_MS + 1000)
    assert list(log.active_producers()) == [8]
    log = reopen(log, clean=True)
    clock.advance(2000)
    assert list(log.active_producers()) == []
    assert produce(log, 5).base_offset == 2, "whoever is forgotten may begin anywhere"


def test_open_transactions_keep_their_producer() -> None:
    states = ProducerStates()
    states.add(1, 0, 0, 0, 10, 10, NOW_MS, True)
    states.add(2, 0, 0, 0, 11, 11, NOW_MS, False)
    states.expire(NOW_MS + 10**9, 1)
    assert list(states.entries) == [1]


def test_snapshots_round_trip() -> None:
    states = ProducerStates()
    states.add(5, 3, 10, 12, 100, 102, NOW_MS, False)
    states.add(5, 3, 13, 13, 103, 103, NOW_MS + 1, False)
    states.add(9, 0, MAX_SEQUENCE, 1, 120, 122, NOW_MS, True)
    states.add(8, 0, 0, 0, 110, 110, NOW_MS, True)
    states.end_transaction(TransactionMarker(4, 2, True, 17), 99, NOW_MS)
    loaded = ProducerStates.from_snapshot(states.snapshot())
    assert list(loaded.entries) == [5, 9, 8, 4]
    assert loaded.entries[5].batches == states.entries[5].batches[-1:]
    assert loaded.entries[9].batches == states.entries[9].batches
    assert loaded.entries[4].coordinator_epoch == 17
    assert loaded.entries[4].batches == []
    assert loaded.first_unstable_offset == 110
    assert loaded.open_transactions == {8: 110, 9: 120}


def test_damaged_snapshots_are_told() -> None:
    states = ProducerStates()
    states.add(5, 3, 10, 12, 100, 102, NOW_MS, False)
    good = states.snapshot()
    for bad in (b"", good[:9], good[:-1], good + b"\0", b"\0\2" + good[2:], good[:-1] + bytes([good[-1] ^ 1])):
        with pytest.raises(CorruptCheckpoint):
            ProducerStates.from_snapshot(bad)


def test_a_coordinator_may_not_use_an_old_epoch(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    produce(log, 0, epoch=5)
    marker = build_end_transaction_batch(ControlType.ABORT, producer_id=7, producer_epoch=4, timestamp=NOW_MS)
    with pytest.raises(AppendRefused) as refusal:
        log.append(memoryview(marker), leader_epoch=0, origin=AppendOrigin.COORDINATOR)
    assert refusal.value.error_code is ErrorCode.INVALID_PRODUCER_EPOCH


def test_sequences_go_on_after_a_transaction_and_begin_anew_with_an_epoch(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    produce(log, 0, 2)
    for epoch in (0, 1):
        marker = build_end_transaction_batch(ControlType.COMMIT, producer_id=7, producer_epoch=epoch, timestamp=NOW_MS)
        log.append(memoryview(marker), leader_epoch=0, origin=AppendOrigin.COORDINATOR)
        if epoch == 0:
            assert refused(log, 0) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            produce(log, 2)
    assert refused(log, 3, epoch=0) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert refused(log, 3, epoch=1) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    produce(log, 0, epoch=1)
