"""What is asked of a registry is what is meant, and is answered; what is not answered with 200 is no measurement."""

import json
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from side_by_side import registry_requests as requests
from side_by_side.http_servers import BareStarlette
from side_by_side.programs import BENCHMARKS
from stoker.registry.formats import avro


def body(request: bytes) -> str:
    head, _, content = request.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(content)}".encode() in head
    return str(json.loads(content)["schema"])


def test_schemas_are_as_registries_store_them_all_different_and_of_one_size() -> None:
    schemas = [requests.schema(number) for number in (0, 9_999, 1_000_000)]
    assert [avro.parse(each, {}).text for each in schemas] == schemas
    assert len(set(schemas)) == 3
    assert {len(each) for each in schemas} == {len(schemas[0])}
    assert 550 <= len(schemas[0]) <= 700


def test_a_lookup_spelled_otherwise_is_of_the_same_schema() -> None:
    stored, spelled = body(requests.look_up(7)), body(requests.look_up_spelled_otherwise(7))
    assert stored == requests.schema(7) != spelled
    assert avro.parse(spelled, {}).text == stored


def test_a_check_brings_a_schema_that_reads_the_one_before() -> None:
    new = avro.parse(body(requests.check(7, "extra")), {})
    before = avro.parse(body(requests.register(7)), {})
    assert new.text != before.text
    assert new.incompatibilities(before) == []


def test_requests_are_written_with_their_lengths(tmp_path: Path) -> None:
    written = requests.write(
        tmp_path / "requests", [requests.fetch(1), requests.delete(2, permanent=True)]
    ).read_bytes()
    (length,) = struct.unpack_from(">i", written)
    assert written[4 : 4 + length] == requests.fetch(1)
    assert written[8 + length :].startswith(b"DELETE /subjects/orders-0000002-value?permanent=true HTTP/1.1\r\n")


@pytest.fixture(scope="module")
def ask_http(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    program = tmp_path_factory.mktemp("programs") / "ask_http"
    subprocess.run(["cc", "-O2", "-o", program, BENCHMARKS / "ask_http.c"], check=True)
    return program


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BareStarlette]:
    server = BareStarlette("starlette", tmp_path_factory.mktemp("bare"), fetched=b"fetched", found=b"found")
    try:
        server.start("/schemas/ids/1")
        yield server
    finally:
        server.stop()


def test_the_bare_routes_answer_what_they_are_given(bare: BareStarlette) -> None:
    assert bare.ask("GET", "/schemas/ids/77") == b"fetched"
    assert bare.ask("POST", "/subjects/orders-value", b"{}") == b"found"


def asked(program: Path, server: BareStarlette, path: Path, *, connections: int) -> "subprocess.CompletedProcess[str]":
    command = [program, str(server.port), path, str(connections), "100"]
    return subprocess.run([str(each) for each in command], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("connections", [1, 8])
def test_all_questions_are_asked_and_answered(
    tmp_path: Path, ask_http: Path, bare: BareStarlette, connections: int
) -> None:
    path = requests.write(tmp_path / "requests", [requests.fetch(1), requests.look_up(2), requests.fetch(3)])
    done = asked(ask_http, bare, path, connections=connections)
    assert (done.returncode, done.stderr) == (0, "")
    assert float(done.stdout) > 0


def test_an_answer_that_is_no_200_ends_the_load_with_its_name(
    tmp_path: Path, ask_http: Path, bare: BareStarlette
) -> None:
    path = requests.write(tmp_path / "requests", [requests.fetch(1), requests.get("/nowhere")])
    done = asked(ask_http, bare, path, connections=1)
    assert done.returncode == 1
    assert "GET /nowhere HTTP/1.1 was answered with HTTP/1.1 404" in done.stderr
