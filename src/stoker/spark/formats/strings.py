"""Text: UTF-8, with nothing around it."""

import pyarrow as pa

from stoker.spark.columns import NONE_BAD, ByteColumn, Decoded, byte_array
from stoker.spark.errors import UnencodableColumn
from stoker.spark.formats.utf8 import not_utf8


class StringDecoder:
    """Bytes that are no UTF-8 are bad."""

    type = pa.string()

    def decode(self, values: ByteColumn) -> Decoded:
        found = byte_array(values, pa.string())
        bad = not_utf8(found)
        if not len(bad):
            return Decoded(found, NONE_BAD, [])
        lengths = values.lengths.copy()
        lengths[bad] = -1
        reasons = [_reason(value) for value in found.take(pa.array(bad)).view(pa.binary()).to_pylist()]
        return Decoded(byte_array(ByteColumn(values.data, values.starts, lengths), pa.string()), bad, reasons)


class StringEncoder:
    """Text as UTF-8; bytes as they are."""

    def __init__(self, arrow_type: pa.DataType) -> None:
        """Raises UnencodableColumn for a type that is neither."""
        kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
        if not any(is_kind(arrow_type) for is_kind in kinds):
            raise UnencodableColumn(
                f"a column of {arrow_type} is no text: cast it to a string, or choose the format json or avro"
            )

    def encode(self, column: pa.Array) -> pa.BinaryArray:
        return column.cast(pa.binary())


def _reason(value: bytes) -> str:
    try:
        value.decode()
    except UnicodeDecodeError as problem:
        return f"byte {problem.start} (0x{value[problem.start]:02x}) is no UTF-8"
    return "it is no UTF-8"
