"""Recovery of segments with very many small batches, which one by one would take seconds: a stretch of them at once.

It does what `recovery` does batch by batch, for as long as all is well. The first stretch in which anything is wrong is
left to the other, which finds the batch and says what it is.
"""

from typing import Final, NamedTuple

import numpy as np

from stoker.errors import CorruptRecords
from stoker.log.leader_epochs import LeaderEpochs
from stoker.log.producer_state import ProducerStates
from stoker.log.segment import ActiveSegment
from stoker.wire.batch_columns import BatchColumns, Integers, check_checksums, read_batches
from stoker.wire.record_batch import BatchHeader

_STRETCH_BYTES: Final = 8 * 1024 * 1024


class Expected(NamedTuple):
    """What the next batch has to be."""

    position: int
    offset: int
    """At least, or exactly if gaps are not allowed."""
    leader_epoch: int
    """At least."""


class BatchLimits(NamedTuple):
    """What all batches of a segment have to be."""

    highest_offset: int
    latest_leader_epoch: int | None
    gaps_are_allowed: bool


def recover_in_bulk(
    view: memoryview,
    active: ActiveSegment,
    index_interval_bytes: int,
    limits: BatchLimits,
    epochs: LeaderEpochs | None,
    producers: ProducerStates | None,
) -> Expected:
    """Take in batches from the front of the segment, stretch by stretch; returns where that ended."""
    expected = Expected(0, active.base_offset, -1)
    while expected.position < len(view):
        # A copy: the file's mapping cannot be closed while any array looks at it.
        stretch = bytes(view[expected.position : expected.position + _STRETCH_BYTES])
        try:
            batches = read_batches(memoryview(stretch))
            check_checksums(batches)
        except CorruptRecords:
            break
        if not len(batches) or not _are_as_expected(batches, expected, limits):
            break
        _add(active, batches, index_interval_bytes)
        leader_epochs = batches.column("partition_leader_epoch")
        if epochs is not None:
            _assign_epochs(epochs, leader_epochs, batches.column("base_offset"))
        if producers is not None:
            _replay_producers(active, batches, producers)
        expected = Expected(expected.position + batches.end, int(batches.last_offsets[-1]) + 1, int(leader_epochs[-1]))
    return expected


def _are_as_expected(batches: BatchColumns, expected: Expected, limits: BatchLimits) -> bool:
    base_offsets, last_offsets = batches.column("base_offset"), batches.last_offsets
    gaps = base_offsets - np.concatenate((np.full(1, expected.offset), last_offsets[:-1] + 1))
    leader_epochs = batches.column("partition_leader_epoch")
    rises = leader_epochs - np.concatenate((np.full(1, expected.leader_epoch), leader_epochs[:-1]))
    return bool(
        (gaps >= 0).all()
        and (limits.gaps_are_allowed or not gaps.any())
        and int(last_offsets.max()) <= limits.highest_offset
        and (rises >= 0).all()
        and (limits.latest_leader_epoch is None or int(leader_epochs[-1]) <= limits.latest_leader_epoch)
    )


def _add(active: ActiveSegment, batches: BatchColumns, index_interval_bytes: int) -> None:
    """What `ActiveSegment.add` does for each."""
    indexes = active.indexes
    sizes, last_offsets, timestamps = batches.sizes, batches.last_offsets, batches.column("max_timestamp")
    if active.size == 0:
        active.first_timestamp = int(timestamps[0])
    largest_before = np.maximum.accumulate(np.concatenate((np.full(1, indexes.max_timestamp), timestamps)))
    is_new_largest = timestamps > largest_before[:-1]
    largest_at = np.maximum.accumulate(np.where(is_new_largest, np.arange(len(timestamps)), -1))
    slot = int(np.searchsorted(batches.positions, index_interval_bytes - indexes.bytes_since_entry, side="right"))
    last_entry: int | None = None
    while slot < len(sizes):
        at = int(largest_at[slot])
        if at >= 0:
            indexes.max_timestamp, indexes.offset_of_max_timestamp = int(timestamps[at]), int(last_offsets[at])
        indexes.offset_index.append(int(last_offsets[slot]), active.size + int(batches.positions[slot]))
        indexes.time_index.maybe_append(indexes.max_timestamp, indexes.offset_of_max_timestamp)
        last_entry = int(batches.positions[slot])
        slot = int(np.searchsorted(batches.positions, last_entry + index_interval_bytes, side="right"))
    at = int(largest_at[-1])
    if at >= 0:
        indexes.max_timestamp, indexes.offset_of_max_timestamp = int(timestamps[at]), int(last_offsets[at])
    indexes.bytes_since_entry = (
        indexes.bytes_since_entry + batches.end if last_entry is None else batches.end - last_entry
    )
    active.max_timestamp = indexes.max_timestamp
    _remember_recent(active, last_offsets, active.size + batches.positions)
    active.size += batches.end


def _remember_recent(active: ActiveSegment, last_offsets: Integers, positions: Integers) -> None:
    for last_offset, position in zip(last_offsets[-64:].tolist(), positions[-64:].tolist(), strict=True):
        active.remember_recent(last_offset, position)


def _assign_epochs(epochs: LeaderEpochs, leader_epochs: Integers, base_offsets: Integers) -> None:
    rises = np.flatnonzero(leader_epochs > np.concatenate((np.full(1, epochs.latest), leader_epochs[:-1])))
    for slot in rises.tolist():
        if int(leader_epochs[slot]) > epochs.latest:
            epochs.assign(int(leader_epochs[slot]), int(base_offsets[slot]))


def _replay_producers(active: ActiveSegment, batches: BatchColumns, producers: ProducerStates) -> None:
    for slot in np.flatnonzero(batches.headers["producer_id"] >= 0).tolist():
        header = BatchHeader._make(batches.headers[slot].item())
        position = int(batches.positions[slot])
        aborted = producers.replay(header, batches.data[position : position + header.size])
        if aborted is not None:
            active.aborted_transactions.append(aborted)
