"""`stoker schemas export` and `import`: a registry carried over, with the ids that records in topics have in them."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from stoker.registry.client import RegistryClient, request_of
from tests.cli.running import wait_until
from tests.cli.schema_commands import ORDER, WITH_DEFAULT, SchemasCommandLine, field, record
from tests.cli.up_process import UpProcess, up
from tests.faults.stoker_process import STOKER
from tests.registry.registry_process import RegistryProcess


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpProcess]:
    """Its registry is what is exported."""
    with up(tmp_path_factory.mktemp("data")) as running:
        furnish(SchemasCommandLine(running.registry, tmp_path_factory.mktemp("files")))
        yield running


def furnish(run: SchemasCommandLine) -> None:
    """References, two contexts, versions that are gone, one schema under two subjects, and settings."""
    run("register", "deleted-value", run.file("deleted.avsc", record(field("gone"), name="Gone")))
    run("register", "orders-value", run.file("order.avsc", ORDER))
    run("register", "customers-value", run.file("customer.avsc", record(name="shop.Customer")))
    invoice = run.file("invoice.avsc", record(field("customer", "shop.Customer"), name="shop.Invoice"))
    run("register", "invoices-value", invoice, "--reference", "shop.Customer=customers-value:1")
    run("register", "orders-value", run.file("order.avsc", WITH_DEFAULT))
    run("register", "old-orders-value", run.file("order.avsc", ORDER))
    run("register", ":.staging:orders-value", run.file("order.avsc", ORDER))
    run("compat", "orders-value", "FULL")
    run("compat", "--global", "BACKWARD_TRANSITIVE")
    run("delete", "deleted-value")
    run("delete", "orders-value", "--version", "1")
    with RegistryClient(run.address) as registry:
        registry.set_mode("READONLY", "customers-value")


@contextmanager
def empty_registry(server: UpProcess, directory: Path) -> Iterator[SchemasCommandLine]:
    name = uuid4().hex[:8]
    options = {"kafkastore.topic": f"_schemas-{name}", "schema.registry.group.id": name}
    with RegistryProcess(server.broker, options=options) as registry:
        yield SchemasCommandLine(registry.url, directory)


@pytest.fixture(scope="module")
def target(server: UpProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemasCommandLine]:
    with empty_registry(server, tmp_path_factory.mktemp("files")) as run:
        yield run


@pytest.fixture
def run(server: UpProcess, tmp_path: Path) -> SchemasCommandLine:
    return SchemasCommandLine(server.registry, tmp_path)


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_there_and_back(server: UpProcess, run: SchemasCommandLine, tmp_path: Path) -> None:
    """What was exported, and imported elsewhere, and exported again, is the same."""
    file = tmp_path / "schemas.jsonl"
    run("export", str(file), "--deleted")
    exported = file.read_text()
    schemas = [line for line in lines(exported) if line["kind"] == "schema"]
    assert len(schemas) == 7
    assert {line["subject"] for line in schemas if line.get("deleted")} == {"deleted-value", "orders-value"}
    with empty_registry(server, tmp_path) as other:
        other("import", str(file))
        assert (
            other.stderr == "Imported 7 schemas, 0 of the file there already; 2 versions deleted, 2 configs, 2 modes.\n"
        )
        assert other("export", "--deleted") == exported
        other("import", str(file))
        assert other.stderr.startswith("Imported 0 schemas, 7 of the file there already; 0 versions deleted, ")
        assert other("export", "--deleted") == exported
        assert mode(other) == "READWRITE"


def mode(run: SchemasCommandLine) -> str | None:
    with RegistryClient(run.address) as registry:
        return registry.mode()


def test_without_what_is_deleted(run: SchemasCommandLine) -> None:
    schemas = [line for line in lines(run("export")) if line["kind"] == "schema"]
    assert not any(line.get("deleted") for line in schemas)
    assert len(schemas) == 5
    positions = {line["subject"]: index for index, line in enumerate(schemas)}
    assert positions["customers-value"] < positions["invoices-value"], "after what it refers to"


def schema(subject: str, version: int, schema_id: int, text: str = '"int"', **rest: Any) -> dict[str, Any]:
    return {"kind": "schema", "subject": subject, "version": version, "id": schema_id, "schema": text, **rest}


INVOICE = json.dumps(record(field("customer", "shop.Customer"), name="shop.Invoice"))
CUSTOMER = json.dumps(record(name="shop.Customer"))


def reference(subject: str) -> list[dict[str, Any]]:
    return [{"name": "shop.Customer", "subject": subject, "version": 1}]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (["{"], ["line 1 is no JSON"]),
        (["[1]"], ["line 1", '"kind" must be schema, config or mode']),
        (["", {"kind": "topic"}], ["line 2", '"kind" must be schema, config or mode']),
        ([{"kind": "schema", "subject": "a"}], ["line 1", "'schema'"]),
        ([schema("a", 1, 1, text=7)], ["line 1"]),  # type: ignore[arg-type]
        ([schema("a", 1, 1) | {"id": "one"}], ["line 1", "one"]),
        ([schema("a", 1, 1) | {"references": [{}]}], ["line 1", "'subject'"]),
        ([{"kind": "mode", "mode": "READONLY"}], ["line 1", "'subject'"]),
        ([schema("a", 1, 1), schema("a", 1, 2)], ["line 2", "line 1 has subject 'a' version 1 already"]),
        (
            [schema("a", 1, 1, references=reference("b")), schema("b", 1, 2, references=reference("a"))],
            ["in a circle", "a version 1", "b version 1"],
        ),
    ],
)
def test_files_that_are_none(target: SchemasCommandLine, tmp_path: Path, content: list[Any], words: list[str]) -> None:
    file = tmp_path / "schemas.jsonl"
    file.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in content))
    error = target.fails("import", str(file))
    assert all(word in error for word in words), error
    assert target("export").count('"kind": "schema"') == 0


def test_what_the_registry_refuses(server: UpProcess, tmp_path: Path) -> None:
    """The line is named, the mode is set back, and a mended file goes on where the other stopped."""
    file = tmp_path / "schemas.jsonl"
    good = [schema("invoices", 1, 7, INVOICE, references=reference("customers")), schema("customers", 1, 9, CUSTOMER)]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in [*good, schema("bad", 1, 70, '"nothing"')]))
    with empty_registry(server, tmp_path) as run:
        error = run.fails("import", str(file))
        assert error.startswith(f"stoker schemas: {file} line 3: subject 'bad' version 1, id 70: ")
        assert mode(run) == "READWRITE"
        file.write_text("".join(f"{json.dumps(line)}\n" for line in [*good, schema("late", 3, 70)]))
        run("import", str(file))
        assert (
            run.stderr == "Imported 2 schemas, 1 of the file there already; 0 versions deleted, 0 configs, 0 modes.\n"
        )
        assert [(each["subject"], each["version"], each["id"]) for each in run.json("list")] == [
            ("customers", 1, 9),
            ("invoices", 1, 7),
            ("late", 3, 70),
        ]
        other = tmp_path / "other.jsonl"
        other.write_text(json.dumps(schema("more", 1, 80, '"string"')))
        assert "the registry has subject 'customers' version 1, which is not in" in run.fails("import", str(other))
        run("import", str(other), "--force")
        other.write_text(json.dumps(schema("more", 1, 81, '"string"')))
        assert "another schema there, with id 80" in run.fails("import", str(other), "--force")


COUNT = 3000


@contextmanager
def importing(server: UpProcess, directory: Path) -> Iterator[tuple[subprocess.Popen[str], RegistryProcess]]:
    """An import that has begun and will take a while."""
    file = directory / "schemas.jsonl"
    schemas = [schema(f"s{number}", 1, number + 1, json.dumps(record(name=f"R{number}"))) for number in range(COUNT)]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in schemas))
    name = uuid4().hex[:8]
    options = {"kafkastore.topic": f"_schemas-{name}", "schema.registry.group.id": name}
    with RegistryProcess(server.broker, options=options) as target, RegistryClient(target.url) as registry:
        with subprocess.Popen(
            [STOKER, "schemas", "import", str(file)],
            env=os.environ | {"STOKER_REGISTRY_URL": target.url},
            stderr=subprocess.PIPE,
            text=True,
        ) as command:
            wait_until(lambda: len(registry.subjects()) > 3)
            yield command, target


def test_an_import_that_is_stopped(server: UpProcess, tmp_path: Path) -> None:
    """Ctrl-C, and SIGTERM likewise, end it between two schemas; the registry does not stay in the mode IMPORT."""
    with importing(server, tmp_path) as (command, target):
        command.send_signal(signal.SIGTERM)
        _, told = command.communicate(timeout=60)
        assert command.returncode == 143
        assert told.endswith("Stopped before the end: run it again to go on.\n")
        with RegistryClient(target.url) as registry:
            assert 3 < len(registry.subjects()) < COUNT
            assert registry.mode() == "READWRITE"
            assert registry.register("new", request_of("AVRO", '"int"'))["id"] > 3


def test_a_registry_that_goes_away(server: UpProcess, tmp_path: Path) -> None:
    with importing(server, tmp_path) as (command, target):
        target.kill()
        _, told = command.communicate(timeout=60)
    assert command.returncode == 1
    *_, mode_line, error = told.splitlines()
    assert mode_line.startswith("The registry may still be in mode IMPORT")
    assert f'PUT {target.url}/mode with {{"mode": "READWRITE"}} sets it back.' in mode_line
    assert error.startswith("stoker schemas: ")
    assert target.url in error
