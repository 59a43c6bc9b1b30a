"""Formats with a real registry: what is chosen when a query is planned, and Confluent's serializers at the other end."""

import json
import pickle
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from stoker.spark.errors import InvalidOption, RegistryFailed, SchemaNotFound, UnencodableColumn
from stoker.spark.formats import (
    ReaderSchema,
    WriterSchema,
    decoder_for,
    encoder_for,
    reader_schema_for,
    writer_schema_for,
)
from tests.registry.clients.test_serializers import FORMATS, ORDER, ORDER_AVRO, ORDER_JSON, value_of
from tests.registry.registry_process import RegistryProcess
from tests.spark.formats.byte_columns import byte_column

TYPES = {"avro": "AVRO", "json": "JSON", "protobuf": "PROTOBUF"}
PROTO_ORDER = {
    "id": "order-1",
    "amount": 99.99,
    "labels": [("a", "b")],
    "customer": {"name": "Karl"},
    "created_at": datetime.fromtimestamp(1_700_000_000, tz=UTC),
    "card": "4711",
    "invoice": None,
    "region": "EU",
    "lines": [{"article": "coal", "count": 3}],
}


@pytest.fixture
def topic() -> str:
    return f"orders-{uuid4().hex[:8]}"


@pytest.fixture
def options(registry: RegistryProcess) -> dict[str, str]:
    return {"schema.registry.url": registry.url}


@pytest.fixture
def new_client(registry: RegistryProcess) -> Iterator[Callable[[], SchemaRegistryClient]]:
    """Makes clients that share nothing, not even a cache."""
    with ExitStack() as clients:
        yield lambda: clients.enter_context(SchemaRegistryClient({"url": registry.url}))


def sent(description: Any) -> Any:
    """As it comes to a worker."""
    return pickle.loads(pickle.dumps(description))


def decoded(reader: ReaderSchema, *values: bytes | None) -> list[Any]:
    found = decoder_for(sent(reader)).decode(byte_column(values))
    assert found.reasons == []
    assert found.column.type == to_arrow_type(reader.type, timezone="UTC")
    rows: list[Any] = found.column.to_pylist()
    return rows


def encoded(writer: WriterSchema, rows: list[Any], column: StructType) -> list[Any]:
    array = pa.array(rows, type=to_arrow_type(column, timezone="UTC"))
    found: list[Any] = encoder_for(sent(writer), array.type).encode(array).to_pylist()
    return found


@pytest.mark.parametrize("form", ["avro", "json", "protobuf"])
def test_what_confluents_serializers_write_is_read(
    form: str, topic: str, options: dict[str, str], new_client: Callable[[], SchemaRegistryClient]
) -> None:
    other = FORMATS[TYPES[form]]
    value = other.write(new_client(), {})(other.order, value_of(topic))
    if form == "protobuf":
        options["value.message"] = "Order"
    reader = reader_schema_for(form, "value", [topic], options)
    expected = PROTO_ORDER if form == "protobuf" else ORDER
    assert decoded(reader, value, None, value) == [expected, None, expected]


@pytest.mark.parametrize("form", ["avro", "json", "protobuf"])
def test_confluents_deserializers_read_what_is_written(
    form: str, topic: str, options: dict[str, str], new_client: Callable[[], SchemaRegistryClient]
) -> None:
    """By the schema that the subject has."""
    other = FORMATS[TYPES[form]]
    written_by_other = other.write(new_client(), {})(other.order, value_of(topic))
    if form == "protobuf":
        options["value.message"] = "shop.Order"
    reader = reader_schema_for(form, "value", [topic], options)
    assert isinstance(reader.type, StructType)
    writer = writer_schema_for(form, "value", topic, options, reader.type)
    assert writer.schema == reader.schema
    value, nothing = encoded(writer, [*decoded(reader, written_by_other), None], reader.type)
    assert nothing is None
    assert other.read(new_client(), {})(value, value_of(topic)) == other.order


ROW = StructType([StructField("id", StringType()), StructField("amount", DoubleType())])
MORE = StructType([*ROW.fields, StructField("count", LongType())])


@pytest.mark.parametrize("form", ["avro", "json", "protobuf"])
def test_a_subject_without_a_schema_gets_one_and_may_grow(form: str, topic: str, options: dict[str, str]) -> None:
    first = writer_schema_for(form, "value", topic, options, ROW)
    assert first.schema is not None
    again = writer_schema_for(form, "value", topic, options, ROW).schema
    assert again is not None
    assert again.id == first.schema.id, "nothing is registered twice"
    old = encoded(first, [{"id": "a", "amount": 1.5}], ROW)
    before = reader_schema_for(form, "value", [topic], options)
    assert before.schema is not None
    assert before.schema.id == first.schema.id
    second = writer_schema_for(form, "value", topic, options, MORE)
    assert second.schema is not None
    assert second.schema.id != first.schema.id
    new = encoded(second, [{"id": "b", "amount": 2.5, "count": 7}], MORE)
    after = reader_schema_for(form, "value", [topic], options)
    assert decoded(after, *old, *new) == [
        {"id": "a", "amount": 1.5, "count": None},
        {"id": "b", "amount": 2.5, "count": 7},
    ]
    assert decoded(before, *old, *new) == [{"id": "a", "amount": 1.5}, {"id": "b", "amount": 2.5}], "as it was planned"
    fewer = StructType([StructField("id", StringType())])
    assert decoded(reader_schema_for(form, "value", [topic], options, fewer), *new) == [{"id": "b"}]
    pinned = reader_schema_for(form, "value", [topic], {**options, "value.schema.version": "1"})
    assert pinned.schema == before.schema


NAMED = {"type": "record", "name": "Order", "doc": "kept", "fields": [{"name": "id", "type": "string"}]}


def test_a_schema_that_another_subject_has(topic: str, options: dict[str, str], registry: RegistryProcess) -> None:
    """It is taken over as it is, under its id, and again when it has grown; where the columns do not fit it, it is not."""
    row = StructType([StructField("id", StringType())])
    first = registry.register(f"{topic}-value", json.dumps(NAMED))
    like = {**options, "value.subject.like": f"{topic}-value"}
    taken = writer_schema_for("avro", "value", f"{topic}-copy", like, row)
    assert taken.schema is not None
    assert (taken.schema.id, json.loads(taken.schema.text)["doc"]) == (first, "kept")
    amount = {"name": "amount", "type": "double", "default": 0}
    second = registry.register(f"{topic}-value", json.dumps({**NAMED, "fields": [*NAMED["fields"], amount]}))
    grown = writer_schema_for("avro", "value", f"{topic}-copy", like, ROW).schema
    assert grown is not None
    assert grown.id == second
    other = writer_schema_for("avro", "value", f"{topic}-other", like, MORE).schema
    assert other is not None
    assert other.id not in (first, second)
    missing = writer_schema_for("avro", "value", f"{topic}-new", {**options, "value.subject.like": "nothing"}, row)
    assert missing.schema is not None
    assert missing.schema.id != first


def test_a_schema_of_another_subject_that_does_not_go_with_the_old_one(
    topic: str, options: dict[str, str], registry: RegistryProcess
) -> None:
    """The subject refuses it, and grows as always."""
    registry.register(f"{topic}-copy-value", json.dumps(NAMED))
    changed = [{"name": "id", "type": "string"}, {"name": "amount", "type": "double"}]
    like = registry.register(f"{topic}-value", json.dumps({**NAMED, "fields": changed}))
    options = {**options, "value.subject.like": f"{topic}-value"}
    found = writer_schema_for("avro", "value", f"{topic}-copy", options, ROW).schema
    assert found is not None
    assert found.id != like
    assert json.loads(found.text)["fields"][1]["default"] is None


@pytest.mark.parametrize("form", ["avro", "json", "protobuf"])
def test_a_subject_that_may_not_grow(form: str, topic: str, options: dict[str, str]) -> None:
    writer_schema_for(form, "value", topic, options, ROW)
    for setting in ({"auto.register.schemas": "false"}, {"use.latest.version": "true"}, {"value.schema.version": "1"}):
        with pytest.raises(UnencodableColumn, match="count"):
            writer_schema_for(form, "value", topic, options | setting, MORE)
        with pytest.raises(SchemaNotFound, match="the options say that none may be registered"):
            writer_schema_for(form, "value", f"{topic}-new", options | setting, ROW)
    changed = StructType([StructField("id", LongType()), StructField("amount", DoubleType())])
    with pytest.raises(UnencodableColumn, match="id"):
        writer_schema_for(form, "value", topic, options, changed)


def test_what_the_registry_refuses(topic: str, options: dict[str, str], registry: RegistryProcess) -> None:
    """An object that is open might have had the property before, as anything."""
    open_schema = {"type": "object", "properties": {"id": {"type": "string"}}}
    registry.register(f"{topic}-value", json.dumps(open_schema), schemaType="JSON")
    with pytest.raises(RegistryFailed, match="PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"):
        writer_schema_for("json", "value", topic, options, ROW)


def test_references_stay_when_a_schema_grows(topic: str, options: dict[str, str], registry: RegistryProcess) -> None:
    registry.register(f"{topic}-customer", '{"type":"record","name":"Customer","fields":[]}')
    references = [{"name": "Customer", "subject": f"{topic}-customer", "version": 1}]
    order = {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "string"}, {"name": "by", "type": ["null", "Customer"], "default": None}],
    }
    registry.register(f"{topic}-value", json.dumps(order), references=references)
    column = StructType([StructField("id", StringType()), StructField("count", LongType())])
    writer = writer_schema_for("avro", "value", topic, options, column)
    assert writer.schema is not None
    assert list(writer.schema.dependencies) == ["Customer"]
    assert [field["name"] for field in json.loads(writer.schema.text)["fields"]] == ["id", "by", "count"]


def test_topics_of_one_schema_and_of_several(topic: str, options: dict[str, str], registry: RegistryProcess) -> None:
    for name in ("a", "b"):
        registry.register(f"{topic}-{name}-value", ORDER_JSON, schemaType="JSON")
    registry.register(f"{topic}-c-value", '{"type":"string"}', schemaType="JSON")
    alike, all_three = ([f"{topic}-{name}" for name in names] for names in ("ab", "abc"))
    reader = reader_schema_for("json", "value", alike, options)
    assert reader.type.simpleString() == "struct<id:string,amount:double,region:string>"
    with pytest.raises(InvalidOption, match=r"have different schemas .* value\.subject says which"):
        reader_schema_for("json", "value", all_three, options)
    chosen = reader_schema_for("json", "value", all_three, {**options, "value.subject": f"{topic}-c-value"})
    assert chosen.type == StringType()


def test_keys_have_subjects_of_their_own(topic: str, options: dict[str, str], registry: RegistryProcess) -> None:
    registry.register(f"{topic}-key", '"long"')
    assert reader_schema_for("avro", "key", [topic], options).type == LongType()
    with pytest.raises(SchemaNotFound, match=f"{topic}-value"):
        reader_schema_for("avro", "value", [topic], options)


def test_without_a_registry() -> None:
    assert decoded(reader_schema_for("string", "value", [], {}), b"a") == ["a"]
    assert decoded(reader_schema_for("json", "value", [], {}, ROW), b'{"id":"a"}') == [{"id": "a", "amount": None}]
    writer = writer_schema_for("json", "value", None, {}, ROW)
    assert encoded(writer, [{"id": "a"}], ROW) == [b'{"id":"a"}']


@pytest.mark.parametrize(
    ("form", "side", "options", "words"),
    [
        ("xml", "value", {}, "value.format is 'xml': it takes avro, json, protobuf, string"),
        ("avro", "headers", {}, "'headers' has no format"),
        ("avro", "key", {}, "key.format is avro, which needs its schemas: schema.registry.url"),
        ("protobuf", "value", {}, "value.format is protobuf, which needs its schemas"),
        ("json", "value", {}, r"schema\.registry\.url names the registry .* or \.schema\("),
        ("json", "value", {"schema.registry.url": "http://127.0.0.1:1"}, "no topic yet .* value.subject says where"),
        (
            "json",
            "value",
            {"schema.registry.url": "http://127.0.0.1:1", "value.schema.version": "0"},
            "value.schema.version is '0': it takes latest, or the number",
        ),
    ],
)
def test_options_that_cannot_be(form: str, side: str, options: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        reader_schema_for(form, side, [], options)


def test_types_that_cannot_be(topic: str, options: dict[str, str], registry: RegistryProcess) -> None:
    with pytest.raises(InvalidOption, match=r"value\.format is string, and the schema says that value is bigint"):
        reader_schema_for("string", "value", [topic], {}, LongType())
    with pytest.raises(UnencodableColumn, match="a column of struct"):
        writer_schema_for("string", "value", topic, {}, ROW)
    with pytest.raises(InvalidOption, match=r"rows name their own topics: value\.subject says"):
        writer_schema_for("avro", "value", None, options, ROW)
    with pytest.raises(InvalidOption, match=r"auto\.register\.schemas is 'maybe': it takes true or false"):
        writer_schema_for("avro", "value", topic, {**options, "auto.register.schemas": "maybe"}, ROW)
    registry.register(f"{topic}-value", ORDER_AVRO)
    with pytest.raises(InvalidOption, match=r"is of type AVRO: value\.format=avro reads and writes by it"):
        reader_schema_for("json", "value", [topic], options)
