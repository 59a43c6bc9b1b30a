"""/contexts, alone and before other paths."""

import pytest

from tests.registry.http.schemas import BROKEN, V1
from tests.registry.http.served import MODERN, Api


def test_lists_contexts(api: Api, subject: str) -> None:
    api.register(f":.east:{subject}", V1)
    api.register(f":.west:{subject}", V1)
    assert api("GET", "/contexts")[1][0] == "."
    assert {".east", ".west"} <= set(api("GET", "/contexts/")[1])
    assert api("GET", "/contexts?contextPrefix=.ea") == (200, [".east"])
    assert api("GET", "/contexts?limit=1") == (200, ["."])


@pytest.mark.parametrize("context", ["staging", ".staging", ":.staging:", "%3A.staging%3A"])
def test_paths_within_a_context(api: Api, subject: str, context: str) -> None:
    prefix, name = f"/contexts/{context}", f":.staging:{subject}"
    status, reply = api("POST", f"{prefix}/subjects/{subject}/versions", {"schema": V1})
    assert status == 200
    schema_id = reply["id"]
    assert api("GET", f"{prefix}/subjects?subjectPrefix={subject}") == (200, [name])
    assert name in api("GET", f"{prefix}/subjects")[1]
    assert api("GET", f"{prefix}/subjects/{subject}/versions") == (200, [1])
    assert api("GET", f"{prefix}/subjects/{name}/versions/latest")[1]["subject"] == name
    assert api("POST", f"{prefix}/subjects/{subject}", {"schema": V1})[1]["subject"] == name
    assert api("GET", f"{prefix}/schemas/ids/{schema_id}")[1]["schema"] == V1
    assert api("GET", f"{prefix}/schemas/ids/{schema_id}?subject={subject}", headers=MODERN)[1]["subject"] == name
    assert name in api("GET", f"{prefix}/schemas/ids/{schema_id}/subjects")[1]
    assert name in [each["subject"] for each in api("GET", f"{prefix}/schemas")[1]]
    check = f"{prefix}/compatibility/subjects/{subject}/versions/latest"
    assert api("POST", check, {"schema": BROKEN}) == (200, {"is_compatible": False})
    assert api("GET", f"{prefix}/schemas/types")[0] == 200
    assert api("GET", f"{prefix}/v1/metadata/id")[0] == 200


def test_ids_count_in_each_context_for_themselves(api: Api, subject: str) -> None:
    assert api.register(f":.fresh-{subject}:a", V1) == 1
    assert api.register(f":.fresher-{subject}:a", BROKEN) == 1
    assert api("GET", f"/contexts/fresher-{subject}/schemas/ids/1")[1]["schema"] == BROKEN


def test_the_default_context_needs_no_name(api: Api, subject: str) -> None:
    api.register(subject, V1)
    assert api("GET", f"/contexts/:.:/subjects/{subject}/versions") == (200, [1])
    assert api("GET", f"/subjects/:.:{subject}/versions") == (200, [1])
    assert api("GET", "/contexts/:.:/config")[0] == 200
    assert api("GET", "/contexts/:.:/mode")[0] == 200


def test_a_colon_is_no_part_of_a_context(api: Api) -> None:
    assert api.error("GET", "/contexts/a:b/subjects") == (400, 400)


def test_forgets_a_context_without_subjects(api: Api, subject: str) -> None:
    api.register(f":.brief:{subject}", V1)
    assert api.error("DELETE", "/contexts/brief") == (422, 42211)
    for path in (f"/subjects/:.brief:{subject}", f"/subjects/:.brief:{subject}?permanent=true"):
        assert api("DELETE", path)[0] == 200
    assert ".brief" in api("GET", "/contexts")[1]
    assert api("DELETE", "/contexts/.brief") == (204, None)
    assert ".brief" not in api("GET", "/contexts")[1]
