"""A client in another language: a process of its own that reads one JSON request a line and answers with one JSON line each.

A request is `{"operation": NAME, ...arguments}`; an answer is `{"result": ...}` or
`{"error": {"code": KAFKA_ERROR_CODE or null, "message": TEXT}}`. Bytes travel as base64. The process starts once and serves a whole test
session, because starting a JVM costs more than a hundred requests.
"""

import base64
import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tests.clients.client import WAIT_SECONDS, Acks, BrokerRefused, Client, ClientRefused, Codec, Record, StoredRecord

START_SECONDS = 60.0


class RemoteClient(Client):
    def __init__(self, bootstrap_servers: str, command: Sequence[str]) -> None:
        super().__init__(bootstrap_servers)
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self.call("connect", bootstrap_servers=bootstrap_servers, _seconds=START_SECONDS)

    def close(self) -> None:
        self._requests.close()
        try:
            self._process.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._answers.close()

    def call(self, operation: str, *, _seconds: float = 4 * WAIT_SECONDS, **arguments: Any) -> Any:
        """Ask the process; it is killed if it does not answer in time, and that fails the test instead of hanging it."""
        watchdog = threading.Timer(_seconds, self._process.kill)
        watchdog.start()
        try:
            self._requests.write(json.dumps({"operation": operation, **arguments}) + "\n")
            line = self._answers.readline()
        finally:
            watchdog.cancel()
        assert line, f"{self.name} ended, or did not answer {operation} in {_seconds:.0f} s"
        answer = json.loads(line)
        if "error" not in answer:
            return answer["result"]
        code, message = answer["error"]["code"], answer["error"]["message"]
        raise ClientRefused(message) if code is None else BrokerRefused(code, message)

    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        codec: Codec = "none",
        acks: Acks = "all",
        idempotent: bool = False,
    ) -> list[int]:
        wanted = [
            {
                "key": _text(record.key),
                "value": _text(record.value),
                "headers": [[name, _text(value)] for name, value in record.headers],
                "timestamp": record.timestamp,
                "partition": record.partition,
            }
            for record in records
        ]
        offsets: list[int] = self.call(
            "produce", topic=topic, records=wanted, codec=codec, acks=acks, idempotent=idempotent
        )
        return offsets

    def produce_by_key(self, topic: str, keys: Sequence[bytes | None]) -> list[int]:
        partitions: list[int] = self.call("produce_by_key", topic=topic, keys=[_text(key) for key in keys])
        return partitions

    def read(
        self, topic: str, partition: int, *, start: int | Literal["earliest"] = "earliest", count: int
    ) -> list[StoredRecord]:
        return [
            StoredRecord(
                offset=record["offset"],
                partition=partition,
                timestamp=record["timestamp"],
                key=_bytes(record["key"]),
                value=_bytes(record["value"]),
                headers=tuple((name, _bytes(value)) for name, value in record["headers"]),
            )
            for record in self.call("read", topic=topic, partition=partition, start=start, count=count)
        ]

    def offset_for_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        offset: int | None = self.call("offset_for_time", topic=topic, partition=partition, timestamp=timestamp)
        return offset

    def offset_range(self, topic: str, partition: int) -> tuple[int, int]:
        earliest, latest = self.call("offset_range", topic=topic, partition=partition)
        return earliest, latest

    def create_topic(
        self, topic: str, *, partitions: int = 1, replication_factor: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        self.call(
            "create_topic",
            topic=topic,
            partitions=partitions,
            replication_factor=replication_factor,
            configs=dict(configs or {}),
        )

    def delete_topic(self, topic: str) -> None:
        self.call("delete_topic", topic=topic)

    def create_partitions(self, topic: str, total: int) -> None:
        self.call("create_partitions", topic=topic, total=total)

    def set_topic_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        self.call("set_topic_configs", topic=topic, configs=dict(configs))

    def topic_configs(self, topic: str) -> dict[str, str]:
        configs: dict[str, str] = self.call("topic_configs", topic=topic)
        return configs

    def partition_count(self, topic: str) -> int:
        count: int = self.call("partition_count", topic=topic)
        return count

    def topics(self) -> set[str]:
        return set(self.call("topics"))

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        self.call("delete_records", topic=topic, partition=partition, before_offset=before_offset)


def _text(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
