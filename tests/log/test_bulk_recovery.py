"""Recovery of many small batches at once finds what recovery batch by batch finds, to the last byte of the indexes."""

import shutil
from pathlib import Path
from random import Random

import pytest

from stoker.log import recovery
from stoker.log.config import LogConfig
from stoker.log.files import FileCache
from stoker.log.opening import open_partition_log
from stoker.log.partition import PartitionLog
from stoker.log.producer_state import AppendOrigin
from stoker.wire.record_batch import ControlType, build_end_transaction_batch
from tests.log.batches import NOW_MS, FakeClock, batch, new_log, read_records


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of some thousand small batches, of producers and transactions, of several epochs, in two segments."""
    chance = Random(5)
    clock = FakeClock()
    log = new_log(tmp_path_factory.mktemp("crashed"), LogConfig(index_interval_bytes=300, segment_bytes=400_000), clock)
    sequences = {3: 0, 4: 0}
    for number in range(5000):
        clock.advance(chance.randrange(3))
        producer_id = chance.choice((-1, -1, -1, 3, 4))
        values = [b"v" * chance.choice((5, 5, 5, 40))] * chance.choice((1, 1, 1, 3))
        records = batch(
            *values,
            timestamp=clock() - chance.randrange(50),
            producer_id=producer_id,
            producer_epoch=min(producer_id, 0),
            base_sequence=sequences.get(producer_id, -1),
            transactional=producer_id == 4,
        )
        log.append(records, leader_epoch=number // 1500)
        if producer_id in sequences:
            sequences[producer_id] += len(values)
        if producer_id == 4 and number % 3 == 0:
            control = chance.choice((ControlType.ABORT, ControlType.COMMIT))
            marker = build_end_transaction_batch(control, producer_id=4, producer_epoch=0, timestamp=clock())
            log.append(memoryview(marker), leader_epoch=number // 1500, origin=AppendOrigin.COORDINATOR)
    log.flush()
    log.close(clean=False)
    assert len(log.segments) == 2
    return Path(log.directory)


def recovered(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, in_bulk: bool, epoch: int | None = None
) -> tuple[PartitionLog, object]:
    monkeypatch.setattr(recovery, "_BULK_BYTES", 70_000 if in_bulk else 1 << 40)
    monkeypatch.setattr("stoker.log.bulk_recovery._STRETCH_BYTES", 50_000)
    log = open_partition_log(
        str(path),
        topic="topic",
        partition=0,
        config=LogConfig(index_interval_bytes=300),
        files=FileCache(8),
        clock=FakeClock(NOW_MS + 20_000),
        latest_leader_epoch=epoch,
    )
    assert log._active is not None
    assert log._producers is not None
    active = log._active
    indexes = active.indexes
    state = (
        log.log_end_offset,
        [(segment.base_offset, segment.size, segment.max_timestamp) for segment in log.segments],
        [Path(segment.path(".index")).read_bytes() for segment in log.segments[:-1]],
        [Path(segment.path(".timeindex")).read_bytes() for segment in log.segments[:-1]],
        bytes(indexes.offset_index.entries),
        bytes(indexes.time_index.entries),
        (indexes.max_timestamp, indexes.offset_of_max_timestamp, indexes.bytes_since_entry, active.first_timestamp),
        [log.epoch_of(offset) for offset in range(0, log.log_end_offset, 50)],
        log._producers.snapshot(),
        log.aborted_transactions(0, log.log_end_offset),
    )
    return log, state


@pytest.mark.parametrize("damage", ["none", "byte", "byte late", "torn", "zeros", "offset", "epoch"])
def test_in_bulk_and_one_by_one_agree(
    crashed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    """On a good log, and on one that is damaged anywhere: the same cut, the same words about it."""
    states, messages, records = [], [], []
    for in_bulk in (True, False):
        path = tmp_path / "topic-0"
        shutil.copytree(crashed, path)
        file = sorted(path.glob("*.log"))[0 if damage in ("byte", "offset") else -1]
        content = bytearray(file.read_bytes())
        match damage:
            case "byte":
                content[170_000] ^= 4
            case "byte late":
                content[-10] ^= 4
            case "torn":
                del content[-20:]
            case "zeros":
                content += bytes(1000)
            case "offset":
                position = 0
                while position < 200_000:
                    position += int.from_bytes(content[position + 8 : position + 12]) + 12
                content[position + 6] ^= 8
        file.write_bytes(content)
        caplog.clear()
        log, state = recovered(path, monkeypatch, in_bulk=in_bulk, epoch=2 if damage == "epoch" else None)
        states.append(state)
        messages.append([record.getMessage() for record in caplog.records])
        records.append(read_records(log))
        log.close(clean=False)
        shutil.rmtree(path)
    assert states[0] == states[1]
    assert messages[0] == messages[1]
    assert records[0] == records[1]
    assert bool(messages[0]) == (damage != "none")
