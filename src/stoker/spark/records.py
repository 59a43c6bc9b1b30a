"""A range of a partition as columns of its records, and these as Arrow arrays of the types of Spark's `kafka` source."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stoker.client.fetching import Fetched, Isolation, PartitionRange, fetch_range
from stoker.client.properties import ClientProperties
from stoker.spark.columns import ByteColumn, byte_array, microseconds
from stoker.spark.record_pieces import Piece, read_pieces
from stoker.wire.batch_columns import BatchColumns, Bytes, Integers
from stoker.wire.header_columns import read_headers
from stoker.wire.record_batch import (
    CONTROL_FLAG,
    LOG_APPEND_TIME_FLAG,
    TRANSACTIONAL_FLAG,
    ControlType,
    iterate_records,
)
from stoker.wire.record_columns import Flags

HEADERS: Final = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
RAW_COLUMNS: Final = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", TIMESTAMP),
        ("timestampType", pa.int32()),
        ("headers", HEADERS),
    ]
)
"""As `to_arrow_schema` of pyspark makes it of the columns of Spark's `kafka` source."""


class Records(NamedTuple):
    """Some records of a partition, in order."""

    topic: str
    partition: int
    offsets: Integers
    timestamps: Integers
    """In milliseconds."""
    timestamp_types: NDArray[np.int32]
    """`TimestampType`s."""
    keys: ByteColumn
    values: ByteColumn
    headers: pa.Array | None
    """Of type HEADERS, null where a record has none; None if they were not asked for."""

    def __len__(self) -> int:
        return len(self.offsets)


def read_records(
    properties: ClientProperties, wanted: PartitionRange, *, isolation: Isolation, with_headers: bool = False
) -> Iterator[Records]:
    """All records of the range, some at a time. Raises what `fetch_range` raises."""
    for fetched in fetch_range(properties, wanted, isolation=isolation):
        yield from records_in(fetched, wanted, isolation=isolation, with_headers=with_headers)
        del fetched


def records_in(
    fetched: Fetched, wanted: PartitionRange, *, isolation: Isolation, with_headers: bool = False
) -> Iterator[Records]:
    """Those records of an answer that are in the range, and in no aborted transaction if `isolation` is against it."""
    batches = fetched.batches
    for piece in read_pieces(batches, np.flatnonzero(_are_wanted(fetched, wanted, isolation))):
        records = _records(batches, piece, wanted, with_headers)
        if len(records):
            yield records


def raw_arrays(records: Records, names: list[str]) -> list[pa.Array]:
    """The columns of these names, of the types that RAW_COLUMNS says."""
    return [_RAW[name](records) for name in names]


_RAW: Final = {
    "key": lambda records: byte_array(records.keys, pa.binary()),
    "value": lambda records: byte_array(records.values, pa.binary()),
    "topic": lambda records: pa.repeat(pa.scalar(records.topic, pa.string()), len(records)),
    "partition": lambda records: pa.array(np.full(len(records), records.partition, dtype=np.int32)),
    "offset": lambda records: pa.array(records.offsets),
    "timestamp": lambda records: pa.array(microseconds(records.timestamps)).view(TIMESTAMP),
    "timestampType": lambda records: pa.array(records.timestamp_types),
    "headers": lambda records: records.headers,
}


def _are_wanted(fetched: Fetched, wanted: PartitionRange, isolation: Isolation) -> Flags:
    """Which batches have records in the range that were not aborted."""
    batches = fetched.batches
    attributes = batches.headers["attributes"]
    are_wanted: Flags = (
        (batches.last_offsets >= wanted.start)
        & (batches.headers["base_offset"] < wanted.end)
        & (batches.headers["record_count"] != 0)
        & ((attributes & CONTROL_FLAG) == 0)
    )
    if isolation is Isolation.READ_COMMITTED and fetched.aborted:
        are_wanted &= ~_are_aborted(fetched)
    return are_wanted


def _are_aborted(fetched: Fetched) -> Flags:
    """Which batches are in an aborted transaction: from its first offset up to the marker that says so.

    Only batches of transactions are looked at, one by one: a later transaction of the same producer may be committed.
    """
    batches = fetched.batches
    are_aborted = np.zeros(len(batches), dtype=np.bool_)
    attributes = batches.headers["attributes"]
    slots = np.flatnonzero((attributes & TRANSACTIONAL_FLAG) != 0)
    coming = list(reversed(fetched.aborted))
    aborting: set[int] = set()
    for slot, last_offset, producer_id, is_control in zip(
        slots.tolist(),
        batches.last_offsets[slots].tolist(),
        batches.column("producer_id")[slots].tolist(),
        ((attributes[slots] & CONTROL_FLAG) != 0).tolist(),
        strict=True,
    ):
        while coming and coming[-1].first_offset <= last_offset:
            aborting.add(coming.pop().producer_id)
        if is_control:
            if producer_id in aborting and _is_abort_marker(batches, slot):
                aborting.remove(producer_id)
        elif producer_id in aborting:
            are_aborted[slot] = True
    return are_aborted


def _is_abort_marker(batches: BatchColumns, slot: int) -> bool:
    begin = int(batches.positions[slot])
    batch = batches.data[begin : begin + int(batches.sizes[slot])]
    for record in iterate_records(batch, len(batch)):
        return record.key is not None and record.key[2:4] == int(ControlType.ABORT).to_bytes(2)
    return False


def _records(batches: BatchColumns, piece: Piece, wanted: PartitionRange, with_headers: bool) -> Records:
    slots, counts, columns = piece
    offsets = np.repeat(batches.column("base_offset")[slots], counts) + columns.offset_deltas
    timestamps, timestamp_types = _timestamps(batches, piece)
    keys = ByteColumn(columns.data, columns.key_starts, columns.key_lengths)
    values = ByteColumn(columns.data, columns.value_starts, columns.value_lengths)
    header_starts, ends = columns.value_starts + np.maximum(columns.value_lengths, 0), columns.ends
    if len(offsets) and not (wanted.start <= int(offsets.min()) and int(offsets.max()) < wanted.end):
        inside = np.flatnonzero((offsets >= wanted.start) & (offsets < wanted.end))
        offsets, timestamps, timestamp_types = offsets[inside], timestamps[inside], timestamp_types[inside]
        keys = ByteColumn(keys.data, keys.starts[inside], keys.lengths[inside])
        values = ByteColumn(values.data, values.starts[inside], values.lengths[inside])
        header_starts, ends = header_starts[inside], ends[inside]
    headers = _headers(columns.data, header_starts, ends) if with_headers else None
    return Records(wanted.topic, wanted.partition, offsets, timestamps, timestamp_types, keys, values, headers)


def _timestamps(batches: BatchColumns, piece: Piece) -> tuple[Integers, NDArray[np.int32]]:
    slots, counts, columns = piece
    by_broker = (batches.headers["attributes"][slots] & LOG_APPEND_TIME_FLAG) != 0
    timestamps = np.repeat(batches.column("base_timestamp")[slots], counts) + columns.timestamp_deltas
    if not by_broker.any():
        return timestamps, np.zeros(len(timestamps), dtype=np.int32)
    are_by_broker = np.repeat(by_broker, counts)
    append_times = np.repeat(batches.column("max_timestamp")[slots], counts)
    return np.where(are_by_broker, append_times, timestamps), are_by_broker.astype(np.int32)


def _headers(data: Bytes, starts: Integers, ends: Integers) -> pa.Array:
    found = read_headers(data, starts, ends)
    keys = byte_array(ByteColumn(data, found.key_starts, found.key_lengths), pa.string())
    values = byte_array(ByteColumn(data, found.value_starts, found.value_lengths), pa.binary())
    offsets = np.zeros(len(starts) + 1, dtype=np.int32)
    np.cumsum(found.counts, out=offsets[1:])
    return pa.ListArray.from_arrays(
        pa.array(offsets),
        pa.StructArray.from_arrays([_as_text(keys), values], fields=list(HEADERS.value_type)),
        type=HEADERS,
        mask=pa.array(found.counts == 0),
    )


def _as_text(keys: pa.Array) -> pa.Array:
    """What is no UTF-8 is replaced, as Kafka's clients do: it is not worth a failure."""
    try:
        keys.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array([key.decode(errors="replace") for key in keys.cast(pa.binary()).to_pylist()], pa.string())
    return keys
