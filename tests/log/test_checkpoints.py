"""Kafka's checkpoint files."""

from pathlib import Path

import pytest

from stoker.log.checkpoints import read_entries, read_offsets, write_offsets
from stoker.log.errors import CorruptCheckpoint


def test_offsets_round_trip_in_kafkas_format(tmp_path: Path) -> None:
    path = tmp_path / "recovery-point-offset-checkpoint"
    offsets = {("orders", 0): 12, ("a-b_c.d", 11): 2**60}
    write_offsets(str(path), offsets)
    assert path.read_text() == "0\n2\norders 0 12\na-b_c.d 11 1152921504606846976\n"
    assert read_offsets(str(path)) == offsets
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_or_empty_checkpoint_has_no_entries(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    assert read_entries(str(path)) == []
    path.write_text("")
    assert read_offsets(str(path)) == {}


@pytest.mark.parametrize(
    "content",
    [b"1\n0\n", b"0\n2\na 0 1\n", b"0\nx\n", b"0\n1\na 0\n", b"0\n1\na 0 -1\n", b"0\n1\na b 1\n", b"\xff\xfe\n1\n"],
)
def test_what_nobody_wrote_is_corrupt(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "checkpoint"
    path.write_bytes(content)
    with pytest.raises(CorruptCheckpoint, match=str(path)):
        read_offsets(str(path))
