"""Every method of confluent_kafka's SchemaRegistryClient."""

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka.schema_registry import (
    AssociationCreateOrUpdateRequest,
    AsyncSchemaRegistryClient,
    ConfigCompatibilityLevel,
    Metadata,
    MetadataProperties,
    MetadataTags,
    Rule,
    RuleKind,
    RuleMode,
    RuleParams,
    RuleSet,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryError,
    ServerConfig,
)

from tests.registry.registry_process import RegistryProcess

NewClient = Callable[[], SchemaRegistryClient]
OTHERS_TEST = {"config", "new_client", "close", "clear_caches", "clear_latest_caches"}
"""Methods that ask nothing of a registry."""


def avro(name: str, *fields: str, defaults: bool = True) -> Schema:
    """A record of optional strings."""
    default = {"default": ""} if defaults else {}
    told = [{"name": field, "type": "string", **default} for field in fields]
    return Schema(json.dumps({"type": "record", "name": name, "namespace": "shop", "fields": told}), "AVRO")


def with_property(schema: Schema, **properties: str) -> Schema:
    metadata = Metadata(None, MetadataProperties(properties), [])
    return Schema(schema.schema_str, schema.schema_type, schema.references, metadata, schema.rule_set)


@contextmanager
def refusal(status: int, code: int, words: str = "") -> Iterator[None]:
    """The registry must refuse what is done within."""
    with pytest.raises(SchemaRegistryError) as refused:
        yield
    assert (refused.value.http_status_code, refused.value.error_code) == (status, code), refused.value
    assert re.search(words, refused.value.error_message), refused.value.error_message


def test_every_method_is_called_here() -> None:
    """So that a newer client's methods are seen: each is named in this file."""
    methods = {
        name
        for name, _ in inspect.getmembers(SchemaRegistryClient, inspect.isfunction)
        if not name.startswith("_") and name not in OTHERS_TEST
    }
    with open(__file__) as file:
        text = file.read()
    assert {name for name in methods if f"client.{name}(" not in text and f"client().{name}(" not in text} == set()


def test_registering_and_fetching(client: SchemaRegistryClient, new_client: NewClient, subject: str) -> None:
    first, second = avro("Order", "id"), avro("Order", "id", "region")
    registered = client.register_schema_full_response(subject, first)
    schema_id = registered.schema_id
    assert schema_id is not None
    assert new_client().register_schema(subject, first) == schema_id
    assert new_client().register_schema(f"{subject}-too", first) == schema_id
    assert client.register_schema(subject, second) > schema_id
    assert client.get_versions(subject) == [1, 2]

    fetched = new_client().get_schema(schema_id)
    assert json.loads(fetched.schema_str or "") == json.loads(first.schema_str or "")
    assert (fetched.schema_type, fetched.references, fetched.metadata, fetched.rule_set) == ("AVRO", [], None, None)
    assert new_client().get_schema(schema_id, subject_name=subject) == fetched
    assert sorted(client.get_subjects_by_schema_id(schema_id)) == [subject, f"{subject}-too"]
    assert sorted((each.subject, each.version) for each in client.get_schema_versions(schema_id)) == [
        (subject, 1),
        (f"{subject}-too", 1),
    ]
    version = new_client().get_version(subject, 1)
    assert (version.subject, version.version, version.schema_id, version.schema) == (subject, 1, schema_id, fetched)
    latest = client.get_latest_version(subject)
    assert (latest.version, latest.schema.schema_str) == (2, new_client().get_version(subject, 2).schema.schema_str)
    assert version.guid is not None
    assert new_client().get_schema_by_guid(version.guid) == fetched
    assert sorted(client.get_schema_types()) == ["AVRO", "JSON", "PROTOBUF"]


def test_looking_up(client: SchemaRegistryClient, new_client: NewClient, subject: str) -> None:
    schema = avro("Order", "id")
    with refusal(404, 40401, subject):
        client.lookup_schema(subject, schema)
    schema_id = client.register_schema(subject, schema)
    found = new_client().lookup_schema(subject, schema)
    assert (found.subject, found.version, found.schema_id) == (subject, 1, schema_id)
    with refusal(404, 40403, "Schema not found"):
        client.lookup_schema(subject, avro("Order", "other"))
    client.delete_subject(subject)
    with refusal(404, 40401):
        new_client().lookup_schema(subject, schema)
    assert new_client().lookup_schema(subject, schema, deleted=True).schema_id == schema_id


def test_normalizing(client: SchemaRegistryClient, new_client: NewClient, subject: str) -> None:
    """Another spelling of a schema is the same one, if both are normalized."""
    plain = Schema('{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"string"}]}')
    wordy = Schema(
        '{"fields":[{"type":{"type":"string"},"name":"id"}],"name":"shop.Order","type":"record"}', schema_type="AVRO"
    )
    schema_id = client.register_schema(subject, plain, normalize_schemas=True)
    assert new_client().register_schema(subject, wordy, normalize_schemas=True) == schema_id
    assert new_client().lookup_schema(subject, wordy, normalize_schemas=True).schema_id == schema_id
    assert client.test_compatibility(subject, wordy, normalize=True)


def test_subjects(client: SchemaRegistryClient, subject: str) -> None:
    names = [f"{subject}-{letter}" for letter in "abc"]
    for name in names:
        client.register_schema(name, avro("Order", "id"))
    client.delete_subject(names[1])
    assert client.get_subjects(subject_prefix=subject) == [names[0], names[2]]
    assert client.get_subjects(subject_prefix=subject, deleted=True) == names
    assert client.get_subjects(subject_prefix=subject, deleted_only=True) == [names[1]]
    assert client.get_subjects(subject_prefix=subject, deleted=True, offset=1, limit=1) == [names[1]]
    assert set(names) <= set(client.get_subjects(deleted=True))
    assert names[1] not in client.get_subjects()


def test_what_is_deleted(client: SchemaRegistryClient, new_client: NewClient, subject: str) -> None:
    """Softly first, then for good; what is gone for good is in no list."""
    for count in (1, 2, 3):
        client.register_schema(subject, avro("Order", *"abc"[:count]))
    with refusal(404, 40407):
        client.delete_version(subject, 1, permanent=True)
    assert client.delete_version(subject, 1) == 1
    with refusal(404, 40406):
        client.delete_version(subject, 1)
    assert client.get_versions(subject) == [2, 3]
    assert client.get_versions(subject, deleted=True) == [1, 2, 3]
    assert client.get_versions(subject, deleted_only=True) == [1]
    assert client.get_version(subject, 1, deleted=True).version == 1
    with refusal(404, 40402):
        new_client().get_version(subject, 1)
    assert client.delete_version(subject, 1, permanent=True) == 1
    assert client.get_versions(subject, deleted=True) == [2, 3]
    with refusal(404, 40405):
        client.delete_subject(subject, permanent=True)
    assert client.delete_subject(subject) == [2, 3]
    assert client.delete_subject(subject, permanent=True) == [2, 3]
    assert subject not in client.get_subjects(deleted=True)
    with refusal(404, 40401):
        client.get_versions(subject, deleted=True)


def test_references(client: SchemaRegistryClient, new_client: NewClient, subject: str) -> None:
    """Who is referred to knows by whom, and cannot be deleted; a reference to nothing is refused."""
    client.register_schema(f"{subject}-customer", avro("Customer", "name"))
    order = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "who", "type": "shop.Customer"}]})
    references = [SchemaReference("shop.Customer", f"{subject}-customer", 1)]
    schema_id = client.register_schema(subject, Schema(order, "AVRO", references))
    assert client.get_referenced_by(f"{subject}-customer", 1) == [schema_id]
    assert client.get_referenced_by(f"{subject}-customer") == [schema_id]
    assert new_client().get_schema(schema_id).references == references
    resolved = json.loads(new_client().get_schema(schema_id, fmt="resolved").schema_str or "")
    assert resolved["fields"][0]["type"]["name"] == "Customer"
    with refusal(422, 42206, "reference"):
        client.delete_version(f"{subject}-customer", 1)
    with refusal(422, 42201, "nobody"):
        client.register_schema(subject, Schema(order, "AVRO", [SchemaReference("shop.Customer", "nobody", 1)]))


def test_compatibility(client: SchemaRegistryClient, subject: str) -> None:
    demanding = avro("Order", "id", "amount", defaults=False)
    assert client.test_compatibility_all_versions(subject, demanding)  # with nothing
    assert client.test_compatibility(subject, demanding)
    with refusal(404, 40402):
        client.test_compatibility(subject, demanding, version=1)
    client.register_schema(subject, avro("Order", "id"))
    assert not client.test_compatibility(subject, demanding)
    assert not client.test_compatibility(subject, demanding, version=1, verbose=True)
    assert not client.test_compatibility_all_versions(subject, demanding)
    assert client.test_compatibility(subject, avro("Order", "id", "region"))
    with refusal(409, 409, "READER_FIELD_MISSING_DEFAULT_VALUE.*amount"):
        client.register_schema(subject, demanding)
    answered: Any = client.set_compatibility(subject, "none")
    assert answered == {"compatibility": "NONE"}
    assert client.get_compatibility(subject) == "NONE"
    assert client.test_compatibility(subject, demanding)
    with refusal(422, 42203, "SIDEWAYS"):
        client.set_compatibility(subject, "SIDEWAYS")


def test_configs(client: SchemaRegistryClient, subject: str) -> None:
    """What is set is what is got; what a subject's config does not say is said by that of all."""
    with refusal(404, 40408, subject):
        client.get_config(subject)
    config = ServerConfig(
        compatibility=ConfigCompatibilityLevel.FULL,
        compatibility_group="major",
        default_metadata=Metadata(None, MetadataProperties({"owner": "shop"}), []),
        override_metadata=Metadata(None, MetadataProperties({"checked": "yes"}), []),
    )
    client.set_config(subject, config)
    found = client.get_config(subject)
    assert (found.compatibility_level, found.compatibility_group) == (ConfigCompatibilityLevel.FULL, "major")
    assert (found.default_metadata, found.override_metadata) == (config.default_metadata, config.override_metadata)
    client.register_schema(subject, avro("Order", "id"))
    metadata = client.get_latest_version(subject).schema.metadata
    assert metadata is not None
    assert metadata.properties == MetadataProperties({"owner": "shop", "checked": "yes"})
    assert client.delete_config(subject).compatibility_level == ConfigCompatibilityLevel.FULL
    with refusal(404, 40408):
        client.get_config(subject)
    assert client.get_compatibility() == "BACKWARD"


def test_modes(client: SchemaRegistryClient, subject: str) -> None:
    with refusal(404, 40409, subject):
        client.get_mode(subject)
    assert client.update_mode(subject, "READONLY") == "READONLY"
    assert client.get_mode(subject) == "READONLY"
    with refusal(422, 42205, "read-only"):
        client.register_schema(subject, avro("Order", "id"))
    assert client.delete_mode(subject) == "READONLY"
    client.register_schema(subject, avro("Order", "id"))
    with refusal(422, 42205, "import"):
        client.update_mode(subject, "IMPORT")
    assert client.update_mode(subject, "IMPORT", force=True) == "IMPORT"
    with refusal(422, 42204, "SIDEWAYS"):
        client.update_mode(subject, "SIDEWAYS")


def test_what_all_subjects_share(own_registry: RegistryProcess, subject: str) -> None:
    with SchemaRegistryClient({"url": own_registry.url}) as client:
        assert client.get_subjects() == []
        assert client.get_compatibility() == "BACKWARD"
        answered: Any = client.set_compatibility(level="FULL_TRANSITIVE")
        assert answered == {"compatibility": "FULL_TRANSITIVE"}
        assert client.get_config().compatibility_level == ConfigCompatibilityLevel.FULL_TRANSITIVE
        assert client.delete_config().compatibility_level == ConfigCompatibilityLevel.FULL_TRANSITIVE
        assert client.get_compatibility() == "BACKWARD"
        assert client.get_global_mode() == "READWRITE"
        assert client.update_global_mode("READONLY") == "READONLY"
        with refusal(422, 42205):
            client.register_schema(subject, avro("Order", "id"))
        assert client.update_global_mode("READWRITE") == "READWRITE"
        assert client.get_contexts() == ["."]
        client.register_schema(f":.staging:{subject}", avro("Order", "id"))
        assert client.get_contexts() == [".", ".staging"]
        assert client.get_contexts(offset=1, limit=1) == [".staging"]


def test_metadata_and_rules(client: SchemaRegistryClient, new_client: NewClient, subject: str) -> None:
    """A data contract comes back as it went in, and a version is found by what its metadata says."""
    rule = Rule(
        name="masked",
        doc="no names",
        kind=RuleKind.TRANSFORM,
        mode=RuleMode.WRITE,
        type="CEL_FIELD",
        tags=["PII"],
        params=RuleParams({"size": "3"}),
        expr="value",
        on_success="NONE",
        on_failure="ERROR",
        disabled=False,
    )
    first = Schema(
        avro("Order", "id").schema_str,
        "AVRO",
        [],
        Metadata(MetadataTags({"**.id": ["PII"]}), MetadataProperties({"major": "1"}), ["secret"]),
        RuleSet(migration_rules=[], domain_rules=[rule], encoding_rules=[]),
    )
    schema_id = client.register_schema(subject, first)
    second_id = client.register_schema(subject, with_property(avro("Order", "id", "region"), major="2"))
    found = new_client().get_schema(schema_id)
    assert (found.metadata, found.rule_set) == (first.metadata, first.rule_set)
    assert client.get_latest_with_metadata(subject, {"major": "1"}).schema_id == schema_id
    assert client.get_latest_with_metadata(subject, {"major": "2"}).schema_id == second_id
    with refusal(404, 40403):
        client.get_latest_with_metadata(subject, {"major": "3"})


def test_a_client_that_does_not_block(registry: RegistryProcess, subject: str) -> None:
    async def story() -> None:
        async with AsyncSchemaRegistryClient({"url": registry.url}) as client:
            schema_id = await client.register_schema(subject, avro("Order", "id"))
            assert (await client.get_latest_version(subject)).schema_id == schema_id
            with refusal(404, 40401):
                await client.get_versions(f"{subject}-unknown")
            found = await asyncio.gather(*(client.get_schema(schema_id, subject_name=f"{n}") for n in range(20)))
            assert len({each.schema_str for each in found}) == 1

    asyncio.run(story())


ODD_SUBJECTS = ["a/b", "ünïcödé", "with space", "per%cent", "a?b#c", "plus+sign", ":.:default", "x" * 200]


@pytest.mark.parametrize("name", ODD_SUBJECTS)
def test_odd_names(client: SchemaRegistryClient, name: str, subject: str) -> None:
    """The client encodes them; they come back as they were."""
    odd = name if name.startswith(":.:") else f"{subject}{name}"
    client.register_schema(odd, avro("Order", "id"))
    told = odd.removeprefix(":.:")
    assert client.get_latest_version(odd).subject == told
    assert told in client.get_subjects()
    assert client.delete_subject(odd) == [1]


REFUSED: list[tuple[str, Schema, str]] = [
    ("no JSON", Schema('{"type": "record"', "AVRO"), ""),
    ("no Avro", Schema('{"type": "recrd", "name": "Order"}', "AVRO"), "recrd"),
    ("nothing", Schema("", "AVRO"), ""),
    ("no such type", Schema("{}", "THRIFT"), "THRIFT"),
    ("no Protobuf", Schema('syntax = "proto3"; message {', "PROTOBUF"), ""),
    ("no JSON Schema", Schema('{"type": "strng"}', "JSON"), "strng"),
]


@pytest.mark.parametrize(("schema", "words"), [each[1:] for each in REFUSED], ids=[each[0] for each in REFUSED])
def test_what_is_no_schema(client: SchemaRegistryClient, subject: str, schema: Schema, words: str) -> None:
    with refusal(422, 42201, words):
        client.register_schema(subject, schema)
    assert subject not in client.get_subjects()


def test_associations_are_not_kept(client: SchemaRegistryClient) -> None:
    """Confluent's own registry has none outside its cloud either; serializers fall back to the topic's name."""
    calls: list[Callable[[], Any]] = [
        lambda: client.get_associations_by_resource_name("orders", "-"),
        lambda: client.create_association(AssociationCreateOrUpdateRequest(resource_name="orders")),
        lambda: client.delete_associations("orders"),
    ]
    for call in calls:
        with refusal(404, 404):
            call()
