"""The requests of a group's member as bytes, and what it needs of the answers; see `canned` for why by hand.

The versions are those that librdkafka sends, or the nearest older ones that say the same.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from side_by_side.canned import Frame, compact, frame, header, uvarint

FETCH, OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 1, 8, 9, 10
JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP, CONSUMER_GROUP_HEARTBEAT = 11, 12, 13, 14, 68
SESSION_TIMEOUT_MS = 45_000
REBALANCE_TIMEOUT_MS = 60_000
GROUP_DIGITS = 4
"""Those of the group's number, which the replaying client writes into an OffsetCommit."""
NULL = b"\xff\xff"


class Answer:
    """Reads an answer (without its length prefix) from front to back."""

    def __init__(self, data: bytes, *, flexible: bool = False) -> None:
        self._data = data
        self._at = 5 if flexible else 4  # behind the correlation id, and the tags of response header v1

    def int8(self) -> int:
        return self._number(">b", 1)

    def int16(self) -> int:
        return self._number(">h", 2)

    def int32(self) -> int:
        return self._number(">i", 4)

    def int64(self) -> int:
        return self._number(">q", 8)

    def string(self) -> str:
        """Empty if it is null."""
        return self.take(self.int16()).decode()

    def blob(self) -> bytes:
        return self.take(self.int32())

    def compact_string(self) -> str:
        return self.take(self.uvarint() - 1).decode()

    def uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def take(self, count: int) -> bytes:
        count = max(0, count)
        self._at += count
        return self._data[self._at - count : self._at]

    def _number(self, form: str, size: int) -> int:
        self._at += size
        return int(struct.unpack_from(form, self._data, self._at - size)[0])


def find_coordinator(group: str) -> bytes:
    return request(FIND_COORDINATOR, 2, string(group) + b"\x00")


# The classic protocol


def join_group(group: str, member_id: str, topic: str) -> bytes:
    """JoinGroup v5 of a consumer that knows the range assignor."""
    subscription = struct.pack(">hi", 0, 1) + string(topic) + struct.pack(">i", -1)
    timeouts = struct.pack(">ii", SESSION_TIMEOUT_MS, REBALANCE_TIMEOUT_MS)
    protocols = struct.pack(">i", 1) + string("range") + blob(subscription)
    return request(JOIN_GROUP, 5, string(group) + timeouts + string(member_id) + NULL + string("consumer") + protocols)


@dataclass(frozen=True, kw_only=True, slots=True)
class Joined:
    error: int
    generation: int
    leader: str
    member_id: str
    members: Sequence[str]


def read_joined(data: bytes) -> Joined:
    answer = Answer(data)
    answer.int32()  # throttle time
    error, generation = answer.int16(), answer.int32()
    answer.string()  # the protocol: range
    leader, member_id = answer.string(), answer.string()
    members = []
    for _ in range(answer.int32()):
        members.append(answer.string())
        answer.string()  # no group instance id
        answer.blob()  # every member has the same subscription
    return Joined(error=error, generation=generation, leader=leader, member_id=member_id, members=members)


def sync_group(
    group: str, generation: int, member_id: str, topic: str, assignments: Mapping[str, Sequence[int]]
) -> bytes:
    """SyncGroup v3; only a leader has assignments to give."""
    given = struct.pack(">i", len(assignments))
    for member, partitions in assignments.items():
        of_topic = string(topic) + struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
        given += string(member) + blob(struct.pack(">hi", 0, 1) + of_topic + struct.pack(">i", -1))
    return request(SYNC_GROUP, 3, _member(group, generation, member_id) + given)


def read_synced(data: bytes) -> tuple[int, list[int]]:
    """Error code and partitions of the one topic."""
    answer = Answer(data)
    answer.int32()
    error = answer.int16()
    if answer.int32() <= 2 or error:
        return error, []
    answer.int16()  # version of the assignment
    if not answer.int32():
        return error, []
    answer.string()
    return error, [answer.int32() for _ in range(answer.int32())]


def heartbeat(group: str, generation: int, member_id: str) -> bytes:
    return request(HEARTBEAT, 3, _member(group, generation, member_id))


def leave_group(group: str, member_id: str) -> bytes:
    return request(LEAVE_GROUP, 1, string(group) + string(member_id))


def read_error(data: bytes) -> int:
    """That of an answer which begins with throttle time and error code: FindCoordinator, Heartbeat, LeaveGroup."""
    return int(struct.unpack_from(">h", data, 8)[0])


# The consumer protocol (KIP-848)


def consumer_heartbeat(
    group: str,
    member_id: str,
    epoch: int,
    *,
    topic: str | None = None,
    owned: tuple[bytes, Sequence[int]] | None = None,
) -> bytes:
    """ConsumerGroupHeartbeat v1: to join with a topic to subscribe to, to tell what is owned, or only to beat."""
    body = compact(group.encode()) + compact(member_id.encode()) + struct.pack(">i", epoch) + b"\x00\x00"
    if topic is None:
        body += struct.pack(">i", -1) + b"\x00"
    else:
        body += struct.pack(">i", REBALANCE_TIMEOUT_MS) + uvarint(2) + compact(topic.encode())
    body += b"\x00\x00"  # no pattern, no wish for an assignor
    if owned is None:
        body += uvarint(1) if topic else b"\x00"  # who joins owns nothing; null means unchanged
    elif not owned[1]:
        body += uvarint(1)
    else:
        topic_id, partitions = owned
        body += uvarint(2) + topic_id + uvarint(len(partitions) + 1)
        body += struct.pack(f">{len(partitions)}i", *partitions) + b"\x00"
    return request(CONSUMER_GROUP_HEARTBEAT, 1, body + b"\x00", flexible=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Beaten:
    """`assigned` is None if nothing changed, else the id of the topic and its partitions."""

    error: int
    message: str
    epoch: int
    assigned: tuple[bytes, list[int]] | None


def read_consumer_heartbeat(data: bytes) -> Beaten:
    answer = Answer(data, flexible=True)
    answer.int32()
    error, message = answer.int16(), answer.compact_string()
    answer.compact_string()  # the member id
    epoch = answer.int32()
    answer.int32()  # the heartbeat interval
    assigned: tuple[bytes, list[int]] | None = None
    if answer.int8() >= 0:
        assigned = (bytes(16), [])
        for _ in range(answer.uvarint() - 1):
            assigned = (answer.take(16), [answer.int32() for _ in range(answer.uvarint() - 1)])
            answer.uvarint()
    return Beaten(error=error, message=message, epoch=epoch, assigned=assigned)


# Offsets and records


def offset_commit(topic: str, *, group_prefix: str, partitions: int) -> Frame:
    """OffsetCommit v9 of one topic by nobody's member; its places: the group's number, the first partition's offset."""
    group = (group_prefix + "0" * GROUP_DIGITS).encode()
    head = header(OFFSET_COMMIT, 9, flexible=True) + compact(group)
    group_at = len(head) - GROUP_DIGITS
    head += struct.pack(">i", -1) + compact(b"") + b"\x00" + uvarint(2) + compact(topic.encode())
    head += uvarint(partitions + 1)
    # partition, offset, leader epoch, empty metadata, no tags
    each = [struct.pack(">iqi", number, 0, -1) + compact(b"") + b"\x00" for number in range(partitions)]
    return frame(head + b"".join(each) + b"\x00\x00", partition_at=group_at, offset_at=len(head) + 4)


def offset_fetch(group: str, topic: str, partitions: Sequence[int]) -> bytes:
    numbers = struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    return request(OFFSET_FETCH, 5, string(group) + struct.pack(">i", 1) + string(topic) + numbers)


def read_offsets(data: bytes) -> dict[int, int]:
    """Committed offsets by partition of the one topic, -1 where there is none."""
    answer = Answer(data)
    answer.int32()
    offsets = {}
    for _ in range(answer.int32()):
        answer.string()
        for _ in range(answer.int32()):
            partition = answer.int32()
            offsets[partition] = answer.int64()
            answer.int32()  # the leader epoch
            answer.string()
            answer.int16()
    return offsets


def read_last_error(data: bytes) -> int:
    """The error code of an OffsetFetch v5 as a whole, which comes last."""
    return int(struct.unpack_from(">h", data, len(data) - 2)[0])


def fetch(topic: str, offsets: Mapping[int, int]) -> bytes:
    """Fetch v11 without a session, of a topic's partitions from given offsets on."""
    # replica, max wait, min bytes, max bytes, isolation level, session id, session epoch, one topic
    body = struct.pack(">iiiibiii", -1, 500, 1, 0x7FFFFFFF, 0, 0, -1, 1) + string(topic)
    body += struct.pack(">i", len(offsets))
    # partition, current leader epoch, fetch offset, log start offset, partition max bytes
    body += b"".join(struct.pack(">iiqqi", each, -1, offset, -1, 1 << 20) for each, offset in offsets.items())
    return request(FETCH, 11, body + struct.pack(">i", 0) + string(""))


def read_fetched_bytes(data: bytes) -> int:
    """How many bytes of records came."""
    answer = Answer(data)
    answer.take(4 + 2 + 4)  # throttle time, error code, session id
    count = 0
    for _ in range(answer.int32()):
        answer.string()
        for _ in range(answer.int32()):
            answer.take(4 + 2 + 8 + 8 + 8)  # partition, error code, high watermark, last stable and log start offset
            answer.take(16 * max(0, answer.int32()))  # aborted transactions
            answer.int32()  # preferred replica
            count += len(answer.blob())
    return count


def string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def blob(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def _member(group: str, generation: int, member_id: str) -> bytes:
    return string(group) + struct.pack(">i", generation) + string(member_id) + NULL


def request(api_key: int, version: int, body: bytes, *, flexible: bool = False) -> bytes:
    return frame(header(api_key, version, flexible=flexible) + body, partition_at=0).data
