"""Kafka's scripts in a directory, and the ways to run a tool."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stoker import Broker
from stoker.client.admin.configs import Resource, ResourceType, describe_configs
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.kafka_tools.installation import install
from stoker.kafka_tools.table import TOOLS, script_name
from tests.faults.broker_process import STOKER


def _run(*words: str | Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | ({} if path is None else {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"})
    return subprocess.run(words, capture_output=True, text=True, timeout=60, env=environment, check=False)


@pytest.mark.acceptance("C004", "C005", "C129", "C130")
def test_the_scripts_do_what_documents_say(tmp_path: Path) -> None:
    """`stoker tools install DIR` writes scripts; lines of the documents run by them, old class names and --broker-list too."""
    directory = tmp_path / "a directory"
    installed = _run(STOKER, "tools", "install", directory)
    assert (installed.returncode, installed.stderr) == (0, f"Wrote {len(TOOLS)} scripts to {directory}.\n")
    assert sorted(path.name for path in directory.iterdir()) == sorted(TOOLS)
    with Broker() as broker:
        at = f"--bootstrap-server {broker.bootstrap_servers}"
        lines = {
            f"kafka-topics.sh --create --topic test --partitions 3 --replication-factor 1 {at}": "Created topic test.\n",
            f"kafka-topics.sh --list {at}": "test\n",
            f'echo "hello kafka" | kafka-console-producer.sh --topic test {at}': "",
            f"kafka-console-consumer.sh --topic test --from-beginning --max-messages 1 {at}": "hello kafka\n",
            f"kafka-run-class.sh kafka.tools.GetOffsetShell --broker-list {broker.bootstrap_servers} --topic test --time -1"
            " | cut -d: -f3 | sort -n | tail -1": "1\n",
            f"kafka-run-class.sh org.apache.kafka.tools.TopicCommand --list --exclude-internal {at}": "test\n",
        }
        for line, expected in lines.items():
            ran = _run("bash", "-c", line, path=directory)
            assert (ran.returncode, ran.stdout) == (0, expected), f"{line}\n{ran.stderr}"


def test_scripts_of_others_are_left_alone(tmp_path: Path) -> None:
    """Kafka's own scripts, and links to anywhere, are replaced only by --force."""
    foreign, target = tmp_path / "kafka-topics.sh", tmp_path / "elsewhere"
    foreign.write_text("#!/bin/bash\nexec java ...\n")
    target.write_text("precious")
    (tmp_path / "kafka-configs.sh").symlink_to(target)
    refused = _run(STOKER, "tools", "install", tmp_path)
    assert refused.returncode == 1
    assert "kafka-topics.sh, kafka-configs.sh. --force replaces them" in refused.stderr
    assert not (tmp_path / "kafka-cluster.sh").exists(), "all, or nothing"
    assert install(tmp_path, force=True) == (len(TOOLS), [])
    assert install(tmp_path) == (len(TOOLS), []), "its own scripts it replaces"
    assert target.read_text() == "precious"
    assert "stoker.kafka_tools kafka-topics.sh" in foreign.read_text()


def test_a_directory_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = _run(STOKER, "tools", "install", tmp_path / "file")
    assert refused.returncode == 1
    assert "cannot be written" in refused.stderr


def test_tools_are_listed() -> None:
    listed = _run(STOKER, "tools", "list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["TOOL", *TOOLS]


@pytest.mark.parametrize("name", ["kafka-topics.sh", "kafka-topics", "/opt/kafka/bin/kafka-topics.sh"])
def test_a_tool_by_its_names(name: str) -> None:
    assert script_name(name) == "kafka-topics.sh"


def test_a_tool_of_stoker_itself() -> None:
    ran = _run(STOKER, "kafka-topics", "--version")
    assert (ran.returncode, ran.stdout) == (0, "4.3.0\n")
    unknown = _run(STOKER, "kafka-topcs.sh")
    assert unknown.returncode == 2
    assert "there is no tool kafka-topcs.sh; did you mean kafka-topics.sh?" in unknown.stderr


def test_a_class_that_is_not_there_is_refused_with_the_choices() -> None:
    ran = _run(STOKER, "kafka-run-class.sh", "kafka.tools.MirrorMaker")
    assert ran.returncode == 1
    assert "Could not find or load main class kafka.tools.MirrorMaker" in ran.stderr
    assert "org.apache.kafka.tools.TopicCommand" in ran.stderr
    assert _run(STOKER, "kafka-run-class.sh").stdout.startswith("USAGE: ")


def test_every_tool_is_there_and_knows_its_version() -> None:
    for name, tool in TOOLS.items():
        assert callable(tool.load()), name


def test_a_list_of_topics_imports_little() -> None:
    """So that it takes a tenth of a second."""
    program = (
        "import sys; from stoker.kafka_tools.running import run; run('kafka-topics.sh', ['--list', '--bootstrap-server',"
        " 'localhost:1']); print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    imported = _run(sys.executable, "-c", program).stderr.splitlines()[-1].split()
    assert "stoker" in imported
    assert not {"typer", "rich", "asyncio", "confluent_kafka", "pyspark", "numpy", "argparse"} & set(imported)


def test_a_reader_that_goes_away_is_no_failure(tmp_path: Path) -> None:
    """`kafka-topics.sh --help | grep -q` under `set -o pipefail`: as Java's, which minds nothing."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        ran = subprocess.run(
            [STOKER, "kafka-broker-api-versions.sh", "--version"], stdout=closed, stderr=subprocess.PIPE, check=False
        )
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["--describe"]], ids=" ".join)
@pytest.mark.parametrize("where", [">/dev/full", ">/dev/full 2>/dev/full", ">&-", "2>&-", ">&- 2>&-"])
def test_what_cannot_be_written_is_no_failure_of_its_own(
    stoker_address: str, where: str, arguments: list[str], tmp_path: Path
) -> None:
    """A full disk, a closed output: Java's System.out swallows that, and the exit code is that of the work."""
    words = [STOKER, "kafka-topics.sh", "--bootstrap-server", stoker_address, *arguments]
    ran = subprocess.run(
        ["bash", "-c", f'"$@" {where}', "bash", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert ran.returncode == (1 if arguments == ["--help"] else 0)
    assert "Traceback" not in ran.stderr
    assert "Exception" not in ran.stderr


def test_what_nobody_reads_is_done_all_the_same(tmp_path: Path) -> None:
    """`--execute | head -1`: Kafka's own goes on behind the first line, which tells how it was, and ours does."""
    moves = tmp_path / "moves.json"
    moves.write_text('{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1]}]}')
    throttled = Resource(ResourceType.TOPIC, "orders")
    read, write = os.pipe()
    os.close(read)
    with Broker() as broker, os.fdopen(write, "wb") as closed:
        at = ("--bootstrap-server", broker.bootstrap_servers)
        _run(STOKER, "kafka-topics.sh", *at, "--create", "--topic", "orders", "--partitions", "1")
        words = ("--execute", "--reassignment-json-file", moves, "--throttle", "1000000")
        ran = subprocess.run(
            [STOKER, "kafka-reassign-partitions.sh", *at, *words],
            stdout=closed,
            stderr=closed,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            check=False,
        )
        with Cluster(client_properties(broker.bootstrap_servers)) as cluster:
            (config,) = describe_configs(cluster, throttled, ["leader.replication.throttled.replicas"])
    assert (ran.returncode, config.value) == (0, "0:1")


def test_a_cluster_that_is_not_there() -> None:
    """Told at once, where Kafka's own tool tries for a minute."""
    ran = _run(STOKER, "kafka-topics.sh", "--list", "--bootstrap-server", "localhost:1")
    assert ran.returncode == 1
    assert ran.stdout.startswith("Error while executing topic command : cannot connect to localhost:1")
