"""Kafka Streams 4.3 itself, which stoker.streams is compared with: the topologies of `tests/streams/java/Topologies.java`.

    peer.run("hourly-revenue", [InputRecord(topic="orders", key="ada", value={"amount": 3}, timestamp=1_000)])

pipes records through a topology in Kafka's TopologyTestDriver: no broker, one partition a topic, no cache, so that each update is seen
and nothing is left to chance. One JVM serves all cases of a test session. `RunningKafkaStreams` runs one against a broker.
"""

import contextlib
import fcntl
import hashlib
import json
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from tests.apache_kafka import CLASS_PATH, FAST_START, JARS, REPOSITORY, ApacheKafkaFailed

SOURCES: Final = Path(__file__).resolve().parent / "java"
CLASSES: Final = REPOSITORY / ".cache" / "test-classes"
WAIT_SECONDS: Final = 60.0
QUIET: Final = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"

Value = dict[str, Any]


class KafkaStreamsFailed(Exception):
    """The topology is not there, a record could not be piped or processed, or the JVM ended."""


class WindowedKey(NamedTuple):
    """A key in a window, whose bounds are milliseconds: the end is outside of a time window, inside of a sliding one and a session."""

    key: str
    start: int
    end: int


Key = str | WindowedKey | None


@dataclass(frozen=True, kw_only=True, slots=True)
class InputRecord:
    topic: str
    key: str | None
    value: Mapping[str, Any] | None
    timestamp: int


@dataclass(frozen=True, kw_only=True, slots=True)
class OutputRecord:
    """A record of an output topic, as it is there."""

    topic: str
    key: str | None
    value: Value | None
    timestamp: int
    input: int
    """The number of the input record that it follows from."""

    @property
    def identity(self) -> Key:
        """What later records of the table replace: the key, or the key and the window that the value names."""
        if self.value is None or "window_start" not in self.value:
            return self.key
        return WindowedKey(self.value["key"], self.value["window_start"], self.value["window_end"])

    @property
    def content(self) -> Value | None:
        """The value without key and window; None for a tombstone."""
        if self.value is None or "tombstone" in self.value:
            return None
        if "window_start" not in self.value:
            return self.value
        return {name: each for name, each in self.value.items() if name not in ("key", "window_start", "window_end")}


@dataclass(frozen=True, kw_only=True, slots=True)
class Results:
    records: list[OutputRecord]
    """Of all output topics, in the order in which they were sent; those of one input by topic."""
    stores: dict[str, dict[Key, Any]]
    """What each named store holds at the end: a number where it counts or sums, else an object."""

    def of(self, topic: str) -> list[OutputRecord]:
        return [record for record in self.records if record.topic == topic]

    def changes(self, topic: str) -> list[tuple[Key, Value | None]]:
        """Every update of the table that the topic is the changelog of."""
        return [(record.identity, record.content) for record in self.of(topic)]

    def latest(self, topic: str) -> dict[Key, Value]:
        """The table that the topic is the changelog of: what has not been deleted."""
        return {key: content for key, content in dict(self.changes(topic)).items() if content is not None}


class KafkaStreamsPeer:
    """A JVM that runs one case after the other."""

    def __init__(self) -> None:
        self._directory = tempfile.mkdtemp(prefix="kafka-streams-")
        self._process = subprocess.Popen(
            [*_java(f"-Djava.io.tmpdir={self._directory}"), "driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout

    def run(self, name: str, records: Iterable[InputRecord]) -> Results:
        """Pipe the records, in order, through a new instance of the topology."""
        watchdog = threading.Timer(WAIT_SECONDS, self._process.kill)
        watchdog.start()
        try:
            self._ask(name, records)
            return self._answer(name)
        finally:
            watchdog.cancel()

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._requests.close()
        _wait(self._process)
        self._answers.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _ask(self, name: str, records: Iterable[InputRecord]) -> None:
        lines: list[Mapping[str, object]] = [
            {"topic": record.topic, "key": record.key, "value": record.value, "timestamp": record.timestamp}
            for record in records
        ]
        try:
            for line in [{"run": name}, *lines, {"end": True}]:
                self._requests.write(json.dumps(line) + "\n")
            self._requests.flush()
        except BrokenPipeError:
            pass  # it has ended, which the answer tells

    def _answer(self, name: str) -> Results:
        results = Results(records=[], stores={})
        for line in self._answers:
            match json.loads(line):
                case {"topic": topic, "key": key, "value": value, "timestamp": timestamp, "input": number}:
                    results.records.append(
                        OutputRecord(topic=topic, key=key, value=value, timestamp=timestamp, input=number)
                    )
                case {"store": store, "key": key, "window_start": None, "value": value}:
                    results.stores.setdefault(store, {})[key] = value
                case {"store": store, "key": key, "window_start": start, "window_end": end, "value": value}:
                    results.stores.setdefault(store, {})[WindowedKey(key, start, end)] = value
                case {"end": True}:
                    return results
                case {"error": error}:
                    raise KafkaStreamsFailed(f"{name}: {error}")
        raise KafkaStreamsFailed(f"{name}: the JVM ended, or gave no answer in {WAIT_SECONDS:.0f} s")


class RunningKafkaStreams:
    """A topology that runs exactly once against a broker, from entry, when it is running, to exit, when it is closed.

    Its topics must be there. `settings` are of Kafka Streams: {"num.stream.threads": "2"}.
    """

    def __init__(
        self,
        name: str,
        *,
        bootstrap_servers: str,
        application_id: str | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._name = name
        self._directory = tempfile.mkdtemp(prefix="kafka-streams-")
        self._settings = {
            "bootstrap.servers": bootstrap_servers,
            "application.id": application_id or name,
            "state.dir": f"{self._directory}/state",
            **(settings or {}),
        }

    def __enter__(self) -> Self:
        options = [word for name, value in self._settings.items() for word in (f"--{name.replace('.', '-')}", value)]
        self._log = (Path(self._directory) / "log").open("w+")
        self._process = subprocess.Popen(
            [*_java(f"-Djava.io.tmpdir={self._directory}"), "run", self._name, *options],
            stdin=subprocess.PIPE,  # whose end, should the tests be killed, ends it too
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        try:
            self._wait_until_running()
        except BaseException:
            self.kill()
            self._clean_up()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.send_signal(signal.SIGTERM)
        _wait(self._process)
        self._clean_up()

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """SIGKILL: its transaction is left open, its state is gone."""
        self._process.kill()
        self._process.wait()

    def _wait_until_running(self) -> None:
        watchdog = threading.Timer(WAIT_SECONDS, self._process.kill)
        watchdog.start()
        assert self._process.stdout is not None
        try:
            first = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if first != "RUNNING\n":
            self._log.seek(0)
            raise KafkaStreamsFailed(f"{self._name} is not running:\n{self._log.read()}")

    def _clean_up(self) -> None:
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                stream.close()
        shutil.rmtree(self._directory, ignore_errors=True)


def _java(*options: str) -> list[str]:
    """The start of the command."""
    return ["java", *FAST_START, QUIET, *options, "-cp", f"{CLASS_PATH}:{_compiled()}", "Topologies"]


def _compiled() -> Path:
    """The directory of the classes, compiled once for each state of the sources, whoever asks at the same time."""
    if not (JARS / ".complete").exists():
        raise ApacheKafkaFailed(f"the jars of Apache Kafka are not in {JARS}: run `make kafka-jars`")
    sources = sorted(SOURCES.glob("*.java"))
    state = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    classes = CLASSES / f"streams-{state}"
    CLASSES.mkdir(parents=True, exist_ok=True)
    with (CLASSES / "streams-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed
        if not classes.exists():
            unfinished = CLASSES / f"streams-{state}.unfinished"
            subprocess.run(["javac", "-nowarn", "-d", unfinished, "-cp", CLASS_PATH, *sources], check=True)
            unfinished.rename(classes)
    return classes


def _wait(process: subprocess.Popen[str]) -> None:
    try:
        process.wait(WAIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
