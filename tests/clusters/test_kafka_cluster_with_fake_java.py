"""`stoker cluster` where things go wrong, with a program that takes the place of Java: no node is Apache Kafka."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from stoker.cli.kafka_cluster import status
from stoker.client.admin.topics import Partition
from stoker.clusters import KafkaCluster, local_cluster
from stoker.clusters.directories import changing
from stoker.clusters.errors import CannotStart, NodeState, NotInTime, UnusableDirectory
from stoker.clusters.java import environment_for
from stoker.clusters.kafka_node import KafkaNode
from stoker.clusters.kafka_plan import KafkaPlan
from stoker.clusters.kafka_status import Replication
from stoker.clusters.local_cluster import ANY_PORT
from stoker.properties import read_properties
from tests.clusters.commands import Commands

REFUSED: Final = {"a.b": "1"}
JAVA: Final = """#!{python}
import os, pathlib, sys, time
settings = dict(line.split("=", 1) for line in pathlib.Path(sys.argv[-1]).read_text().splitlines())
if "/wrong/" in sys.argv[sys.argv.index("-cp") + 1]:
    sys.exit("no such class")
if "format" in sys.argv:
    data = pathlib.Path(settings["log.dirs"])
    data.mkdir(parents=True)
    data.joinpath("meta.properties").write_text("cluster.id=" + sys.argv[sys.argv.index("-t") + 1] + chr(10))
elif "a.b" in settings:
    sys.exit("a.b is refused")
else:
    print("ready", os.getpid(), flush=True)
    time.sleep(600)
"""


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    return Commands(tmp_path / "state")


@pytest.fixture
def kafka(tmp_path: Path, commands: Commands, monkeypatch: pytest.MonkeyPatch) -> Iterator[KafkaCluster]:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(JAVA.format(python=sys.executable))
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(
        KafkaNode, "is_ready", lambda node: f"ready {node.daemon.pid}\n" in node.daemon.log_file.read_text()
    )
    cluster = KafkaCluster(commands.home / "stoker" / "cluster")
    yield cluster
    if cluster.exists:
        cluster.down()


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    return make_jars(tmp_path / "right")


@pytest.fixture
def wrong_jars(tmp_path: Path) -> Path:
    return make_jars(tmp_path / "wrong")


def make_jars(directory: Path) -> Path:
    directory.mkdir()
    (directory / "kafka_2.13-4.3.0.jar").touch()
    return directory


def plan(jars: Path) -> KafkaPlan:
    return KafkaPlan(
        cluster_id="x", kafka_version="4.3.0", jars=str(jars), heap="1m", brokers=2, port=1, controller_ports=()
    )


def cluster_ids(kafka: KafkaCluster) -> list[str]:
    """Of the data of each node."""
    metas = [read_properties(node.data / "meta.properties") for node in kafka.nodes()]
    return [each.value for meta in metas for each in meta if each.name == "cluster.id"]


def test_a_first_up_that_cannot_be_formatted(kafka: KafkaCluster, jars: Path, wrong_jars: Path) -> None:
    """Nothing of it is kept: another `up`, with other jars and without settings, is a first one."""
    with pytest.raises(CannotStart, match=r"(?s)node 1 cannot be formatted.*no such class"):
        kafka.up(2, port=ANY_PORT, jars=wrong_jars, config={"x.y": "1"})
    assert not kafka.exists
    kafka.up(3, port=ANY_PORT, jars=jars)
    assert (kafka.plan.config, kafka.plan.jars) == ({}, str(jars))
    assert len([node for node in kafka.nodes() if node.is_running]) == 3


def test_a_first_up_that_cannot_be_started(kafka: KafkaCluster, jars: Path) -> None:
    """Data that it has formatted is not in the way of the next one, and the log that the error names is there."""
    with pytest.raises(CannotStart, match=r"(?s)ended as soon as it was started.*a\.b is refused"):
        kafka.up(3, port=ANY_PORT, jars=jars, config=REFUSED)
    assert not kafka.exists
    assert "a.b is refused" in (kafka.directory / "node-1" / "server.log").read_text()
    kafka.up(2, port=ANY_PORT, jars=jars)
    assert cluster_ids(kafka) == [kafka.plan.cluster_id] * 2


def test_a_change_that_cannot_be_started(kafka: KafkaCluster, jars: Path) -> None:
    """The cluster is what it was, with its data; of the nodes that it should have got none is left."""
    kafka.up(1, port=ANY_PORT, jars=jars)
    before = kafka.plan
    (kafka.node(1).data / "orders-0").mkdir()
    kafka.down()
    with pytest.raises(CannotStart):
        kafka.up(2, config=REFUSED)
    assert kafka.plan == before
    assert not (kafka.directory / "node-2" / "data").exists()
    kafka.up()
    assert kafka.node(1).is_running
    assert (kafka.node(1).data / "orders-0").exists()


def test_options_of_the_environment(kafka: KafkaCluster, jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KAFKA_OPTS is for each JVM, as with Kafka's own scripts; one that cannot be read is refused by its name."""
    monkeypatch.setenv("KAFKA_OPTS", "-Dgreeting='good morning' -Xss1m")
    kafka.up(2, port=ANY_PORT, jars=jars)
    for node in kafka.nodes():
        command = Path(f"/proc/{node.daemon.pid}/cmdline").read_text().split("\0")
        assert {"-Dgreeting=good morning", "-Xss1m"} <= set(command)
    kafka.down()
    monkeypatch.setenv("KAFKA_OPTS", "-Dgreeting='good")
    with pytest.raises(CannotStart, match=r"KAFKA_OPTS is no list of options of a JVM: No closing quotation"):
        kafka.up()


def test_ctrl_c_keeps_the_plan(kafka: KafkaCluster, jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no fault of what was wanted; the next `up` goes on with it."""

    def interrupted(node: KafkaNode, seconds: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(KafkaNode, "wait_until_ready", interrupted)
        with pytest.raises(KeyboardInterrupt):
            kafka.up(2, port=ANY_PORT, jars=jars)
    before = kafka.plan
    assert not any(node.is_running for node in kafka.nodes())
    assert kafka.up().plan == before
    assert cluster_ids(kafka) == [before.cluster_id] * 2


def test_up_while_a_node_still_ends(kafka: KafkaCluster, jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who stopped it was interrupted: it is waited for, and started anew."""
    monkeypatch.setattr(local_cluster, "STOP_SECONDS", 0.2)
    kafka.up(2, port=ANY_PORT, jars=jars)
    first, second = (node.daemon for node in kafka.nodes())
    ending, other = second.pid, first.pid
    assert ending is not None
    os.kill(ending, signal.SIGSTOP)
    second.terminate()
    kafka.up()
    assert first.pid == other
    assert second.pid not in (None, ending)


def test_what_is_in_the_way_of_a_node_is_left_alone(kafka: KafkaCluster, jars: Path) -> None:
    """Else it would go with the node, by `down --delete`."""
    mine = kafka.directory / "node-2" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.touch()
    with pytest.raises(UnusableDirectory, match=r"node-2 is not node 2's, and holds mine\.txt"):
        kafka.up(2, port=ANY_PORT, jars=jars)
    assert not kafka.exists
    assert mine.exists()


def test_names_that_are_not_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    assert environment_for(Path("/plain"))["LC_ALL"] == "C"
    assert environment_for(Path("/Dätä"))["LC_ALL"] == "C.UTF-8"


@pytest.mark.parametrize(("leader", "is_told"), [(None, True), (1, False)])
def test_a_quorum_that_is_lost_is_told_of(
    kafka: KafkaCluster,
    jars: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    leader: int | None,
    is_told: bool,
) -> None:
    """What a broker tells of leaders then is what was so before."""
    kafka.up(2, port=ANY_PORT, jars=jars)
    monkeypatch.setattr(KafkaCluster, "replication", lambda cluster: Replication(partitions=(), quorum_leader=leader))
    status(kafka.directory)
    assert ("No controller is active" in capsys.readouterr().err) is is_told


def not_in_time(node: KafkaNode, seconds: float) -> None:
    raise NotInTime(f"node {node.number} is not ready yet")


def test_a_first_up_that_is_not_in_time(kafka: KafkaCluster, jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KafkaNode, "wait_until_ready", not_in_time)
    with pytest.raises(NotInTime):
        kafka.up(2, port=ANY_PORT, jars=jars)
    assert not kafka.exists
    assert [KafkaNode(plan(jars), number, kafka.directory).is_running for number in (1, 2)] == [False, False]


@pytest.mark.parametrize("command", ["up", "restart 2", "roll"])
def test_nodes_with_data_that_take_longer_go_on_starting(
    kafka: KafkaCluster, jars: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """What they have recovered so far is not thrown away, and those beside them are left alone."""
    kafka.up(3, port=ANY_PORT, jars=jars)
    if command == "up":
        kafka.down()
    whole = Replication(partitions=(), quorum_leader=3)
    do: dict[str, Callable[[], object]] = {"up": kafka.up, "restart 2": lambda: kafka.restart(2), "roll": kafka.roll}
    with monkeypatch.context() as patched:
        patched.setattr(KafkaNode, "wait_until_ready", not_in_time)
        patched.setattr(KafkaCluster, "replication", lambda cluster: whole)
        with pytest.raises(NotInTime):
            do[command]()
    assert all(node.is_running for node in kafka.nodes())
    kafka.up()


def test_growth_while_another_node_recovers(kafka: KafkaCluster, jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new node is ready, and may have replicas by now; node 2 takes longer: both go on, and the plan has them."""
    kafka.up(3, port=ANY_PORT, jars=jars)
    kafka.node(2).daemon.kill()
    is_ready = KafkaNode.is_ready
    with monkeypatch.context() as patched:
        patched.setattr(KafkaNode, "is_ready", lambda node: node.number != 2 and is_ready(node))
        with pytest.raises(NotInTime, match="node 2 is not ready yet"):
            kafka.up(4, seconds=1.0)
    assert all(node.is_running for node in kafka.nodes())
    assert kafka.plan.brokers == 4
    assert kafka.node(4).is_formatted


def test_a_new_node_that_serves_keeps_its_data(
    kafka: KafkaCluster, jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another new one cannot be started: what serves already may have replicas."""
    kafka.up(1, port=ANY_PORT, jars=jars)
    start = KafkaNode.start

    def start_but_the_third(node: KafkaNode) -> None:
        start(node)
        if node.number == 3:
            node.daemon.kill()

    with monkeypatch.context() as patched:
        patched.setattr(KafkaNode, "start", start_but_the_third)
        with pytest.raises(CannotStart, match="node 3 ended as soon as it was started"):
            kafka.up(3)
    assert kafka.plan.brokers == 3
    assert [node.is_running for node in kafka.nodes()] == [True, True, False]


def test_growth_says_who_runs_with_old_settings(kafka: KafkaCluster, jars: Path, commands: Commands) -> None:
    """One replica was the default of one broker; with three it is three, once the controller has been restarted."""
    kafka.up(1, port=ANY_PORT, jars=jars)
    said: list[str] = []
    KafkaCluster(kafka.directory, say=said.append).up(3)
    assert said[-1] == (
        "Still with the settings of before, such as how many replicas a new topic has: node 1. "
        "`stoker cluster roll` restarts them with those of 3 brokers."
    )
    said.clear()
    KafkaCluster(kafka.directory, say=said.append).up(4)
    assert "Still with" not in "".join(said)


class SlowToBeInSync:
    """What the brokers of a cluster tell, of which a node that was restarted is out of sync for some looks."""

    def __init__(self, kafka: KafkaCluster, looks: int) -> None:
        self._kafka, self._looks = kafka, looks
        self._pids = self._running()
        self._left = 0
        self.restarted_while_out_of_sync: list[int] = []

    def __call__(self) -> Replication:
        running = self._running()
        if restarted := [number for number, pid in running.items() if pid != self._pids[number]]:
            if self._left:
                self.restarted_while_out_of_sync += restarted
            self._pids, self._left = running, self._looks
        isr = (1, 2, 3) if not self._left else (1, 2)
        self._left = max(0, self._left - 1)
        partition = Partition(partition=0, leader=1, replicas=(1, 2, 3), isr=isr, offline=())
        return Replication(partitions=(partition,), quorum_leader=2)

    def _running(self) -> dict[int, int | None]:
        return {node.number: node.daemon.pid for node in self._kafka.nodes()}


def test_a_roll_waits_for_each_node_to_be_in_sync(
    kafka: KafkaCluster, jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No node is restarted while a replica is missing, and the active controller comes last."""
    kafka.up(3, port=ANY_PORT, jars=jars)
    told = SlowToBeInSync(kafka, looks=3)
    monkeypatch.setattr(KafkaCluster, "replication", told)
    said: list[str] = []
    monkeypatch.setattr("stoker.clusters.rolling._elect", lambda *_: None)
    KafkaCluster(kafka.directory, say=said.append).roll()
    assert told.restarted_while_out_of_sync == []
    assert [line for line in said if line.startswith("Stopping")] == [
        f"Stopping node {number} ..." for number in (1, 3, 2)
    ]


def test_a_roll_ends_where_a_node_does_not_get_in_sync(
    kafka: KafkaCluster, jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nodes that are left have not been touched."""
    kafka.up(3, port=ANY_PORT, jars=jars)
    pids = [node.daemon.pid for node in kafka.nodes()]
    monkeypatch.setattr(KafkaCluster, "replication", SlowToBeInSync(kafka, looks=10_000))
    with pytest.raises(NotInTime, match="after 1 s: 1 partitions are under-replicated, 0 have no leader"):
        kafka.roll(seconds=1.0)
    after = [node.daemon.pid for node in kafka.nodes()]
    assert pids[0] != after[0]
    assert pids[1:] == after[1:]


def test_a_roll_ends_when_another_node_does(kafka: KafkaCluster, jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing will be in sync again by itself: it says at once who is down, and leaves the others alone."""
    kafka.up(3, port=ANY_PORT, jars=jars)
    told = SlowToBeInSync(kafka, looks=10_000)

    def replication(cluster: KafkaCluster) -> Replication:
        found = told()
        if not found.is_whole:
            cluster.node(3).daemon.kill()
        return found

    monkeypatch.setattr(KafkaCluster, "replication", replication)
    with pytest.raises(NodeState, match=r"node 3 is down meanwhile .*`stoker cluster up` starts what is down"):
        kafka.roll()
    assert [node.is_running for node in kafka.nodes()] == [True, True, False]


def test_up_waits_for_nodes_that_run_already(kafka: KafkaCluster, jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An `up` before may have been cut off while they started."""
    kafka.up(2, port=ANY_PORT, jars=jars)
    with monkeypatch.context() as patched:
        patched.setattr(KafkaNode, "is_ready", lambda node: False)
        with pytest.raises(NotInTime, match="node 1 is not ready yet"):
            kafka.up(seconds=0.3)
    assert all(node.is_running for node in kafka.nodes())


@pytest.mark.parametrize("command", ["restart 1", "roll"])
def test_a_node_that_could_not_be_started_is_not_stopped(
    kafka: KafkaCluster, commands: Commands, jars: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    kafka.up(1, port=ANY_PORT, jars=jars)
    pid = kafka.node(1).daemon.pid
    with monkeypatch.context() as patched:
        patched.setenv("JAVA_HOME", str(jars))
        patched.setenv("PATH", str(jars))
        commands(f"stoker cluster {command}", code=1)
    assert "Java 17" in commands.last
    jars.rename(jars.parent / "elsewhere")
    commands(f"stoker cluster {command}", code=1)
    assert f"the jars of Apache Kafka are no longer in {jars}: `stoker cluster up` fetches them" in commands.last
    assert kafka.node(1).daemon.pid == pid


def test_a_node_that_would_wait_for_the_others(kafka: KafkaCluster, commands: Commands, jars: Path) -> None:
    kafka.up(3, port=ANY_PORT, jars=jars)
    for number in (1, 2, 3):
        kafka.kill(number)
    commands("stoker cluster restart 1", code=1)
    assert "node 1 would wait for a quorum: 0 of 3 controllers run; `stoker cluster up` starts all" in commands.last
    kafka.up()
    kafka.kill(1)
    kafka.restart(1)


def test_settings_are_kept_and_taken_back(kafka: KafkaCluster, jars: Path) -> None:
    kafka.up(1, port=ANY_PORT, jars=jars, config={"log.retention.hours": "1", "x.y": "1"})
    kafka.down()
    kafka.up(config={"x.y": "", "x.z": "2"})
    assert kafka.plan.config == {"log.retention.hours": "1", "x.z": "2"}


@pytest.mark.parametrize("name", ["log.dirs", "node.id", "listeners", "controller.quorum.voters"])
def test_settings_that_are_the_clusters_own(kafka: KafkaCluster, commands: Commands, jars: Path, name: str) -> None:
    commands(f"stoker cluster up --kafka-jars {jars} --config {name}=1", code=1)
    assert f"--config {name}: the cluster sets that itself, for each node" in commands.last
    assert not kafka.exists


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    """Python does not tell what it was that could not be written."""
    with pytest.raises(UnusableDirectory, match=rf"{tmp_path}: No space left on device; --data-dir names another"):
        with changing(tmp_path), open("/dev/full", "w") as full:
            full.write("x")


@pytest.mark.parametrize("options", ["--port 65535", "--port 65534", "--port 65535 --brokers 2"])
def test_ports_beyond_the_last(kafka: KafkaCluster, commands: Commands, jars: Path, options: str) -> None:
    commands(f"stoker cluster up {options} --kafka-jars {jars}", code=1)
    assert "ports from there on, 65535 is the last: choose a lower one" in commands.last
    assert len(commands.last.splitlines()) == 1


def test_more_brokers_than_ports(kafka: KafkaCluster, commands: Commands, jars: Path) -> None:
    kafka.up(1, port=ANY_PORT, jars=jars)
    kafka.down()
    commands("stoker cluster up --brokers 2 --port 65535", code=1)
    assert "--port 65535: there are no 2 ports from there on" in commands.last


def test_a_directory_that_cannot_be(kafka: KafkaCluster, commands: Commands, jars: Path) -> None:
    for noun in ("cluster", "spark"):
        commands(f"stoker {noun} up --data-dir {os.devnull}/x", code=1)
        assert f"cannot be used: {os.devnull}/x: Not a directory; --data-dir names another" in commands.last
        assert len(commands.last.splitlines()) == 1


@pytest.mark.parametrize("command", ["restart 1", "roll", "kill 1", "down", "status"])
def test_where_there_is_no_cluster_none_is_made(commands: Commands, tmp_path: Path, command: str) -> None:
    commands(f"stoker cluster {command} --data-dir {tmp_path / 'nope'}", code=1)
    assert "there is no cluster in" in commands.last
    assert not (tmp_path / "nope").exists()


@pytest.mark.parametrize("command", ["up", "restart 1", "roll", "kill 1", "down", "status"])
def test_a_damaged_plan(kafka: KafkaCluster, commands: Commands, command: str) -> None:
    kafka.directory.mkdir(parents=True)
    plan = kafka.directory / "cluster.json"
    plan.touch()
    commands(f"stoker cluster {command}", code=1)
    assert f"{plan}, which says what the cluster is made of, is damaged" in commands.last
    assert len(commands.last.splitlines()) == 1
    plan.unlink()


def test_data_that_cannot_be_removed(kafka: KafkaCluster, commands: Commands, jars: Path, tmp_path: Path) -> None:
    kafka.up(1, port=ANY_PORT, jars=jars)
    node = kafka.node(1).directory
    kafka.down()
    node.rename(tmp_path / "elsewhere")
    node.symlink_to(tmp_path / "elsewhere")
    commands("stoker cluster down --delete --yes", code=1)
    assert "the data of node 1 cannot be removed" in commands.last
    assert "Removed" not in commands.last
