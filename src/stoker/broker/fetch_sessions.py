"""Fetch sessions (KIP-227): a reader names its partitions once, and later requests and replies carry only changes.

A request's (session id, epoch) says what it wants: (0, -1) no session; (any, 0) a new one; else the next request of
an existing one. A session is the reader's list of partitions with what was last told of each.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Final
from uuid import UUID

from stoker.wire.error_codes import ErrorCode

FINAL_EPOCH: Final = -1
INITIAL_EPOCH: Final = 0
_MAX_EPOCH: Final = 2**31 - 1
_EVICTABLE_AFTER_MS: Final = 120_000
MAX_PARTITIONS: Final = 1_000_000

TopicKey = str | UUID
PartitionKey = tuple[TopicKey, int]


@dataclass(slots=True)
class SessionPartition:
    """One partition of a reader's list: where it reads, and what it was last told."""

    topic: TopicKey
    index: int
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1
    told_high_watermark: int = -1
    told_log_start_offset: int = -1


@dataclass(slots=True)
class FetchSession:
    id: int
    epoch: int
    last_used_ms: int
    partitions: OrderedDict[PartitionKey, SessionPartition] = field(default_factory=OrderedDict)

    def next_epoch(self) -> None:
        """Epochs run 1, 2, ... and start over at 1."""
        self.epoch = 1 if self.epoch == _MAX_EPOCH else self.epoch + 1

    def update(self, wanted: list[SessionPartition], forgotten: Iterable[PartitionKey]) -> None:
        """Apply a request's changes: partitions to add or move, and those to forget."""
        for partition in wanted:
            key = (partition.topic, partition.index)
            known = self.partitions.get(key)
            if known is None:
                self.partitions[key] = partition
            else:
                known.fetch_offset = partition.fetch_offset
                known.max_bytes = partition.max_bytes
                known.current_leader_epoch = partition.current_leader_epoch
                known.last_fetched_epoch = partition.last_fetched_epoch
        for key in forgotten:
            self.partitions.pop(key, None)

    def served(self, key: PartitionKey) -> None:
        """Those that were served go to the back, so that a busy partition cannot starve the others."""
        if key in self.partitions:  # another request of the session may have forgotten it meanwhile
            self.partitions.move_to_end(key)


class FetchSessions:
    """At most `slots` sessions. A full house refuses new ones unless one has been idle for two minutes.

    All together remember at most `MAX_PARTITIONS` partitions, which exist or not: the client says which it wants.
    """

    def __init__(self, slots: int, random: Random) -> None:
        self._slots = slots
        self._random = random
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()  # the one idle longest first
        self._partitions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, partitions: list[SessionPartition], now_ms: int) -> FetchSession | None:
        """A new session over `partitions`, its first epoch 1; None when there is no slot (the reader goes without)."""
        if len(self._sessions) >= self._slots:
            oldest = next(iter(self._sessions.values()), None)
            if oldest is None or now_ms - oldest.last_used_ms < _EVICTABLE_AFTER_MS:
                return None
            self.close(oldest.id)
        identifier = self._random.randint(1, _MAX_EPOCH)
        while identifier in self._sessions:
            identifier = self._random.randint(1, _MAX_EPOCH)
        session = FetchSession(identifier, 1, now_ms)
        self._sessions[identifier] = session
        return session if self._update(session, partitions, ()) else None

    def resume(
        self,
        session_id: int,
        epoch: int,
        now_ms: int,
        *,
        wanted: list[SessionPartition],
        forgotten: Iterable[PartitionKey] = (),
    ) -> FetchSession | ErrorCode:
        """The session for its next request, with that one's changes and the next epoch.

        Or the error that makes the reader start a new one.
        """
        session = self._sessions.get(session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        session.next_epoch()
        session.last_used_ms = now_ms
        self._sessions.move_to_end(session_id)
        return session if self._update(session, wanted, forgotten) else ErrorCode.FETCH_SESSION_ID_NOT_FOUND

    def close(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._partitions -= len(session.partitions)

    def _update(self, session: FetchSession, wanted: list[SessionPartition], forgotten: Iterable[PartitionKey]) -> bool:
        """False, and the session is gone, when there are too many partitions now."""
        self._partitions -= len(session.partitions)
        session.update(wanted, forgotten)
        self._partitions += len(session.partitions)
        if self._partitions > MAX_PARTITIONS:
            self.close(session.id)
            return False
        return True
