"""Kafka's tools that move and elect, on a cluster of Apache Kafka that grows and shrinks: ours beside the originals.

The tests follow one another: topics on brokers 1 to 3, a fourth broker that comes, gets replicas, and goes again.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from stoker.cli.topic_description import describe_in_full
from stoker.client.admin.configs import Resource, ResourceType, describe_configs
from stoker.client.admin.reassignments import list_reassignments
from stoker.client.admin.replication_throttle import BROKER_CONFIGS, TOPIC_CONFIGS
from stoker.client.admin.topics import Topic, describe_topics
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.clusters.kafka_status import replication
from tests.clients.drivers.java import JavaClients
from tests.kafka_tools.cluster_cases import CASES, CLUSTER, ELECTION, GROUPS, RATE, REASSIGN, SERVER
from tests.kafka_tools.comparison import Ran, original, ours
from tests.kafka_tools.growing_cluster import LATER_BROKER, GrowingCluster
from tests.kafka_tools.side_by_side import assert_same, comparable, run_both
from tests.known_topics import wait_until_all_know

pytestmark = [pytest.mark.java, pytest.mark.three_brokers]

PLACES = [[1, 2], [2, 3], [3, 1], [1, 2]]
DEADLINE_SECONDS = 60.0
CRAWL = 300_000
"""Bytes a second, of a replica that moves."""
CRAWL_BURST = 2 << 20
"""What may come at once: Kafka looks at the rate before it fetches, and then takes a `replica.fetch.max.bytes`, twice at the edge of a window."""
BULK_RECORD = 100_000


@pytest.fixture(scope="module")
def growing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GrowingCluster]:
    with GrowingCluster(tmp_path_factory.mktemp("growing")) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        topics = [NewTopic(name, num_partitions=4, replica_assignment=PLACES) for name in ("orders", "events")]
        for future in admin.create_topics(topics).values():
            future.result()
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        for number in range(400):
            producer.produce("orders", b"x" * 500, key=str(number).encode(), partition=number % 4)
        producer.flush()
        for group in ("payments-service", "shipping"):
            consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": group})
            consumer.commit(
                offsets=[TopicPartition("orders", each, 10 + each) for each in range(3)], asynchronous=False
            )
            consumer.close()
        yield cluster


@pytest.fixture(scope="module")
def java(growing: GrowingCluster) -> Iterator[JavaClients]:
    clients = JavaClients(growing.bootstrap_servers)
    yield clients
    clients.close()


@pytest.fixture(scope="module")
def client(growing: GrowingCluster) -> Iterator[Cluster]:
    with Cluster(client_properties(growing.bootstrap_servers)) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that arguments name as {topics}, {same} and so on."""
    directory = tmp_path_factory.mktemp("files")

    def moves(*partitions: dict[str, object]) -> str:
        return json.dumps({"version": 1, "partitions": list(partitions)})

    def orders(partition: int, *replicas: int, **more: object) -> dict[str, object]:
        return {"topic": "orders", "partition": partition, "replicas": list(replicas), **more}

    for name, text in {
        "topics": '{"topics": [{"topic": "orders"}, {"topic": "events"}], "version": 1}',
        "no-topics": '{"topics": [{"topic": "nope"}], "version": 1}',
        "twice": '{"topics": [{"topic": "orders"}, {"topic": "orders"}], "version": 1}',
        "broken": '{"topics": [',
        "version": '{"version": 9}',
        "same": moves(orders(0, 1, 2), orders(1, 2, 3)),
        "elsewhere": moves(orders(0, 2, 3), orders(1, 2, 1)),
        "unknown-broker": moves(orders(0, 9)),
        "unknown-topic": moves({"topic": "nope", "partition": 0, "replicas": [1]}),
        "unknown-partition": moves(orders(77, 1)),
        "empty": moves(),
        "doubled": moves(orders(0, 1), orders(0, 2)),
        "doubled-replica": moves(orders(0, 1, 1)),
        "no-replicas": moves(orders(0)),
        "three": moves(orders(0, 1, 2, 3)),
        "directories": moves(orders(0, 1, 2, log_dirs=["any"])),
    }.items():
        (directory / f"{name}.json").write_text(text)
    return directory


def resolved(files: Path, arguments: tuple[str, ...]) -> list[str]:
    return [str(files / f"{each[1:-1]}.json") if each.startswith("{") else each for each in arguments]


def eventually(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def topic(client: Cluster, name: str) -> Topic:
    (found,) = describe_topics(client, [name])
    assert isinstance(found, Topic)
    return found


def replicas(client: Cluster, name: str) -> list[list[int]]:
    return [list(each.replicas) for each in topic(client, name).partitions]


def wait_until_placed(cluster: GrowingCluster, name: str, wanted: list[list[int]]) -> None:
    """As all brokers know: tools ask any of them."""

    def is_placed(found: Topic | None) -> bool:
        return found is not None and [list(each.replicas) for each in found.partitions] == wanted

    wait_until_all_know(cluster.bootstrap_servers, name, is_placed)


# -- the same arguments ----------------------------------------------------------------------------------------------------


@pytest.mark.acceptance("C046", "C047", "C053", "C054", "C056", "C057", "C058", "C059", "C060")
@pytest.mark.acceptance("C061", "C063", "C064", "C073", "C074", "C075", "S020")
@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case).replace(".sh --bootstrap-server CLUSTER", ""))
def test_prints_what_kafkas_own_prints(
    growing: GrowingCluster, java: JavaClients, files: Path, case: tuple[str, ...]
) -> None:
    """Output, errors and exit code of ours are those of Kafka's own tool, for good arguments and bad ones."""
    script, *arguments = resolved(files, case)
    assert_same(java, growing.bootstrap_servers, script, *arguments)


# -- groups change ---------------------------------------------------------------------------------------------------------


@pytest.mark.acceptance("C048", "C049", "C050", "C051", "C052", "C055")
def test_what_ours_resets_and_deletes_kafkas_own_sees(growing: GrowingCluster, java: JavaClients) -> None:
    """Offsets that our kafka-consumer-groups.sh sets, and groups that it deletes, are so to Kafka's own."""
    address = growing.bootstrap_servers
    reset = (*SERVER, "--group", "old-group", "--topic", "orders", "--reset-offsets")
    assert ours(address, GROUPS, *reset, "--to-earliest", "--execute").code == 0
    one = (*SERVER, "--group", "old-group", "--topic", "orders:0", "--reset-offsets")
    done = ours(address, GROUPS, *one, "--to-offset", "50", "--execute")
    assert done.output.split() == ["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET", "old-group", "orders", "0", "50"]
    told = original(java, GROUPS, *SERVER, "--describe", "--group", "old-group").output.split()
    assert told[9:15] == ["old-group", "orders", "0", "50", "100", "50"]
    assert "was successful" in ours(address, GROUPS, *SERVER, "--delete", "--group", "old-group").output
    assert "old-group" not in original(java, GROUPS, *SERVER, "--list").output


def test_an_active_group_is_not_reset(growing: GrowingCluster, java: JavaClients) -> None:
    address = growing.bootstrap_servers
    consumer = Consumer({"bootstrap.servers": address, "group.id": "busy", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    try:
        eventually(lambda: consumer.poll(0.5) is not None)
        consumer.commit(asynchronous=False)
        for view in ((), ("--members",), ("--members", "--verbose"), ("--state",)):
            assert_same(java, address, GROUPS, *SERVER, "--describe", "--group", "busy", *view)
        reset = (*SERVER, "--group", "busy", "--topic", "orders", "--reset-offsets", "--to-earliest", "--execute")
        assert_same(java, address, GROUPS, *reset)
    finally:
        consumer.close()


# -- files -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "options"),
    [
        ("orders-0/*", ()),
        ("orders-0/*.log", ("--print-data-log",)),
        ("orders-0/*.index", ("--verify-index-only",)),
        ("orders-0/*.index", ("--index-sanity-check",)),
        ("orders-0/*.timeindex", ("--index-sanity-check",)),
        ("__consumer_offsets-*/*.log", ("--offsets-decoder",)),
        ("bootstrap.checkpoint", ("--cluster-metadata-decoder",)),
    ],
)
def test_files_of_apache_kafka_are_dumped_alike(
    growing: GrowingCluster, java: JavaClients, pattern: str, options: tuple[str, ...]
) -> None:
    """Segments, indexes and what else is beside them, as a running broker has left them."""
    files = sorted(map(str, growing.nodes[1].data_directory.glob(pattern)))
    assert files
    assert_same(java, "", "kafka-dump-log.sh", *options, "--files", ",".join(files))


# -- a broker comes --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fourth(growing: GrowingCluster) -> GrowingCluster:
    growing.add_broker()
    return growing


def proposal(printed: str) -> str:
    return printed.strip().splitlines()[-1]


@pytest.mark.acceptance("B252", "C065", "C070", "C066", "C067", "C071", "C072", "B254", "C062")
def test_a_new_broker_gets_partitions_when_they_are_reassigned(
    fourth: GrowingCluster, java: JavaClients, client: Cluster, files: Path
) -> None:
    """Broker 4 has nothing until the generated plan, saved as it is, is executed, throttled; Kafka's own tool verifies it."""
    address = fourth.bootstrap_servers
    assert LATER_BROKER not in {each for placed in replicas(client, "orders") for each in placed}
    generate = (*SERVER, "--topics-to-move-json-file", str(files / "topics.json"), "--generate", "--broker-list")
    pair = run_both(java, address, REASSIGN, *generate, "1,2,3,4")
    head = "Current partition replica assignment"
    assert pair.ours.output.splitlines()[:2] == pair.kafka.output.splitlines()[:2]
    assert pair.ours.output.startswith(head)
    plan = proposal(pair.ours.output)
    assert {each for part in json.loads(plan)["partitions"] for each in part["replicas"]} == {1, 2, 3, 4}
    (files / "reassignment.json").write_text(plan)
    assert replicas(client, "orders") == PLACES  # nothing has moved
    assert ours(address, REASSIGN, *SERVER, "--list").output == "No partition reassignments found.\n"

    file = ("--reassignment-json-file", str(files / "reassignment.json"))
    started = ours(address, REASSIGN, *SERVER, *file, "--execute", "--throttle", str(RATE))
    assert started.code == 0, started
    assert f"The inter-broker throttle limit was set to {RATE} B/s" in started.output
    assert "Successfully started partition reassignments for events-0," in started.output

    eventually(lambda: not list_reassignments(client))
    throttled = {
        config.name: config.value
        for resource in (Resource(ResourceType.BROKER, "4"), Resource(ResourceType.TOPIC, "orders"))
        for config in describe_configs(client, resource, [*BROKER_CONFIGS, *TOPIC_CONFIGS])
        if not config.is_default
    }
    assert throttled["follower.replication.throttled.rate"] == str(RATE)
    assert throttled["leader.replication.throttled.replicas"]
    planned = {(part["topic"], part["partition"]): part["replicas"] for part in json.loads(plan)["partitions"]}
    for name in ("orders", "events"):
        wait_until_placed(fourth, name, [planned[name, partition] for partition in range(len(PLACES))])
    verified = run_both(
        java, address, REASSIGN, *SERVER, *file, "--verify"
    )  # Kafka's own first: it clears the throttles
    assert comparable(verified.ours) == comparable(verified.kafka)
    assert verified.kafka.output.count("is completed.") == 8
    assert LATER_BROKER in {each for placed in replicas(client, "orders") for each in placed}
    left = describe_configs(client, Resource(ResourceType.BROKER, "4"), BROKER_CONFIGS)
    assert [config for config in left if not config.is_default] == []


@pytest.mark.acceptance("C068", "C069")
def test_throttles_that_verify_took_off_are_not_there_to_delete(fourth: GrowingCluster, java: JavaClients) -> None:
    """After --verify there is none; deleting it by hand ends as it does with Kafka's own tool, which minds as little."""
    for broker, name in (("1", "leader"), ("4", "follower")):
        entity = ("--entity-type", "brokers", "--entity-name", broker, "--alter")
        arguments = (*SERVER, *entity, "--delete-config", f"{name}.replication.throttled.rate")
        assert_same(java, fourth.bootstrap_servers, "kafka-configs.sh", *arguments)


@pytest.fixture
def bulk(fourth: GrowingCluster) -> Iterator[str]:
    """A topic on brokers 1 and 2 that takes half a minute to be copied at CRAWL."""
    admin = AdminClient({"bootstrap.servers": fourth.bootstrap_servers})
    (made,) = admin.create_topics([NewTopic("bulk", num_partitions=1, replica_assignment=[[1, 2]])]).values()
    made.result()
    producer = Producer({"bootstrap.servers": fourth.bootstrap_servers, "acks": "all"})
    for _ in range(30 * CRAWL // BULK_RECORD):
        producer.produce("bulk", b"x" * BULK_RECORD)
    assert producer.flush(60) == 0
    yield "bulk"
    (deleted,) = admin.delete_topics(["bulk"]).values()
    deleted.result()


@pytest.mark.acceptance("B254")
def test_a_move_keeps_to_its_throttle_is_listed_refused_twice_and_cancelled(
    fourth: GrowingCluster, java: JavaClients, client: Cluster, files: Path, bulk: str
) -> None:
    """While a replica crawls, no more than its rate arrives; both tools list it, refuse another, take --additional, and cancel."""
    address = fourth.bootstrap_servers
    (files / "crawl.json").write_text(
        json.dumps({"version": 1, "partitions": [{"topic": bulk, "partition": 0, "replicas": [1, LATER_BROKER]}]})
    )
    file = ("--reassignment-json-file", str(files / "crawl.json"))
    began = time.monotonic()

    def arrived() -> int:
        size = sum(path.stat().st_size for path in fourth.nodes[LATER_BROKER].data_directory.glob(f"{bulk}-0/*.log"))
        assert size <= CRAWL * (time.monotonic() - began) + CRAWL_BURST
        return size

    assert ours(address, REASSIGN, *SERVER, *file, "--execute", "--throttle", str(CRAWL)).code == 0
    listed = assert_same(java, address, REASSIGN, *SERVER, "--list")
    assert "adding: 4. removing: 2." in listed.ours.output
    eventually(lambda: arrived() > 0)
    for arguments in (("--execute",), ("--verify",)):
        assert_same(java, address, REASSIGN, *SERVER, *file, *arguments)
        arrived()
    eventually(lambda: arrived() > CRAWL_BURST)  # it goes on, and no faster
    lacking = ("--describe", "--topic", bulk, "--under-replicated-partitions")
    assert assert_same(java, address, "kafka-topics.sh", *SERVER, *lacking).ours.output == ""
    (crawling,) = describe_topics(client, [bulk])
    assert isinstance(crawling, Topic)
    assert set(crawling.partitions[0].replicas) - set(crawling.partitions[0].isr) == {LATER_BROKER}
    assert describe_in_full(client, [crawling])[0].only(under_replicated=True, unavailable=False).partitions == ()
    assert replication(client).is_whole
    assert list_reassignments(client)
    again = ours(address, REASSIGN, *SERVER, *file, "--execute", "--additional", "--throttle", str(CRAWL // 2))
    assert again.code == 0
    cancelled = ours(address, REASSIGN, *SERVER, *file, "--cancel")
    assert "Successfully cancelled partition reassignment for: bulk-0" in cancelled.output
    wait_until_placed(fourth, bulk, [[1, 2]])

    assert ours(address, REASSIGN, *SERVER, *file, "--execute", "--throttle", str(RATE)).code == 0
    eventually(lambda: not list_reassignments(client))
    wait_until_placed(fourth, bulk, [[1, LATER_BROKER]])
    assert ours(address, REASSIGN, *SERVER, *file, "--verify").code == 0


# -- leaders ---------------------------------------------------------------------------------------------------------------


@pytest.mark.acceptance("B048", "C076", "C077", "C079")
def test_a_preferred_election_brings_leaders_back(fourth: GrowingCluster, java: JavaClients, client: Cluster) -> None:
    """After a restart others lead; our election makes the first replica the leader again, and Kafka's own agrees."""
    address = fourth.bootstrap_servers
    node = fourth.nodes[2]
    node.stop()
    rest = ",".join(each.bootstrap_servers for number, each in fourth.nodes.items() if number != 2)
    under = ("--bootstrap-server", rest, "--describe", "--under-replicated-partitions")
    eventually(lambda: "orders" in ours(rest, "kafka-topics.sh", *under).output)
    assert ours(rest, "kafka-topics.sh", *under).output.count("\n") >= 1  # what `wc -l` counts
    node.start()
    eventually(lambda: ours(rest, "kafka-topics.sh", *under).output == "")
    led = [each for each in topic(client, "orders").partitions if each.replicas[0] == 2]
    assert led
    assert any(each.leader != 2 for each in led)
    elect = (*SERVER, "--election-type", "PREFERRED", "--all-topic-partitions")
    elected = ours(address, ELECTION, *elect)
    assert elected.code == 0
    assert "Successfully completed leader election (PREFERRED) for partitions" in elected.output
    eventually(lambda: all(each.leader == each.replicas[0] for each in topic(client, "orders").partitions))
    assert original(java, ELECTION, *elect) == Ran(0, "", "")


# -- a broker goes ---------------------------------------------------------------------------------------------------------


def decommission(address: str, *arguments: str) -> Ran:
    finished = subprocess.run(
        [sys.executable, "-m", "stoker", "decommission", *arguments, "--bootstrap-server", address],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Ran(finished.returncode, finished.stdout, finished.stderr)


@pytest.mark.acceptance("B253")
def test_a_broker_is_emptied_before_it_may_be_stopped(
    fourth: GrowingCluster, java: JavaClients, client: Cluster
) -> None:
    """While broker 4 holds replicas it must not be stopped; then all are moved off, verified, and it may."""
    address = fourth.bootstrap_servers
    refused = decommission(address, "4", "--check")
    assert refused.code == 1
    assert "broker 4 must not be stopped: it still holds" in refused.error
    shown = decommission(address, "4", "--dry-run")
    assert shown.code == 0
    assert shown.output.split()[:3] == ["PARTITION", "REPLICAS", "NEW-REPLICAS"]
    done = decommission(address, "4", "--throttle", str(RATE), "--yes")
    assert done.code == 0, done
    assert "moved" in done.error
    assert "Broker 4 holds no replicas: it may be stopped." in done.error
    assert decommission(address, "4", "--check").code == 0
    described = original(java, "kafka-topics.sh", *SERVER, "--describe").output
    assert "4" not in {
        each
        for line in described.splitlines()
        if "Replicas: " in line
        for each in line.split("Replicas: ")[1].split("\t")[0].split(",")
    }
    fourth.nodes.pop(LATER_BROKER).stop()
    rest = fourth.bootstrap_servers
    eventually(lambda: len(client.metadata([]).brokers) == 3)
    forgotten = ours(rest, CLUSTER, "unregister", "--bootstrap-server", rest, "--id", "4")
    assert forgotten == Ran(0, "Broker 4 is no longer registered.\n", "")
    missing = decommission(rest, "4")
    assert missing.code == 1
    assert "there is no live broker 4; there are 1, 2, 3" in missing.error


def test_no_broker_is_emptied_whose_replicas_have_nowhere_to_go(fourth: GrowingCluster) -> None:
    """Internal topics have three replicas: with three brokers none of them can go."""
    refused = decommission(fourth.bootstrap_servers, "3")
    assert refused.code == 1
    assert "has 3 replicas, and without broker 3 there are 2 live brokers" in refused.error
