"""Time indexes, looked up in offset indexes of any size."""

from pathlib import Path
from random import Random
from struct import pack

import pytest

from stoker.kafka_tools.running import run
from stoker.wire.compression import Codec
from stoker.wire.record_batch import Record, build_batch

BASE = 1000
NAME = f"{BASE:020d}"
ENTRIES = 20_000
PREALLOCATED = bytes(10 * 1024 * 1024 // 8 * 8)


def dump(*arguments: str) -> int:
    return run("kafka-dump-log.sh", ["--files", *arguments])


def write(directory: Path, batches: int, zeros: bytes = b"", *, shuffled: bool = False) -> Path:
    """A log of batches of a record each, all of them in both indexes, but for the first, as Kafka does it."""
    log, offsets, times = bytearray(), [], []
    for number in range(batches):
        offsets.append(pack(">ii", number, len(log)))
        times.append(pack(">qi", 5000 + number, number))
        log += build_batch([Record(0, 5000 + number, None, b"x", ())], base_offset=BASE + number)
    offsets, times = offsets[1:], times[1:]
    if shuffled:
        Random(7).shuffle(offsets)
    (directory / f"{NAME}.log").write_bytes(log)
    (directory / f"{NAME}.index").write_bytes(b"".join(offsets) + zeros)
    path = directory / f"{NAME}.timeindex"
    path.write_bytes(b"".join(times) + zeros[: len(zeros) // 12 * 12])
    return path


def test_a_large_time_index_is_dumped_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a time that grows with its size, whatever was preallocated; squared it would be minutes."""
    path = write(tmp_path, ENTRIES, PREALLOCATED)
    assert dump(str(path)) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.splitlines() == [
        f"Dumping {path}",
        *(f"timestamp: {5000 + number} offset: {BASE + number}" for number in range(1, ENTRIES)),
    ]


def test_what_is_wrong_with_times_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, 4)
    path.write_bytes(pack(">qiqiqi", 5001, 1, 4000, 2, 6000, 9))
    assert dump(str(path)) == 0
    assert capsys.readouterr().err.splitlines() == [
        f"Found timestamp mismatch in :{path}",
        "  Index timestamp: 4000, log timestamp: 5002",
        f"Found out of order timestamp in :{path}",
        "  Index timestamp: 4000, Previously indexed timestamp: 5001",
        f"The following indexed offsets are not found in :{path}",
        f"Indexed offset: {BASE + 9}, found log offset: -1",
    ]


@pytest.mark.parametrize("entries", [[], [0], [0, 2]], ids=["none", "the first", "few"])
def test_an_index_may_have_gaps(tmp_path: Path, capsys: pytest.CaptureFixture[str], entries: list[int]) -> None:
    path = write(tmp_path, 4)
    size = (tmp_path / f"{NAME}.log").stat().st_size // 4
    index = b"".join(pack(">ii", relative, relative * size) for relative in entries)
    (tmp_path / f"{NAME}.index").write_bytes(index)
    assert dump(str(path)) == 0
    assert capsys.readouterr().err == ""


def test_an_index_that_is_out_of_order_is_looked_up_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, 50, shuffled=True)
    assert dump(str(path)) == 0
    assert capsys.readouterr().err == ""


def test_a_batch_that_decompresses_to_too_much_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, 2)
    log = tmp_path / f"{NAME}.log"
    size = log.stat().st_size // 2
    bomb = build_batch([Record(0, 5001, None, bytes(257 * 2**20), ())], base_offset=BASE + 1, codec=Codec.ZSTD)
    log.write_bytes(log.read_bytes()[:size] + bomb)
    assert dump(str(path)) == 1
    assert capsys.readouterr().err == (
        'Exception in thread "main" org.apache.kafka.common.InvalidRecordException: the batch with base offset '
        f"{BASE + 1} at position {size}: zstd records decompress to more than the allowed 268435456 bytes\n"
    )
