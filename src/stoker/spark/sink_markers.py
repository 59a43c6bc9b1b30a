"""What the exactly-once sink leaves in Kafka to know its own work again: markers, and where they are.

A marker is a committed offset: of a group that belongs to the sink, in a partition of the topic `_stoker_sink`, each task
and the run having a place of their own. The offset says up to which batch the task has written; the metadata how much.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

from stoker.client.topic_partition import TopicPartition, by_topic

TOPIC: Final = "_stoker_sink"
PARTITIONS: Final = 16
"""Of the topic. So many places a group has; further tasks have further groups."""
LONGEST_METADATA: Final = 4096
"""Of an offset, `offset.metadata.max.bytes` by default."""
_PREFIX: Final = "stoker-sink-"
_REMEMBERED_RUNS: Final = 20
_RUN_PLACE: Final = 0


class Place(NamedTuple):
    """Where a marker is."""

    group_id: str
    partition: TopicPartition


class Names(NamedTuple):
    """What things are called that belong to a sink: a streaming query, or one write."""

    sink_id: str

    def transactional_id(self, task: int) -> str:
        return f"{_PREFIX}{self.sink_id}-{task}"

    @property
    def run_transactional_id(self) -> str:
        return f"{_PREFIX}{self.sink_id}-run"

    def place(self, task: int) -> Place:
        return self._place(task + 1)

    @property
    def run_place(self) -> Place:
        return self._place(_RUN_PLACE)

    def _place(self, number: int) -> Place:
        group, partition = divmod(number, PARTITIONS)
        suffix = f"/{group}" if group else ""  # which no name of a sink has in it
        return Place(f"{_PREFIX}{self.sink_id}{suffix}", TopicPartition(TOPIC, partition))


def room_for(task: int) -> int:
    """How many tasks have a place if the groups are as few as this task needs, doubled so that it seldom grows."""
    groups = 1
    while groups * PARTITIONS - 1 <= task:
        groups *= 2
    return groups * PARTITIONS - 1


@dataclass(frozen=True, kw_only=True)
class Marker:
    """Of a task: it has written its rows of all batches before `next_batch`; of the last of them, these."""

    next_batch: int
    rows: int
    digest: int
    run: str | None
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...] | None
    """Where to; None if the list is too long for the metadata of an offset."""

    def text(self, *, limit: int | None = None) -> str:
        """Its metadata; without the partitions if it would be longer than `limit` bytes."""
        fields: dict[str, Any] = {
            "rows": self.rows,
            "digest": f"{self.digest:016x}",
            "run": self.run,
            "producer": [self.producer_id, self.producer_epoch],
        }
        whole = _json(fields | {"partitions": _ranges(self.partitions or ())})
        return _json(fields) if limit is not None and len(whole.encode()) > limit else whole

    @classmethod
    def from_text(cls, next_batch: int, text: str) -> Self:
        """Raises ValueError."""
        fields = json.loads(text)
        try:
            producer_id, producer_epoch = fields["producer"]
            return cls(
                next_batch=next_batch,
                rows=fields["rows"],
                digest=int(fields["digest"], 16),
                run=fields["run"],
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                partitions=_partitions(fields["partitions"]) if "partitions" in fields else None,
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{error} in {text!r}") from None


@dataclass(frozen=True, kw_only=True)
class RunMarker:
    """Which run of the query may write, from batch `batch` on."""

    run: str
    batch: int
    redoes: bool
    """Whether tasks of an earlier run have written rows of `batch`: then this run has to show that it has the same rows."""
    tasks: int
    """So many tasks have a place; none with a higher number has ever written."""
    earlier_runs: tuple[str, ...] = ()
    """Those that may no longer write; of very many the last."""

    def text(self) -> str:
        return _json(
            {
                "run": self.run,
                "redoes": self.redoes,
                "tasks": self.tasks,
                "earlier": self.earlier_runs[-_REMEMBERED_RUNS:],
            }
        )

    @classmethod
    def from_text(cls, batch: int, text: str) -> Self:
        """Raises ValueError."""
        fields = json.loads(text)
        try:
            return cls(
                run=fields["run"],
                batch=batch,
                redoes=fields["redoes"],
                tasks=fields["tasks"],
                earlier_runs=tuple(fields["earlier"]),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"{error} in {text!r}") from None


def _json(fields: dict[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":"))


def _ranges(partitions: Iterable[TopicPartition]) -> dict[str, str]:
    """`{"orders": "0-3,7"}`."""
    return {topic: ",".join(_runs(sorted(indexes))) for topic, indexes in sorted(by_topic(partitions).items())}


def _runs(indexes: list[int]) -> Iterable[str]:
    begin = last = indexes[0]
    for index in [*indexes[1:], -1]:
        if index == last + 1:
            last = index
            continue
        yield str(begin) if begin == last else f"{begin}-{last}"
        begin = last = index


def _partitions(ranges: dict[str, str]) -> tuple[TopicPartition, ...]:
    found = []
    for topic, text in ranges.items():
        for part in text.split(","):
            begin, _, last = part.partition("-")
            found += [TopicPartition(topic, index) for index in range(int(begin), int(last or begin) + 1)]
    return tuple(found)
