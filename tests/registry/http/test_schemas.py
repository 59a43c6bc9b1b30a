"""/schemas."""

import pytest

from tests.registry.http.schemas import PROTO, V1, V2, record
from tests.registry.http.served import MODERN, Api


def test_gets_a_schema_by_its_id(api: Api, subject: str) -> None:
    schema_id = api.register(subject, V1)
    path = f"/schemas/ids/{schema_id}"
    assert api("GET", path) == (200, {"schema": V1})
    assert api.raw("GET", f"{path}/schema").text == V1
    assert api("GET", f"{path}/subjects?subject={subject}") == (200, [subject])
    assert api("GET", f"{path}/versions?subject={subject}") == (200, [{"subject": subject, "version": 1}])
    shown = api("GET", f"{path}?subject={subject}&fetchMaxId=true", headers=MODERN)[1]
    assert set(shown) == {"subject", "version", "guid", "schemaType", "schema", "maxId"}
    assert shown["maxId"] >= schema_id


def test_other_types_are_named(api: Api, subject: str) -> None:
    schema_id = api.register(subject, PROTO, schemaType="PROTOBUF")
    assert api("GET", f"/schemas/ids/{schema_id}") == (200, {"schemaType": "PROTOBUF", "schema": PROTO})


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/schemas/ids/99999", (404, 40403)),
        ("/schemas/ids/-1", (404, 40403)),
        ("/schemas/ids/0", (404, 40403)),
        ("/schemas/ids/x", (404, 404)),
        ("/schemas/ids/1.5", (404, 404)),
        ("/schemas/ids/2147483648", (404, 404)),
        ("/schemas/ids/" + "9" * 5000, (404, 404)),
        ("/schemas/ids/%31%2F2", (404, 404)),
        ("/schemas/ids/99999/schema", (404, 40403)),
        ("/schemas/ids/99999/subjects", (404, 40403)),
        ("/schemas/ids/99999/versions", (404, 40403)),
        ("/schemas/guids/nonsense", (404, 40403)),
        ("/schemas/guids/6c4a2b1e-0000-0000-0000-000000000000", (404, 40403)),
        ("/schemas?offset=-1", (422, 422)),
        ("/schemas?offset=x", (404, 404)),
        ("/schemas?limit=1e3", (404, 404)),
    ],
)
def test_what_is_not_there(api: Api, path: str, answer: tuple[int, int]) -> None:
    assert api.error("GET", path) == answer


def test_deleted_users_of_an_id_are_listed_when_asked_for(api: Api, subject: str) -> None:
    schema_id = api.register(f"{subject}-a", record(subject.replace("-", "_"), "id"))
    api.register(f"{subject}-b", record(subject.replace("-", "_"), "id"))
    api("DELETE", f"/subjects/{subject}-a")
    path = f"/schemas/ids/{schema_id}"
    assert api("GET", f"{path}/subjects") == (200, [f"{subject}-b"])
    assert api("GET", f"{path}/subjects?deleted=true") == (200, [f"{subject}-a", f"{subject}-b"])
    assert api("GET", f"{path}/versions?deleted=true&limit=1") == (200, [{"subject": f"{subject}-a", "version": 1}])
    assert api("GET", path)[0] == 200


def test_gets_a_schema_by_its_guid(api: Api, subject: str) -> None:
    schema_id = api.register(subject, V1)
    guid = api("GET", f"/schemas/ids/{schema_id}", headers=MODERN)[1]["guid"]
    assert api("GET", f"/schemas/guids/{guid}") == (200, {"schema": V1})
    assert {"context": ".", "id": schema_id} in api("GET", f"/schemas/guids/{guid}/ids")[1]
    assert api("GET", "/schemas/guids/nonsense/ids") == (200, [])


def test_lists_schemas(api: Api, subject: str) -> None:
    first, second = api.register(subject, V1), api.register(subject, V2)
    api.register(f":.elsewhere:{subject}", V1)
    one = {"subject": subject, "version": 1, "id": first, "schema": V1}
    two = {"subject": subject, "version": 2, "id": second, "schema": V2}
    listing = f"/schemas?subjectPrefix={subject}"
    assert api("GET", listing) == (200, [one, two])
    assert api("GET", f"{listing}&latestOnly=true") == (200, [two])
    assert api("GET", f"{listing}&limit=1") == (200, [one])
    assert api("GET", f"{listing}&offset=1") == (200, [two])
    assert len(api("GET", f"/schemas?subjectPrefix=:*:{subject}")[1]) == 3
    api("DELETE", f"/subjects/{subject}/versions/1")
    assert api("GET", listing) == (200, [two])
    assert api("GET", f"{listing}&deleted=true") == (200, [one, two])


def test_lists_schemas_by_the_type_of_their_rules(api: Api, subject: str) -> None:
    rule = {"name": "check", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "true"}
    api.register(subject, V1, ruleSet={"domainRules": [rule]})
    assert len(api("GET", f"/schemas?subjectPrefix={subject}&ruleType=CEL")[1]) == 1
    assert api("GET", f"/schemas?subjectPrefix={subject}&ruleType=JSONATA") == (200, [])


def test_lists_types(api: Api) -> None:
    assert api("GET", "/schemas/types") == (200, ["JSON", "PROTOBUF", "AVRO"])


def test_references_name_their_contexts_when_asked_to(api: Api, subject: str) -> None:
    api.register(f":.ctx:{subject}-item", record("Item", "sku"))
    reference = {"name": "Item", "subject": f"{subject}-item", "version": 1}
    basket = record("Basket", {"name": "item", "type": "Item"})
    schema_id = api.register(f":.ctx:{subject}", basket, references=[reference])
    qualified = [{**reference, "subject": f":.ctx:{subject}-item"}]
    by_id = f"/schemas/ids/{schema_id}?subject=:.ctx:"
    assert api("GET", by_id)[1]["references"] == [reference]
    assert api("GET", f"{by_id}&referenceFormat=qualified")[1]["references"] == qualified
    by_version = f"/subjects/:.ctx:{subject}/versions/1?referenceFormat=qualified"
    assert api("GET", by_version)[1]["references"] == qualified
