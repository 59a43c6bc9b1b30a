"""Values that are passed on as bytes: the same as if each had been read and written, but for what nobody looked at."""

from typing import Any, Final

import pyarrow as pa
import pytest
from pyspark.sql.types import DoubleType, StringType, StructField, StructType

from stoker.spark.formats import ReaderSchema, WriterSchema, spark_type_of
from stoker.spark.formats.avro_decoding import AvroDecoder
from stoker.spark.formats.avro_encoding import AvroEncoder
from stoker.spark.formats.forwarding import BYTES, ForwardingDecoder, is_forwarded
from stoker.spark.schemas import RegisteredSchema, RegistryAccess
from tests.spark.formats.avro_values import byte_column, framed, registered, written

ORDER: Final[dict[str, Any]] = {
    "type": "record",
    "name": "Order",
    "doc": "as it was ordered",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "amount", "type": "double"},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["OPEN", "PAID"]}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
    ],
}
OLDER: Final = {**ORDER, "fields": ORDER["fields"][:4]}
SCHEMAS: Final = {1: registered(ORDER, 1), 2: registered(OLDER, 2)}


def find(schema_id: int) -> RegisteredSchema:
    return SCHEMAS[schema_id]


def forwarding() -> ForwardingDecoder:
    whole = AvroDecoder(SCHEMAS[1], find)
    used = AvroDecoder(SCHEMAS[1], find, StructType([StructField("amount", DoubleType())]))
    return ForwardingDecoder(whole, used, AvroEncoder(SCHEMAS[1], whole.type), 1)


def order(number: int, schema_id: int = 1) -> bytes:
    value = {"id": f"o-{number}", "amount": number + 0.5, "state": "PAID", "at": 1_700_000_000_000 + number}
    if schema_id == 1:
        value["tags"] = ["a", "b"][: number % 3]
    return framed(written(ORDER if schema_id == 1 else OLDER, value), schema_id)


def test_values_of_the_schema_keep_their_bytes() -> None:
    values = [order(number) for number in range(10)]
    found = forwarding().decode(byte_column(values))
    assert found.column.type == forwarding().type
    assert [each[BYTES] for each in found.column.to_pylist()] == values
    assert [each["amount"] for each in found.column.to_pylist()] == [number + 0.5 for number in range(10)]
    assert found.reasons == []


@pytest.mark.parametrize("ids", [(2, 2, 2), (1, 2, 1, 1, 2), (2, 1)], ids=["all", "some", "the first"])
def test_values_of_an_older_schema_are_written_anew(ids: tuple[int, ...]) -> None:
    """With what the newer one has more, and in the order in which they came."""
    found = forwarding().decode(byte_column([order(3, schema_id) for schema_id in ids]))
    assert [each[BYTES] for each in found.column.to_pylist()] == [order(3)] * len(ids)


def test_what_cannot_be_read_is_told_wherever_it_is() -> None:
    """A null is no value, and is not bad; a schema that nobody has, a value that is cut off and one that is none are."""
    cut_off = order(1)[:-12]
    values = [order(0), None, b"none", order(3, 2), cut_off, order(1, 2)[:-3], order(5)]
    found = forwarding().decode(byte_column(values))
    assert found.bad.tolist() == [2, 4, 5]
    assert len(found.reasons) == 3
    rows = found.column.to_pylist()
    assert [row is None for row in rows] == [False, True, True, False, True, True, False]
    assert [rows[place][BYTES] for place in (0, 3, 6)] == [order(0), order(3), order(5)]


def test_it_is_the_same_however_many_come_at_once() -> None:
    """A task that is run again may be given its records in other pieces."""
    values = [None if number % 7 == 3 else order(number, 1 + number % 5 // 4) for number in range(60)]
    together = forwarding().decode(byte_column(values)).column
    apart = pa.concat_arrays([forwarding().decode(byte_column([value])).column for value in values])
    assert together == apart


def test_only_whole_values_are_forwarded() -> None:
    """A field that is not read must not be written either."""
    fields = [{"name": "id", "type": "string"}, {"name": "ssn", "type": ["null", "string"], "default": None}]
    schema = registered({"type": "record", "name": "Customer", "fields": fields}, 7)
    access = RegistryAccess(("http://localhost:1",))
    whole = ReaderSchema("avro", "value", spark_type_of("avro", schema), schema, access)
    fewer = whole._replace(type=StructType([StructField("id", StringType())]))
    writer = WriterSchema("avro", "value", schema)
    assert is_forwarded(whole, writer)
    assert not is_forwarded(fewer, writer)
    assert not is_forwarded(whole, writer._replace(schema=schema._replace(id=8)))
    assert not is_forwarded(whole._replace(format="json"), writer._replace(format="json"))
