"""`stoker schemas diff`: what changed, who reads whom, who upgrades first."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.schema_commands import (
    JSON_SCHEMA,
    ORDER,
    PROTO,
    WITH_DEFAULT,
    WITHOUT_DEFAULT,
    SchemasCommandLine,
    field,
    record,
)
from tests.cli.test_application import at_a_terminal
from tests.cli.up_process import up

SUBJECT = "orders-value"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemasCommandLine]:
    """A registry with three versions of one subject."""
    with up(tmp_path_factory.mktemp("data")) as server:
        command_line = SchemasCommandLine(server.registry, tmp_path_factory.mktemp("files"))
        for number, schema in enumerate([ORDER, WITH_DEFAULT, record(field("id", "double"))]):
            command_line("register", SUBJECT, command_line.file(f"{number}.avsc", schema))
        command_line("register", "orders-proto", command_line.file("order.proto", PROTO))
        command_line("register", "orders-json", command_line.file("order.json", JSON_SCHEMA))
        yield command_line


def test_the_two_latest_versions(run: SchemasCommandLine) -> None:
    assert run("diff", SUBJECT).splitlines() == [
        "orders-value: version 2 -> version 3",
        "",
        "  record shop.Order",
        "~   id      long  ->  double",
        "-   coupon  null | string, default null",
        "",
        "The new schema reads old data: yes",
        "The old schema reads new data: no",
        "  - the reader's long cannot be read from the writer's double (TYPE_MISMATCH at /fields/0/type)",
        "",
        "Upgrade the consumers first: the new schema reads old data, the old one does not read new data.",
        "Levels that allow this step: NONE, BACKWARD.",
    ]


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        (["1"], "version 1 -> version 3"),
        (["1", "2"], "version 1 -> version 2"),
        (["2", "latest"], "version 2 -> version 3"),
        (["{directory}/0.avsc"], "version 3 -> {directory}/0.avsc"),
        (["1", "{directory}/1.avsc"], "version 1 -> {directory}/1.avsc"),
    ],
)
def test_which_two(run: SchemasCommandLine, arguments: list[str], title: str) -> None:
    shown = run("diff", SUBJECT, *[argument.format(directory=run.directory) for argument in arguments])
    assert shown.splitlines()[0] == f"{SUBJECT}: {title.format(directory=run.directory)}"


@pytest.mark.parametrize(
    ("schema", "first", "levels"),
    [
        (WITH_DEFAULT, "any", ["NONE", "BACKWARD", "FORWARD", "FULL"]),
        (WITHOUT_DEFAULT, "producers", ["NONE", "FORWARD"]),
        (record(field("id", "double")), "consumers", ["NONE", "BACKWARD"]),
        (record(field("id", "string")), "neither", ["NONE"]),
    ],
)
def test_who_upgrades_first(run: SchemasCommandLine, schema: object, first: str, levels: list[str]) -> None:
    found = run.json("diff", SUBJECT, "1", run.file("new.avsc", schema))
    assert found["upgrade_first"] == first
    assert [level for level in found["levels"] if not level.endswith("_TRANSITIVE")] == levels
    assert (found["new_reads_old"], found["old_reads_new"]) == (
        first in ("any", "consumers"),
        first in ("any", "producers"),
    )
    assert bool(found["reasons"]["new_reads_old"]) is not found["new_reads_old"]


@pytest.mark.parametrize(
    ("subject", "name", "content", "lines"),
    [
        ("orders-proto", "o.proto", PROTO.replace("int64", "string"), ["  message shop.Order", "~   id  int64 = 1  ->  string = 1"]),
        ("orders-json", "o.json", JSON_SCHEMA | {"required": ["id"]}, ["  #", "~   id  integer  ->  integer, required"]),
        ("orders-proto", "o.json", JSON_SCHEMA, ["+ #", "- message shop.Order", "No order works: neither schema reads what the other writes. Change it in two steps, each of which one side can read, or use a new topic."]),
    ],
)  # fmt: skip
def test_other_types(run: SchemasCommandLine, subject: str, name: str, content: object, lines: list[str]) -> None:
    shown = run("diff", subject, run.file(name, content)).splitlines()
    assert all(line in shown for line in lines), shown


def test_nothing_that_readers_feel(run: SchemasCommandLine) -> None:
    same = run("diff", SUBJECT, "1", "1").splitlines()
    assert same[2] == "  nothing that readers feel"
    documented = run.file("documented.avsc", record(field("id", "long", doc="why")))
    shown = run("diff", SUBJECT, "1", documented).splitlines()
    assert "  nothing that readers feel:" in shown
    assert '+      "doc": "why"' in shown


def test_a_file_that_is_no_schema(run: SchemasCommandLine) -> None:
    broken = run.file("broken.avsc", '{"type": "record"}')
    assert run.fails("diff", SUBJECT, broken).startswith(f"stoker schemas: {broken} is no schema of type AVRO: ")


def test_colours_on_a_terminal(run: SchemasCommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STOKER_REGISTRY_URL", run.address)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    _, shown = at_a_terminal("", b"", "schemas", "diff", SUBJECT)
    assert "\x1b[33m~   id      long  ->  double\x1b[0m" in shown
    assert "\x1b[31m-   coupon  null | string, default null\x1b[0m" in shown
    assert "reads old data: \x1b[32myes\x1b[0m" in shown
    monkeypatch.setenv("NO_COLOR", "1")
    _, shown = at_a_terminal("", b"", "schemas", "diff", SUBJECT)
    assert "\x1b[" not in shown
