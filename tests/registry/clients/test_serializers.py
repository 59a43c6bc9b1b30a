"""Confluent's serializers for Python, end to end: what one writes to a topic another reads with nothing but the registry's address."""

import base64
import json
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import pytest
from confluent_kafka.schema_registry import (
    Metadata,
    MetadataProperties,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryError,
    dual_schema_id_deserializer,
    header_schema_id_serializer,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
    topic_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from tests.clients.client import Record
from tests.clients.drivers.confluent import ConfluentKafka
from tests.registry.formats.protobuf.judge import compiled, pool_of
from tests.registry.registry_process import RegistryProcess

NewClient = Callable[[], SchemaRegistryClient]

CUSTOMER_AVRO = '{"type":"record","name":"Customer","namespace":"shop","fields":[{"name":"name","type":"string"}]}'
ORDER_AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [
            {"name": "id", "type": "string"},
            {"name": "amount", "type": "double"},
            {"name": "region", "type": ["null", "string"], "default": None},
        ],
    }
)
ORDER_JSON = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Order",
        "type": "object",
        "properties": {"id": {"type": "string"}, "amount": {"type": "number"}, "region": {"type": "string"}},
        "required": ["id", "amount"],
        "additionalProperties": False,
    }
)
CUSTOMER_PROTO = 'syntax = "proto3"; package shop; message Customer { string name = 1; }'
ORDER_PROTO = """
syntax = "proto3";
package shop;
import "shop/customer.proto";
import "google/protobuf/timestamp.proto";
message Line { string article = 1; int32 count = 2; }
message Order {
  string id = 1;
  double amount = 2;
  map<string, string> labels = 3;
  Customer customer = 4;
  google.protobuf.Timestamp created_at = 5;
  oneof payment { string card = 6; string invoice = 7; }
  optional string region = 8;
  repeated Line lines = 9;
}
"""
ORDER = {"id": "order-1", "amount": 99.99, "region": "EU"}


def value_of(topic: str, headers: Any = None) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE, headers)


@cache
def proto_class(name: str) -> Any:
    """A message as protoc makes it."""
    return GetMessageClass(proto_files().FindMessageTypeByName(f"shop.{name}"))


@cache
def proto_files() -> DescriptorPool:
    return pool_of(compiled(ORDER_PROTO, {"shop/customer.proto": CUSTOMER_PROTO}))


def proto_order() -> Any:
    order = proto_class("Order")(id="order-1", amount=99.99, card="4711", labels={"a": "b"}, region="EU")
    order.customer.name = "Karl"
    order.created_at.FromSeconds(1_700_000_000)
    order.lines.add(article="coal", count=3)
    return order


def through(confluent: ConfluentKafka, topic: str, value: bytes | None, **record: Any) -> bytes:
    """What comes out of the topic when this is put in."""
    [offset] = confluent.produce(topic, [Record(value=value, **record)])
    [stored] = confluent.read(topic, 0, start=offset, count=1)
    assert stored.value is not None
    return stored.value


class Format(NamedTuple):
    """How a format is written and read, and what an order is in it."""

    write: Callable[[SchemaRegistryClient, dict[str, Any]], Any]
    read: Callable[[SchemaRegistryClient, dict[str, Any]], Any]
    order: Any
    record_name: str


def avro_writer(client: SchemaRegistryClient, settings: dict[str, Any]) -> Any:
    return AvroSerializer(client, ORDER_AVRO, conf=settings)


def json_writer(client: SchemaRegistryClient, settings: dict[str, Any]) -> Any:
    return JSONSerializer(ORDER_JSON, client, conf=settings)


def proto_writer(client: SchemaRegistryClient, settings: dict[str, Any]) -> Any:
    return ProtobufSerializer(proto_class("Order"), client, conf=settings)


def avro_reader(client: SchemaRegistryClient, settings: dict[str, Any]) -> Any:
    return AvroDeserializer(client, conf=settings)


def json_reader(client: SchemaRegistryClient, settings: dict[str, Any]) -> Any:
    return JSONDeserializer(None, schema_registry_client=client, conf=settings)


def proto_reader(client: SchemaRegistryClient, settings: dict[str, Any]) -> Any:
    return ProtobufDeserializer(proto_class("Order"), settings, client)


FORMATS = {
    "AVRO": Format(avro_writer, avro_reader, ORDER, "shop.Order"),
    "JSON": Format(json_writer, json_reader, ORDER, "Order"),
    "PROTOBUF": Format(proto_writer, proto_reader, proto_order(), "shop.Order"),
}
each_format = pytest.mark.parametrize("name", FORMATS)


@pytest.mark.acceptance("B109")
@each_format
def test_round_trip(name: str, new_client: NewClient, confluent: ConfluentKafka, topic: str) -> None:
    """Avro, Protobuf and JSON Schema: registered on first use, fetched by a reader that knows nothing, checked before a change."""
    form = FORMATS[name]
    stored = through(confluent, topic, form.write(new_client(), {})(form.order, value_of(topic)))
    client = new_client()
    registered = client.get_latest_version(f"{topic}-value")
    assert registered.schema.schema_type == name
    assert stored[:5] == b"\0" + (registered.schema_id or 0).to_bytes(4, "big")
    assert form.read(new_client(), {})(stored, value_of(topic)) == form.order
    assert client.test_compatibility(f"{topic}-value", registered.schema)
    unlike = Schema('{"type":"int"}', "AVRO") if name != "AVRO" else Schema('{"type":"object"}', "JSON")
    assert not client.test_compatibility(f"{topic}-value", unlike)


@each_format
def test_the_id_in_a_header(name: str, new_client: NewClient, confluent: ConfluentKafka, topic: str) -> None:
    """As newer serializers can write it: the value is the data alone, and a header holds the schema's guid."""
    form = FORMATS[name]
    prefixed = form.write(new_client(), {})(form.order, value_of(topic))
    for settings in (
        {},
        {"auto.register.schemas": False},
        {"auto.register.schemas": False, "use.latest.version": True},
    ):
        headers: list[tuple[str, bytes]] = []
        write = form.write(new_client(), {**settings, "schema.id.serializer": header_schema_id_serializer})
        value = write(form.order, value_of(topic, headers))
        [offset] = confluent.produce(topic, [Record(value=value, headers=tuple(headers))])
        [stored] = confluent.read(topic, 0, start=offset, count=1)
        [(header, guid)] = stored.headers
        assert (header, guid[:1] if guid else None) == ("__value_schema_id", b"\1")
        assert stored.value is not None
        assert prefixed.endswith(stored.value)
        read = form.read(new_client(), {"schema.id.deserializer": dual_schema_id_deserializer})
        assert read(stored.value, value_of(topic, list(headers))) == form.order


@pytest.mark.acceptance("B117")
def test_wire_format(client: SchemaRegistryClient, topic: str) -> None:
    """By default the value is 0x00, the id in four bytes, big-endian, and the data (Protobuf: which message, before it).

    The document puts the id in a message header; that is what a setting of newer serializers does instead.
    """
    avro = FORMATS["AVRO"].write(client, {})(ORDER, value_of(topic))
    avro_id = client.get_latest_version(f"{topic}-value").schema_id or 0
    assert avro == b"\0" + avro_id.to_bytes(4, "big") + b"\x0eorder-1" + b"\x8f\xc2\xf5\x28\x5c\xff\x58\x40" + b"\2\4EU"
    line = proto_class("Line")(article="coal", count=3)
    proto = ProtobufSerializer(proto_class("Line"), client)(line, value_of(f"{topic}-line"))
    line_id = client.get_latest_version(f"{topic}-line-value").schema_id or 0
    assert proto == b"\0" + line_id.to_bytes(4, "big") + b"\0" + line.SerializeToString()
    order = ProtobufSerializer(proto_class("Order"), client)(proto_order(), value_of(f"{topic}-line"))
    assert order is not None
    assert order[:7] == b"\0" + line_id.to_bytes(4, "big") + b"\2\2"  # one index, the second message
    json_value = FORMATS["JSON"].write(client, {})(ORDER, value_of(f"{topic}-json"))
    json_id = client.get_latest_version(f"{topic}-json-value").schema_id or 0
    assert json_value[:5] == b"\0" + json_id.to_bytes(4, "big")
    assert json.loads(json_value[5:]) == ORDER


@pytest.mark.acceptance("B118")
def test_readers_ask_once(own_registry: RegistryProcess) -> None:
    """A reader asks for a schema once, however many records have its id: the others are read without a registry."""
    with SchemaRegistryClient({"url": own_registry.url}) as client:
        values = {name: form.write(client, {})(form.order, value_of(name)) for name, form in FORMATS.items()}
    with SchemaRegistryClient({"url": own_registry.url}) as client:
        readers = {name: form.read(client, {}) for name, form in FORMATS.items()}
        for name, form in FORMATS.items():
            assert readers[name](values[name], value_of(name)) == form.order
        own_registry.stop()
        for name, form in FORMATS.items():
            for _ in range(100):
                assert readers[name](values[name], value_of(name)) == form.order


@pytest.mark.acceptance("B119")
@each_format
@pytest.mark.parametrize(
    ("strategy", "wanted"),
    [
        (None, "{topic}-value"),
        (topic_subject_name_strategy, "{topic}-value"),
        (topic_record_subject_name_strategy, "{topic}-{record}"),
        (record_subject_name_strategy, "{record}"),
    ],
    ids=["default", "topic", "topic-record", "record"],
)
def test_subject_name_strategies(
    name: str, strategy: Any, wanted: str, new_client: NewClient, confluent: ConfluentKafka, topic: str
) -> None:
    """The subject is topic-value by default; by other strategies the record's name, alone or after the topic."""
    form = FORMATS[name]
    settings = {} if strategy is None else {"subject.name.strategy": strategy}
    client = new_client()
    subject = wanted.format(topic=topic, record=form.record_name)
    if strategy is record_subject_name_strategy and subject in client.get_subjects():
        client.delete_subject(subject)
    value = form.write(client, settings)(form.order, value_of(topic))
    assert subject in new_client().get_subjects()
    assert form.read(new_client(), settings)(value, value_of(topic)) == form.order


@pytest.mark.acceptance("B120")
@each_format
def test_auto_registering(name: str, new_client: NewClient, topic: str) -> None:
    """auto.register.schemas registers on first use; off, an unknown schema is refused: 40403, or 40401 if the subject is unknown too."""
    form = FORMATS[name]
    form.write(new_client(), {})(form.order, value_of(f"{topic}-other"))  # what Protobuf imports is there from now on
    careful = {"auto.register.schemas": False}
    with pytest.raises(SchemaRegistryError) as refused:
        form.write(new_client(), careful)(form.order, value_of(topic))
    assert (refused.value.http_status_code, refused.value.error_code) == (404, 40401)
    client = new_client()
    assert f"{topic}-value" not in client.get_subjects(deleted=True)
    other = Schema('{"type":"record","name":"Other","fields":[]}', "AVRO")
    client.register_schema(f"{topic}-value", other)
    with pytest.raises(SchemaRegistryError) as refused:
        form.write(new_client(), careful)(form.order, value_of(topic))
    assert (refused.value.http_status_code, refused.value.error_code) == (404, 40403)
    client.set_compatibility(f"{topic}-value", "NONE")
    registering = form.write(new_client(), {})(form.order, value_of(topic))
    assert form.write(new_client(), careful)(form.order, value_of(topic)) == registering


def test_the_latest_version(new_client: NewClient, topic: str) -> None:
    """With use.latest.version a producer writes what the registry has, not what it was compiled with."""
    client = new_client()
    newer = json.loads(ORDER_AVRO)
    newer["fields"].append({"name": "channel", "type": "string", "default": "web"})
    client.register_schema(f"{topic}-value", Schema(ORDER_AVRO, "AVRO"))
    newest = client.register_schema(f"{topic}-value", Schema(json.dumps(newer), "AVRO"))
    settings = {"auto.register.schemas": False, "use.latest.version": True}
    value = AvroSerializer(new_client(), None, conf=settings)(ORDER, value_of(topic))
    assert value is not None
    assert value[1:5] == newest.to_bytes(4, "big")
    assert AvroDeserializer(new_client())(value, value_of(topic)) == {**ORDER, "channel": "web"}
    old = AvroDeserializer(new_client(), ORDER_AVRO)
    assert old(value, value_of(topic)) == ORDER


def test_the_latest_with_metadata(new_client: NewClient, topic: str) -> None:
    """With use.latest.with.metadata a producer stays with the schemas that are marked as it says."""
    client = new_client()
    ids = []
    for major, text in enumerate((ORDER_AVRO, ORDER_AVRO.replace("region", "place")), 1):
        metadata = Metadata(None, MetadataProperties({"major": str(major)}), None)
        ids.append(client.register_schema(f"{topic}-value", Schema(text, "AVRO", [], metadata)))
    settings = {"auto.register.schemas": False, "use.latest.with.metadata": {"major": "1"}}
    value = AvroSerializer(new_client(), None, conf=settings)(ORDER, value_of(topic))
    assert value is not None
    assert value[1:5] == ids[0].to_bytes(4, "big")


def test_normalized_schemas(new_client: NewClient, topic: str) -> None:
    """With normalize.schemas two spellings of a schema are one."""
    spelled = json.dumps(
        {key: json.loads(ORDER_AVRO)[key] for key in ("fields", "namespace", "name", "type")}, indent=2
    )
    settings = {"normalize.schemas": True}
    values = [
        AvroSerializer(new_client(), text, conf=settings)(ORDER, value_of(topic)) for text in (ORDER_AVRO, spelled)
    ]
    assert values[0] == values[1]
    assert new_client().get_versions(f"{topic}-value") == [1]


def test_an_avro_reference(new_client: NewClient, confluent: ConfluentKafka, topic: str) -> None:
    """A type that is registered under a subject of its own is named; the reader fetches it too, through two steps."""
    client = new_client()
    client.register_schema(f"{topic}-customer", Schema(CUSTOMER_AVRO, "AVRO"))
    buyer = '{"type":"record","name":"Buyer","namespace":"shop","fields":[{"name":"who","type":"Customer"}]}'
    customer = SchemaReference("shop.Customer", f"{topic}-customer", 1)
    client.register_schema(f"{topic}-buyer", Schema(buyer, "AVRO", [customer]))
    order = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"buyer","type":"Buyer"}]}'
    schema = Schema(order, "AVRO", [SchemaReference("shop.Buyer", f"{topic}-buyer", 1)])
    told = {"buyer": {"who": {"name": "Karl"}}}
    stored = through(confluent, topic, AvroSerializer(new_client(), schema)(told, value_of(topic)))
    assert AvroDeserializer(new_client())(stored, value_of(topic)) == told


def test_a_json_reference(new_client: NewClient, confluent: ConfluentKafka, topic: str) -> None:
    """`$ref` to a schema of another subject; what does not fit it is not sent."""
    customer = '{"title":"Customer","type":"object","properties":{"name":{"type":"string"}},"required":["name"]}'
    new_client().register_schema(f"{topic}-customer", Schema(customer, "JSON"))
    order = '{"title":"Order","type":"object","properties":{"who":{"$ref":"customer.json"}},"required":["who"]}'
    schema = Schema(order, "JSON", [SchemaReference("customer.json", f"{topic}-customer", 1)])
    write = JSONSerializer(schema, new_client())
    told = {"who": {"name": "Karl"}}
    stored = through(confluent, topic, write(told, value_of(topic)))
    assert json_reader(new_client(), {})(stored, value_of(topic)) == told
    with pytest.raises(Exception, match="'name' is a required property"):
        write({"who": {}}, value_of(topic))


def test_a_protobuf_import(new_client: NewClient, topic: str) -> None:
    """What a file imports gets a subject of the import's name; Protobuf's own files need none."""
    client = new_client()
    proto_writer(client, {})(proto_order(), value_of(topic))
    registered = client.get_latest_version(f"{topic}-value").schema
    assert registered.references == [SchemaReference("shop/customer.proto", "shop/customer.proto", 1)]
    assert (registered.schema_str or "").startswith(
        'syntax = "proto3";\npackage shop;\n\nimport "shop/customer.proto";'
    )
    imported = client.get_latest_version("shop/customer.proto").schema
    assert "message Customer {" in (imported.schema_str or "")


def test_forms_of_a_protobuf_schema(new_client: NewClient, topic: str) -> None:
    """The client sends a descriptor, gets a text, and a descriptor again when it asks for one: all of them are one schema."""
    proto_writer(new_client(), {"normalize.schemas": True})(proto_order(), value_of(topic))
    text = new_client().get_latest_version(f"{topic}-value").schema
    assert "map<string, string> labels = 3" in (text.schema_str or "")
    serialized = new_client().get_latest_version(f"{topic}-value", fmt="serialized").schema
    descriptor = FileDescriptorProto.FromString(base64.b64decode(serialized.schema_str or ""))
    assert [each.name for each in descriptor.message_type] == ["Line", "Order"]
    assert list(descriptor.dependency) == ["google/protobuf/timestamp.proto", "shop/customer.proto"]
    for form in (text, serialized):
        new_client().register_schema(f"{topic}-value", form, normalize_schemas=True)
    assert new_client().get_versions(f"{topic}-value") == [1]


@pytest.mark.acceptance("B127")
def test_avro_is_smaller_than_json(new_client: NewClient, topic: str) -> None:
    """An order takes half the bytes of its JSON, measurements with long names a twentieth; texts gain little, so not always 5 to 50 times."""
    fields = [{"name": f"measured_value_number_{n}", "type": "int"} for n in range(20)]
    wide_schema = json.dumps({"type": "record", "name": "Wide", "fields": fields})
    cases = [(ORDER_AVRO, ORDER, 2.0), (wide_schema, {each["name"]: n for n, each in enumerate(fields)}, 20.0)]
    for number, (schema, told, times) in enumerate(cases):
        value = AvroSerializer(new_client(), schema)(told, value_of(f"{topic}-{number}"))
        assert value is not None
        assert len(json.dumps(told)) / len(value) >= times, (len(json.dumps(told)), len(value))
