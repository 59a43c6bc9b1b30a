"""/subjects/{subject}/versions."""

import pytest

from tests.registry.http.schemas import BROKEN, JSON_SCHEMA, PROTO, V1, V2, record
from tests.registry.http.served import MODERN, Api


@pytest.mark.parametrize(("schema", "schema_type"), [(V1, "AVRO"), (PROTO, "PROTOBUF"), (JSON_SCHEMA, "JSON")])
def test_registers_a_schema_once(api: Api, subject: str, schema: str, schema_type: str) -> None:
    path, body = f"/subjects/{subject}/versions", {"schema": schema, "schemaType": schema_type}
    status, first = api("POST", path, body)
    assert (status, set(first)) == (200, {"id"})
    assert api("POST", path, body) == (200, first)
    assert api("GET", path) == (200, [1])
    status, shown = api("POST", path, body, MODERN)
    assert (status, shown["id"], shown["version"], shown["schemaType"], shown["schema"]) == (
        200,
        first["id"],
        1,
        schema_type,
        schema,
    )


@pytest.mark.acceptance("C099")
def test_registers_by_curl_of_the_first_kind(api: Api, subject: str) -> None:
    """A schema is registered by POST /subjects/{subject}/versions; a placeholder is refused with 42201."""
    path = f"/subjects/{subject}/versions"
    status, reply = api("POST", path, {"schema": record("Order", "id")})
    assert (status, reply) == (200, {"id": reply["id"]})
    assert api("POST", path, {"schema": record("Order", "id")}) == (200, reply)
    assert api.error("POST", path, {"schema": '{"type":"record","name":"Order",...}'}) == (422, 42201)


@pytest.mark.acceptance("C100")
def test_registers_by_curl_of_the_second_kind(api: Api) -> None:
    """A user event is registered as Avro, which is the type when none is named."""
    amount = {"name": "amount", "type": ["null", "double"], "default": None}
    schema = record("UserEvent", "user_id", "event_type", amount)
    status, reply = api("POST", "/subjects/user-events-value/versions", {"schema": schema})
    assert (status, reply) == (200, {"id": reply["id"]})
    assert api("GET", f"/schemas/ids/{reply['id']}", headers=MODERN)[1]["schemaType"] == "AVRO"


@pytest.mark.acceptance("B259")
def test_a_renamed_field_is_refused_under_full(api: Api, subject: str) -> None:
    """Renaming user_id to userId is refused with 409 under FULL, and the message names the field."""
    assert api("PUT", f"/config/{subject}", {"compatibility": "FULL"})[0] == 200
    api.register(subject, record("UserEvent", "user_id"))
    status, reply = api("POST", f"/subjects/{subject}/versions", {"schema": record("UserEvent", "userId")})
    assert (status, reply["error_code"]) == (409, 409)
    assert "userId" in reply["message"]


@pytest.mark.acceptance("B109")
@pytest.mark.parametrize(
    ("schema_type", "schema", "other"),
    [
        ("AVRO", V1, record("Order", "id", "region")),
        ("PROTOBUF", PROTO, PROTO.replace("string id", "int32 id")),
        ("JSON", JSON_SCHEMA, JSON_SCHEMA.replace("string", "integer")),
    ],
)
def test_three_types_of_schemas(api: Api, subject: str, schema_type: str, schema: str, other: str) -> None:
    """Avro, Protobuf and JSON Schema are registered, fetched and checked."""
    schema_id = api.register(subject, schema, schemaType=schema_type)
    fetched = api("GET", f"/schemas/ids/{schema_id}", headers=MODERN)[1]
    assert (fetched["schemaType"], fetched["schema"]) == (schema_type, schema)
    check = f"/compatibility/subjects/{subject}/versions/latest"
    assert api("POST", check, {"schema": schema, "schemaType": schema_type}) == (200, {"is_compatible": True})
    assert api("POST", check, {"schema": other, "schemaType": schema_type}) == (200, {"is_compatible": False})


@pytest.mark.acceptance("C103", "S110")
def test_line_breaks_within_a_schema_are_let_through(api: Api, subject: str) -> None:
    """A body whose schema is broken over lines as it stands, which is no JSON by the letter, is registered."""
    content = (
        b'{"schemaType": "AVRO", "schema": "{\n \\"type\\": \\"record\\",\n \\"name\\": \\"Order\\",\n \\"fields\\": [\n'
        b' {\\"name\\": \\"id\\", \\"type\\": \\"string\\"},\n {\\"name\\": \\"created_at\\", \\"type\\": \\"long\\",'
        b' \\"logicalType\\": \\"timestamp-millis\\"}\n ]\n}"}'
    )
    status, reply = api("POST", f"/subjects/{subject}/versions", content)
    assert (status, set(reply)) == (200, {"id"})


def test_one_schema_has_one_id_under_all_subjects(api: Api, subject: str) -> None:
    assert api.register(f"{subject}-a", V1) == api.register(f"{subject}-b", V1)
    assert api.register(f"{subject}-a", V2) != api.register(f"{subject}-b", V1)


def test_gets_versions_by_number_and_the_latest(api: Api, subject: str) -> None:
    first, second = api.register(subject, V1), api.register(subject, V2)
    path = f"/subjects/{subject}/versions"
    assert api("GET", f"{path}/1") == (200, {"subject": subject, "version": 1, "id": first, "schema": V1})
    for latest in ("2", "latest", "LATEST", "-1", "%20latest"):
        assert api("GET", f"{path}/{latest}") == (200, {"subject": subject, "version": 2, "id": second, "schema": V2})
    assert api.raw("GET", f"{path}/1/schema").text == V1


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("versions/3", (404, 40402)),
        ("versions/0", (422, 42202)),
        ("versions/-2", (422, 42202)),
        ("versions/2147483648", (422, 42202)),
        ("versions/x", (422, 42202)),
        ("versions/3/schema", (404, 40402)),
        ("versions/3/referencedby", (404, 40402)),
    ],
)
def test_versions_that_are_not_there(api: Api, path: str, answer: tuple[int, int]) -> None:
    api.register("there", V1)
    assert api.error("GET", f"/subjects/there/{path}") == answer


@pytest.mark.parametrize("path", ["versions", "versions/1", "versions/latest", "versions/1/schema"])
def test_subjects_that_are_not_there(api: Api, path: str) -> None:
    assert api.error("GET", f"/subjects/unheard-of/{path}") == (404, 40401)


def test_lists_deleted_versions_when_asked_for(api: Api, subject: str) -> None:
    path = f"/subjects/{subject}/versions"
    for schema in (V1, V2):
        api.register(subject, schema)
    assert api("DELETE", f"{path}/1") == (200, 1)
    assert api("GET", path) == (200, [2])
    assert api("GET", f"{path}?deleted=true") == (200, [1, 2])
    assert api("GET", f"{path}?deletedOnly=true") == (200, [1])
    assert api("GET", f"{path}?deletedAsNegative=true") == (200, [-1, 2])
    assert api("GET", f"{path}?deleted=true&offset=1&limit=5") == (200, [2])
    assert api.error("GET", f"{path}/1") == (404, 40402)
    assert api("GET", f"{path}/1?deleted=true")[1]["version"] == 1
    assert api("GET", f"{path}/1?deleted=true", headers=MODERN)[1]["deleted"] is True


def test_deletes_a_version_in_two_steps(api: Api, subject: str) -> None:
    path = f"/subjects/{subject}/versions"
    assert api.error("DELETE", f"{path}/1") == (404, 40401)
    for schema in (V1, V2):
        api.register(subject, schema)
    assert api.error("DELETE", f"{path}/7") == (404, 40402)
    assert api.error("DELETE", f"{path}/x") == (422, 42202)
    assert api.error("DELETE", f"{path}/1?permanent=true") == (404, 40407)
    assert api("DELETE", f"{path}/latest") == (200, 2)
    assert api.error("DELETE", f"{path}/2") == (404, 40406)
    assert api("DELETE", f"{path}/2?permanent=true") == (200, 2)


def test_what_others_refer_to_is_not_deleted(api: Api, subject: str) -> None:
    api.register(f"{subject}-item", record("Item", "sku"))
    reference = {"name": "Item", "subject": f"{subject}-item", "version": 1}
    order = record("Basket", {"name": "item", "type": "Item"})
    basket = api.register(subject, order, references=[reference])
    path = f"/subjects/{subject}-item/versions/1"
    assert api("GET", f"{path}/referencedby") == (200, [basket])
    assert api.error("DELETE", path) == (422, 42206)
    assert api.error("DELETE", f"/subjects/{subject}-item") == (422, 42206)
    assert api("GET", f"/subjects/{subject}/versions/1")[1]["references"] == [reference]
    api("DELETE", f"/subjects/{subject}")
    assert api("GET", f"{path}/referencedby") == (200, [])
    assert api("GET", f"{path}/referencedby?deleted=true") == (200, [basket])


def test_refuses_what_the_level_forbids_and_says_why(api: Api, subject: str) -> None:
    api.register(subject, V1)
    status, reply = api("POST", f"/subjects/{subject}/versions", {"schema": BROKEN})
    assert (status, reply["error_code"]) == (409, 409)
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in reply["message"]
    assert "region" in reply["message"]
    assert "{oldSchemaVersion: 1}" in reply["message"]


def test_imports_with_ids(api: Api, subject: str) -> None:
    path = f"/subjects/{subject}/versions"
    assert api.error("POST", path, {"schema": V1, "id": 700}) == (422, 42205)
    assert api("PUT", f"/mode/{subject}", {"mode": "IMPORT"}) == (200, {"mode": "IMPORT"})
    assert api("POST", path, {"schema": V1, "id": 700, "version": 5}) == (200, {"id": 700})
    assert api("GET", f"{path}/5")[1]["id"] == 700
    assert api("GET", "/schemas/ids/700")[1] == {"schema": V1}
    status, code = api.error("POST", path, {"schema": V2, "id": 700})
    assert (status, code) in ((422, 42205), (422, 42207))


@pytest.mark.parametrize("name", ["__GLOBAL", "__EMPTY", "a%00b", "%0A"])
def test_subjects_that_cannot_be(api: Api, name: str) -> None:
    assert api.error("POST", f"/subjects/{name}/versions", {"schema": V1}) == (422, 42208)


def test_shows_the_forms_of_a_schema(api: Api, subject: str) -> None:
    api.register(subject, PROTO, schemaType="PROTOBUF")
    path = f"/subjects/{subject}/versions/1"
    assert api("GET", f"{path}?format=unheard-of")[1]["schema"] == PROTO
    serialized = api("GET", f"{path}?format=serialized")[1]["schema"]
    assert serialized != PROTO
    assert api.raw("GET", f"{path}/schema?format=serialized").text == serialized


def test_keeps_metadata_and_rules_and_ignores_the_rest(api: Api, subject: str) -> None:
    rule = {"name": "check", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "true", "unknown": 1}
    api.register(
        subject,
        V1,
        metadata={"properties": {"b": 1, "a": "x"}, "tags": {"id": ["PII", "PII"]}, "unknown": {}},
        ruleSet={"domainRules": [rule]},
        propagateSchemaTags=True,
        unheardOf=[1, 2],
    )
    shown = api("GET", f"/subjects/{subject}/versions/1")[1]
    assert shown["metadata"] == {"tags": {"id": ["PII"]}, "properties": {"a": "x", "b": "1"}}
    del rule["unknown"]
    assert shown["ruleSet"] == {"domainRules": [{**rule, "disabled": False}]}


def test_namesakes_in_other_contexts_are_found_when_none_is_named(api: Api, subject: str) -> None:
    api.register(f":.away:{subject}", V1)
    assert api("GET", f"/subjects/{subject}/versions/1")[1]["subject"] == f":.away:{subject}"
    assert api("POST", f"/subjects/{subject}", {"schema": V1})[1]["subject"] == f":.away:{subject}"
    assert api.error("GET", f"/subjects/{subject}/versions") == (404, 40401)
