"""A local Apache Kafka cluster as its users run it: one for all tests of this file, which it goes through in their order."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import KafkaError, Message, Producer

from stoker.client.admin.cluster import describe_cluster
from stoker.client.admin.topics import Partition, Topic, create_topic, describe_topics, wait_until
from stoker.client.targets import LeaderOf
from stoker.clusters import KafkaCluster
from stoker.clusters.errors import CannotChange, CannotStart, NodeState, NoSuchNode
from stoker.properties import read_properties
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from tests.cli.running import read_topic
from tests.clients.client import eventually
from tests.clusters.commands import Commands
from tests.faults.broker_process import STOKER

pytestmark = [pytest.mark.java, pytest.mark.timeout(400)]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "clusters.md"
WAIT_SECONDS: Final = 90.0
PAUSE_SECONDS: Final = 0.005
"""Between two writes of a producer that must not notice anything, and must not keep a processor busy."""
TRANSCRIPT: Final = 14
"""So many commands are given in this file, at least."""


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    return Commands(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module")
def kafka(commands: Commands) -> Iterator[KafkaCluster]:
    cluster = KafkaCluster(commands.home / "stoker" / "cluster")
    try:
        commands("stoker cluster up --brokers 3 --port 0")
        yield cluster
    finally:
        for node in cluster.nodes() if cluster.exists else []:
            node.daemon.kill()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.1)


def make_topic(kafka: KafkaCluster, name: str, partitions: int) -> None:
    with kafka.client() as client:
        create_topic(client, name, partitions=partitions)
        wait_until(client, name, lambda topic: topic is not None and len(topic.partitions) == partitions)


def partitions_of(kafka: KafkaCluster, topic: str) -> tuple[Partition, ...]:
    with kafka.client() as client:
        (found,) = describe_topics(client, [topic])
        assert isinstance(found, Topic)
        return found.partitions


def write(kafka: KafkaCluster, topic: str, partition: int, value: str, **settings: object) -> KafkaError | None:
    """One record with acks=all; what it was refused for."""
    reports: list[KafkaError | None] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        reports.append(error)

    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "acks": "all", **settings})
    producer.produce(topic, value, partition=partition, on_delivery=delivered)
    assert producer.flush(WAIT_SECONDS) == 0
    return reports[0]


def test_up(kafka: KafkaCluster, commands: Commands) -> None:
    """Three brokers that are controllers, too, each in a rack of its own, with replicas on all of them."""
    status = kafka.status()
    assert [node.roles for node in status.nodes] == ["broker,controller"] * 3
    assert len({node.pid for node in status.running}) == 3
    assert sum(node.is_quorum_leader for node in status.nodes) == 1
    with kafka.client() as client:
        brokers = describe_cluster(client).brokers
    assert [(each.node_id, each.rack) for each in brokers] == [(1, "rack-1"), (2, "rack-2"), (3, "rack-3")]
    assert ",".join(f"{each.host}:{each.port}" for each in brokers) == kafka.bootstrap_servers
    for node in kafka.nodes():
        settings = {each.name: each.value for each in read_properties(node.directory / "server.properties")}
        internal = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
        assert {settings[f"{name}.replication.factor"] for name in internal} == {"3"}
        assert settings["transaction.state.log.min.isr"] == settings["min.insync.replicas"] == "2"
        assert settings["controller.quorum.voters"].count("@") == 3


def test_status(kafka: KafkaCluster, commands: Commands) -> None:
    """`stoker cluster status` shows each node, and marks the active controller."""
    status = kafka.status()
    header, *rows = commands.rows("stoker cluster status")
    assert header == ["NODE", "ADDRESS", "RACK", "ROLE", "PID", "MEMORY", "LEADERS", "UNDER-REPLICATED", "OUT-OF-SYNC"]
    assert [(row[0], row[1], row[4]) for row in rows] == [
        (str(node.node), node.address, str(node.pid)) for node in status.nodes
    ]
    assert [row[0] for row in rows if row[3].endswith("(leader)")] == [str(status.quorum_leader)]
    told = commands.json("stoker cluster status")
    assert (told["bootstrap_servers"], told["offline"]) == (kafka.bootstrap_servers, 0)
    assert all(node["memory"] > 50_000_000 for node in told["nodes"])


def test_up_again_changes_nothing(kafka: KafkaCluster) -> None:
    pids = [node.pid for node in kafka.status().nodes]
    assert [node.pid for node in kafka.up().status().nodes] == pids


@pytest.mark.acceptance("B046")
def test_leaders_are_spread(kafka: KafkaCluster, commands: Commands) -> None:
    """Three partitions with three replicas on three brokers: each leads one and follows two."""
    make_topic(kafka, "orders", 3)
    partitions = partitions_of(kafka, "orders")
    assert sorted(each.leader or 0 for each in partitions) == [1, 2, 3]
    assert all(sorted(each.replicas) == [1, 2, 3] for each in partitions)
    commands("stoker cluster status")
    assert [node.leaders for node in kafka.status().nodes] == [1, 1, 1]


@pytest.mark.acceptance("B035", "B037", "B040")
def test_a_leader_is_killed(kafka: KafkaCluster, commands: Commands) -> None:
    """The leader is killed: a replica in sync leads, writes go on with two replicas, and the ISR grows when it is back."""
    lost = 2
    partition = next(each.partition for each in partitions_of(kafka, "orders") if each.leader == lost)
    target = LeaderOf("orders", partition)

    def now() -> Partition:
        return partitions_of(kafka, "orders")[partition]

    question = ListOffsetsRequest(
        topics=[
            ListOffsetsTopic(name="orders", partitions=[ListOffsetsPartition(partition_index=partition, timestamp=-1)])
        ]
    )

    def error_of(answer: ListOffsetsResponse) -> int:
        return answer.topics[0].partitions[0].error_code

    with kafka.client({"default.api.timeout.ms": "60000"}) as client:
        client.metadata(["orders"])  # from now on it knows who leads
        assert client.leader_of(target) == lost
        commands(f"stoker cluster kill {lost}")
        assert write(kafka, "orders", partition, "with two replicas") is None
        wait_for(lambda: lost not in now().isr)
        assert len(now().isr) == 2
        assert now().leader in (1, 3)
        commands("stoker cluster status")
        assert kafka.status().nodes[lost - 1].out_of_sync == 3
        with pytest.raises(NodeState, match="node 2 is down"):
            kafka.roll()
        commands(f"stoker cluster restart {lost}")
        wait_for(lambda: lost in now().isr)
        stale = client.ask(question, ListOffsetsResponse, to=target, seconds=WAIT_SECONDS)
        assert error_of(stale) == ErrorCode.NOT_LEADER_OR_FOLLOWER
        client.forget(target)
        found = client.send(question, ListOffsetsResponse, to=target, error_of=error_of)
        assert (error_of(found), found.topics[0].partitions[0].offset) == (0, 1)
    assert now().leader != lost, "leadership does not come back by itself"
    wait_for(lambda: kafka.replication().is_whole)


def numbers_in(kafka: KafkaCluster, topic: str) -> list[int]:
    return sorted(int(each.value or b"") for each in read_topic(kafka.bootstrap_servers, topic))


class Writing(threading.Thread):
    """Writes numbers with acks=all until it is told to stop."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        super().__init__(daemon=True)
        self._producer = Producer(
            {"bootstrap.servers": bootstrap_servers, "acks": "all", "enable.idempotence": True, "linger.ms": 5}
        )
        self._topic = topic
        self._end = threading.Event()
        self.written = 0
        self.errors: list[KafkaError] = []

    def run(self) -> None:
        while not self._end.wait(PAUSE_SECONDS):
            self._producer.produce(self._topic, str(self.written), on_delivery=self._delivered)
            self.written += 1
            self._producer.poll(0)

    def stop(self) -> None:
        self._end.set()
        self.join()
        assert self._producer.flush(WAIT_SECONDS) == 0

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error)


@pytest.mark.acceptance("B048", "B256", "C077")
def test_roll(kafka: KafkaCluster, commands: Commands) -> None:
    """All nodes are restarted, one after the other, while a producer writes: nothing is refused or lost; then the first replicas lead."""
    make_topic(kafka, "written", 6)
    before = kafka.status()
    writing = Writing(kafka.bootstrap_servers, "written")
    writing.start()
    commands("stoker cluster roll")
    writing.stop()
    assert writing.errors == []
    wanted = list(range(writing.written))
    # Who has just become leader tells of what it has when a follower has asked for more, which takes a moment.
    found = eventually(lambda: numbers_in(kafka, "written"), lambda found: found == wanted)
    assert found == wanted
    after = kafka.status()
    assert not {node.pid for node in before.nodes} & {node.pid for node in after.running}
    restarted = [line for line in commands.last.splitlines() if line.startswith("Starting")]
    assert restarted[-1] == f"Starting node {before.quorum_leader} ..."
    for topic in ("orders", "written"):
        assert all(each.leader == each.replicas[0] for each in partitions_of(kafka, topic))


@pytest.mark.acceptance("B044")
def test_more_brokers(kafka: KafkaCluster, commands: Commands) -> None:
    """A fourth node joins while the others run: a broker that is no controller, while the voters stay those they were."""
    pids = [node.pid for node in kafka.status().nodes]
    commands("stoker cluster up --brokers 4")
    status = kafka.status()
    assert [node.pid for node in status.nodes[:3]] == pids
    assert [node.roles for node in status.nodes] == [*["broker,controller"] * 3, "broker"]
    properties = {each.name: each.value for each in read_properties(kafka.directory / "node-4" / "server.properties")}
    assert (properties["process.roles"], properties["controller.quorum.voters"].count("@")) == ("broker", 3)
    with kafka.client() as client:
        assert [each.node_id for each in describe_cluster(client).brokers] == [1, 2, 3, 4]


@pytest.mark.acceptance("B037")
def test_two_replicas_are_down(kafka: KafkaCluster) -> None:
    """Of three replicas one is down, and writes go on; two are down, and acks=all is refused; they are back, and nothing is lost."""
    make_topic(kafka, "guarded", 8)
    chosen = next(each for each in partitions_of(kafka, "guarded") if 4 in each.replicas)
    number = chosen.partition
    also_lost, left = [
        node for node in chosen.replicas if node != 4
    ]  # of three voters two stay, so that there is a controller

    def in_sync() -> tuple[int, ...]:
        return partitions_of(kafka, "guarded")[number].isr

    kafka.kill(4)
    assert write(kafka, "guarded", number, "one is down") is None
    wait_for(lambda: 4 not in in_sync())
    kafka.kill(also_lost)
    wait_for(lambda: in_sync() == (left,))
    error = write(kafka, "guarded", number, "two are down", retries=0)
    assert error is not None
    assert error.code() == ErrorCode.NOT_ENOUGH_REPLICAS
    assert kafka.status().nodes[left - 1].under_replicated != 0


@pytest.mark.acceptance("B044")
def test_a_wrong_id_is_refused(kafka: KafkaCluster) -> None:
    """A node whose id is not that of its data directory does not start, and the error says why; with its own it is back in sync."""
    meta = kafka.node(4).data / "meta.properties"
    right = meta.read_text()
    meta.write_text(right.replace("node.id=4", "node.id=5"))
    with pytest.raises(CannotStart, match=r"(?s)node 4 ended as soon as it was started.*node.id"):
        kafka.restart(4)
    meta.write_text(right)
    kafka.up()
    wait_for(lambda: kafka.replication().is_whole)
    values = {each.value for each in read_topic(kafka.bootstrap_servers, "guarded")}
    assert values == {b"one is down"}


def test_what_cannot_be(kafka: KafkaCluster, commands: Commands) -> None:
    """Errors name the node, the cause and the choices."""
    with pytest.raises(NoSuchNode, match="has no node 9: they are 1 to 4"):
        kafka.kill(9)
    with pytest.raises(CannotChange, match="has 4 brokers and cannot have fewer"):
        kafka.up(3)
    with pytest.raises(CannotChange, match="only the number of brokers can change"):
        kafka.up(heap="1G")
    port = kafka.plan.port
    commands(f"stoker cluster up --port {port} --data-dir {commands.home / 'other'}", code=1)
    assert f"port {port} of node 1 is in use by another program" in commands.last


def test_down(kafka: KafkaCluster, commands: Commands) -> None:
    """The nodes end by themselves, and their data stays until it is deleted.

    The last controller may find no quorum any more to ask whether its broker may go, if the machine is busy: it is killed.
    """
    commands("stoker cluster down")
    assert commands.last.count("killed") <= 1
    assert kafka.status().running == ()
    assert (kafka.node(1).data / "orders-0").exists()
    commands("stoker cluster kill 1", code=1)
    assert "node 1 does not run" in commands.last
    commands("stoker cluster status")
    commands("stoker cluster down --delete")
    assert not kafka.directory.exists()
    commands("stoker cluster status", code=1)
    assert "there is no cluster in" in commands.last


def test_ctrl_c_leaves_nothing_running(commands: Commands, tmp_path: Path) -> None:
    """`up` is interrupted while its node starts: exit code 130, no traceback, no process; later it goes on where it was."""
    with subprocess.Popen(
        [STOKER, "cluster", "up", "--brokers", "1", "--port", "0", "--data-dir", str(tmp_path)],
        env=os.environ | commands.environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as up:
        assert up.stderr is not None
        said = [next(up.stderr), next(up.stderr)]
        assert said[1] == "Starting node 1 ...\n"
        wait_for(lambda: KafkaCluster(tmp_path).node(1).is_running)
        up.send_signal(signal.SIGINT)
        assert (up.wait(WAIT_SECONDS), up.stderr.read()) == (130, "")
    assert KafkaCluster(tmp_path).status().running == ()


def test_what_the_page_shows_is_real(kafka: KafkaCluster, commands: Commands) -> None:
    """docs/clusters.md shows what the tests before this one have seen, but for numbers."""
    if len(commands.transcript) < TRANSCRIPT:
        pytest.skip("the tests before it have not run")
    assert commands.not_said(PAGE, "cluster") == []
