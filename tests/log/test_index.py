"""The sparse indexes and their files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.log.index import CorruptIndex, IndexCache, OffsetIndex, TimeIndex, read_last_time_entry

ENTRIES = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 5000)), max_size=40)


@given(steps=ENTRIES, base_offset=st.integers(0, 2**40))
def test_the_offset_index_finds_what_a_list_finds(steps: list[tuple[int, int]], base_offset: int) -> None:
    index = OffsetIndex(base_offset)
    entries: list[tuple[int, int]] = []
    offset, position = base_offset, 0
    for offset_step, position_step in steps:
        offset, position = offset + offset_step, position + position_step
        index.append(offset, position)
        entries.append((offset, position))
    assert [index[slot] for slot in range(len(index))] == entries
    for wanted in range(base_offset, offset + 2, 7):
        below = [entry for entry in entries if entry[0] <= wanted]
        assert index.floor(wanted) == (below[-1] if below else None)
    for wanted in range(0, position + 2, 97):
        assert index.floor_position(wanted) == max([0, *(entry[1] for entry in entries if entry[1] <= wanted)])


@given(timestamps=st.lists(st.integers(-1, 100), max_size=40))
def test_the_time_index_only_rises(timestamps: list[int]) -> None:
    index = TimeIndex(1000)
    largest = -1
    entries = []
    for number, timestamp in enumerate(timestamps):
        index.maybe_append(timestamp, 1000 + number)
        if timestamp > largest:
            largest = timestamp
            entries.append((timestamp, 1000 + number))
    assert [index[slot] for slot in range(len(index))] == entries
    for wanted in range(102):
        below = [entry for entry in entries if entry[0] < wanted]
        assert index.before(wanted) == (below[-1] if below else None)


def test_the_files_have_kafkas_format(tmp_path: Path) -> None:
    offsets = OffsetIndex(100)
    offsets.append(107, 4200)
    assert bytes(offsets.entries) == bytes.fromhex("00000007 00001068")
    times = TimeIndex(100)
    times.maybe_append(1_700_000_000_000, 107)
    assert bytes(times.entries) == bytes.fromhex("0000018bcfe56800 00000007")
    path = tmp_path / "index"
    path.write_bytes(offsets.entries)
    assert OffsetIndex.load(str(path), 100, 5000).entries == offsets.entries
    path.write_bytes(times.entries)
    assert TimeIndex.load(str(path), 100).entries == times.entries
    assert read_last_time_entry(str(path), 100) == (1_700_000_000_000, 107)
    path.write_bytes(b"")
    assert read_last_time_entry(str(path), 100) is None


def test_zeros_of_a_preallocated_index_are_no_entries(tmp_path: Path) -> None:
    index = OffsetIndex(0)
    index.append(255, 0x0100)
    path = tmp_path / "index"
    path.write_bytes(bytes(index.entries) + bytes(8000))
    assert OffsetIndex.load(str(path), 0, 5000).entries == index.entries


@pytest.mark.parametrize(
    "content",
    [None, b"\0" * 7, b"\xff\xff\xff\xff\0\0\0\5", b"\0\0\0\5\0\1\0\0"],
    ids=["missing", "7 bytes", "a negative offset", "a position past the end"],
)
def test_an_offset_index_that_cannot_be_is_corrupt(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "index"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CorruptIndex):
        OffsetIndex.load(str(path), 0, 1000)


@pytest.mark.parametrize(
    "content",
    [None, b"\0" * 13, bytes(7) + b"\5" + bytes(4) + bytes(7) + b"\3" + b"\0\0\0\1", bytes(7) + b"\5" + b"\xff" * 4],
    ids=["missing", "13 bytes", "falling timestamps", "a negative offset"],
)
def test_a_time_index_that_cannot_be_is_corrupt(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "index"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CorruptIndex):
        TimeIndex.load(str(path), 0)


class Owner:
    def __init__(self) -> None:
        self.offset_index: OffsetIndex | None = None


def test_the_cache_is_bounded_in_bytes() -> None:
    cache = IndexCache(limit_bytes=3000)
    owners = [Owner() for _ in range(10)]
    for owner in owners:
        cache.keep(owner, OffsetIndex(0, bytes(800)))
    assert [owner.offset_index is not None for owner in owners] == [False] * 8 + [True] * 2
    cache.forget(owners[-1])
    assert owners[-1].offset_index is None
    cache.keep(owners[0], OffsetIndex(0, bytes(8000)))
    assert owners[0].offset_index is not None, "the one in use stays, however large"
