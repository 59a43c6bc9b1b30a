"""Confluent's own client for Python, unmodified, asks all it can ask."""

from collections.abc import Iterator

import pytest
from confluent_kafka.schema_registry import (
    ConfigCompatibilityLevel,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    ServerConfig,
)
from confluent_kafka.schema_registry.error import SchemaRegistryError

from tests.registry.http.schemas import BROKEN, JSON_SCHEMA, PROTO, V1, V2, record
from tests.registry.http.served import Api


@pytest.fixture
def client(api: Api) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": api.url}) as client:
        yield client


@pytest.mark.parametrize(("schema_type", "text"), [("AVRO", V1), ("PROTOBUF", PROTO), ("JSON", JSON_SCHEMA)])
def test_registers_and_fetches(client: SchemaRegistryClient, subject: str, schema_type: str, text: str) -> None:
    schema = Schema(text, schema_type)
    schema_id = client.register_schema(subject, schema)
    full = client.register_schema_full_response(subject, schema)
    assert full.schema_id == schema_id
    assert full.guid is not None
    assert client.get_schema(schema_id).schema_str == text
    assert client.get_schema_by_guid(full.guid).schema_type == schema_type
    found = client.lookup_schema(subject, schema)
    assert (found.subject, found.version, found.schema_id) == (subject, 1, schema_id)
    assert client.get_latest_version(subject).version == 1
    assert client.get_version(subject, 1).schema.schema_str == text
    assert client.get_versions(subject) == [1]
    assert subject in client.get_subjects()
    assert subject in client.get_subjects_by_schema_id(schema_id)
    assert client.get_schema_types() == ["JSON", "PROTOBUF", "AVRO"]
    assert client.get_contexts()[0] == "."


def test_asks_for_compatibility_and_sets_it(client: SchemaRegistryClient, subject: str) -> None:
    client.register_schema(subject, Schema(V1, "AVRO"))
    assert client.test_compatibility(subject, Schema(V2, "AVRO"))
    assert not client.test_compatibility(subject, Schema(BROKEN, "AVRO"))
    assert client.test_compatibility_all_versions(subject, Schema(V2, "AVRO"))
    client.set_compatibility(subject, "NONE")
    assert client.get_compatibility(subject) == "NONE"
    client.set_config(subject, ServerConfig(ConfigCompatibilityLevel.FULL, compatibility_group="major"))
    assert client.get_config(subject).compatibility_group == "major"
    client.delete_config(subject)
    with pytest.raises(SchemaRegistryError) as refused:
        client.get_config(subject)
    assert (refused.value.http_status_code, refused.value.error_code) == (404, 40408)
    assert client.get_compatibility() == "BACKWARD"


def test_refers_to_other_schemas(client: SchemaRegistryClient, subject: str) -> None:
    client.register_schema(f"{subject}-item", Schema(record("Item", "sku"), "AVRO"))
    reference = SchemaReference("Item", f"{subject}-item", 1)
    basket = Schema(record("Basket", {"name": "item", "type": "Item"}), "AVRO", [reference])
    schema_id = client.register_schema(subject, basket)
    assert client.get_schema(schema_id).references == [reference]
    assert client.get_referenced_by(f"{subject}-item", 1) == [schema_id]
    with pytest.raises(SchemaRegistryError, match="references exist"):
        client.delete_subject(f"{subject}-item")


def test_deletes_and_changes_modes(client: SchemaRegistryClient, subject: str) -> None:
    for text in (V1, V2):
        client.register_schema(subject, Schema(text, "AVRO"))
    assert client.delete_version(subject, 1) == 1
    assert client.delete_version(subject, 1, permanent=True) == 1
    assert client.delete_subject(subject) == [2]
    assert client.delete_subject(subject, permanent=True) == [2]
    assert client.get_global_mode() == "READWRITE"
    assert client.update_mode(subject, "READONLY") == "READONLY"
    assert client.get_mode(subject) == "READONLY"
    with pytest.raises(SchemaRegistryError) as refused:
        client.register_schema(subject, Schema(V1, "AVRO"))
    assert refused.value.error_code == 42205
