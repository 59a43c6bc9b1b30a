"""Columns of bytes as a read has them: values in a buffer, with other bytes between them."""

from collections.abc import Sequence

import numpy as np

from stoker.spark.columns import ByteColumn

_PADDING = bytes(16)


def byte_column(values: Sequence[bytes | None], between: bytes = b"\xff{") -> ByteColumn:
    """The values, behind one another and apart; `between` is nothing that a decoder may look at."""
    data = bytearray(between)
    starts, lengths = [], []
    for value in values:
        starts.append(len(data))
        lengths.append(-1 if value is None else len(value))
        data += (value or b"") + between
    return ByteColumn(
        np.frombuffer(bytes(data) + _PADDING, dtype=np.uint8),
        np.array(starts, dtype=np.int64),
        np.array(lengths, dtype=np.int64),
    )
