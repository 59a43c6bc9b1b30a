"""Large schemas: they are registered, and nobody has to wait for it."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from stoker.registry.http.limits import Limits
from tests.registry.http.served import Api, served


def _avro(fields: int) -> str:
    names = [{"name": f"field_{number}", "type": ["null", "string"], "default": None} for number in range(fields)]
    return json.dumps({"type": "record", "name": "Large", "fields": names}, separators=(",", ":"))


def _json_schema(fields: int) -> str:
    properties = {f"field_{number}": {"type": "string", "maxLength": number} for number in range(fields)}
    return json.dumps({"type": "object", "additionalProperties": False, "properties": properties})


def _answers_meanwhile(api: Api, ask: Callable[[Api], object]) -> int:
    """How many others are answered, one after the other, while this is asked, which takes long."""
    with Api(api.url) as other, ThreadPoolExecutor(1) as thread:
        asked = thread.submit(ask, other)
        answers = 0
        while not asked.done():
            assert api("GET", "/schemas/types")[0] == 200
            answers += 1
        asked.result()
    return answers


@pytest.mark.parametrize(("schema_type", "write", "fields"), [("AVRO", _avro, 15_000), ("JSON", _json_schema, 17_500)])
def test_others_are_answered_while_a_large_schema_is_registered(
    api: Api, schema_type: str, write: Callable[[int], str], fields: int
) -> None:
    subject = f"large-{schema_type}"
    assert 900_000 < len(write(fields)) < 1_000_000
    api.register(subject, write(fields), schemaType=schema_type)
    text = write(fields + 1)
    assert _answers_meanwhile(api, lambda other: other.register(subject, text, schemaType=schema_type)) > 10
    assert api("GET", f"/subjects/{subject}/versions") == (200, [1, 2])


def test_others_are_answered_while_many_versions_are_compared(api: Api) -> None:
    """None of them is large; a level that compares with all of them once stopped everybody for as long as it took."""
    api("PUT", "/config/many", {"compatibility": "NONE"})
    for fields in range(900, 940):
        api.register("many", _avro(fields))
    api("PUT", "/config/many", {"compatibility": "FULL_TRANSITIVE"})
    path = "/compatibility/subjects/many/versions"
    assert _answers_meanwhile(api, lambda other: other("POST", path, {"schema": _avro(1_000)})) > 10
    assert _answers_meanwhile(api, lambda other: other.register("many", _avro(1_001))) > 10


def test_others_are_answered_while_large_references_are_read(api: Api) -> None:
    """The schema itself is small."""
    references = []
    for number in range(3):
        api.register(f"dependency-{number}", _avro(9_000).replace('"Large"', f'"Large{number}"'))
        references.append({"name": f"Large{number}", "subject": f"dependency-{number}", "version": 1})
    text = json.dumps({"type": "record", "name": "Small", "fields": [{"name": "a", "type": "Large0"}]})
    assert _answers_meanwhile(api, lambda other: other.register("referring", text, references=references)) > 10


def test_patience_with_comparing_ends() -> None:
    with served(limits=Limits(patience=0.0)) as url, Api(url) as api:
        api.register("a", _avro(900))
        status, reply = api("POST", "/compatibility/subjects/a/versions", {"schema": _avro(1_000)})
        assert (status, reply["error_code"]) == (500, 50002)


def test_what_is_too_large_is_refused_with_the_limit(api: Api) -> None:
    status, reply = api("POST", "/subjects/too-large/versions", {"schema": _avro(20_000)})
    assert (status, reply["error_code"]) == (422, 42209)
    assert "the limit is 1000000" in reply["message"]


def test_a_large_text_that_is_no_schema_is_refused(api: Api) -> None:
    text = _avro(5_000)[:-1]
    for path in ("/subjects/bad/versions", "/subjects/bad", "/compatibility/subjects/bad/versions"):
        assert api.error("POST", path, {"schema": text}) == (422, 42201)


_LARGEST = Limits().max_request_bytes - 1024


@pytest.mark.parametrize(
    ("document", "value"),
    [
        (b'{"schema": "\\"int\\"", "metadata": {"tags": {%s}}}', b'"%06d": ["a"]'),
        (b'{"schema": "\\"int\\"", "ruleSet": {"domainRules": [%s]}}', b'{"name": "r%06d", "type": "X"}'),
        (b'{"schema": "\\"int\\"", "references": [%s]}', b'{"name": "%06d", "subject": "a", "version": 1}'),
        (b'{"schema": [%s]}', b'["%06d"]'),
    ],
)
def test_a_request_of_many_values_is_refused(api: Api, document: bytes, value: bytes) -> None:
    values = [value % number for number in range(_LARGEST // (len(value % 0) + 1))]
    body = document % b",".join(values)
    assert len(body) < Limits().max_request_bytes

    status, reply = api("POST", "/subjects/values/versions", body)
    assert (status, reply["message"]) == (400, "The request body has more than 20000 values")
