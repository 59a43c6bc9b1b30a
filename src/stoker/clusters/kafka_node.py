"""One node of a local Apache Kafka cluster: its files, its JVM, and when it is ready."""

import shutil
import subprocess
import time
from pathlib import Path
from typing import Final
from uuid import uuid4

from stoker.client.cluster import Cluster
from stoker.client.errors import ClientError
from stoker.client.properties import client_properties
from stoker.clusters.daemon import Daemon
from stoker.clusters.errors import CannotStart, NotInTime
from stoker.clusters.java import FAST_START, environment_for, find_java, options_of_environment
from stoker.clusters.kafka_plan import KafkaPlan, node_properties, properties_text
from stoker.properties import read_properties
from stoker.wire.uuids import draw_uuid, uuid_text

PURPOSE: Final = "Apache Kafka"
_META: Final = "meta.properties"
_BOOTSTRAP: Final = "bootstrap.checkpoint"
_POLL_SECONDS: Final = 0.1
_ANSWER_MS: Final = "2000"
_TIMED_LOG: Final = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS",
)


class KafkaNode:
    """Node `number` of a plan, in `node-NUMBER` of the cluster's directory."""

    def __init__(self, plan: KafkaPlan, number: int, cluster_directory: Path) -> None:
        self.plan = plan
        self.number = number
        self.directory = cluster_directory / f"node-{number}"
        self.daemon = Daemon(self.directory, f"node {number}")

    @property
    def data(self) -> Path:
        """Where its partitions are (`log.dirs`)."""
        return self.directory / "data"

    @property
    def address(self) -> str:
        return self.plan.address_of(self.number)

    @property
    def is_running(self) -> bool:
        return self.daemon.pid is not None

    @property
    def is_formatted(self) -> bool:
        return (self.data / _META).exists()

    @property
    def settings(self) -> dict[str, str]:
        """By Kafka's names."""
        return node_properties(self.plan, self.number, self.data)

    def strangers(self) -> list[str]:
        """What is in its directory, if that is none of a node's."""
        return [] if self._properties_file.exists() else sorted(each.name for each in self.directory.glob("*"))

    def write_properties(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self._properties_file.write_text(properties_text(self.settings))

    def format(self) -> None:
        """Let Kafka's own tool format the data directory. Raises CannotStart."""
        tool = ["kafka.tools.StorageTool", "format", "-t", self.plan.cluster_id, "-c", str(self._properties_file)]
        formatting = subprocess.run(
            [*self._jvm(), "-cp", self._class_path, *tool],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment_for(self.directory),
            start_new_session=True,
            check=False,
        )
        if formatting.returncode != 0:
            lines = formatting.stdout.decode(errors="replace").strip().splitlines()
            said = "\n".join(line for line in lines if not line.startswith("\tat "))
            raise CannotStart(f"the directory of {self.daemon.name} cannot be formatted:\n{said}")

    def format_like(self, other: "KafkaNode") -> None:
        """The same without two seconds of a JVM: of a formatted node nothing but its own id and its directory's differ."""
        self.data.mkdir(parents=True, exist_ok=True)
        if (other.data / _BOOTSTRAP).exists():
            shutil.copyfile(other.data / _BOOTSTRAP, self.data / _BOOTSTRAP)
        meta = {each.name: each.value for each in read_properties(other.data / _META)}
        meta["node.id"] = str(self.number)
        if "directory.id" in meta:
            meta["directory.id"] = uuid_text(draw_uuid(uuid4))
        (self.data / _META).write_text(properties_text(meta))

    def start(self) -> None:
        """Start the JVM; `wait_until_ready` says when it serves."""
        java = self._jvm(self.daemon.mark, f"-Xmx{self.plan.heap}", *_TIMED_LOG)
        command = [*java, "-cp", self._class_path, "kafka.Kafka", str(self._properties_file)]
        self.daemon.start(command, environment_for(self.directory))

    def wait_until_ready(self, seconds: float) -> None:
        """Until it serves clients: until it is among the brokers that it tells of. Raises CannotStart and NotInTime."""
        deadline = time.monotonic() + seconds
        while not self.is_ready():
            self.daemon.raise_if_ended()
            if time.monotonic() > deadline:
                raise NotInTime(
                    f"{self.daemon.name} is not ready yet. What has much to recover takes long: --timeout waits longer, and "
                    f"`stoker cluster status` tells whether it runs. {self.daemon.last_words()}"
                )
            time.sleep(_POLL_SECONDS)

    def is_ready(self) -> bool:
        """Whether it serves clients."""
        limits = {"request.timeout.ms": _ANSWER_MS, "default.api.timeout.ms": _ANSWER_MS}
        try:
            with Cluster(client_properties(self.address, limits)) as cluster:
                return self.number in cluster.brokers()
        except ClientError:
            return False

    def _jvm(self, *options: str) -> list[str]:
        return [find_java(PURPOSE), *FAST_START, *options, *options_of_environment("KAFKA_OPTS")]

    @property
    def _class_path(self) -> str:
        return f"{self.plan.jars}/*"

    @property
    def _properties_file(self) -> Path:
        return self.directory / "server.properties"
