"""Emptying a broker: which replicas it holds, and where each could go so that racks and loads stay even."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from stoker.client.admin.reassignments import Reassignment
from stoker.client.admin.topics import Topic
from stoker.client.topic_partition import TopicPartition
from stoker.errors import StokerError

_NOTHING_MOVES: Final[Mapping[TopicPartition, Reassignment]] = MappingProxyType({})


class NowhereToGo(StokerError):
    """A replica for which there is no other broker; the message names it and the choices."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evacuation:
    """Where the replicas of a broker go: of each partition the replicas now and then, the leader first.

    `before` is without replicas that a move under way takes away.
    """

    before: Mapping[TopicPartition, tuple[int, ...]]
    after: Mapping[TopicPartition, tuple[int, ...]]


def replicas_on(topics: Iterable[Topic], node_id: int) -> dict[TopicPartition, tuple[int, ...]]:
    """The partitions that a broker has a replica of, with all their replicas."""
    return {
        TopicPartition(topic.name, each.partition): each.replicas
        for topic in topics
        for each in topic.partitions
        if node_id in each.replicas
    }


def plan_evacuation(
    topics: Sequence[Topic],
    racks: Mapping[int, str | None],
    node_id: int,
    moving: Mapping[TopicPartition, Reassignment] = _NOTHING_MOVES,
) -> Evacuation:
    """Each replica goes to the broker that has the fewest, of a rack that the partition is not in, if there is one; never to
    one whose last replicas are moved off at this moment: somebody may be emptying it, too.

    `racks` are those of all live brokers, `moving` the moves under way: what they take off the broker anyway is not in
    the plan, and no partition gets more replicas than it will have after them. Raises NowhereToGo.
    """
    wanted = {
        partition: _staying(each.replicas, moving.get(partition))
        for topic in topics
        for each in topic.partitions
        for partition in (TopicPartition(topic.name, each.partition),)
    }
    loads = Counter(dict.fromkeys(racks, 0))
    for replicas in wanted.values():
        loads.update(broker for broker in replicas if broker in racks)
    before = {partition: replicas for partition, replicas in wanted.items() if node_id in replicas}
    emptied: dict[int, set[TopicPartition]] = {}
    for partition, move in moving.items():
        for broker in move.removing:
            if not loads[broker]:
                emptied.setdefault(broker, set()).add(partition)
    after: dict[TopicPartition, tuple[int, ...]] = {}
    for partition, replicas in sorted(before.items()):
        others = [broker for broker in replicas if broker != node_id]
        candidates = [broker for broker in racks if broker not in replicas]
        if not candidates:
            raise NowhereToGo(
                f"{partition} has {len(replicas)} replicas, and without broker {node_id} there are {len(racks) - 1} live "
                "brokers: add a broker first, or lower the number of its replicas"
            )
        if not (staying := [broker for broker in candidates if not emptied.get(broker, set()) - {partition}]):
            raise NowhereToGo(
                f"{partition} could only go to {', '.join(map(str, candidates))}, off which the last replicas are moved at this moment: "
                "wait until that is done (kafka-reassign-partitions.sh --list shows it), or add a broker first"
            )
        taken = {racks.get(broker) for broker in others}
        chosen = min(staying, key=lambda broker: (racks[broker] in taken, loads[broker], broker))
        loads[chosen] += 1
        after[partition] = tuple(chosen if broker == node_id else broker for broker in replicas)
    return Evacuation(before=before, after=after)


def _staying(replicas: tuple[int, ...], move: Reassignment | None) -> tuple[int, ...]:
    """Metadata lists those that a move adds and those that it removes together, until it is done (KIP-455)."""
    return replicas if move is None else tuple(broker for broker in replicas if broker not in move.removing)
