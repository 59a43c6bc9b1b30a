"""What passes between the parts of a read and of a write: columns of bytes, and columns of what they mean."""

from typing import Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from stoker.wire.batch_columns import Bytes, Integers


class ByteColumn(NamedTuple):
    """The keys or the values of some records, where they lie. At least 16 bytes follow the last of them."""

    data: Bytes
    starts: Integers
    lengths: Integers
    """-1 for null."""

    def __len__(self) -> int:
        return len(self.starts)

    def at(self, rows: Integers) -> "ByteColumn":
        """Those of some rows, in this order."""
        return ByteColumn(self.data, self.starts[rows], self.lengths[rows])


class Decoded(NamedTuple):
    """A column of the decoder's type, with a null for each null and for each of the `bad` ones."""

    column: pa.Array
    bad: Integers
    """Which could not be decoded, in order."""
    reasons: list[str]
    """Why, one for each of them."""


class Decoder(Protocol):
    """Bytes to a column of one type. It never raises for what is in the bytes: those are `bad`, the others are not."""

    @property
    def type(self) -> pa.DataType:
        """Exactly as Spark expects it (`pyspark.sql.pandas.types.to_arrow_type`)."""

    def decode(self, values: ByteColumn) -> Decoded: ...


class Encoder(Protocol):
    """A column to bytes: null for null. Raises UnencodableColumn, naming the row, for what the format cannot hold."""

    def encode(self, column: pa.Array) -> pa.BinaryArray: ...


_MOST_MILLISECONDS: Final = (2**63 - 1) // 1000


def microseconds(milliseconds: Integers) -> Integers:
    """As Spark's timestamps are. Those that are too late or too early for it are the last or the first that it has."""
    return milliseconds.clip(-_MOST_MILLISECONDS, _MOST_MILLISECONDS) * 1000


NONE_BAD: Integers = np.empty(0, dtype=np.int64)


def byte_array(values: ByteColumn, kind: pa.DataType) -> pa.Array:
    """The bytes as an Arrow array of `kind`, pa.binary() or pa.string(). The values may lie in any order.

    All of the data becomes one array in which every second element is a value; Arrow then takes these, in C++. What the
    elements between them are is never looked at. A single value, which may be all of a large batch, is not copied.
    """
    count = len(values)
    if count == 1 and values.lengths[0] >= 0:
        ends = np.array([values.starts[0], values.starts[0] + values.lengths[0]], dtype=np.int32)
        return pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(ends), pa.py_buffer(values.data)])
    is_null = values.lengths < 0
    has_nulls = bool(is_null.any())
    offsets = np.empty(2 * count + 1, dtype=np.int32)
    offsets[0:-1:2] = values.starts
    offsets[1::2] = values.starts + (np.where(is_null, 0, values.lengths) if has_nulls else values.lengths)
    offsets[-1] = len(values.data)
    everything = pa.Array.from_buffers(kind, 2 * count, [None, pa.py_buffer(offsets), pa.py_buffer(values.data)])
    positions = np.arange(0, 2 * count, 2, dtype=np.int32)
    return everything.take(pa.array(positions, mask=is_null if has_nulls else None))
