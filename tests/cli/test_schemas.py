"""`stoker schemas` as its users meet it, against the registry of `stoker up`."""

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import bcrypt
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
from tests.cli.test_application import at_a_terminal, complete
from tests.cli.up_process import UpProcess, up
from tests.faults.stoker_process import free_port
from tests.registry.registry_process import RegistryProcess


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpProcess]:
    with up(tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture
def run(server: UpProcess, tmp_path: Path) -> SchemasCommandLine:
    return SchemasCommandLine(server.registry, tmp_path)


@pytest.fixture
def subject() -> str:
    """One that nobody else uses, and that must be quoted in a URL."""
    return f"shop/orders {uuid4().hex[:8]}-value"


def test_the_life_of_a_subject(run: SchemasCommandLine, subject: str) -> None:
    first, second = run.file("order.avsc", ORDER), run.file("second.avsc", WITH_DEFAULT)
    assert run("register", subject, first).startswith(f"Registered {subject} version 1, id ")
    assert run("register", subject, first).startswith(f"{subject} has this schema already: version 1, id ")
    assert run.json("register", subject, second) == {
        "subject": subject,
        "version": 2,
        "id": run.json("show", subject)["id"],
        "registered": True,
    }
    (listed,) = run.json("list", "--prefix", subject)
    assert listed | {"id": 0} == {
        "subject": subject,
        "version": 2,
        "id": 0,
        "type": "AVRO",
        "level": "BACKWARD",
        "deleted": False,
    }
    run("delete", subject, "--version", "1")
    assert run.stderr == f"Deleted version 1 of '{subject}'.\n"
    assert run.fails("show", subject, "--version", "1") == (
        f"stoker schemas: subject '{subject}' has no version 1, only 2"
    )
    run("delete", subject)
    assert run.stderr == f"Deleted version 2 of '{subject}'.\n"
    assert subject not in run("list", "--names").splitlines()
    assert subject in run("list", "--names", "--deleted").splitlines()
    assert [each["deleted"] for each in run.json("list", "--prefix", subject, "--deleted")] == [True]
    assert "is deleted already; --permanent deletes it for good" in run.fails("delete", subject)
    run("delete", subject, "--permanent")
    assert run.stderr == f"Deleted versions 1, 2 of '{subject}' for good.\n"
    assert subject not in run("list", "--names", "--deleted").splitlines()


def test_what_is_deleted_for_good_need_not_be_deleted_before(run: SchemasCommandLine, subject: str) -> None:
    run("register", subject, run.file("order.avsc", ORDER))
    assert run.json("delete", subject, "--permanent") == {"subject": subject, "deleted": [1], "permanent": True}
    assert subject not in run("list", "--names", "--deleted").splitlines()


@pytest.mark.parametrize(
    ("name", "content", "type_"), [("o.avsc", ORDER, "AVRO"), ("o.proto", PROTO, "PROTOBUF"), ("o.json", JSON_SCHEMA, "JSON")]
)  # fmt: skip
def test_the_name_of_a_file_says_the_type(
    run: SchemasCommandLine, subject: str, name: str, content: object, type_: str
) -> None:
    path = run.file(name, content)
    run("register", subject, path)
    shown = run("show", subject).splitlines()
    assert shown[0].startswith(f"Subject {subject} version 1: {type_}, id ")
    assert shown[0].endswith(", compatibility BACKWARD")
    assert len(shown) > 4, "on many lines"
    raw = run("show", subject, "--raw")
    assert raw == run.json("show", subject)["schema"]
    schema_id = str(run.json("show", subject)["id"])
    assert f"{subject} version 1" in run("show", "--id", schema_id).splitlines()[0]
    assert {"subject": subject, "version": 1} in run.json("show", "--id", schema_id)["versions"]
    (run.directory / f"again{Path(name).suffix}").write_text(raw)
    assert "already" in run("register", subject, str(run.directory / f"again{Path(name).suffix}"))


def test_references(run: SchemasCommandLine, subject: str) -> None:
    customer = record(field("name", "string"), name="shop.Customer")
    run("register", f"{subject}-customer", run.file("customer.avsc", customer))
    order = run.file("order.avsc", record(field("customer", "shop.Customer")))
    assert "Customer" in run.fails("register", subject, order), "it is not known"
    reference = f"shop.Customer={subject}-customer:1"
    run("register", subject, order, "--reference", reference)
    assert f"  shop.Customer is {subject}-customer version 1" in run("show", subject).splitlines()
    newer = run.file("newer.avsc", record(field("customer", "shop.Customer"), field("n", default=1)))
    run("check", subject, newer, "--reference", reference)
    assert "+   n  int, default 1" in run("diff", subject, newer, "--reference", reference).splitlines()
    assert "reference" in run.fails("delete", f"{subject}-customer")


@pytest.mark.acceptance("B116")
def test_a_schema_is_checked_before_it_is_registered(run: SchemasCommandLine, subject: str) -> None:
    """`stoker schemas check` asks before anything is registered: exit code 1 and each reason when it is not compatible."""
    good, bad = run.file("good.avsc", WITH_DEFAULT), run.file("bad.avsc", WITHOUT_DEFAULT)
    assert run("check", subject, bad) == f"{bad} is compatible with {subject} (level BACKWARD).\n"
    run("register", subject, run.file("order.avsc", ORDER))
    assert run("check", subject, good) == f"{good} is compatible with {subject} (level BACKWARD).\n"
    verdict, version, *reasons = run("check", subject, bad, code=1).splitlines()
    assert verdict == f"{bad} is not compatible with {subject} (level BACKWARD)."
    assert version == "version 1:"
    (reason,) = reasons
    assert "currency" in reason
    assert "READER_FIELD_MISSING_DEFAULT_VALUE at /fields/1" in reason
    run("check", subject, bad, "--json", code=1)
    answer = json.loads(run.stdout)
    assert (answer["is_compatible"], answer["reasons"][0]["version"]) == (False, 1)
    assert run.json("check", subject, good)["is_compatible"] is True
    run("check", subject, bad, "--version", "latest", code=1)
    refused = run("register", subject, bad, code=1) + run.stderr
    assert f"stoker schemas: {bad} is not compatible with {subject}, so it was not registered" in refused
    assert "currency" in refused
    run("compat", subject, "FORWARD")
    run("check", subject, bad)


@pytest.mark.acceptance("B128")
def test_the_levels_are_explained(run: SchemasCommandLine) -> None:
    """`stoker schemas compat` shows what each of the levels checks, against which versions, what it allows, who is first."""
    first, _, *table = run("compat").splitlines()
    assert first == "All subjects without a level of their own: BACKWARD."
    rows = {line.split()[0]: line for line in table}
    assert list(rows) == [
        "LEVEL",
        "NONE",
        "BACKWARD",
        "BACKWARD_TRANSITIVE",
        "FORWARD",
        "FORWARD_TRANSITIVE",
        "FULL",
        "FULL_TRANSITIVE",
    ]
    for level, words in {
        "NONE": ["nothing", "any change"],
        "BACKWARD": ["new schema reads old", "latest", "remove fields, add fields with a default", "consumers"],
        "FORWARD_TRANSITIVE": ["old schema reads new", "all", "add fields, remove fields with a default", "producers"],
        "FULL": ["each reads the other's", "latest", "add and remove fields with a default", "either"],
    }.items():
        assert all(word in rows[level] for word in words), rows[level]
    assert len(run.json("compat")["levels"]) == 7


def test_levels(run: SchemasCommandLine, subject: str) -> None:
    unset = f"{subject}: BACKWARD, as all that have no level of their own.\n"
    assert run("compat", subject) == unset
    assert run("compat", subject, "full_transitive") == f"{subject}: FULL_TRANSITIVE.\n"
    assert run.json("compat", subject) == {"subject": subject, "level": "FULL_TRANSITIVE", "own": True}
    assert run("compat", subject, "--unset") == unset
    try:
        assert run("compat", "--global", "NONE") == "All subjects without a level of their own: NONE.\n"
        assert run("compat", subject) == f"{subject}: NONE, as all that have no level of their own.\n"
    finally:
        run("compat", "--global", "--unset")
    assert run("compat", subject) == unset


def test_a_person_is_asked(run: SchemasCommandLine, subject: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run("register", subject, run.file("order.avsc", ORDER))
    monkeypatch.setenv("STOKER_REGISTRY_URL", run.address)
    code, shown = at_a_terminal("", b"n\n", "schemas", "delete", subject)
    assert f"Delete version 1 of '{subject}'? [y/N]" in shown
    assert code == 1
    assert subject in run("list", "--names").splitlines()


def test_completion(run: SchemasCommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"orders-{uuid4().hex[:8]}"
    run("register", name, run.file("order.avsc", ORDER))
    monkeypatch.setenv("STOKER_REGISTRY_URL", run.address)
    assert complete(run, "sch") == ["schemas"]
    assert complete(run, "schemas", "show", name[:-1]) == [name]
    monkeypatch.setenv("STOKER_REGISTRY_URL", "http://127.0.0.1:1")
    assert complete(run, "schemas", "show", name[:-1]) == []


def test_standard_input(run: SchemasCommandLine, subject: str) -> None:
    text = json.dumps(ORDER).encode()
    assert "version 1" in run("register", subject, "-", "--type", "avro", stdin=text)
    run("check", subject, "-", "-t", "AVRO", stdin=text)
    run("register", subject, "-", stdin=text, code=2)
    assert "the name - does not say which type of schema it is" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show"], ["either a subject", "--id"]),
        (["show", "orders", "--id", "1"], ["either a subject", "--id"]),
        (["show", "--id", "0"], ["0 is less than 1"]),
        (["register", "orders", "order.txt"], ["order.txt", ".avsc", "--type AVRO, JSON or PROTOBUF"]),
        (["register", "orders", "order.avsc", "--type", "xml"], ["--type xml", "AVRO, JSON, PROTOBUF"]),
        (["check", "orders", "{order}", "--reference", "a:1"], ["--reference a:1", "NAME=SUBJECT:VERSION"]),
        (["compat", "orders", "BACKWARDS"], ["BACKWARDS", "did you mean 'BACKWARD'?"]),
        (["compat", "--unset"], ["--unset", "--global"]),
        (["compat", "--global", "orders", "FULL"], ["--global"]),
        (["diff", "orders", "a.avsc", "2"], ["a.avsc is no version"]),
        (["list", "--registry-url", "ftp://host"], ["'ftp://host'", "http://HOST:PORT"]),
        (["list", "--registry-url", "host:port"], ["'host:port'", "http://HOST:PORT"]),
        (["list", "--user", "ann"], ["name:password"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_usage(run: SchemasCommandLine, arguments: list[str], words: list[str]) -> None:
    order = run.file("order.avsc", ORDER)
    run(*[argument.format(order=order) for argument in arguments], code=2)
    assert all(word in run.stderr for word in words), run.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["is empty"]),
        (b'{"type": "record"', ["line 1"]),
        (b'{"type": "nothing"}', ["nothing"]),
        (b"\n\xff", ["line 2 is not UTF-8"]),
        (None, ["No such file or directory"]),
    ],
)
def test_files_that_hold_no_schema(
    run: SchemasCommandLine, subject: str, content: bytes | None, words: list[str]
) -> None:
    path = run.directory / "order.avsc"
    if content is not None:
        path.write_bytes(content)
    error = run.fails("register", subject, str(path))
    assert error.startswith("stoker schemas: ")
    assert all(word in error for word in words), error


def test_names_that_are_not_there(run: SchemasCommandLine, subject: str) -> None:
    run("register", subject, run.file("order.avsc", ORDER))
    near = subject.replace("orders", "ordes")
    hint = f"stoker schemas: subject '{near}' does not exist; did you mean '{subject}'?"
    assert run.fails("show", near) == hint
    assert run.fails("delete", near) == hint
    assert run.fails("diff", near) == hint
    assert "no version 3, only 1" in run.fails("delete", subject, "--version", "3")
    assert "no version 3, only 1" in run.fails("diff", subject, "1", "3")
    assert "has one version" in run.fails("diff", subject)
    assert "40403" in run.fails("show", "--id", "999999")


def test_nobody_there(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    assert SchemasCommandLine(url, tmp_path).fails("list") == (
        f"stoker schemas: cannot reach the registry {url}: Connection refused. Is a registry running there? "
        "--registry-url or STOKER_REGISTRY_URL names another address."
    )


def test_who_answers_is_no_registry(server: UpProcess, tmp_path: Path) -> None:
    error = SchemasCommandLine(f"http://{server.broker}", tmp_path).fails("list")
    assert f"http://{server.broker}" in error


def test_a_password(server: UpProcess, tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text(f"ann:{bcrypt.hashpw(b'secret', bcrypt.gensalt(4)).decode()}\n")
    options = {"authentication.file": users, "kafkastore.topic": "_guarded", "schema.registry.group.id": "guarded"}
    with RegistryProcess(server.broker, options=options) as registry:
        run = SchemasCommandLine(registry.url, tmp_path)
        assert run.fails("list").endswith(" --user NAME:PASSWORD or STOKER_REGISTRY_USER says who asks.")
        assert "secrets" not in run.fails("list", "--user", "ann:secrets")
        run("list", "--user", "ann:secret")
        run("list", env={"STOKER_REGISTRY_USER": "ann:secret"})
        run("list", "--registry-url", registry.url.replace("//", "//ann:secret@"))
