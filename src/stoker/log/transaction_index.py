"""Kafka's `.txnindex`: the aborted transactions whose abort marker is in a segment, for `read_committed` consumers.

Only segments with an aborted transaction have the file. Entries are appended as the markers are written, so that they
lie in the order of the markers' offsets; after a crash recovery writes the file anew from the log.
"""

import logging
import os
from bisect import bisect_left
from collections.abc import Iterator
from struct import Struct as Layout
from typing import NamedTuple

from stoker.log.files import unlink_if_there, write_file

logger = logging.getLogger("stoker.log")

_ENTRY = Layout(">hqqqq")
_VERSION = 0


class AbortedTransaction(NamedTuple):
    """Records of this producer in [first_offset, last_offset] were aborted; `last_offset` is that of the marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int
    """Of the log when the marker was written: no transaction that ended later began before it."""


class TransactionIndex:
    """The aborted transactions of one segment."""

    __slots__ = ("_entries", "_is_complete", "_path")

    def __init__(self, path: str) -> None:
        """Read the file, if there is one. What is behind its last whole entry is left out."""
        self._path = path
        self._entries = bytearray()
        self._is_complete = True
        try:
            with open(path, "rb", buffering=0) as file:
                content = file.read()
        except FileNotFoundError:
            return
        self._entries += content[: len(content) // _ENTRY.size * _ENTRY.size]

    def __len__(self) -> int:
        return len(self._entries) // _ENTRY.size

    def __iter__(self) -> Iterator[AbortedTransaction]:
        for slot in range(len(self)):
            yield self._at(slot)

    def _at(self, slot: int) -> AbortedTransaction:
        _, producer_id, first_offset, last_offset, last_stable_offset = _ENTRY.unpack_from(
            self._entries, slot * _ENTRY.size
        )
        return AbortedTransaction(producer_id, first_offset, last_offset, last_stable_offset)

    def append(self, transaction: AbortedTransaction) -> None:
        """Add it, in memory and to the file. Where the disk refuses, `save` makes up for it."""
        position = len(self._entries)
        entry = _ENTRY.pack(_VERSION, *transaction)
        self._entries += entry
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                os.pwrite(descriptor, entry, position)
            finally:
                os.close(descriptor)
        except OSError as problem:
            logger.warning("could not write %s, it is tried again when the log is closed: %s", self._path, problem)
            self._is_complete = False

    def save(self) -> None:
        """Have all entries in the file. Raises OSError."""
        if not self._is_complete:
            write_file(self._path, bytes(self._entries))
            self._is_complete = True

    def clear(self) -> None:
        """Forget all, and remove the file."""
        self._entries.clear()
        unlink_if_there(self._path)

    def collect(self, start_offset: int, end_offset: int, found: list[AbortedTransaction]) -> bool:
        """Add those that touch [start_offset, end_offset) to `found`; true when no later segment can have another."""
        first = bisect_left(range(len(self)), start_offset, key=lambda slot: self._at(slot).last_offset)
        for slot in range(first, len(self)):
            transaction = self._at(slot)
            if transaction.first_offset < end_offset:
                found.append(transaction)
            if transaction.last_stable_offset >= end_offset:
                return True
        return False


def write_transaction_index(path: str, transactions: list[AbortedTransaction]) -> None:
    """A file of these entries; none for none. Raises OSError."""
    if transactions:
        write_file(path, b"".join(_ENTRY.pack(_VERSION, *transaction) for transaction in transactions))
