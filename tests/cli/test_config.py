"""`stoker config`, and how every command finds its addresses: in a directory with a stoker.toml, no flags are needed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import bcrypt
import pytest

from stoker import Broker
from stoker.registry.client import RegistryClient
from tests.cli.command_line import CommandLine
from tests.faults.small_disk import small_disk
from tests.faults.stoker_process import STOKER
from tests.registry.registry_process import RegistryProcess

NOBODY = "127.0.0.1:1"


class Commands(CommandLine):
    """Names no cluster by a variable."""

    def __call__(
        self, *arguments: str, code: int = 0, env: dict[str, str | None] | None = None, stdin: bytes | None = None
    ) -> str:
        return super().__call__(
            *arguments, code=code, env={"STOKER_BOOTSTRAP_SERVER": None, "COLUMNS": "200", **(env or {})}, stdin=stdin
        )


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """In an empty directory."""
    for name in [name for name in os.environ if name.startswith("STOKER_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return Commands("")


@pytest.fixture
def file(run: Commands, tmp_path: Path, stoker_address: str) -> Path:
    path = tmp_path / "stoker.toml"
    path.write_text(f'[kafka]\nbootstrap-servers = "{stoker_address}"\n')
    return path


# -- commands use it


def test_no_flag_is_needed(run: Commands, file: Path, stoker_address: str) -> None:
    run("topics", "create", "of-the-file", "--partitions", "1")
    assert "of-the-file" in run("topics", "list", "--names").split()
    run("produce", "of-the-file", stdin=b"1\n2\n")
    assert run("consume", "of-the-file", "--from-beginning", "--until", "end") == "1\n2\n"
    assert run("topics", "list", "--names") == run("topics", "list", "--names", "-b", stoker_address)


def test_below_the_directory_of_the_file_too(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As its users run it: a process, in a directory below."""
    below = tmp_path / "src" / "orders"
    below.mkdir(parents=True)
    listed = subprocess.run([STOKER, "cluster-id"], cwd=below, capture_output=True, text=True, check=False)
    assert (listed.returncode, listed.stderr) == (0, "")


def test_flags_and_variables_are_stronger(run: Commands, file: Path) -> None:
    run("cluster-id", "-b", NOBODY, code=1)
    run("cluster-id", env={"STOKER_BOOTSTRAP_SERVER": NOBODY}, code=1)
    run("cluster-id")


def test_another_file(run: Commands, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(f'[kafka]\nbootstrap-servers = "{NOBODY}"\n')
    assert f"{other} line 2 names it" in run.fails("--config-file", "other.toml", "cluster-id")
    assert f"{other} line 2 names it" in (run("cluster-id", env={"STOKER_CONFIG": "other.toml"}, code=1), run.stderr)[1]
    for arguments in (
        ["--config-file", "stoker.toml", "cluster-id"],
        ["cluster-id", "--config-file", "stoker.toml"],
        ["topics", "--config-file=stoker.toml", "list"],
    ):
        run(*arguments, env={"STOKER_CONFIG": "other.toml"})
    assert "STOKER_CONFIG" not in os.environ
    assert run("--config-file", "", "config", "path", code=1) == ""
    assert run.stderr == "stoker config: There is no file: STOKER_CONFIG is empty, which means none.\n"


def test_who_typed_no_address_is_told_where_it_stands(run: Commands, tmp_path: Path) -> None:
    file = tmp_path / "stoker.toml"
    file.write_text(f'\n[kafka]\nbootstrap-servers = "{NOBODY}"\n')
    assert run.fails("topics", "list") == (
        f"stoker topics: cannot connect to {NOBODY}: Connection refused. Is a broker running there? {file} line 3 names it; "
        "--bootstrap-server or STOKER_BOOTSTRAP_SERVER names another address."
    )
    file.write_text(f'[kafka]\nbootstrap-servers = ["{NOBODY}", "127.0.0.1:2"]\n')
    assert f"{file} line 2 names them; --boot" in run.fails("topics", "list")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[kafka]\nbootstrap-server = "a:1"', "line 2: there is no key 'bootstrap-server' in [kafka]; did you mean"),
        ("[kafka\n", "is not TOML: Expected ']'"),
        ('[kafka]\nbootstrap-servers = "a:port"', "stoker.toml line 2)"),
        ('[kafka.properties]\n"request.timeout.ms" = "soon"', "milliseconds, 0 to 2147483647 ("),
        ('[kafka.properties]\n\n"security.protocol" = "SASL_SSL"', "sasl.mechanism=GSSAPI, Kafka's default, cannot be"),
    ],
)
@pytest.mark.parametrize("command", [["topics", "list"], ["cluster-id"]])
def test_a_mistake_in_the_file(run: Commands, tmp_path: Path, text: str, words: str, command: list[str]) -> None:
    (tmp_path / "stoker.toml").write_text(text)
    error = run.fails(*command, "-b", "localhost:9092", code=2) if "protocol" in text else run.fails(*command, code=2)
    assert error.startswith(f"stoker {command[0]}: ")
    assert words in error


def test_a_mistake_in_the_file_ends_a_registry(tmp_path: Path) -> None:
    (tmp_path / "stoker.toml").write_text("[kafak]")
    ended = subprocess.run([STOKER, "registry"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"stoker registry: {tmp_path}/stoker.toml line 1: there is no table [kafak]")


def test_a_property_that_librdkafka_does_not_know_ends_a_registry(stoker_address: str, tmp_path: Path) -> None:
    (tmp_path / "stoker.toml").write_text('[kafka.properties]\n"ssl.mine" = "1"\n')
    command = [STOKER, "registry", "-b", stoker_address, "--listen", "127.0.0.1:0"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.endswith("stoker registry: there is no client property 'ssl.mine'\n")


def test_properties_reach_the_client(run: Commands, file: Path) -> None:
    """A protocol that this broker does not speak is told of; a variable is stronger than the file."""
    file.write_text(file.read_text() + '[kafka.properties]\n"security.protocol" = "SSL"\n')
    assert "no TLS" in run.fails("topics", "list", code=1)
    run("topics", "list", env={"STOKER_KAFKA_PROPERTIES_SECURITY_PROTOCOL": "PLAINTEXT"})
    run("cluster-id", env={"STOKER_KAFKA_PROPERTIES_REQUEST_TIMEOUT_MS": "never"}, code=2)
    assert run.stderr.endswith(" (STOKER_KAFKA_PROPERTIES_REQUEST_TIMEOUT_MS)\n")


def test_properties_that_only_some_clients_know_are_no_mistake(run: Commands, file: Path) -> None:
    file.write_text(file.read_text() + '[kafka.properties]\n"linger.ms" = 1\n')
    run("cluster-id")
    assert run.stderr == ""


def test_properties_of_the_file_are_for_its_cluster(run: Commands, file: Path, stoker_address: str) -> None:
    file.write_text(
        '[kafka]\nbootstrap-servers = "broker-1:9093"\n[kafka.properties]\n"security.protocol" = "SASL_SSL"\n'
    )
    run("cluster-id", "-b", stoker_address)
    assert run.stderr == (
        f"{file}: [kafka.properties] is for broker-1:9093, and does not count for {stoker_address}; --command-config gives "
        "properties.\n"
    )


def test_the_registry_and_who_asks(run: Commands, file: Path, tmp_path: Path, stoker_address: str) -> None:
    users = tmp_path / "users"
    users.write_text(f"ann:{bcrypt.hashpw(b'secret', bcrypt.gensalt(4)).decode()}\n")
    options = {"authentication.file": users, "kafkastore.topic": "_guarded", "schema.registry.group.id": "guarded"}
    with RegistryProcess(stoker_address, options=options) as registry:
        file.write_text(f'[registry]\nurl = "{registry.url}"\nuser = "ann:secret"\n')
        assert run.json("schemas", "list") == []
        run("schemas", "list", "--user", "ann:wrong", code=1)
        file.write_text(f'[registry]\nurl = "http://{NOBODY}"\nuser = "ann:secret"\n')
        run("schemas", "list", "--registry-url", registry.url, code=1)
        assert f"registry.user is for http://{NOBODY}, and does not count for {registry.url}." in run.stderr


def test_a_registry_finds_its_cluster(file: Path, tmp_path: Path) -> None:
    """`stoker registry` without a flag keeps its schemas in the cluster that the file names."""
    process = subprocess.Popen(
        [STOKER, "registry", "--listen", "127.0.0.1:0", "-o", "kafkastore.topic=_found"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    with process:
        try:
            ready = next(line for line in process.stderr if "is ready on" in line)
            with RegistryClient(ready.partition("is ready on ")[2].partition(",")[0]) as client:
                assert client.subjects() == []
        finally:
            process.terminate()
            process.stderr.read()
    assert process.returncode == 0


# -- show


def test_show_tells_where_each_value_comes_from(run: Commands, tmp_path: Path) -> None:
    file = tmp_path / "stoker.toml"
    file.write_text(
        '[kafka]\nbootstrap-servers = "broker-1:9093"\n\n[kafka.properties]\n"sasl.username" = "ann"\n'
        '\n[registry]\nurl = "http://registry-1:8081"\n'
    )
    env: dict[str, str | None] = {
        "STOKER_KAFKA_PROPERTIES_SASL_PASSWORD": "secret",
        "STOKER_REGISTRY_USER": "ann:secret",
        "STOKER_SPARK_MASTER": "local[2]",
    }
    shown = run("config", "show", "--master", "spark://spark-1:7077", env=env)
    assert [line.split(maxsplit=2) for line in shown.splitlines()] == [
        ["SETTING", "VALUE", "FROM"],
        ["kafka.bootstrap-servers", "broker-1:9093", f"{file} line 2"],
        ["kafka.properties.sasl.password", "********", "STOKER_KAFKA_PROPERTIES_SASL_PASSWORD"],
        ["kafka.properties.sasl.username", "ann", f"{file} line 5"],
        ["registry.url", "http://registry-1:8081", f"{file} line 8"],
        ["registry.user", "ann:********", "STOKER_REGISTRY_USER"],
        ["spark.master", "spark://spark-1:7077", "--master"],
    ]
    assert run.stderr == f"The file is {file}.\n"


def test_show_without_anything(run: Commands) -> None:
    assert run.rows("config", "show") == [
        ["SETTING", "VALUE", "FROM"],
        ["kafka.bootstrap-servers", "localhost:9092", "default"],
        ["registry.url", "http://localhost:8081", "default"],
        ["registry.user", "-", "-"],
        ["spark.master", "local[*,4]", "default"],
    ]
    assert run.stderr == (
        "There is no stoker.toml here or in a directory above; `stoker config init` writes one, and --config-file or "
        "STOKER_CONFIG names another file.\n"
    )


def test_show_for_programs(run: Commands, tmp_path: Path) -> None:
    file = tmp_path / "stoker.toml"
    file.write_text('[kafka]\nbootstrap-servers = "broker-1:9093"\n[kafka.properties]\nsasl.password = "secret"\n')
    properties = tmp_path / "client.properties"
    properties.write_text("client.id=me\n")
    env: dict[str, str | None] = {"STOKER_REGISTRY_URL": "http://ann:secret@registry-1:8081"}
    shown: Any = json.loads(run("config", "show", "--json", "--command-config", str(properties), env=env))
    assert "secret" not in str(shown).replace("'secret':", "")
    assert shown["file"] == str(file)
    assert {each["name"]: (each["value"], each["from"]) for each in shown["settings"]} == {
        "kafka.bootstrap-servers": ("broker-1:9093", {"kind": "file", "name": str(file), "line": 2}),
        "kafka.properties.client.id": ("me", {"kind": "flag", "name": "--command-config"}),
        "kafka.properties.sasl.password": ("********", {"kind": "file", "name": str(file), "line": 4}),
        "registry.url": ("http://ann:********@registry-1:8081", {"kind": "environment", "name": "STOKER_REGISTRY_URL"}),
        "registry.user": (None, {"kind": "default"}),
        "spark.master": ("local[*,4]", {"kind": "default"}),
    }
    assert [each["name"] for each in shown["settings"] if each["secret"]] == [
        "kafka.properties.sasl.password",
        "registry.user",
    ]
    assert shown["left_aside"] == []
    (left,) = json.loads(run("config", "show", "--json", "-b", "broker-2:9093", env=env))["left_aside"]
    assert (left["name"], left["value"], left["belongs_to"], left["used"]) == (
        "kafka.properties.sasl.password",
        "********",
        "broker-1:9093",
        "broker-2:9093",
    )


def test_show_tells_of_variables_that_are_nearly_right(run: Commands) -> None:
    run("config", "show", env={"STOKER_BOOTSTRAP_SERVERS": "broker-1:9092", "STOKER_TESTS_AGAINST": "stoker"})
    assert run.stderr.splitlines()[1:] == [
        "The variable STOKER_BOOTSTRAP_SERVERS means nothing to Stoker; did you mean STOKER_BOOTSTRAP_SERVER?"
    ]


# -- path and init


def test_path(run: Commands, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert run("config", "path") == f"{file}\n"
    file.unlink()
    assert run.fails("config", "path").startswith("stoker config: There is no stoker.toml here or in a directory above")
    run("config", "path", env={"STOKER_CONFIG": str(file)}, code=2)
    assert run.stderr.startswith(f"stoker config: {file} is not there")


def test_init_writes_comments(run: Commands, tmp_path: Path) -> None:
    assert run("config", "init") == f"Wrote {tmp_path}/stoker.toml.\n"
    shown = run.json("config", "show")
    assert {each["from"]["kind"] for each in shown["settings"]} == {"default"}
    assert shown["file"] == f"{tmp_path}/stoker.toml"
    assert run.fails("config", "init") == (
        f"stoker config: {tmp_path}/stoker.toml is there already; --force writes over it"
    )


def test_init_writes_what_is_given(run: Commands, tmp_path: Path) -> None:
    run("config", "init")
    (tmp_path / "stoker.toml").chmod(0o600)
    run("config", "init", "--force", "-b", "b:1,c:1", "-r", "http://r:1", "--master", 'odd "\\ one')
    shown = run.json("config", "show")
    assert {each["name"]: each["value"] for each in shown["settings"] if each["from"]["kind"] == "file"} == {
        "kafka.bootstrap-servers": "b:1,c:1",
        "registry.url": "http://r:1",
        "spark.master": 'odd "\\ one',
    }
    assert (tmp_path / "stoker.toml").stat().st_mode & 0o777 == 0o600


def test_init_takes_an_empty_text_for_none(run: Commands) -> None:
    """`-b "$UNSET"`: what is written can be read."""
    run("config", "init", "-b", "", "-r", " ", "--master", "")
    assert "All of it is comments" in run.stderr
    assert {each["from"]["kind"] for each in run.json("config", "show")["settings"]} == {"default"}


def test_init_where_nothing_can_be_written(run: Commands, tmp_path: Path) -> None:
    (tmp_path / "stoker.toml").mkdir()
    assert run.fails("config", "init", "--force") == (
        f"stoker config: {tmp_path}/stoker.toml cannot be written: Is a directory"
    )


def test_init_on_a_full_disk_leaves_what_there_was(
    run: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file, or the old one: an empty one would hide the file of a directory above."""
    with small_disk(tmp_path / "full", megabytes=1) as disk:
        monkeypatch.chdir(disk.path)
        disk.fill()
        assert "cannot be written: No space left on device" in run.fails("config", "init")
        assert [each.name for each in disk.path.iterdir()] == ["filler"]
        disk.make_room()
        run("config", "init")
        before = (disk.path / "stoker.toml").read_text()
        disk.fill()
        assert "cannot be written" in run.fails("config", "init", "--force", "-b", "b:1")
        assert (disk.path / "stoker.toml").read_text() == before
        monkeypatch.chdir(tmp_path)


# -- the demo


def test_the_demo_says_what_it_misses(run: Commands, file: Path, stoker_address: str) -> None:
    assert run.fails("demo") == (
        f"stoker demo: {file} line 2 names the broker {stoker_address}, so a registry on it must be named too: by --registry, "
        "by STOKER_REGISTRY_URL, or in stoker.toml. --local starts both for the demo."
    )
    file.write_text(file.read_text() + '[registry]\nurl = "http://r:1"\nuser = "ann:secret"\n')
    assert run.fails("demo") == (
        f"stoker demo: the demo speaks to brokers and registries without security alone, and {file} line 5 sets "
        "registry.user. --local starts both for the demo."
    )


def test_the_demo_takes_properties_that_are_no_security(run: Commands, file: Path) -> None:
    file.write_text(file.read_text() + '[registry]\nurl = "http://127.0.0.1:1"\n')
    env: dict[str, str | None] = {
        "STOKER_KAFKA_PROPERTIES_SASL_JAAS_CONFIG": "x",
        "STOKER_KAFKA_PROPERTIES_CLIENT_ID": "me",
    }
    run("demo", env=env, code=1)
    assert run.stderr.endswith(
        "and STOKER_KAFKA_PROPERTIES_SASL_JAAS_CONFIG sets kafka.properties.sasl.jaas.config. --local starts both "
        "for the demo.\n"
    )


def test_variables_are_told_from_flags(run: Commands) -> None:
    """The command line takes both, and who mends it has to know which of them it was."""
    env: dict[str, str | None] = {"STOKER_BOOTSTRAP_SERVER": "b:x"}
    run("topics", "list", env=env, code=2)
    assert "STOKER_BOOTSTRAP_SERVER" in run.stderr
    run("topics", "list", "-b", "b:y", env=env, code=2)
    assert "STOKER_BOOTSTRAP_SERVER" not in run.stderr
    run("demo", env={"STOKER_BOOTSTRAP_SERVER": "b:1"}, code=1)
    assert "STOKER_BOOTSTRAP_SERVER names the broker b:1" in run.stderr


def test_a_password_in_an_address_is_not_shown(run: Commands) -> None:
    run("schemas", "list", env={"STOKER_REGISTRY_URL": "http://ann:hunter2@r:80810"}, code=2)
    assert "http://ann:********@r:80810" in run.stderr
    assert "hunter2" not in run.stderr


def test_sql_tells_that_the_user_of_another_registry_does_not_ask(run: Commands, file: Path) -> None:
    file.write_text(file.read_text() + '[registry]\nurl = "http://r:1"\nuser = "ann:secret"\n')
    run("sql", "-e", "SHOW NONSENSE", "--registry", "http://s:1", code=1)
    assert f"{file}: registry.user is for http://r:1, and does not count for http://s:1." in run.stderr


def test_streams_status_shows_the_lag_in_the_cluster_of_the_file(
    run: Commands, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.streams.state.written_state import STRING_COUNTS, WrittenState, counts

    run("topics", "create", "lagging", "--partitions", "1")
    run("produce", "lagging", stdin=b"1\n2\n3\n")
    state = WrittenState(tmp_path / "state" / "shop")
    state.commit("counts", STRING_COUNTS, counts(ann=1), offsets={"lagging": {"0": 1}})
    assert run.json("streams", "status", "shop", "--state-dir", str(tmp_path / "state"))["lag"] == {"lagging": 2}


def test_completion_asks_the_cluster_of_the_file(run: Commands, file: Path) -> None:
    from stoker.cli.completion import complete_topics

    class Context:
        params: ClassVar[dict[str, Any]] = {}

    run("topics", "create", "completed", "--partitions", "1")
    assert complete_topics(Context(), "complet") == ["completed"]  # type: ignore[arg-type]


def test_a_file_costs_a_command_little(run: Commands, tmp_path: Path) -> None:
    """TOML is not even loaded where there is no file."""
    program = "import sys, stoker.cli.connection as c; c.properties_of(None, None); print('tomllib' in sys.modules)"
    for expected in ("False", "True"):
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert ran.stdout.strip() == expected
        (tmp_path / "stoker.toml").write_text("")


def test_a_broker_of_its_own_needs_no_file(run: Commands, tmp_path: Path) -> None:
    """An embedded broker takes nothing from the file, whatever is in it."""
    (tmp_path / "stoker.toml").write_text("[nonsense]")
    with Broker() as broker:
        assert broker.bootstrap_servers
