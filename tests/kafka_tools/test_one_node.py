"""Kafka's tools on one Stoker broker, and on its files: ours beside the originals, where a one-node Kafka would answer."""

import glob
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.apache_kafka import ApacheKafka
from tests.clients.drivers.java import JavaClients
from tests.faults.broker_process import BrokerProcess
from tests.kafka_tools.comparison import HERE, Ran, original, ours
from tests.kafka_tools.side_by_side import assert_same, comparable, run_both
from tests.ports import free_port

pytestmark = pytest.mark.java

SERVER = ("--bootstrap-server", HERE)
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
DUMP, STORAGE = "kafka-dump-log.sh", "kafka-storage.sh"


@pytest.fixture(scope="module")
def properties(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a node that Stoker and Apache Kafka can be, whose directory ours has formatted."""
    directory = tmp_path_factory.mktemp("node")
    port, controller = free_port(), free_port()
    file = directory / "server.properties"
    file.write_text(
        "process.roles=broker,controller\n"
        "node.id=1\n"
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n"
        "controller.listener.names=CONTROLLER\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:{controller}\n"
        f"log.dirs={directory}/data\n"
        "offsets.topic.num.partitions=1\n"
        "transaction.state.log.num.partitions=1\n"
    )
    return file


@pytest.fixture(scope="module")
def stoker(properties: Path) -> Iterator[BrokerProcess]:
    """On the directory that our kafka-storage.sh formatted for a quorum of one."""
    formatted = ours("", STORAGE, "format", "--config", str(properties), "--cluster-id", CLUSTER_ID, "--standalone")
    assert formatted.code == 0, formatted
    with BrokerProcess(
        properties.parent / "data",
        options={"offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1},
    ) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        for future in admin.create_topics([NewTopic("orders", num_partitions=2, replication_factor=1)]).values():
            future.result()
        producer = Producer(
            {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "till", "compression.type": "lz4"}
        )
        producer.init_transactions()
        for ending in (producer.commit_transaction, producer.abort_transaction):
            producer.begin_transaction()
            for number in range(100):
                producer.produce("orders", b"v" * 90, key=str(number).encode(), partition=0, headers={"h": b"1"})
            producer.flush()  # what is aborted before it is sent leaves nothing in the log
            ending()
        plain = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for _ in range(3):
            plain.produce("orders", b"v" * 90, partition=1)
            plain.flush()
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "payments-service"})
        consumer.commit(offsets=[TopicPartition("orders", 0, 5)], asynchronous=False)
        consumer.close()
        yield broker


@pytest.fixture(scope="module")
def java(stoker: BrokerProcess) -> Iterator[JavaClients]:
    clients = JavaClients(stoker.bootstrap_servers)
    yield clients
    clients.close()


CASES = [
    ("kafka-consumer-groups.sh", *SERVER, "--list"),
    ("kafka-consumer-groups.sh", *SERVER, "--describe", "--group", "payments-service"),
    ("kafka-consumer-groups.sh", *SERVER, "--describe", "--group", "payments-service", "--state"),
    ("kafka-consumer-groups.sh", *SERVER, "--describe", "--group", "mm2-source-connector-0"),
    ("kafka-reassign-partitions.sh", *SERVER, "--list"),
    ("kafka-reassign-partitions.sh", *SERVER, "--execute", "--reassignment-json-file", "{same}"),
    ("kafka-reassign-partitions.sh", *SERVER, "--verify", "--reassignment-json-file", "{same}"),
    ("kafka-reassign-partitions.sh", *SERVER, "--execute", "--reassignment-json-file", "{elsewhere}"),
    ("kafka-leader-election.sh", *SERVER, "--election-type", "PREFERRED", "--all-topic-partitions"),
    ("kafka-leader-election.sh", *SERVER, "--election-type", "UNCLEAN", "--topic", "orders", "--partition", "0"),
    ("kafka-metadata-quorum.sh", *SERVER, "describe", "--status"),
    ("kafka-metadata-quorum.sh", *SERVER, "describe", "--replication"),
    ("kafka-features.sh", *SERVER, "describe"),
    ("kafka-cluster.sh", "cluster-id", "--bootstrap-server", HERE),
    ("kafka-cluster.sh", "list-endpoints", "--bootstrap-server", HERE),
    ("kafka-transactions.sh", *SERVER, "list"),
    ("kafka-transactions.sh", *SERVER, "describe-producers", "--topic", "orders", "--partition", "0"),
    ("kafka-transactions.sh", *SERVER, "find-hanging", "--topic", "orders"),
]


@pytest.mark.acceptance("C126")
@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case).replace(".sh --bootstrap-server CLUSTER", ""))
def test_stoker_answers_both_tools_alike(
    stoker: BrokerProcess, java: JavaClients, tmp_path: Path, case: tuple[str, ...]
) -> None:
    """What Kafka's own tool prints of a Stoker broker, ours prints of it too."""
    for name, replica in (("same", 1), ("elsewhere", 2)):
        moves = {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [replica]}]}
        (tmp_path / f"{name}.json").write_text(json.dumps(moves))
    script, *rest = (
        str(tmp_path / f"{argument[1:-1]}.json") if argument.startswith("{") else argument for argument in case
    )
    assert_same(java, stoker.bootstrap_servers, script, *rest)


def test_performance_tests_print_kafkas_lines(stoker: BrokerProcess) -> None:
    address = stoker.bootstrap_servers
    size = ("--record-size", "100", "--throughput", "-1")
    produced = ours(
        address, "kafka-producer-perf-test.sh", *SERVER, "--topic", "orders", "--num-records", "2000", *size
    )
    assert produced.code == 0, produced
    assert produced.output.startswith("2000 records sent, ")
    assert produced.output.endswith(" ms 99.9th.\n")
    consumed = ours(address, "kafka-consumer-perf-test.sh", *SERVER, "--topic", "orders", "--num-records", "1500")
    header, line = consumed.output.splitlines()
    assert header.split(", ")[:3] == ["start.time", "end.time", "data.consumed.in.MB"]
    assert len(line.split(", ")) == len(header.split(", "))
    assert int(line.split(", ")[4]) >= 1500


# -- files -----------------------------------------------------------------------------------------------------------------


def dumped(java: JavaClients, data: Path, pattern: str, *options: str) -> Ran:
    files = sorted(glob.glob(f"{data}/{pattern}"))
    assert files, pattern
    return assert_same(java, "", DUMP, *options, "--files", ",".join(files)).ours


def test_files_of_stoker_are_dumped_alike(stoker: BrokerProcess, java: JavaClients, properties: Path) -> None:
    """Segments, indexes and snapshots of Stoker, with all the decoders there are; the broker is still running."""
    data = properties.parent / "data"
    assert "endTxnMarker: ABORT" in dumped(java, data, "orders-0/*.log", "--print-data-log").output
    dumped(java, data, "orders-0/*.log", "--deep-iteration")
    dumped(java, data, "orders-0/*.log", "--print-data-log", "--skip-record-metadata")
    dumped(java, data, "orders-0/*.log", "--max-bytes", "3000")
    dumped(java, data, "orders-0/*.txnindex")
    assert '"offset":5' in dumped(java, data, "__consumer_offsets-0/*.log", "--offsets-decoder").output
    assert (
        '"transactionalId":"till"'
        in dumped(java, data, "__transaction_state-0/*.log", "--transaction-log-decoder").output
    )
    assert "TOPIC_RECORD" in dumped(java, data, "__cluster_metadata-0/*.log", "--cluster-metadata-decoder").output
    dumped(java, data, "bootstrap.checkpoint", "--cluster-metadata-decoder")
    dumped(java, data, "__cluster_metadata-0/*.checkpoint", "--cluster-metadata-decoder")


@pytest.mark.parametrize("place", [4, 16, 30, 61, 75, 200])
def test_a_damaged_segment_is_dumped_alike(
    stoker: BrokerProcess, java: JavaClients, properties: Path, tmp_path: Path, place: int
) -> None:
    """A byte that is wrong in the header of a batch, or in its records: as far as Kafka's own tool reads, and ended as that ends.

    What is wrong with a record is told in other words.
    """
    (segment,) = (properties.parent / "data" / "orders-1").glob("*.log")
    damaged = bytearray(segment.read_bytes())
    damaged[place] ^= 0x41
    (tmp_path / segment.name).write_bytes(damaged)
    pair = run_both(java, "", DUMP, "--print-data-log", "--files", str(tmp_path / segment.name))
    kafkas, our = map(comparable, pair)
    assert (our.code, our.output, our.error.partition(":")[0]) == (
        kafkas.code,
        kafkas.output,
        kafkas.error.partition(":")[0],
    )


@pytest.mark.parametrize("is_behind", [True, False], ids=["behind", "alone"])
@pytest.mark.parametrize("size", [10, 300, 5000])
def test_rubbish_in_a_segment_is_dumped_alike(
    stoker: BrokerProcess, java: JavaClients, properties: Path, tmp_path: Path, size: int, is_behind: bool
) -> None:
    """Behind the last batch, as a crash may leave it, or alone: it is counted, and no failure."""
    (segment,) = (properties.parent / "data" / "orders-1").glob("*.log")
    rubbish = random.Random(size).randbytes(8) + b"\x41" * (size - 8)
    (tmp_path / segment.name).write_bytes((segment.read_bytes() if is_behind else b"") + rubbish)
    ran = assert_same(java, "", DUMP, "--print-data-log", "--files", str(tmp_path / segment.name)).ours
    assert f"Found {size} invalid bytes at the end of {segment.name}" in ran.output


DUMP_CASES = [
    (DUMP, "--files", "/nowhere/00000000000000000000.bar"),
    (DUMP,),
    (DUMP, "--print-data-log"),
    (DUMP, "--help"),
    (STORAGE, "info", "-c", "{properties}"),
    (STORAGE, "info", "-c", "/nowhere/server.properties"),
    (STORAGE, "format", "-c", "{properties}", "-t", "another"),
    (STORAGE, "format", "-c", "{properties}", "-t", CLUSTER_ID, "-s"),
    (STORAGE, "format", "-c", "{properties}", "-t", CLUSTER_ID, "-s", "-g"),
    (STORAGE, "format", "-c", "{properties}", "-t", CLUSTER_ID),
    (STORAGE, "format", "-c", "{properties}"),
    (STORAGE, "format", "-c", "{properties}", "-t", CLUSTER_ID, "-s", "-N"),
    (STORAGE, "format", "-c", "{properties}", "-t", CLUSTER_ID, "-s", "-r", "9.9"),
    (STORAGE, "format", "-c", "{properties}", "-t", CLUSTER_ID, "-s", "-f", "nonsense=1"),
    (STORAGE, "nonsense"),
    (STORAGE,),
    (STORAGE, "version-mapping"),
    (STORAGE, "version-mapping", "-r", "3.9"),
    (STORAGE, "feature-dependencies", "-f", "eligible.leader.replicas.version=1"),
    (STORAGE, "feature-dependencies", "-f", "group.version=7"),
    (STORAGE, "feature-dependencies", "-f", "nonsense"),
]


@pytest.mark.acceptance("C011", "C013")
@pytest.mark.parametrize("case", DUMP_CASES, ids=" ".join)
def test_prints_what_kafkas_own_prints(java: JavaClients, properties: Path, case: tuple[str, ...]) -> None:
    """Output, errors and exit code of tools that need no cluster are those of Kafka's own."""
    script, *arguments = (str(properties) if argument == "{properties}" else argument for argument in case)
    assert_same(java, "", script, *arguments)


@pytest.mark.acceptance("C012")
def test_a_random_uuid_is_one_of_kafkas(java: JavaClients) -> None:
    """22 characters of base64, each time others."""
    printed = {ours("", STORAGE, "random-uuid").output.strip() for _ in range(2)}
    assert len(printed) == 2
    assert all(len(each) == len(original(java, STORAGE, "random-uuid").output.strip()) == 22 for each in printed)


class _Formatted(ApacheKafka):
    """A node of Apache Kafka in a directory that our tool has formatted."""

    def format(self) -> None:
        file = self.directory / "server.properties"
        assert ours("", STORAGE, "format", "-c", str(file), "-t", CLUSTER_ID, "--standalone").code == 0


def test_apache_kafka_starts_on_what_ours_has_formatted(properties: Path, tmp_path: Path) -> None:
    """A quorum of one, whose voter only the snapshot that our tool wrote names."""
    text = properties.read_text().replace(str(properties.parent), str(tmp_path))
    port = free_port()
    listening = next(line for line in text.splitlines() if line.startswith("listeners="))
    controller = free_port()
    fresh = f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}"
    old_controller = listening.rpartition(":")[2]
    (tmp_path / "server.properties").write_text(
        text.replace(listening, fresh).replace(f"127.0.0.1:{old_controller}", f"127.0.0.1:{controller}")
    )
    with _Formatted(directory=tmp_path, heap="256M"):
        address = f"127.0.0.1:{port}"
        told = ours(address, "kafka-metadata-quorum.sh", *SERVER, "describe", "--status")
        assert told.code == 0, told
        assert CLUSTER_ID in told.output
        assert '"endpoints": ["CONTROLLER://127.0.0.1:' in told.output
        segment = next(tmp_path.glob("data/__cluster_metadata-0/*.log"))
        dump = ours("", DUMP, "--cluster-metadata-decoder", "--files", str(segment))
        assert dump.code == 0
        assert "Error at" not in dump.output
