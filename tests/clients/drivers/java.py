"""kafka-clients of Apache Kafka 4.3, and its command-line tools, in one JVM."""

import fcntl
import hashlib
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tests.apache_kafka import CLASS_PATH, FAST_START, JARS, REPOSITORY, ApacheKafkaFailed
from tests.clients.drivers.remote import RemoteClient

SOURCES = Path(__file__).resolve().parent.parent / "java"
CLASSES = REPOSITORY / ".cache" / "test-classes"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """How a tool ended, as its shell would see it."""

    status: int
    output: str
    error: str


class JavaClients(RemoteClient):
    name: ClassVar[str] = "java"

    def __init__(self, bootstrap_servers: str) -> None:
        class_path = f"{CLASS_PATH}:{compiled()}"
        logging = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        super().__init__(bootstrap_servers, ["java", *FAST_START, logging, "-cp", class_path, "Driver"])

    def tool(self, main: str, *arguments: str, stdin: str = "") -> Finished:
        """Run the main method of a class of Kafka's tools."""
        return Finished(**self.call("tool", main=main, arguments=arguments, input=stdin))

    def run_source(self, main: str, sources: Mapping[str, str]) -> Finished:
        """Compile the sources, a text a class name, and run the main method of one."""
        return Finished(**self.call("run_source", main=main, sources=dict(sources)))


def compiled() -> Path:
    """The directory of the driver's classes, compiled once for each state of the sources, whoever asks at the same time."""
    if not (JARS / ".complete").exists():
        raise ApacheKafkaFailed(f"the jars of Apache Kafka are not in {JARS}: run `make kafka-jars`")
    sources = sorted(SOURCES.glob("*.java"))
    state = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    classes = CLASSES / state
    CLASSES.mkdir(parents=True, exist_ok=True)
    with (CLASSES / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed
        if not classes.exists():
            unfinished = CLASSES / f"{state}.unfinished"
            subprocess.run(["javac", "-nowarn", "-d", unfinished, "-cp", CLASS_PATH, *sources], check=True)
            unfinished.rename(classes)
    return classes
