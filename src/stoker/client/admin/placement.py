"""Where replicas go: Kafka's own striped placement, across racks and with leaders spread evenly.

It is what KRaft's controller does for a new topic and `kafka-reassign-partitions.sh --generate` for one that moves.
"""

from collections.abc import Mapping, Sequence
from random import Random

from stoker.errors import StokerError


class CannotPlace(StokerError):
    """There are fewer brokers than replicas; the message is Kafka's."""


class _Rack:
    """The brokers of one rack, each in its turn: with each epoch another one is the first."""

    def __init__(self, brokers: Sequence[int], random: Random) -> None:
        self._brokers = sorted(brokers)
        self._offset = random.randrange(len(brokers))
        self._epoch = 0
        self._index = 0

    def shuffle(self, random: Random) -> None:
        random.shuffle(self._brokers)

    def next(self, epoch: int) -> int | None:
        """None if the epoch has had them all."""
        if self._epoch != epoch:
            self._epoch = epoch
            self._index = 0
            self._offset = (self._offset + 1) % len(self._brokers)
        if self._index >= len(self._brokers):
            return None
        broker = self._brokers[(self._index + self._offset) % len(self._brokers)]
        self._index += 1
        return broker


class StripedPlacer:
    """Places partitions one after the other on brokers that are given with their racks, None where racks do not count."""

    def __init__(self, brokers: Mapping[int, str | None], random: Random) -> None:
        self._count = len(brokers)
        self._random = random
        names = sorted(set(brokers.values()), key=lambda name: (name is not None, name or ""))
        self._racks = [_Rack([node_id for node_id, rack in brokers.items() if rack == name], random) for name in names]
        self._epoch = 0
        self._offset = random.randrange(len(self._racks)) if self._racks else 0

    def place(self, replication_factor: int) -> list[int]:
        """The replicas of the next partition, the leader first. Raises CannotPlace."""
        if not self._count:
            raise CannotPlace("All brokers are currently fenced, or have all their log directories cordoned.")
        if replication_factor > self._count:
            raise CannotPlace(
                f"The target replication factor of {replication_factor} cannot be reached because only {self._count} "
                "broker(s) are registered or some brokers have all their log directories cordoned."
            )
        if self._epoch == self._count and self._count > 1:  # not the same assignments once more
            self._random.shuffle(self._racks)
            for each in self._racks:
                each.shuffle(self._random)
            self._epoch = 0
        self._offset %= len(self._racks)
        leader_rack: int | None = self._offset
        while (leader := self._racks[leader_rack or 0].next(self._epoch)) is None:
            leader_rack = ((leader_rack or 0) + 1) % len(self._racks)
        placed = [leader]
        rack = self._offset
        while len(placed) < replication_factor:
            if rack == leader_rack:  # it has had its turn in the first round
                leader_rack = None
            elif (follower := self._racks[rack].next(self._epoch)) is not None:
                placed.append(follower)
            rack = (rack + 1) % len(self._racks)
        self._epoch += 1
        self._offset += 1
        return placed
