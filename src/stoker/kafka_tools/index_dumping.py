"""Offset, time and transaction indexes and snapshots of producers, as kafka-dump-log.sh prints them."""

import sys
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from struct import Struct as Layout
from typing import Final, NamedTuple

from stoker.errors import CorruptRecords, StokerError
from stoker.kafka_tools.failure import JavaError
from stoker.kafka_tools.log_dumping import MOST_DECOMPRESSED, base_offset_of, batches, invalid_batch, open_log
from stoker.log.producer_state import ProducerStates
from stoker.log.transaction_index import TransactionIndex
from stoker.wire.record_batch import iterate_records

_OFFSET_ENTRY: Final = Layout(">ii")
_TIME_ENTRY: Final = Layout(">qi")
_NO_TIMESTAMP: Final = -1
_CORRUPT: Final = "org.apache.kafka.storage.internals.log.CorruptIndexException"


class _Pair(NamedTuple):
    """Something of the index, and what belongs to it in the log."""

    indexed: int
    logged: int


@dataclass(slots=True)
class IndexDump:
    """How indexes are to be printed, and what was wrong with them, by file."""

    only_sanity: bool
    only_verify: bool
    mismatches: dict[str, list[_Pair]] = field(default_factory=dict)
    time_mismatches: dict[str, list[_Pair]] = field(default_factory=dict)
    out_of_order: dict[str, list[_Pair]] = field(default_factory=dict)
    not_found: dict[str, list[_Pair]] = field(default_factory=dict)

    def print_offsets(self, path: Path) -> None:
        """Raises JavaError."""
        base = base_offset_of(path)
        content = _read(path)
        entries = [(base + relative, position) for relative, position in _OFFSET_ENTRY.iter_unpack(_whole(content, 8))]
        log_path = path.with_suffix(".log")
        with open_log(log_path) as log:
            if not entries:
                print(f"{path} is empty.")
                return
            if self.only_sanity:
                problem = None
                if entries[-1][0] < base:
                    problem = (
                        f"Corrupt index found, index file ({path}) has non-zero size but the last offset is "
                        f"{entries[-1][0]} which is less than the base offset {base}."
                    )
                _check(path, content, 8, problem)
                return
            view = memoryview(log)
            for slot, (offset, position) in enumerate(entries):
                if offset == base and slot > 0:
                    return
                first = next(batches(view[position:]), None)
                if first is None:
                    raise JavaError("java.util.NoSuchElementException", f"no batch at position {position}")
                if first.last_offset != offset:
                    self.mismatches.setdefault(str(path.absolute()), []).append(_Pair(offset, first.last_offset))
                if not self.only_verify:
                    print(f"offset: {offset} position: {position}")

    def print_times(self, path: Path) -> None:
        """Raises JavaError."""
        base = base_offset_of(path)
        content = _read(path)
        positions = _Positions(base, _read(path.with_suffix(".index")))
        entries = [(stamp, base + relative) for stamp, relative in _TIME_ENTRY.iter_unpack(_whole(content, 12))]
        with open_log(path.with_suffix(".log")) as log:
            if self.only_sanity:
                problem = None
                if entries and entries[-1][0] < entries[0][0]:
                    problem = (
                        f"Corrupt time index found, time index file ({path}) has non-zero size but the last timestamp is "
                        f"{entries[-1][0]} which is less than the first timestamp {entries[0][0]}"
                    )
                _check(path, content, 12, problem)
                return
            view = memoryview(log)
            self._print_times(path, base, entries, positions, view)

    def _print_times(
        self,
        path: Path,
        base: int,
        entries: list[tuple[int, int]],
        positions: "_Positions",
        log: memoryview,
    ) -> None:
        name = str(path.absolute())
        previous = _NO_TIMESTAMP
        for slot, (timestamp, offset) in enumerate(entries):
            if offset == base and slot > 0:
                return
            found, highest = _batch_with(log, positions.before(offset), offset)
            if found != offset:
                self.not_found.setdefault(name, []).append(_Pair(offset, found))
            else:
                if highest != timestamp:
                    self.time_mismatches.setdefault(name, []).append(_Pair(timestamp, highest))
                if previous >= timestamp:
                    self.out_of_order.setdefault(name, []).append(_Pair(timestamp, previous))
            if not self.only_verify:
                print(f"timestamp: {timestamp} offset: {offset}")
            previous = timestamp

    def print_errors(self) -> None:
        for title, line, found in (
            ("Mismatches in :", "  Index offset: {}, log offset: {}", _newest_first(self.mismatches)),
            ("Found timestamp mismatch in :", "  Index timestamp: {}, log timestamp: {}", self.time_mismatches),
            (
                "Found out of order timestamp in :",
                "  Index timestamp: {}, Previously indexed timestamp: {}",
                self.out_of_order,
            ),
            (
                "The following indexed offsets are not found in :",
                "Indexed offset: {}, found log offset: {}",
                self.not_found,
            ),
        ):
            for name, pairs in found.items():
                print(f"{title}{name}", file=sys.stderr)
                for pair in pairs:
                    print(line.format(*pair), file=sys.stderr)


class _Positions:
    """An offset index to look up offsets in. One whose order is broken has answers too."""

    def __init__(self, base: int, content: bytes) -> None:
        entries: list[tuple[int, int]] = []
        for relative, position in _OFFSET_ENTRY.iter_unpack(_whole(content, _OFFSET_ENTRY.size)):
            if relative == 0 and entries:  # the zeros of a file that was preallocated
                break
            entries.append((base + relative, position))
        entries.sort()
        self._offsets = [offset for offset, _ in entries]
        self._highest = list(accumulate((position for _, position in entries), max, initial=0))

    def before(self, offset: int) -> int:
        """The highest position of those whose offset is at most this one; 0 if there is none."""
        return self._highest[bisect_right(self._offsets, offset)]


def print_transactions(path: Path) -> None:
    """Raises JavaError."""
    _read(path)
    for each in TransactionIndex(str(path)):
        print(
            f"version: 0 producerId: {each.producer_id} firstOffset: {each.first_offset} "
            f"lastOffset: {each.last_offset} lastStableOffset: {each.last_stable_offset}"
        )


def print_producers(path: Path) -> None:
    """Raises JavaError."""
    try:
        states = ProducerStates.from_snapshot(_read(path))
    except StokerError as error:
        if isinstance(error, JavaError):
            raise
        print(error, file=sys.stderr)
        return
    for producer_id, entry in states.entries.items():
        first = entry.transaction_first_offset
        line = (
            f"producerId: {producer_id} producerEpoch: {entry.epoch} coordinatorEpoch: {entry.coordinator_epoch} "
            f"currentTxnFirstOffset: {'OptionalLong.empty' if first < 0 else f'OptionalLong[{first}]'} "
            f"lastTimestamp: {entry.last_timestamp}"
        )
        if entry.batches:
            batch = entry.batches[0]
            line += (
                f" firstSequence: {batch.first_sequence} lastSequence: {batch.last_sequence} "
                f"lastOffset: {batch.last_offset} offsetDelta: {batch.last_offset - batch.first_offset} "
                f"timestamp: {batch.timestamp}"
            )
        print(line)


def _batch_with(log: memoryview, position: int, offset: int) -> tuple[int, int]:
    """The last offset of the batch that an offset is in, -1 if there is none, and its highest timestamp. Raises JavaError."""
    for header in batches(log[position:]):
        if header.last_offset >= offset:
            batch = log[position : position + header.size]
            try:
                highest = max((record.timestamp for record in iterate_records(batch, MOST_DECOMPRESSED)), default=-1)
            except CorruptRecords as error:
                raise invalid_batch(header, position, error) from None
            return header.last_offset, highest
        position += header.size
    return -1, _NO_TIMESTAMP


def _check(path: Path, content: bytes, entry_bytes: int, problem: str | None) -> None:
    if len(content) % entry_bytes:
        raise JavaError(
            _CORRUPT,
            f"Index file {path.absolute()} is corrupt, found {len(content)} bytes which is neither positive nor a "
            f"multiple of {entry_bytes}",
        )
    if problem is not None:
        raise JavaError(_CORRUPT, problem)
    print(f"{path} passed sanity check.")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise JavaError("java.nio.file.NoSuchFileException", str(path)) from None
    except OSError as error:
        raise JavaError("java.io.IOException", f"{path}: {error.strerror}") from None


def _whole(content: bytes, entry_bytes: int) -> bytes:
    return content[: len(content) // entry_bytes * entry_bytes]


def _newest_first(found: dict[str, list[_Pair]]) -> dict[str, list[_Pair]]:
    return {name: sorted(pairs, reverse=True) for name, pairs in found.items()}
