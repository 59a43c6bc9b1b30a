"""Which records of a stretch of batches stay, and the bytes of what stays.

A batch of which all records stay is copied as it is, and neighbours of that kind together. Of others the records that
stay are copied as they are, under a new header. Only when the tombstones of a batch get their delete horizon (KIP-534)
are its records written anew, because the horizon takes the place of the timestamp that all the others count from.
"""

from struct import Struct as Layout
from typing import Final

import numpy as np
from crc32c import crc32c
from numpy.typing import NDArray

from stoker.log.compaction.cleaned_segment import CleanedSegmentWriter
from stoker.log.compaction.job import CleaningJob
from stoker.log.compaction.key_hashes import KeyHasher
from stoker.log.compaction.known_offsets import KnownOffsets
from stoker.log.compaction.offset_map import OffsetMap
from stoker.log.compaction.segment_reading import batch_at, records_in
from stoker.log.compaction.transactions import CleanedTransactions
from stoker.wire.batch_columns import BatchColumns, Integers
from stoker.wire.compression import Codec, compress
from stoker.wire.record_batch import (
    ATTRIBUTES_OFFSET,
    CODEC_MASK,
    CONTROL_FLAG,
    CRC_OFFSET,
    DELETE_HORIZON_FLAG,
    HEADER,
    HEADER_SIZE,
    LENGTH_OFFSET,
    LOG_APPEND_TIME_FLAG,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    build_batch,
    encode_varint,
    iterate_records,
    read_header,
)
from stoker.wire.record_columns import Flags, RecordColumns

_CRC: Final = Layout(">I")
_MOST_JOINED: Final = 1024 * 1024


class RecordFilter:
    """Decides for one job; the batches of a log must come in their order."""

    def __init__(
        self, job: CleaningJob, offsets: OffsetMap, known: KnownOffsets | None, hasher: KeyHasher, end_offset: int
    ) -> None:
        self._job = job
        self._offsets = offsets
        self._known = known
        """Of the dirty part, if it is small enough."""
        self._hash = hasher
        self._end_offset = end_offset
        """Behind it nothing is known of newer records, and batches stay as they are."""
        self._transactions = CleanedTransactions(job.aborted_transactions)
        self._last_offsets = np.array(sorted({each.last_offset for each in job.producers.values()}), dtype=np.int64)
        self.records_read = 0
        self.records_kept = 0
        self.keyless_records = 0

    def write_retained(self, batches: BatchColumns, writer: CleanedSegmentWriter) -> None:
        """Write what stays of these batches."""
        decision = _Decision(batches)
        self._follow_transactions(batches, decision, writer)
        decision.is_kept_empty |= self._ends_what_is_remembered(batches)
        is_beyond = decision.last_offsets >= self._end_offset
        decision.must_stay_whole |= is_beyond
        to_read = ~decision.must_stay_whole & ~decision.must_go
        is_known = np.zeros(len(batches), dtype=bool)
        if self._known is not None:
            is_known = to_read & (batches.headers["base_offset"] >= self._known.first)
            if is_known.any():
                to_read &= ~is_known
                is_known[np.flatnonzero(is_known)] = self._decide_batches(batches, decision, np.flatnonzero(is_known))
        for wanted, known in ((to_read, None), (is_known, self._known)):
            for slots, records in records_in(batches, np.flatnonzero(wanted)):
                self._decide_records(batches, decision, slots, records, known)
        decision.kept[decision.must_stay_whole] = decision.counts[decision.must_stay_whole]
        self.records_read += int(decision.counts.sum())
        self.records_kept += int(decision.kept.sum())
        _write(batches, decision, writer)

    def _follow_transactions(self, batches: BatchColumns, decision: "_Decision", writer: CleanedSegmentWriter) -> None:
        """Batches of aborted transactions go. A marker stays until nothing of its transaction is left, and then its time."""
        for slot in np.flatnonzero(decision.attributes & (TRANSACTIONAL_FLAG | CONTROL_FLAG)).tolist():
            producer_id = int(batches.headers["producer_id"][slot])
            last_offset = int(decision.last_offsets[slot])
            if not decision.attributes[slot] & CONTROL_FLAG:
                decision.must_go[slot] = self._transactions.is_aborted(producer_id, last_offset)
                continue
            batch = batch_at(batches, slot)
            nothing_is_left, aborted = self._transactions.end(batch, producer_id, last_offset)
            if aborted is not None:
                writer.add_aborted(aborted)
            if last_offset >= self._end_offset:
                continue
            header = read_header(batch)
            horizon = header.delete_horizon_ms
            if not header.record_count:
                decision.must_go[slot] = True
            elif nothing_is_left and horizon is None:
                horizon = self._job.now_ms + self._job.delete_retention_ms
                decision.rewritten[slot] = _marker_with_horizon(batch, header, horizon)
            elif nothing_is_left and horizon is not None:
                decision.must_go[slot] = horizon <= self._job.now_ms
            decision.must_stay_whole[slot] = not decision.must_go[slot]

    def _ends_what_is_remembered(self, batches: BatchColumns) -> Flags:
        """The last batches of producers, which tell their sequences or epochs, and the last batch of what is cleaned."""
        last_offsets = batches.last_offsets
        stays: Flags = last_offsets + 1 == self._job.first_uncleanable_offset
        headers = batches.headers
        candidates = np.isin(last_offsets, self._last_offsets) | ((headers["attributes"] & CONTROL_FLAG) != 0)
        for slot in np.flatnonzero(candidates & (headers["producer_id"] >= 0)).tolist():
            last = self._job.producers.get(int(headers["producer_id"][slot]))
            if last is None:
                continue
            if last.last_offset >= 0:
                stays[slot] |= last.last_offset == last_offsets[slot]
            else:
                is_control = headers["attributes"][slot] & CONTROL_FLAG
                stays[slot] |= bool(is_control) and int(headers["producer_epoch"][slot]) == last.epoch
        return stays

    def _decide_batches(self, batches: BatchColumns, decision: "_Decision", slots: Integers) -> Flags:
        """Batches of which all or no records stay need no second look; returns which do."""
        assert self._known is not None
        headers = batches.headers[slots]
        base_offsets = headers["base_offset"].astype(np.int64)
        kept, tombstones = self._known.count(base_offsets, decision.last_offsets[slots])
        decision.kept[slots] = kept
        is_whole = (kept == decision.counts[slots]) & (tombstones == 0)
        needs_a_look: Flags = (kept > 0) & ~is_whole
        return needs_a_look

    def _decide_records(
        self,
        batches: BatchColumns,
        decision: "_Decision",
        slots: Integers,
        records: RecordColumns,
        known: KnownOffsets | None,
    ) -> None:
        """A record stays if it is the newest of its key, and if it is a tombstone, until the delete horizon."""
        headers = batches.headers[slots]
        base_timestamps = headers["base_timestamp"].astype(np.int64)
        has_horizon = (headers["attributes"] & DELETE_HORIZON_FLAG) != 0
        keeps_tombstones = ~has_horizon | (base_timestamps > self._job.now_ms)

        offsets = headers["base_offset"].astype(np.int64)[records.batch] + records.offset_deltas
        has_key = records.key_lengths >= 0
        is_tombstone = records.value_lengths < 0
        if known is not None:
            is_newest = known.are_newest(offsets)
        else:
            is_newest = offsets >= self._newest_offsets(records, has_key)
            self.keyless_records += int((~has_key).sum())
        stays = has_key & is_newest & (~is_tombstone | keeps_tombstones[records.batch])

        rows = np.flatnonzero(stays)
        bounds = np.searchsorted(records.batch[rows], np.arange(len(slots) + 1))
        kept = np.diff(bounds)
        decision.kept[slots] = kept
        has_tombstones = np.bincount(records.batch[stays & is_tombstone], minlength=len(slots)) > 0
        needs_horizon = has_tombstones & ~has_horizon
        is_partial = (kept > 0) & (kept < headers["record_count"])
        rewriting = _Rewriting(headers, records, rows)
        for number in np.flatnonzero(needs_horizon).tolist():
            horizon = self._job.now_ms + self._job.delete_retention_ms
            decision.rewritten[int(slots[number])] = rewriting.with_horizon(number, horizon)
        for number in np.flatnonzero(is_partial & ~needs_horizon).tolist():
            decision.rewritten[int(slots[number])] = rewriting.with_fewer_records(number)

    def _newest_offsets(self, records: RecordColumns, has_key: Flags) -> Integers:
        """The newest offset of the key of each record; -1 for what the map does not know."""
        keyed = np.flatnonzero(has_key)
        newest = np.full(len(records), -1, dtype=np.int64)
        newest[keyed] = self._offsets.get(
            self._hash(records.data, records.key_starts[keyed], records.key_lengths[keyed])
        )
        return newest


class _Decision:
    """What becomes of each batch of a stretch."""

    def __init__(self, batches: BatchColumns) -> None:
        self.attributes = batches.headers["attributes"]
        self.last_offsets = batches.last_offsets
        self.counts = batches.column("record_count")
        self.kept = np.zeros(len(batches), dtype=np.int64)
        """How many records stay."""
        self.must_go = np.zeros(len(batches), dtype=bool)
        self.must_stay_whole = np.zeros(len(batches), dtype=bool)
        self.is_kept_empty = np.zeros(len(batches), dtype=bool)
        """The batch stays even if none of its records does."""
        self.rewritten: dict[int, bytes] = {}
        """Batches that stay in part, or get a delete horizon."""


def _write(batches: BatchColumns, decision: _Decision, writer: CleanedSegmentWriter) -> None:
    """In the order of the batches; those that stay as they are go from the buffer they were read into."""
    sizes = batches.sizes.tolist()
    positions = batches.positions.tolist()
    last_offsets = decision.last_offsets.tolist()
    max_timestamps = batches.headers["max_timestamp"].tolist()
    is_empty = decision.is_kept_empty & (decision.kept == 0)
    out: list[memoryview | bytes] = []
    begin = end = 0
    size = 0
    for slot in np.flatnonzero((decision.kept > 0) | is_empty).tolist():
        new = decision.rewritten.get(slot)
        if new is None and is_empty[slot]:
            new = _emptied(read_header(batches.data, positions[slot]))
        if new is not None:
            out += (batches.data[begin:end], new)
            begin = end = 0
            header = read_header(new)
            writer.add(len(new), header.last_offset, header.max_timestamp)
            size += len(new)
        else:
            if positions[slot] != end:
                out.append(batches.data[begin:end])
                begin = positions[slot]
            end = positions[slot] + sizes[slot]
            writer.add(sizes[slot], last_offsets[slot], max_timestamps[slot])
            size += sizes[slot]
        if size > _MOST_JOINED:
            out.append(batches.data[begin:end])
            begin = end
            writer.write(b"".join(out))
            out, size = [], 0
    out.append(batches.data[begin:end])
    writer.write(b"".join(out))


class _Rewriting:
    """Makes new batches of the records in these rows. What can be known of all batches at once is found out at once."""

    def __init__(self, headers: NDArray[np.void], records: RecordColumns, rows: Integers) -> None:
        self._headers = headers
        self._records = records
        self._rows = rows
        self._data = records.data.data
        batch = records.batch[rows]
        self._bounds = np.searchsorted(batch, np.arange(len(headers) + 1)).tolist()
        self._timestamps = records.timestamp_deltas[rows] + headers["base_timestamp"].astype(np.int64)[batch]
        is_append_time = (headers["attributes"] & LOG_APPEND_TIME_FLAG) != 0
        if is_append_time.any():
            append_times = headers["max_timestamp"].astype(np.int64)
            self._timestamps = np.where(is_append_time[batch], append_times[batch], self._timestamps)
        # Neighbours in one batch are copied together.
        starts, ends = records.starts[rows], records.ends[rows]
        begins_run = np.ones(len(rows), dtype=bool)
        begins_run[1:] = (starts[1:] != ends[:-1]) | (batch[1:] != batch[:-1])
        run = np.flatnonzero(begins_run)
        self._run_starts = starts[run].tolist()
        self._run_ends = ends[np.append(run[1:], len(rows)) - 1].tolist() if len(rows) else []
        self._run_bounds = np.searchsorted(run, self._bounds).tolist()

    def with_fewer_records(self, number: int) -> bytes:
        """The batch with its rows alone, at the offsets they have."""
        begin, end = self._run_bounds[number : number + 2]
        runs = zip(self._run_starts[begin:end], self._run_ends[begin:end], strict=True)
        body = b"".join([self._data[start:stop] for start, stop in runs])
        return _sealed(self._header(number), body)

    def with_horizon(self, number: int, horizon: int) -> bytes:
        """The batch with its rows alone, whose timestamps count from the delete horizon now."""
        begin, end = self._bounds[number : number + 2]
        rows = self._rows[begin:end]
        body = _with_timestamp_deltas(self._data, self._records, rows, self._timestamps[begin:end] - horizon)
        header = self._header(number)
        attributes = header.attributes | DELETE_HORIZON_FLAG
        return _sealed(header._replace(base_timestamp=horizon, attributes=attributes), body)

    def _header(self, number: int) -> BatchHeader:
        begin, end = self._bounds[number : number + 2]
        header = BatchHeader._make(self._headers[number].item())
        return header._replace(max_timestamp=int(self._timestamps[begin:end].max()), record_count=end - begin)


def _with_timestamp_deltas(data: memoryview, records: RecordColumns, rows: Integers, deltas: Integers) -> bytes:
    """The records with other timestamp deltas, and the lengths that follow from that."""
    parts: list[bytes | memoryview] = []
    columns = (records.timestamp_starts[rows], records.offset_starts[rows], records.ends[rows], deltas)
    for timestamp_start, offset_start, end, delta in zip(*(column.tolist() for column in columns), strict=True):
        encoded = encode_varint(delta)
        parts += (
            encode_varint(1 + len(encoded) + end - offset_start),
            data[timestamp_start - 1 : timestamp_start],
            encoded,
            data[offset_start:end],
        )
    return b"".join(parts)


def _sealed(header: BatchHeader, body: bytes) -> bytes:
    """The batch with another body, packed with the codec it had. Offsets, producer and sequences stay."""
    codec = header.attributes & CODEC_MASK
    packed = body if codec == Codec.NONE else compress(codec, body)
    header = header._replace(batch_length=HEADER_SIZE - LENGTH_OFFSET + len(packed), crc=0)
    batch = bytearray(HEADER.pack(*header))
    batch += packed
    with memoryview(batch) as view:
        _CRC.pack_into(batch, CRC_OFFSET, crc32c(view[ATTRIBUTES_OFFSET:]))
    return bytes(batch)


def _emptied(header: BatchHeader) -> bytes:
    """The batch without records: what is left tells the last offset, and the producer's last sequence or its epoch."""
    kept = LOG_APPEND_TIME_FLAG | TRANSACTIONAL_FLAG | CONTROL_FLAG
    attributes = header.attributes & kept
    return _sealed(header._replace(attributes=attributes, base_timestamp=NO_TIMESTAMP, record_count=0), b"")


def _marker_with_horizon(batch: memoryview, header: BatchHeader, horizon: int) -> bytes:
    return build_batch(
        iterate_records(batch, len(batch)),
        base_offset=header.base_offset,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        leader_epoch=header.partition_leader_epoch,
        control=True,
        transactional=header.is_transactional,
        keep_offsets=True,
        last_offset_delta=header.last_offset_delta,
        delete_horizon_ms=horizon,
    )
