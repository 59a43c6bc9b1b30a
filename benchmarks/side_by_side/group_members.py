"""Many members of one group in one thread, each a script of requests, so that the broker is what is measured.

They speak the protocol themselves: a hundred members of librdkafka would be four hundred threads on the broker's cores.
A member beats its heart `PAUSE_SECONDS` after the last answer rather than every 3 or 5 s: how soon it hears of a
rebalance is then the broker's doing, not its own.
"""

import heapq
import itertools
import selectors
import socket
import struct
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from side_by_side import group_requests as requests
from side_by_side.processes import LoadFailed

PAUSE_SECONDS = 0.01
GIVE_UP_SECONDS = 60.0
COORDINATOR_NOT_AVAILABLE = 15
NOT_READY = (14, COORDINATOR_NOT_AVAILABLE, 16)  # loading, not available, not the coordinator
REBALANCE_IN_PROGRESS, MEMBER_ID_REQUIRED = 27, 79
LEAVING = -1

Script = Generator[bytes | float, bytes, None]
"""Yields a request, to be sent its answer, or a number of seconds to pause."""


@dataclass(eq=False, kw_only=True, slots=True)
class Member:
    """What one member knows. `partitions` are those it holds; times are of the monotonic clock, 0 until it happens."""

    group: str
    topic: str
    reads: bool = False
    partitions: Sequence[int] = ()
    generation: int = 0
    joining_at: float = 0.0
    first_record_at: float = 0.0
    is_leaving: bool = False
    leaving_at: float = 0.0


def classic(member: Member, partition_count: int) -> Script:
    """A member of the classic protocol with eager rebalances; whoever leads gives out even ranges."""
    member_id = ""
    member.joining_at = time.monotonic()
    while True:
        joined = requests.read_joined((yield requests.join_group(member.group, member_id, member.topic)))
        member_id = joined.member_id or member_id
        if joined.error in (MEMBER_ID_REQUIRED, REBALANCE_IN_PROGRESS):
            continue
        _check(joined.error, "JoinGroup")
        assignments = even_ranges(sorted(joined.members), partition_count) if joined.leader == member_id else {}
        error, partitions = requests.read_synced(
            (yield requests.sync_group(member.group, joined.generation, member_id, member.topic, assignments))
        )
        if error == REBALANCE_IN_PROGRESS:
            continue
        _check(error, "SyncGroup")
        member.partitions, member.generation = partitions, joined.generation
        yield from _read_first_record(member)
        while not member.is_leaving:
            yield PAUSE_SECONDS
            error = requests.read_error((yield requests.heartbeat(member.group, joined.generation, member_id)))
            if error == REBALANCE_IN_PROGRESS:
                break
            _check(error, "Heartbeat")
        else:
            member.leaving_at = time.monotonic()
            _check(requests.read_error((yield requests.leave_group(member.group, member_id))), "LeaveGroup")
            return


def consumer(member: Member, partition_count: int) -> Script:
    """A member of the consumer protocol (KIP-848), which gives up what it is told to at once."""
    del partition_count  # the broker assigns
    member_id = str(uuid.uuid4())
    member.joining_at = time.monotonic()
    request = requests.consumer_heartbeat(member.group, member_id, 0, topic=member.topic)
    while not member.is_leaving:
        beaten = requests.read_consumer_heartbeat((yield request))
        _check(beaten.error, f"ConsumerGroupHeartbeat ({beaten.message})")
        member.generation = beaten.epoch
        if beaten.assigned is None:
            yield PAUSE_SECONDS
        else:
            member.partitions = beaten.assigned[1]
            yield from _read_first_record(member)
        request = requests.consumer_heartbeat(member.group, member_id, beaten.epoch, owned=beaten.assigned)
    member.leaving_at = time.monotonic()
    left = requests.read_consumer_heartbeat((yield requests.consumer_heartbeat(member.group, member_id, LEAVING)))
    _check(left.error, "ConsumerGroupHeartbeat")


PROTOCOLS: dict[str, Callable[[Member, int], Script]] = {"classic": classic, "consumer": consumer}


def even_ranges(members: Sequence[str], partition_count: int) -> dict[str, range]:
    """Partitions 0 to `partition_count` in ranges whose lengths differ by one at most."""
    share, more = divmod(partition_count, len(members))
    ends = itertools.accumulate(share + (number < more) for number in range(len(members)))
    starts = itertools.chain([0], ends)
    return {member: range(start, end) for member, (start, end) in zip(members, itertools.pairwise(starts), strict=True)}


def is_settled(members: Iterable[Member], partition_count: int) -> bool:
    """Whether each partition has one holder, no member has two more than another, and all are of one generation."""
    members = list(members)
    held = [partition for member in members for partition in member.partitions]
    counts = [len(member.partitions) for member in members]
    return (
        len(held) == len(set(held)) == partition_count
        and max(counts) - min(counts) <= 1
        and len({member.generation for member in members}) == 1
    )


def await_coordinator(group: str) -> Script:
    """To be run before any member: Kafka makes the log of offsets when it is first asked for, then loads it."""
    while requests.read_error((yield requests.find_coordinator(group))) == COORDINATOR_NOT_AVAILABLE:
        yield PAUSE_SECONDS
    while requests.read_last_error((yield requests.offset_fetch(group, "", ()))) in NOT_READY:
        yield PAUSE_SECONDS


def _read_first_record(member: Member) -> Script:
    if not member.reads or member.first_record_at or not member.partitions:
        return
    committed = requests.read_offsets((yield requests.offset_fetch(member.group, member.topic, member.partitions)))
    offsets = {partition: max(0, offset) for partition, offset in committed.items()}
    while not requests.read_fetched_bytes((yield requests.fetch(member.topic, offsets))):
        pass
    member.first_record_at = time.monotonic()


def _check(error: int, what: str) -> None:
    if error:
        raise LoadFailed(f"{what} answered with error code {error}")


@dataclass(eq=False, slots=True)
class _Connection:
    socket: socket.socket
    script: Script
    received: bytearray = field(default_factory=bytearray)


class Crowd:
    """Runs scripts, each on a connection of its own, in one thread; use it as a context manager."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._selector = selectors.DefaultSelector()
        self._pauses: list[tuple[float, int, _Connection]] = []
        self._numbers = itertools.count()
        self._connections: list[_Connection] = []
        self._running = 0

    def __enter__(self) -> "Crowd":
        return self

    def __exit__(self, *_: Any) -> None:
        for connection in self._connections:
            connection.socket.close()
        self._selector.close()

    def start(self, scripts: Iterable[Script]) -> None:
        """Connect for all of them, then begin them all."""
        new = [_Connection(socket.create_connection(("127.0.0.1", self._port)), script) for script in scripts]
        for connection in new:
            connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(connection.socket, selectors.EVENT_READ, connection)
        self._connections += new
        self._running += len(new)
        for connection in new:
            self._advance(connection, None)

    def run_until(self, done: Callable[[], bool], what: str) -> None:
        """Run the scripts until `done`, which is asked whenever any of them got an answer."""
        deadline = time.monotonic() + GIVE_UP_SECONDS
        while not done():
            if time.monotonic() > deadline:
                raise LoadFailed(f"{what} took more than {GIVE_UP_SECONDS:.0f} s")
            self._step()

    def run_to_the_end(self) -> None:
        self.run_until(lambda: not self._running, "the end of all members")

    def _step(self) -> None:
        timeout = self._pauses[0][0] - time.monotonic() if self._pauses else GIVE_UP_SECONDS
        for key, _ in self._selector.select(max(0.0, timeout)):
            self._receive(key.data)
        now = time.monotonic()
        while self._pauses and self._pauses[0][0] <= now:
            self._advance(heapq.heappop(self._pauses)[2], None)

    def _receive(self, connection: _Connection) -> None:
        data = connection.socket.recv(1 << 20)
        if not data:
            raise LoadFailed("the broker closed the connection of a member")
        received = connection.received
        received += data
        if len(received) >= 4:
            (length,) = struct.unpack_from(">i", received)
            if len(received) >= 4 + length:  # one request at a time, so there is nothing behind it
                answer = bytes(received[4:])
                received.clear()
                self._advance(connection, answer)

    def _advance(self, connection: _Connection, answer: bytes | None) -> None:
        try:
            wanted = next(connection.script) if answer is None else connection.script.send(answer)
        except StopIteration:
            self._running -= 1
            return
        if isinstance(wanted, bytes):
            connection.socket.sendall(wanted)
        else:
            heapq.heappush(self._pauses, (time.monotonic() + wanted, next(self._numbers), connection))
