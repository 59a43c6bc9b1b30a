"""A real single-node Apache Kafka for tests and benchmarks: the judge of what a Kafka broker does.

    with ApacheKafka() as kafka:
        kafka.bootstrap_servers

It needs a JDK and the jars that `make kafka-jars` puts in `.cache/kafka-jars`. The node is its own KRaft controller, listens on two free
ports of 127.0.0.1, keeps its data in a temporary directory and leaves nothing behind.
"""

import contextlib
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

from stoker.wire.uuids import draw_uuid, uuid_text
from tests.class_archives import SHORT_LIVED, archived
from tests.ports import free_port

REPOSITORY = Path(__file__).resolve().parent.parent
JARS = REPOSITORY / ".cache" / "kafka-jars"
CLASS_PATH = f"{JARS}/*"

FAST_START = (*SHORT_LIVED, *archived("kafka"), "-Xmx512m")
"""Options for a JVM that lives for seconds and whose class path begins with CLASS_PATH, or for any other."""

STARTED = b"Kafka Server started"
START_TIMEOUT_SECONDS = 60.0
STOP_TIMEOUT_SECONDS = 30.0


class ApacheKafkaFailed(Exception):
    """Apache Kafka could not be formatted or did not start; the message ends with the last lines of its log."""


class ApacheKafka:
    """One Apache Kafka node, started on entry and stopped (SIGTERM, then SIGKILL) on exit.

    `properties` are added to, or replace, those of the node. `directory` is kept if it is given, else it is a temporary one.
    """

    def __init__(
        self,
        *,
        properties: Mapping[str, str] | None = None,
        directory: Path | None = None,
        heap: str = "1G",
        cluster_id: str | None = None,
        jvm: Sequence[str] = FAST_START,
    ) -> None:
        """One that is given a cluster id is a node of a cluster whose voters its properties name, with its ports in them."""
        self._extra_properties = dict(properties or {})
        self._keep_directory = directory is not None
        self._heap = heap
        self._cluster_id = cluster_id
        self._jvm = jvm
        self.directory = directory if directory is not None else Path(tempfile.mkdtemp(prefix="apache-kafka-"))
        self.process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def data_directory(self) -> Path:
        """Where the partitions are (`log.dirs`)."""
        return self.directory / "data"

    @property
    def log_file(self) -> Path:
        return self.directory / "server.log"

    @property
    def pid(self) -> int:
        assert self.process is not None, "Apache Kafka is not running"
        return self.process.pid

    def __enter__(self) -> Self:
        self.format()
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
        if not self._keep_directory:
            shutil.rmtree(self.directory, ignore_errors=True)

    def format(self) -> None:
        """Write the properties file and format the data directory."""
        if not (JARS / ".complete").exists():
            raise ApacheKafkaFailed(f"the jars of Apache Kafka are not in {JARS}: run `make kafka-jars`")
        self.directory.mkdir(parents=True, exist_ok=True)
        self.port, controller_port = self.port or free_port(), free_port()
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
            "log.dirs": str(self.data_directory),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
        } | self._extra_properties
        if "controller.quorum.voters" in properties:
            del properties["controller.quorum.bootstrap.servers"]
        self._properties_file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        cluster_id = self._cluster_id or uuid_text(draw_uuid(uuid4))
        arguments = ["format", "-t", cluster_id, "-c", str(self._properties_file)]
        if self._cluster_id is None:
            arguments.append("--standalone")
        formatting = subprocess.run(
            ["java", *FAST_START, "-cp", CLASS_PATH, "kafka.tools.StorageTool", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if formatting.returncode != 0:
            raise ApacheKafkaFailed(f"format failed:\n{formatting.stdout.decode(errors='replace')}")

    def start(self) -> None:
        """Start the formatted node; return when it serves requests."""
        node = ["kafka.Kafka", str(self._properties_file)]
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(
                ["java", *self._jvm, f"-Xmx{self._heap}", "-cp", CLASS_PATH, *node],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
            )
        try:
            self._wait_until_started()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def kill(self) -> None:
        """SIGKILL; `start` starts it again on what it has written."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.process = None

    def _wait_until_started(self) -> None:
        assert self.process is not None
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while STARTED not in self.log_file.read_bytes():
            if self.process.poll() is not None:
                raise ApacheKafkaFailed(
                    f"Apache Kafka ended with status {self.process.returncode}:\n{self._log_tail()}"
                )
            if time.monotonic() > deadline:
                raise ApacheKafkaFailed(
                    f"Apache Kafka did not start in {START_TIMEOUT_SECONDS:.0f} s:\n{self._log_tail()}"
                )
            time.sleep(0.02)

    @property
    def _properties_file(self) -> Path:
        return self.directory / "server.properties"

    def _log_tail(self) -> str:
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-20:])


if __name__ == "__main__":  # a node by hand, until Ctrl-C or SIGTERM: python -m tests.apache_kafka
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ApacheKafka() as node, contextlib.suppress(KeyboardInterrupt):
        print(node.bootstrap_servers, flush=True)
        signal.pause()
