"""/subjects."""

import pytest

from tests.registry.http.schemas import JSON_SCHEMA, PROTO, V1, V2
from tests.registry.http.served import MODERN, Api


def test_lists_subjects_in_order_and_in_parts(api: Api, subject: str) -> None:
    names = [f"{subject}-{each}" for each in "cab"]
    for name in names:
        api.register(name, V1)
    listing = f"/subjects?subjectPrefix={subject}"
    assert api("GET", listing) == (200, sorted(names))
    assert api("GET", f"{listing}&offset=1") == (200, sorted(names)[1:])
    assert api("GET", f"{listing}&offset=1&limit=1") == (200, sorted(names)[1:2])
    assert api("GET", f"{listing}&limit=0") == (200, sorted(names)), "no limit, as in Confluent's"
    assert api("GET", f"{listing}&offset=9") == (200, [])


def test_an_empty_registry_has_no_subjects(api: Api) -> None:
    assert api("GET", "/subjects?subjectPrefix=nothing") == (200, [])


def test_deleted_subjects_are_listed_when_asked_for_until_they_are_gone(api: Api, subject: str) -> None:
    api.register(subject, V1)
    listing = f"/subjects?subjectPrefix={subject}"
    assert api("DELETE", f"/subjects/{subject}") == (200, [1])
    assert api("GET", listing) == (200, [])
    assert api("GET", f"{listing}&deleted=true") == (200, [subject])
    assert api("GET", f"{listing}&deletedOnly=true") == (200, [subject])
    assert api("DELETE", f"/subjects/{subject}?permanent=true") == (200, [1])
    assert api("GET", f"{listing}&deleted=true") == (200, [])
    assert api("GET", f"{listing}&deletedOnly=true") == (200, [])


def test_subjects_of_contexts(api: Api, subject: str) -> None:
    for name in (subject, f":.a:{subject}", f":.b:{subject}"):
        api.register(name, V1)
    assert api("GET", f"/subjects?subjectPrefix={subject}") == (200, [subject])
    assert api("GET", f"/subjects?subjectPrefix=:.a:{subject}") == (200, [f":.a:{subject}"])
    assert api("GET", f"/subjects?subjectPrefix=:*:{subject}") == (200, [f":.a:{subject}", f":.b:{subject}", subject])
    assert subject in api("GET", "/subjects")[1]
    assert f":.a:{subject}" in api("GET", "/subjects")[1]
    assert subject in api("GET", "/subjects?subjectPrefix=:.:")[1]


@pytest.mark.parametrize(("schema", "schema_type"), [(V1, "AVRO"), (PROTO, "PROTOBUF"), (JSON_SCHEMA, "JSON")])
def test_finds_the_version_of_a_schema(api: Api, subject: str, schema: str, schema_type: str) -> None:
    schema_id = api.register(subject, schema, schemaType=schema_type)
    status, found = api("POST", f"/subjects/{subject}", {"schema": schema, "schemaType": schema_type})
    type_field = {} if schema_type == "AVRO" else {"schemaType": schema_type}
    assert (status, found) == (
        200,
        {"subject": subject, "version": 1, "id": schema_id, **type_field, "schema": schema},
    )
    status, found = api("POST", f"/subjects/{subject}", {"schema": schema, "schemaType": schema_type}, MODERN)
    assert set(found) == {"subject", "version", "id", "guid", "schemaType", "schema"}


def test_an_encoded_slash_is_part_of_the_subject(api: Api, subject: str) -> None:
    api.register(f"{subject}%2Fwith%20more", V1)
    assert api("GET", f"/subjects?subjectPrefix={subject}") == (200, [f"{subject}/with more"])
    assert api("POST", f"/subjects/{subject}%2Fwith%20more", {"schema": V1})[1]["subject"] == f"{subject}/with more"
    assert api.error("POST", f"/subjects/{subject}/with%20more", {"schema": V1}) == (404, 404)


def test_finds_deleted_versions_when_asked_for(api: Api, subject: str) -> None:
    api.register(subject, V1)
    api("DELETE", f"/subjects/{subject}")
    assert api.error("POST", f"/subjects/{subject}", {"schema": V1}) == (404, 40401)
    assert api("POST", f"/subjects/{subject}?deleted=true", {"schema": V1})[1]["version"] == 1


def test_finds_what_was_normalized(api: Api, subject: str) -> None:
    disordered = '{"fields":[{"type":"string","name":"id"}],"name":"Order","type":"record","doc":""}'
    api("POST", f"/subjects/{subject}/versions?normalize=true", {"schema": disordered})
    assert api("POST", f"/subjects/{subject}?normalize=true", {"schema": disordered})[0] == 200


def test_an_alias_stands_for_its_subject(api: Api, subject: str) -> None:
    schema_id = api.register(subject, V1)
    assert api("PUT", f"/config/{subject}-alias", {"alias": subject})[0] == 200
    assert api("POST", f"/subjects/{subject}-alias", {"schema": V1})[1]["subject"] == subject
    assert api("GET", f"/subjects/{subject}-alias/versions") == (200, [1])
    assert api("GET", f"/schemas?subjectPrefix={subject}&aliases=true")[1][0]["aliases"] == [f"{subject}-alias"]
    assert api("GET", f"/schemas/ids/{schema_id}?subject={subject}-alias", headers=MODERN)[1]["subject"] == subject


def test_the_latest_version_with_certain_metadata(api: Api, subject: str) -> None:
    api.register(subject, V1, metadata={"properties": {"team": "orders", "major": "1"}})
    api.register(subject, V2, metadata={"properties": {"team": "orders", "major": "2"}})
    path = f"/subjects/{subject}/metadata"
    assert api("GET", f"{path}?key=team&value=orders")[1]["version"] == 2
    assert api("GET", f"{path}?key=team&value=orders&key=major&value=1")[1]["version"] == 1
    assert api.error("GET", f"{path}?key=team&value=others") == (404, 40403)
    assert api.error("GET", "/subjects/unheard-of/metadata?key=team&value=orders") == (404, 40401)


def test_deletes_in_two_steps(api: Api, subject: str) -> None:
    path = f"/subjects/{subject}"
    assert api.error("DELETE", path) == (404, 40401)
    api.register(subject, V1)
    api.register(subject, V2)
    assert api.error("DELETE", f"{path}?permanent=true") == (404, 40405)
    assert api("DELETE", path) == (200, [1, 2])
    assert api.error("DELETE", path) == (404, 40404)
    assert api("DELETE", f"{path}?permanent=true") == (200, [1, 2])
    assert api.error("DELETE", f"{path}?permanent=true") == (404, 40401)
