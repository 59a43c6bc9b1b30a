"""The command `stoker` as its users run it: in this process where that is enough, in its own where signals matter."""

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from typer.testing import CliRunner

from stoker.cli.application import application
from tests.faults.broker_process import STOKER

WAIT_SECONDS: Final = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.decode().splitlines()


def run(bootstrap_servers: str, *arguments: str, stdin: bytes = b"") -> Finished:
    """`stoker ARGUMENTS` in this process, to its end."""
    result = CliRunner().invoke(
        application, list(arguments), input=stdin, env={"STOKER_BOOTSTRAP_SERVER": bootstrap_servers}
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Finished(code=result.exit_code, out=result.stdout_bytes, err=result.stderr)


class Running:
    """`stoker ARGUMENTS` in a process of its own, whose output is collected as it comes."""

    def __init__(self, bootstrap_servers: str, *arguments: str) -> None:
        self.out = b""
        self.err = b""
        self._news = threading.Condition()
        self.process = subprocess.Popen(
            [STOKER, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"STOKER_BOOTSTRAP_SERVER": bootstrap_servers},
            bufsize=0,
        )
        self._threads = [threading.Thread(target=self._collect, args=(name,), daemon=True) for name in ("out", "err")]
        for thread in self._threads:
            thread.start()

    def _collect(self, name: str) -> None:
        stream = self.process.stdout if name == "out" else self.process.stderr
        assert stream is not None
        while data := stream.read(65536):
            with self._news:
                setattr(self, name, getattr(self, name) + data)
                self._news.notify_all()

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def end_of_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def wait_for_lines(self, count: int) -> list[bytes]:
        with self._news:
            came = self._news.wait_for(lambda: self.out.count(b"\n") >= count, WAIT_SECONDS)
        assert came, f"{count} lines did not come; these did: {self.out!r}; stderr says: {self.err!r}"
        return self.out.splitlines()

    def wait(self) -> Finished:
        code = self.process.wait(WAIT_SECONDS)
        for thread in self._threads:
            thread.join(WAIT_SECONDS)
        return Finished(code=code, out=self.out, err=self.err.decode())

    def finish(self, signal_number: int) -> Finished:
        self.process.send_signal(signal_number)
        return self.wait()


@contextmanager
def running(bootstrap_servers: str, *arguments: str) -> Iterator[Running]:
    command = Running(bootstrap_servers, *arguments)
    try:
        yield command
    finally:
        command.process.kill()
        command.wait()
        for stream in (command.process.stdin, command.process.stdout, command.process.stderr):
            assert stream is not None
            stream.close()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)


# The other side -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Read:
    """A record as confluent-kafka reads it."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int


def create_topic(bootstrap_servers: str, topic: str, partitions: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(WAIT_SECONDS)


def read_topic(bootstrap_servers: str, topic: str) -> list[Read]:
    """All records that are there now, by partition and offset."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "judge",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,
        }
    )
    try:
        partitions = sorted(consumer.list_topics(topic, WAIT_SECONDS).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
        records: list[Read] = []
        at_end: set[int | None] = set()
        while len(at_end) < len(partitions):
            message = consumer.poll(WAIT_SECONDS)
            assert message is not None, f"{topic} has no end"
            if (error := message.error()) is not None:
                assert error.code() == KafkaError._PARTITION_EOF or error.retriable(), error
                if error.code() == KafkaError._PARTITION_EOF:
                    at_end.add(message.partition())
                continue
            records.append(
                Read(
                    partition=message.partition() or 0,
                    offset=message.offset() or 0,
                    key=message.key(),
                    value=message.value(),
                    headers=_pairs(message.headers()),
                    timestamp=message.timestamp()[1],
                )
            )
        return sorted(records, key=lambda record: (record.partition, record.offset))
    finally:
        consumer.close()


def _pairs(headers: object) -> tuple[tuple[str, bytes | None], ...]:
    return tuple(headers) if isinstance(headers, Sequence) else ()
