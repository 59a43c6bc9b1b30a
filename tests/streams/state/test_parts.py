"""Parts of stores: when they are read, and when they are kept."""

from pathlib import Path

import pyarrow as pa
import pytest

from stoker.streams.state import parts
from stoker.streams.state.views import StoreView
from tests.streams.state.written_state import FILES, STRING_COUNTS, WrittenState, counts, reading_from


def test_a_part_is_read_once(state: WrittenState, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new micro-batch makes only its own rows be read, also for one who asks for the store anew."""
    read: list[int] = []

    class Counted(parts._SortedRows):
        def __init__(self, table: pa.Table, columns: parts.StoreColumns) -> None:
            read.append(len(table))
            super().__init__(table, columns)

    monkeypatch.setattr(parts, "_SortedRows", Counted)
    kept = parts.Parts()
    state.commit("counts", STRING_COUNTS, counts(a=1, b=1, c=1))
    for _ in range(2):
        view = StoreView(state.directory, "counts", parts=kept)
        assert [view.get("a"), view.get("b"), view.get("c")] == [{"count": 1}] * 3
    assert read == [3]
    state.commit("counts", STRING_COUNTS, counts(a=2))
    assert [view.get("a"), view.get("b")] == [{"count": 2}, {"count": 1}]
    assert read == [3, 1]


def bytes_kept(kept: parts.Parts, state: WrittenState) -> int:
    files = state.manifest.stores["counts"]
    return sum(part.bytes_in_memory for part in kept.of_store(state.directory, "counts", files))


def test_a_large_part_is_kept_when_it_is_asked_often(state: WrittenState) -> None:
    kept = parts.Parts()
    state.commit("counts", STRING_COUNTS, counts(a=1, b=1, c=1))
    view = StoreView(state.directory, "counts", parts=kept)
    is_kept = []
    with reading_from(FILES):
        for _ in range(10):
            assert view.get("b") == {"count": 1}
            is_kept.append(bytes_kept(kept, state) > 0)
    assert is_kept == [False] * 8 + [True] * 2


def test_memory_has_a_bound(tmp_path: Path) -> None:
    """A store that is too large is always read from its files, and those that were not asked for longest are let go."""
    kept = parts.Parts(most_bytes=100)
    small, large, other = [WrittenState(tmp_path / name) for name in ("small", "large", "other")]
    small.commit("counts", STRING_COUNTS, counts(a=1, b=2))
    large.commit("counts", STRING_COUNTS, counts(a=1, b=2, c=3))
    other.commit("counts", STRING_COUNTS, counts(**{"a" * 60: 1, "b" * 60: 2}))
    assert StoreView(small.directory, "counts", parts=kept).get("a") == {"count": 1}
    for _ in range(12):
        assert StoreView(large.directory, "counts", parts=kept).get("c") == {"count": 3}
    assert bytes_kept(kept, large) == 0
    assert bytes_kept(kept, small) > 0
    assert StoreView(other.directory, "counts", parts=kept).get("a" * 60) == {"count": 1}
    assert bytes_kept(kept, other) > 0
    assert bytes_kept(kept, small) == 0
