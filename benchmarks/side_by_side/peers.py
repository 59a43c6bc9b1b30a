"""The two brokers: how each is started, asked for its first ack, and stopped."""

import shutil
import socket
import struct
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ListOffsetsResultInfo,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from side_by_side import canned, processes
from side_by_side.processes import LoadFailed

START_TIMEOUT_SECONDS = 60.0
TOPIC_TIMEOUT_SECONDS = 60.0
FIRST_ACK_TOPIC = "first-ack"
CLUSTER_ID = "c2lkZS1ieS1zaWRlLWlkMQ"
KAFKA_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
# Those of Kafka's own bin/kafka-server-start.sh.
KAFKA_JVM_OPTIONS = [
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
    KAFKA_QUIET,
]


class Peer(ABC):
    """A broker on an ephemeral port of 127.0.0.1 with everything it writes under `directory`.

    `settings` are broker configs that differ from Kafka's defaults: the same for every peer of a benchmark.
    """

    name: str

    def __init__(self, directory: Path, settings: Mapping[str, str]) -> None:
        self.directory = directory
        self.settings = settings
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._admin: AdminClient | None = None

    @abstractmethod
    def prepare(self) -> None:
        """Do what this broker needs done once before its first start on an empty directory."""

    @abstractmethod
    def command(self) -> list[str]:
        """The command that starts it."""

    @property
    def brokers(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} is not running"
        return self._process.pid

    def start(self) -> float:
        """Start the broker and produce one record; return the seconds from exec to its ack."""
        started = self.launch()
        try:
            self._wait_for_first_ack(started + START_TIMEOUT_SECONDS)
        except BaseException:
            self.stop()
            raise
        return time.monotonic() - started

    def launch(self) -> float:
        """Start the broker and do not wait; returns when that was."""
        started = time.monotonic()
        with (self.directory / "broker.log").open("wb") as log:
            self._process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        return started

    def kill(self) -> None:
        """SIGKILL to the broker alone."""
        assert self._process is not None, f"{self.name} is not running"
        self._process.kill()
        self._process.wait()
        self._admin = self._process = None

    def stop(self) -> None:
        self._admin = None
        if self._process is not None:
            processes.stop(self._process)
            self._process = None

    def ask(self, request: bytes) -> bytes:
        """The answer to one request, without its length prefix."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=START_TIMEOUT_SECONDS) as connection:
            return _ask(connection, request)

    def create_topic(self, topic: str, partitions: int, settings: Mapping[str, str] | None = None) -> None:
        """Create a topic and wait until each partition has a leader that knows it is."""
        config = {
            "file.delete.delay.ms": "100",  # so that a round's files are gone before the next but one begins
            # Kafka maps an index of this size for each segment and the kernel may read all of it ahead at its first
            # touch: with the default of 10 MB, seconds of zeroing pages that would hide what is measured.
            "segment.index.bytes": "262144",
            **(settings or {}),
        }
        self._admin = self._admin or AdminClient({"bootstrap.servers": self.brokers})
        try:
            for future in self._admin.create_topics(
                [NewTopic(topic, num_partitions=partitions, replication_factor=1, config=config)],
                operation_timeout=TOPIC_TIMEOUT_SECONDS,
                request_timeout=TOPIC_TIMEOUT_SECONDS,
            ).values():
                future.result()
            deadline = time.monotonic() + TOPIC_TIMEOUT_SECONDS
            while not (self._is_led(topic, partitions) and self._is_served(topic, partitions)):
                if time.monotonic() > deadline:
                    raise LoadFailed(f"{self.name}: topic {topic} has no leaders after {TOPIC_TIMEOUT_SECONDS:.0f} s")
                time.sleep(0.02)
        except KafkaException as error:
            raise LoadFailed(f"{self.name}: topic {topic} could not be created: {error}") from error

    def alter_topic(self, topic: str, settings: Mapping[str, str]) -> None:
        """Set configs of a topic."""
        assert self._admin is not None
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in settings.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        try:
            for future in self._admin.incremental_alter_configs([resource]).values():
                future.result(TOPIC_TIMEOUT_SECONDS)
        except KafkaException as error:
            raise LoadFailed(f"{self.name}: topic {topic} could not be altered: {error}") from error

    def _is_led(self, topic: str, partitions: int) -> bool:
        assert self._admin is not None
        known = self._admin.list_topics(topic, timeout=TOPIC_TIMEOUT_SECONDS).topics[topic].partitions
        return len(known) == partitions and all(each.leader >= 0 and each.error is None for each in known.values())

    def _is_served(self, topic: str, partitions: int) -> bool:
        """Whether each partition answers: Kafka names a leader a little before that leader is ready."""
        return all(each.exception(TOPIC_TIMEOUT_SECONDS) is None for each in self._ends(topic, partitions))

    def record_count(self, topic: str, partitions: int) -> int:
        return sum(each.result().offset for each in self._ends(topic, partitions))

    def _ends(self, topic: str, partitions: int) -> "list[Future[ListOffsetsResultInfo]]":
        """The end of each partition, when it is known."""
        assert self._admin is not None
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # confluent-kafka leaves it untyped
        wanted = {TopicPartition(topic, number): latest for number in range(partitions)}
        return list(self._admin.list_offsets(wanted, request_timeout=TOPIC_TIMEOUT_SECONDS).values())

    def delete_topic(self, topic: str) -> None:
        assert self._admin is not None
        try:
            for future in self._admin.delete_topics([topic], operation_timeout=TOPIC_TIMEOUT_SECONDS).values():
                future.result()
        except KafkaException as error:
            raise LoadFailed(f"{self.name}: topic {topic} could not be deleted: {error}") from error

    def stored_bytes(self, topic: str) -> int:
        """Bytes in the topic's segments: both brokers lay their files out in the same way."""
        return sum(path.stat().st_size for path in self.directory.glob(f"data/{topic}-*/*.log"))

    def last_lines(self) -> str:
        log = self.directory / "broker.log"
        return " | ".join(log.read_text(errors="replace").splitlines()[-5:]) if log.exists() else ""

    def _wait_for_first_ack(self, deadline: float) -> None:
        assert self._process is not None
        request = canned.metadata(FIRST_ACK_TOPIC)
        produce = canned.produce(FIRST_ACK_TOPIC, canned.record_batch(value_size=100, about_bytes=100)).data
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise LoadFailed(f"{self.name} ended with status {self._process.returncode}: {self.last_lines()}")
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                    connection.settimeout(START_TIMEOUT_SECONDS)
                    while time.monotonic() < deadline:
                        _ask(connection, request)
                        if canned.produce_error(_ask(connection, produce)) == 0:
                            return
                        time.sleep(0.002)
            except OSError:  # not listening yet, or a connection that the starting broker dropped
                time.sleep(0.002)
        raise LoadFailed(f"{self.name} gave no ack in {START_TIMEOUT_SECONDS:.0f} s: {self.last_lines()}")


class Stoker(Peer):
    name = "stoker"

    def __init__(self, directory: Path, executable: Path, settings: Mapping[str, str]) -> None:
        super().__init__(directory, settings)
        self._executable = executable

    def prepare(self) -> None:
        self.directory.mkdir(parents=True)
        (self.port,) = free_ports(1)

    def command(self) -> list[str]:
        data = self.directory / "data"
        options = [f"--option={name}={value}" for name, value in self.settings.items()]
        return [str(self._executable), "broker", f"--data-dir={data}", f"--listen=127.0.0.1:{self.port}", *options]


class ApacheKafka(Peer):
    name = "kafka"

    def __init__(self, directory: Path, jars: Path, settings: Mapping[str, str]) -> None:
        super().__init__(directory, settings)
        self._jars = jars

    def prepare(self) -> None:
        """Write the properties and format the data directory."""
        self.directory.mkdir(parents=True)
        self.port, controller_port = free_ports(2)
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
            "log.dirs": str(self.directory / "data"),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            **self.settings,
        }
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        processes.run(
            [
                *("java", KAFKA_QUIET, "-cp", f"{self._jars}/*", "kafka.tools.StorageTool", "format"),
                *("-t", CLUSTER_ID, "-c", self._properties, "--standalone"),
            ]
        )

    def command(self) -> list[str]:
        return ["java", *KAFKA_JVM_OPTIONS, "-cp", f"{self._jars}/*", "kafka.Kafka", str(self._properties)]

    @property
    def _properties(self) -> Path:
        return self.directory / "server.properties"


def remove(peer: Peer) -> None:
    """Stop a broker and remove all it wrote."""
    try:
        peer.stop()
    finally:
        shutil.rmtree(peer.directory, ignore_errors=True)


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on now; all are held until the last is found, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _ask(connection: socket.socket, request: bytes) -> bytes:
    connection.sendall(request)
    (length,) = struct.unpack(">i", _receive_exactly(connection, 4))
    return _receive_exactly(connection, length)


def _receive_exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        received = connection.recv(count - len(data))
        if not received:
            raise ConnectionResetError("the broker closed the connection")
        data += received
    return data
