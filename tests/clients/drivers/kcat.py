"""kcat as Debian ships it, one process a call."""

import json
import os
import re
import subprocess
from collections.abc import Sequence
from itertools import groupby
from typing import Any, ClassVar, Literal

from tests.clients.client import (
    WAIT_SECONDS,
    Abilities,
    Acks,
    BrokerRefused,
    Client,
    ClientRefused,
    Code,
    Codec,
    Record,
    StoredRecord,
)

KEY_END = b"<key|"
RECORD_END = b"|record>"
READ_FORMAT = r"%T %p %o %K %S\n%k%s%h\x1e"

REFUSALS = {
    "Broker: Message size too large": Code.MESSAGE_TOO_LARGE,
    "Broker: Unknown topic or partition": Code.UNKNOWN_TOPIC_OR_PARTITION,
    "Broker: Offset out of range": Code.OFFSET_OUT_OF_RANGE,
}


class Kcat(Client):
    name: ClassVar[str] = "kcat"
    abilities: ClassVar[Abilities] = Abilities(
        administers=False, deletes_records=False, sets_timestamps=False, null_key_with_null_value=False
    )

    def run(self, *arguments: str | bytes, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run kcat with these arguments after `-b ADDRESS`."""
        command = [os.fsencode(each) for each in ("kcat", "-b", self.bootstrap_servers, *arguments)]
        finished = subprocess.run(command, input=stdin, capture_output=True, timeout=WAIT_SECONDS, check=False)
        if finished.returncode != 0:
            raise _refused(finished.stderr.decode(errors="replace"))
        return finished

    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        codec: Codec = "none",
        acks: Acks = "all",
        idempotent: bool = False,
    ) -> list[int]:
        settings = ["-z", codec, "-X", f"acks={acks}", "-X", f"enable.idempotence={str(idempotent).lower()}"]
        offsets: list[int] = []
        for alike, together in groupby(records, key=_what_one_run_can_send):
            partition, headers, null_key, null_value = alike
            arguments: list[str | bytes] = [
                "-P",
                "-vvv",
                "-t",
                topic,
                "-p",
                str(partition),
                "-D",
                RECORD_END,
                *settings,
            ]
            arguments += [] if null_key else ["-K", KEY_END]
            arguments += ["-Z"] if null_value else []
            for name, value in headers:
                arguments += ["-H", name.encode() if value is None else name.encode() + b"=" + value]
            stdin = b"".join(_line(record) for record in together)
            report = self.run(*arguments, stdin=stdin).stderr.decode(errors="replace")
            offsets += [
                int(offset) for offset in re.findall(r"Message delivered to partition \d+ \(offset (-?\d+)\)", report)
            ]
        return offsets

    def produce_by_key(self, topic: str, keys: Sequence[bytes | None]) -> list[int]:
        stdin = b"".join(_line(Record(key=key, value=b"x")) for key in keys)
        murmur2 = "partitioner=murmur2_random"
        self.run("-P", "-t", topic, "-D", RECORD_END, "-K", KEY_END, "-X", murmur2, stdin=stdin)
        placed: dict[bytes | None, int] = {}
        for partition in range(self.partition_count(topic)):
            earliest, latest = self.offset_range(topic, partition)
            placed |= {each.key: partition for each in self.read(topic, partition, count=latest - earliest)}
        return [placed[key] for key in keys]

    def read(
        self, topic: str, partition: int, *, start: int | Literal["earliest"] = "earliest", count: int
    ) -> list[StoredRecord]:
        if count == 0:
            return []
        offset = "beginning" if start == "earliest" else str(start)
        where = ["-t", topic, "-p", str(partition), "-o", offset, "-c", str(count)]
        output = self.run("-C", "-q", *where, "-X", "auto.offset.reset=error", "-f", READ_FORMAT).stdout
        stored: list[StoredRecord] = []
        while output:
            numbers, _, output = output.partition(b"\n")
            timestamp, found_partition, found_offset, key_length, value_length = map(int, numbers.split())
            key, output = output[: max(key_length, 0)], output[max(key_length, 0) :]
            value, output = output[: max(value_length, 0)], output[max(value_length, 0) :]
            headers, _, output = output.partition(b"\x1e")
            stored.append(
                StoredRecord(
                    offset=found_offset,
                    partition=found_partition,
                    timestamp=timestamp,
                    key=None if key_length < 0 else key,
                    value=None if value_length < 0 else value,
                    headers=_headers(headers),
                )
            )
        return stored

    def offset_for_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        offset = self._query(topic, partition, timestamp)
        return None if offset < 0 else offset

    def offset_range(self, topic: str, partition: int) -> tuple[int, int]:
        return self._query(topic, partition, -2), self._query(topic, partition, -1)

    def partition_count(self, topic: str) -> int:
        [described] = self._metadata("-t", topic)["topics"]
        if "error" in described:
            raise _refused(described["error"])
        return len(described["partitions"])

    def topics(self) -> set[str]:
        return {topic["topic"] for topic in self._metadata()["topics"]}

    def _metadata(self, *arguments: str) -> Any:
        return json.loads(self.run("-L", "-J", "-X", "allow.auto.create.topics=false", *arguments).stdout)

    def _query(self, topic: str, partition: int, timestamp: int) -> int:
        answer = self.run("-Q", "-t", f"{topic}:{partition}:{timestamp}").stdout.decode()
        assert answer.startswith(f"{topic} [{partition}] offset "), answer
        return int(answer.split()[-1])


def _what_one_run_can_send(record: Record) -> tuple[int, tuple[tuple[str, bytes | None], ...], bool, bool]:
    """One run of kcat sends to one partition, with the same headers, all keyed or none, all null values or none."""
    return record.partition, record.headers, record.key is None, record.value is None


def _line(record: Record) -> bytes:
    key = b"" if record.key is None else record.key + KEY_END
    return key + (record.value or b"") + RECORD_END


def _headers(text: bytes) -> tuple[tuple[str, bytes | None], ...]:
    if not text:
        return ()
    pairs = [each.partition(b"=") for each in text.split(b",")]
    return tuple((name.decode(), None if value == b"NULL" else value) for name, _, value in pairs)


def _refused(complaint: str) -> Exception:
    for text, code in REFUSALS.items():
        if text in complaint:
            return BrokerRefused(code, complaint)
    return ClientRefused(complaint)
