"""The uniform assignor: members have equally many partitions, and keep those they have as far as that allows.

Topics with the same subscribers are one pool: whose partition moves makes no difference to the balance. In a homogeneous
group there is one pool, and the result is as balanced and as sticky as can be. Otherwise the pools are balanced one after
the other until nothing moves. Each is balanced then, though a chain of moves through several could still improve the
whole; Kafka's assignor stops there too.
"""

from collections.abc import Iterator
from heapq import heapify, heappop, heapreplace
from operator import itemgetter
from typing import NamedTuple
from uuid import UUID

from stoker.coordinators.groups.assignors.assignor import Assignment, GroupSpec

_NOBODY = -1
_MAX_ROUNDS = 16
"""Each round about halves the imbalance; Kafka stops after as many."""


class UniformAssignor:
    """The sizes of any two subscribers of a topic differ by at most one, where a direct move of its partitions can do it."""

    name = "uniform"

    def assign(self, spec: GroupSpec) -> dict[str, Assignment]:
        group = _Group(spec)
        group.keep_what_is_assigned()
        for pool in group.pools:
            group.deal_unassigned(pool)
        for _ in range(_MAX_ROUNDS):
            if not sum([group.balance(pool) for pool in group.pools]):
                break
        return group.assignments()


class _Pool(NamedTuple):
    """Topics to which exactly these members subscribe; members are known by their place in the sorted ids."""

    subscribers: list[int]
    topics: list[UUID]


class _Group:
    """The assignment while it is made: who owns each partition, and how many partitions each member has."""

    def __init__(self, spec: GroupSpec) -> None:
        self._spec = spec
        self._member_ids = sorted(spec.members)
        self._sizes = [0] * len(self._member_ids)
        self.pools = sorted(_pools(spec, self._member_ids), key=self._most_constrained_first)
        self._owners = {topic: [_NOBODY] * spec.partition_counts[topic] for pool in self.pools for topic in pool.topics}

    def _most_constrained_first(self, pool: _Pool) -> tuple[float, int, int]:
        partitions = sum(self._spec.partition_counts[topic] for topic in pool.topics)
        return -partitions / len(pool.subscribers), len(pool.subscribers), pool.topics[0].int

    def keep_what_is_assigned(self) -> None:
        """Members keep the partitions that still exist in topics to which they still subscribe."""
        for member, member_id in enumerate(self._member_ids):
            spec = self._spec.members[member_id]
            for topic, partitions in spec.assigned.items():
                owners = self._owners.get(topic) if topic in spec.topics else None
                if owners is None:
                    continue
                for partition in partitions:
                    if partition < len(owners) and owners[partition] == _NOBODY:
                        owners[partition] = member
                        self._sizes[member] += 1

    def deal_unassigned(self, pool: _Pool) -> None:
        """Each partition that nobody owns goes to the subscriber with the fewest."""
        sizes = self._sizes
        fewest = [(sizes[member], member) for member in pool.subscribers]
        heapify(fewest)
        for topic in pool.topics:
            owners = self._owners[topic]
            for partition, owner in enumerate(owners):
                if owner == _NOBODY:
                    size, member = fewest[0]
                    owners[partition] = member
                    sizes[member] = size + 1
                    heapreplace(fewest, (size + 1, member))

    def balance(self, pool: _Pool) -> int:
        """Moves partitions of the pool from subscribers with the most to those with the fewest; how many it moved."""
        sizes = self._sizes
        subscribed_sizes = [sizes[member] for member in pool.subscribers]
        if max(subscribed_sizes) - min(subscribed_sizes) <= 1:
            return 0
        owned = self._owned_in(pool)
        # A giver's entry in `fewest`, and a receiver's in `most`, is not brought up to date: where it would be the next
        # one, everybody else is within one of it and nothing is left to move.
        fewest = [(sizes[member], member) for member in pool.subscribers]
        most = [(-sizes[member], member) for member in owned]
        heapify(fewest)
        heapify(most)
        moved = 0
        while most:
            size, receiver = fewest[0]
            negative_size, giver = most[0]
            if -negative_size - size <= 1:
                break
            topic, partition = owned[giver].pop()
            self._owners[topic][partition] = receiver
            sizes[giver] -= 1
            sizes[receiver] += 1
            moved += 1
            heapreplace(fewest, (size + 1, receiver))
            if owned[giver]:
                heapreplace(most, (negative_size + 1, giver))
            else:
                heappop(most)
        return moved

    def _owned_in(self, pool: _Pool) -> dict[int, list[tuple[UUID, int]]]:
        """By owner; the last are those to give up first: the highest partitions of all topics, not all of one topic."""
        owned: dict[int, list[tuple[UUID, int]]] = {}
        for topic in pool.topics:
            for partition, owner in enumerate(self._owners[topic]):
                owned.setdefault(owner, []).append((topic, partition))
        for partitions in owned.values():
            partitions.sort(key=itemgetter(1))
        return owned

    def assignments(self) -> dict[str, Assignment]:
        made: list[dict[UUID, list[int]]] = [{} for _ in self._member_ids]
        for topic, owners in self._owners.items():
            of_topic: dict[int, list[int]] = {}
            for partition, owner in enumerate(owners):
                of_topic.setdefault(owner, []).append(partition)
            for owner, partitions in of_topic.items():
                made[owner][topic] = partitions
        return {
            member_id: {topic: frozenset(partitions) for topic, partitions in assigned.items()}
            for member_id, assigned in zip(self._member_ids, made, strict=True)
        }


def _pools(spec: GroupSpec, member_ids: list[str]) -> Iterator[_Pool]:
    by_subscription = _members_by_subscription(spec, member_ids)
    # Known by its integer, a topic is found several times as fast: hashing a UUID is Python code.
    subscriptions: dict[int, list[int]] = {topic.int: [] for topic in spec.partition_counts}
    for number, topics in enumerate(by_subscription):
        for topic in topics:
            if (of_topic := subscriptions.get(topic.int)) is not None:
                of_topic.append(number)
    pooled: dict[tuple[int, ...], list[UUID]] = {}
    for topic in spec.partition_counts:
        pooled.setdefault(tuple(subscriptions[topic.int]), []).append(topic)
    members = list(by_subscription.values())
    for numbers, pool_topics in pooled.items():
        if numbers:
            yield _Pool([member for number in numbers for member in members[number]], sorted(pool_topics, key=_integer))


def _members_by_subscription(spec: GroupSpec, member_ids: list[str]) -> dict[frozenset[UUID], list[int]]:
    if spec.homogeneous and member_ids:
        return {spec.members[member_ids[0]].topics: list(range(len(member_ids)))}
    members: dict[frozenset[UUID], list[int]] = {}
    for member, member_id in enumerate(member_ids):
        members.setdefault(spec.members[member_id].topics, []).append(member)
    return members


def _integer(topic: UUID) -> int:
    return topic.int
