"""Apache Kafka with brokers 1, 2 and 3, to which a broker 4 may come: what the documents reassign partitions on.

Their directories are formatted by our own kafka-storage.sh, so that a cluster that starts shows that Kafka reads what it wrote.
"""

import contextlib
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from uuid import uuid4

from stoker.kafka_tools.storage import main as kafka_storage
from stoker.wire.uuids import draw_uuid, uuid_text
from tests.apache_kafka import ApacheKafka
from tests.ports import free_port

FIRST_BROKERS: Final = (1, 2, 3)
LATER_BROKER: Final = 4


class _Node(ApacheKafka):
    """One whose directory our tool formats, without a JVM."""

    def __init__(self, directory: Path, cluster_id: str, properties: dict[str, str]) -> None:
        super().__init__(directory=directory, heap="256M", cluster_id=cluster_id, properties=properties)
        self._properties = properties
        self._id = cluster_id

    def format(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        file = self.directory / "server.properties"
        settings = {"log.dirs": str(self.data_directory)} | self._properties
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        with contextlib.redirect_stdout(io.StringIO()):
            assert kafka_storage(["format", "--config", str(file), "--cluster-id", self._id]) == 0


class GrowingCluster:
    """Brokers 1 to 3, each its own controller, in racks of their own; killed on exit."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._cluster_id = uuid_text(draw_uuid(uuid4))
        controllers = {number: free_port() for number in FIRST_BROKERS}
        self._voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in controllers.items())
        self.nodes = {number: self._node(number, controllers[number]) for number in FIRST_BROKERS}

    def _node(self, number: int, controller_port: int | None) -> _Node:
        port = free_port()
        listeners = f"PLAINTEXT://127.0.0.1:{port}"
        if controller_port is not None:
            listeners += f",CONTROLLER://127.0.0.1:{controller_port}"
        node = _Node(
            self._directory / f"node-{number}",
            self._cluster_id,
            {
                "process.roles": "broker" if controller_port is None else "broker,controller",
                "node.id": str(number),
                "listeners": listeners,
                "controller.listener.names": "CONTROLLER",
                "controller.quorum.voters": self._voters,
                "broker.rack": f"rack-{number}",
                "offsets.topic.num.partitions": "2",
                "offsets.topic.replication.factor": "3",
                "transaction.state.log.num.partitions": "2",
                "transaction.state.log.replication.factor": "3",
                "transaction.state.log.min.isr": "1",
                "share.coordinator.state.topic.num.partitions": "1",
                "group.initial.rebalance.delay.ms": "0",
                "broker.session.timeout.ms": "6000",
                "auto.leader.rebalance.enable": "false",
                "auto.create.topics.enable": "false",
            },
        )
        node.port = port
        return node

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(node.bootstrap_servers for node in self.nodes.values())

    def add_broker(self) -> None:
        """Broker 4, which is no controller."""
        node = self._node(LATER_BROKER, None)
        node.format()
        node.start()
        self.nodes[LATER_BROKER] = node

    def __enter__(self) -> Self:
        try:
            with ThreadPoolExecutor(len(FIRST_BROKERS)) as executor:
                for node in self.nodes.values():
                    node.format()
                list(executor.map(ApacheKafka.start, self.nodes.values()))  # none is up before another one is
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._kill()

    def _kill(self) -> None:
        for node in self.nodes.values():
            if node.process is not None:
                node.kill()
