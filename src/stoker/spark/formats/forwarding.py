"""Avro values that are written as they came: what only passes through is neither taken apart nor put together again.

A value whose header names the very schema that is written by is taken byte for byte, and of what is in it no more is decoded than
somebody looks at. A value of another schema is read by the reader's and written anew. Which of the two it is, each record says for
itself: a record that is read again is written as before.
"""

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.types import BinaryType, DataType, StructField, StructType

from stoker.spark.columns import ByteColumn, Decoded, Decoder, Encoder, byte_array
from stoker.spark.formats import AVRO, ReaderSchema, WriterSchema, decoder_for, encoder_for, spark_type_of
from stoker.spark.formats.avro_decoding import has_schema

BYTES: Final = "_bytes"
"""A field more of such a value: what is to be written."""


class Forwarding(NamedTuple):
    """Which values are forwarded, and what is looked at of them. It can be sent to the workers."""

    whole: ReaderSchema
    used: tuple[str, ...]
    """Fields of the value; at least one."""
    writer: WriterSchema

    @property
    def type(self) -> StructType:
        return StructType([*self._looked_at, StructField(BYTES, BinaryType())])

    @property
    def _looked_at(self) -> list[StructField]:
        assert isinstance(self.whole.type, StructType)
        return [field for field in self.whole.type if field.name in self.used]

    def decoder(self) -> "ForwardingDecoder":
        whole, used = decoder_for(self.whole), decoder_for(self.whole._replace(type=StructType(self._looked_at)))
        assert self.writer.schema is not None
        return ForwardingDecoder(whole, used, encoder_for(self.writer, whole.type), self.writer.schema.id)


def is_forwarded(reader: ReaderSchema, writer: WriterSchema) -> bool:
    """Whether values that are read and written so keep their bytes: all that is in them must be wanted."""
    if not reader.format == writer.format == AVRO or reader.schema is None or writer.schema is None:
        return False
    is_same = reader.schema.id == writer.schema.id and isinstance(reader.type, StructType)
    return is_same and _with_nulls(reader.type) == _with_nulls(spark_type_of(AVRO, reader.schema))


def _with_nulls(kind: DataType) -> StructType:
    """What may be null does not matter."""
    return StructType([StructField(BYTES, kind)]).toNullable()


class ForwardingDecoder:
    """Gives a struct of the fields that are used, and of `BYTES`."""

    def __init__(self, whole: Decoder, used: Decoder, encoder: Encoder, schema_id: int) -> None:
        self._whole = whole
        self._used = used
        self._encoder = encoder
        self._schema_id = schema_id
        self._type = pa.struct([*used.type, pa.field(BYTES, pa.binary())])

    @property
    def type(self) -> pa.DataType:
        return self._type

    def decode(self, values: ByteColumn) -> Decoded:
        is_same = has_schema(values, self._schema_id)
        if is_same.all():
            return self._forwarded(values)
        if not is_same.any():
            return self._written_anew(values)
        same, others = np.flatnonzero(is_same), np.flatnonzero(~is_same)
        first, second = self._forwarded(values.at(same)), self._written_anew(values.at(others))
        places = np.empty(len(values), dtype=np.int64)
        places[same], places[others] = np.arange(len(same)), len(same) + np.arange(len(others))
        reasons = dict(zip(same[first.bad].tolist(), first.reasons, strict=True))
        reasons |= dict(zip(others[second.bad].tolist(), second.reasons, strict=True))
        bad = sorted(reasons)
        column = pa.concat_arrays([first.column, second.column]).take(pa.array(places))
        return Decoded(column, np.array(bad, dtype=np.int64), [reasons[row] for row in bad])

    def _forwarded(self, values: ByteColumn) -> Decoded:
        found = self._used.decode(values)
        return found._replace(column=self._with_bytes(found.column, byte_array(values, pa.binary())))

    def _written_anew(self, values: ByteColumn) -> Decoded:
        found = self._whole.decode(values)
        return found._replace(column=self._with_bytes(found.column, self._encoder.encode(found.column)))

    def _with_bytes(self, column: pa.StructArray, written: pa.BinaryArray) -> pa.StructArray:
        fields = [column.field(field.name) for field in self._used.type]
        absent = column.is_null() if column.null_count else None
        return pa.StructArray.from_arrays([*fields, written], fields=list(self._type), mask=absent)
