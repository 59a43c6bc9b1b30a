"""Statements that changed something, as records of a topic: read from its beginning they give the state of SQL again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from stoker.client.admin.offsets import EARLIEST, LATEST
from stoker.client.admin.topics import create_topic
from stoker.client.errors import KafkaRefused
from stoker.client.topic_partition import TopicPartition
from stoker.streams.kafka_inputs import Access
from stoker.streams.preparation import cluster_of, offsets_of, partitions_of
from stoker.streams.sql.records import append_record, read_records
from stoker.wire.error_codes import ErrorCode

_CONFIGS: Final = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


@dataclass(frozen=True, kw_only=True)
class Command:
    """`kind` is source, query, insert, type, drop, drop-type, terminate, pause or resume; `content` what belongs to it."""

    kind: str
    statement: str
    content: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> bytes:
        return json.dumps(
            {"version": 1, "kind": self.kind, "statement": self.statement, "content": self.content}
        ).encode()

    @classmethod
    def from_json(cls, text: bytes) -> "Command":
        given = json.loads(text)
        return cls(kind=given["kind"], statement=given["statement"], content=given["content"])


class CommandLog:
    """Of one service. Safe to be written by several processes: the order of the topic is the order of all of them."""

    def __init__(self, access: Access, service: str) -> None:
        self.topic = f"_stoker_sql_{service}"
        self._access = access
        self._partition = TopicPartition(self.topic, 0)
        self._next: int | None = None

    def read(self) -> list[tuple[int, Command]]:
        """What was written since it was last read, with offsets. Raises ClientError and RecordsUnavailable."""
        with cluster_of(self._access) as cluster:
            if self._next is None:
                self._make(cluster)
                self._next = offsets_of(cluster, [self.topic], EARLIEST).get(self._partition, 0)
            end = offsets_of(cluster, [self.topic], LATEST).get(self._partition, 0)
        records = read_records(self._access, self.topic, {0: (self._next, end)})
        self._next = max(self._next, end)
        return [(each.offset, Command.from_json(each.value)) for each in records if each.value is not None]

    def append(self, command: Command) -> int:
        """Its offset, when all replicas have it."""
        return append_record(self._access, self.topic, command.to_json())

    @property
    def next_offset(self) -> int:
        """Of what comes next, unless somebody else writes before."""
        return self._next or 0

    def _make(self, cluster: Any) -> None:
        if partitions_of(cluster, [self.topic]):
            return
        try:
            create_topic(cluster, self.topic, partitions=1, configs=_CONFIGS)
        except KafkaRefused as refused:
            if refused.error_code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
