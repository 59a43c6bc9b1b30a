"""Segments whose batches cannot be read: the batch is named, and memory has a limit."""

from pathlib import Path

import pytest

from stoker.kafka_tools.running import run
from stoker.wire.compression import Codec
from stoker.wire.record_batch import Record, build_batch


def test_a_batch_that_decompresses_to_too_much_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without looking into batches, all of the segment is printed."""
    small = build_batch([Record(0, 1, None, b"x", ())], base_offset=0)
    bomb = build_batch([Record(0, 1, None, bytes(257 * 2**20), ())], base_offset=1, codec=Codec.ZSTD)
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(small + bomb + small)
    assert run("kafka-dump-log.sh", ["--files", str(path)]) == 0
    assert capsys.readouterr().out.count("baseOffset: ") == 3
    assert run("kafka-dump-log.sh", ["--files", str(path), "--deep-iteration"]) == 1
    printed = capsys.readouterr()
    assert printed.out.count("baseOffset: ") == 2
    assert printed.err == (
        'Exception in thread "main" org.apache.kafka.common.InvalidRecordException: the batch with base offset 1 at '
        f"position {len(small)}: zstd records decompress to more than the allowed 268435456 bytes\n"
    )
