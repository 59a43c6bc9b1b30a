"""Large schemas: they are registered, and nobody has to wait for it."""

import json
import threading
import time
from collections.abc import Callable

import pytest

from tests.registry.http.served import Api


def _avro(fields: int) -> str:
    names = [{"name": f"field_{number}", "type": ["null", "string"], "default": None} for number in range(fields)]
    return json.dumps({"type": "record", "name": "Large", "fields": names}, separators=(",", ":"))


def _json_schema(fields: int) -> str:
    properties = {f"field_{number}": {"type": "string", "maxLength": number} for number in range(fields)}
    return json.dumps({"type": "object", "additionalProperties": False, "properties": properties})


@pytest.mark.parametrize(("schema_type", "write", "fields"), [("AVRO", _avro, 15_000), ("JSON", _json_schema, 17_500)])
def test_others_are_answered_while_a_large_schema_is_registered(
    api: Api, schema_type: str, write: Callable[[int], str], fields: int
) -> None:
    subject = f"large-{schema_type}"
    assert 900_000 < len(write(fields)) < 1_000_000
    api.register(subject, write(fields), schemaType=schema_type)
    done = threading.Event()

    def register() -> None:
        with Api(api.url) as other:
            other.register(subject, write(fields + 1), schemaType=schema_type)
        done.set()

    thread = threading.Thread(target=register)
    thread.start()
    waits = []
    while not done.is_set():
        before = time.monotonic()
        assert api("GET", "/schemas/types")[0] == 200
        waits.append(time.monotonic() - before)
    thread.join()
    print(schema_type, f"{len(waits)} answers, the slowest after {max(waits):.3f} s of {sum(waits):.3f} s")
    assert len(waits) > 10, "it took long, and others were answered all the time"
    assert api("GET", f"/subjects/{subject}/versions") == (200, [1, 2])


def test_what_is_too_large_is_refused_with_the_limit(api: Api) -> None:
    status, reply = api("POST", "/subjects/too-large/versions", {"schema": _avro(20_000)})
    assert (status, reply["error_code"]) == (422, 42209)
    assert "the limit is 1000000" in reply["message"]


def test_a_large_text_that_is_no_schema_is_refused(api: Api) -> None:
    text = _avro(5_000)[:-1]
    for path in ("/subjects/bad/versions", "/subjects/bad", "/compatibility/subjects/bad/versions"):
        assert api.error("POST", path, {"schema": text}) == (422, 42201)
