"""The same task typed three ways: with `stoker`, with Kafka's own tool, with kcat; and what a run of it costs."""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from side_by_side.processes import LoadFailed, kill_session

TIMEOUT_SECONDS = 300
# Those of Kafka's own bin/kafka-run-class.sh; its console producer and consumer have a larger heap.
JVM_OPTIONS = (
    *("-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"),
    *("-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true"),
    *("-Dcom.sun.management.jmxremote=true", "-Dcom.sun.management.jmxremote.authenticate=false"),
    *("-Dcom.sun.management.jmxremote.ssl=false", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"),
)
TOOL_HEAP, CONSOLE_HEAP = "-Xmx256M", "-Xmx512M"


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandLine:
    """One way to do a task; `name` is the column it is reported in."""

    name: str
    words: Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """Of one run, from exec to exit: wall time, and processor time of the program itself."""

    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Tools:
    """`server` is the broker that all of them talk to."""

    stoker: Path
    class_path: str
    server: str

    def topics_list(self) -> list[CommandLine]:
        return [
            self._stoker("topics", "list"),
            self._kafka(TOOL_HEAP, "org.apache.kafka.tools.TopicCommand", "--list"),
            *self._kcat("-L"),
        ]

    def groups_describe(self, group: str) -> list[CommandLine]:
        describe = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
        return [
            self._stoker("groups", "describe", group),
            self._kafka(TOOL_HEAP, describe, "--describe", "--group", group),
        ]

    def produce(self, topic: str) -> list[CommandLine]:
        """Each line of standard input becomes a record."""
        return [
            self._stoker("produce", topic),
            self._kafka(CONSOLE_HEAP, "org.apache.kafka.tools.ConsoleProducer", "--topic", topic),
            *self._kcat("-P", "-t", topic),
        ]

    def consume(self, topic: str, records: int) -> list[CommandLine]:
        """All of a topic, a line a record; Kafka's tool must be told how many there are, or would not end."""
        console = "org.apache.kafka.tools.consumer.ConsoleConsumer"
        count = ("--max-messages", str(records))
        return [
            self._stoker("consume", topic, "--from-beginning", "--until", "end"),
            self._kafka(CONSOLE_HEAP, console, "--topic", topic, "--from-beginning", *count),
            *self._kcat("-C", "-q", "-e", "-o", "beginning", "-t", topic),
        ]

    def _stoker(self, *words: str) -> CommandLine:
        return CommandLine(name="stoker", words=[str(self.stoker), *words, "--bootstrap-server", self.server])

    def _kafka(self, heap: str, *words: str) -> CommandLine:
        java = ["java", heap, *JVM_OPTIONS, "-cp", self.class_path]
        return CommandLine(name="kafka", words=[*java, *words, "--bootstrap-server", self.server])

    def _kcat(self, *words: str) -> list[CommandLine]:
        """None where kcat is not installed."""
        return [CommandLine(name="kcat", words=["kcat", "-b", self.server, *words])] if shutil.which("kcat") else []


def run(line: CommandLine, *, standard_input: Path | None = None, output: Path) -> Cost:
    """Run a command line to its end; what it prints goes to a file, as a pipe would need a reader beside it."""
    errors = output.with_suffix(".errors")
    with open(standard_input or os.devnull, "rb") as source, output.open("wb") as out, errors.open("wb") as err:
        began = time.perf_counter()
        process = subprocess.Popen(
            line.words, stdin=source, stdout=out, stderr=err, env=environment(os.environ), start_new_session=True
        )
        too_long = threading.Timer(TIMEOUT_SECONDS, kill_session, [process.pid])
        too_long.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - began
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            too_long.cancel()
            if process.returncode is None:
                kill_session(process.pid)
                process.wait()
    if process.returncode != 0:
        last_lines = " | ".join(errors.read_text(errors="replace").strip().splitlines()[-3:])
        raise LoadFailed(f"{Path(line.words[0]).name} ended with status {process.returncode}: {last_lines}")
    return Cost(seconds=seconds, cpu_seconds=usage.ru_utime + usage.ru_stime)


def environment(surrounding: Mapping[str, str]) -> dict[str, str]:
    """With Python's byte code kept from the first run on, as it is where Stoker was installed with pip."""
    return {name: value for name, value in surrounding.items() if name != "PYTHONDONTWRITEBYTECODE"}
