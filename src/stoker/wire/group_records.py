"""Records of `__consumer_offsets`, in Kafka's own format: what consumer groups and their committed offsets are made of.

A key starts with the record's type and a value with its version, each an int16; then follows a body like that of any other
message. A record without a value takes away what its key names. Kafka's `OffsetsMessageFormatter` and
`GroupMetadataMessageFormatter` read what is written here, and Kafka 4.3 would load it.
"""

from functools import lru_cache
from struct import Struct as Layout
from struct import error as struct_error
from typing import ClassVar, NamedTuple
from uuid import UUID

from stoker.errors import MalformedMessage
from stoker.wire.primitives import uuid_from_bytes
from stoker.wire.schema import Buffer, Message, Struct, array, blob, int8, int32, int64, nested, string, uuid

_INT16 = Layout(">h")
_INT32 = Layout(">i")
_KEY_VERSION = 0


class GroupRecordKey(Message):
    """What a record is about."""

    RECORD_TYPE: ClassVar[int]

    def __init_subclass__(cls, *, record_type: int) -> None:
        super().__init_subclass__(versions="0")
        cls.RECORD_TYPE = record_type
        KEY_TYPES[record_type] = cls


class GroupRecordValue(Message):
    """What is now true of it."""

    RECORD_TYPE: ClassVar[int]
    WRITTEN_VERSION: ClassVar[int]
    """The version that Kafka 4.3 writes, which need not be the newest it can read."""

    def __init_subclass__(cls, *, record_type: int, versions: str, flexible: str, written: int) -> None:
        super().__init_subclass__(versions=versions, flexible=flexible)
        cls.RECORD_TYPE = record_type
        cls.WRITTEN_VERSION = written
        VALUE_TYPES[record_type] = cls


KEY_TYPES: dict[int, type[GroupRecordKey]] = {}
VALUE_TYPES: dict[int, type[GroupRecordValue]] = {}


class GroupRecord(NamedTuple):
    """A change of a group; without a value it takes away what the key names."""

    key: GroupRecordKey
    value: GroupRecordValue | None


class UnknownGroupRecord(NamedTuple):
    """A record of a type or version that Stoker does not know: to be skipped, or reported, but never guessed at.

    `version` is None where the type is unknown already.
    """

    record_type: int
    version: int | None


class OffsetCommitKey(GroupRecordKey, record_type=1):
    group: str = string("0+")
    topic: str = string("0+")
    partition: int = int32("0+")


class OffsetCommitValue(GroupRecordValue, record_type=1, versions="0-4", flexible="4+", written=4):
    offset: int = int64("0+")
    leader_epoch: int = int32("3+", default=-1)
    metadata: str = string("0+")
    commit_timestamp: int = int64("0+")
    expire_timestamp: int = int64("1", default=-1)
    topic_id: UUID = uuid("4+", tag=0)


class GroupMetadataKey(GroupRecordKey, record_type=2):
    group: str = string("0+")


class MemberMetadata(Struct):
    member_id: str = string("0+")
    group_instance_id: str | None = string("3+", nullable="3+", default=None)
    client_id: str = string("0+")
    client_host: str = string("0+")
    rebalance_timeout: int = int32("1+", default=-1)
    session_timeout: int = int32("0+")
    subscription: bytes = blob("0+")
    assignment: bytes = blob("0+")


class GroupMetadataValue(GroupRecordValue, record_type=2, versions="0-4", flexible="4+", written=3):
    protocol_type: str = string("0+")
    generation: int = int32("0+")
    protocol: str | None = string("0+", nullable="0+")
    leader: str | None = string("0+", nullable="0+")
    current_state_timestamp: int = int64("2+", default=-1)
    members: list[MemberMetadata] = array(MemberMetadata, "0+")


class ConsumerGroupMetadataKey(GroupRecordKey, record_type=3):
    group_id: str = string("0+")


class ConsumerGroupMetadataValue(GroupRecordValue, record_type=3, versions="0", flexible="0+", written=0):
    epoch: int = int32("0+")
    metadata_hash: int = int64("0+", tag=0)


class ConsumerGroupPartitionMetadataKey(GroupRecordKey, record_type=4):
    """Kafka 4.1 put the metadata hash in its place (KIP-1101); since then only its tombstone is written."""

    group_id: str = string("0+")


class PartitionMetadata(Struct):
    partition: int = int32("0+")
    racks: list[str] = array(string, "0+")


class TopicMetadata(Struct):
    topic_id: UUID = uuid("0+")
    topic_name: str = string("0+")
    num_partitions: int = int32("0+")
    partition_metadata: list[PartitionMetadata] = array(PartitionMetadata, "0+")


class ConsumerGroupPartitionMetadataValue(GroupRecordValue, record_type=4, versions="0", flexible="0+", written=0):
    topics: list[TopicMetadata] = array(TopicMetadata, "0+")


class ConsumerGroupMemberMetadataKey(GroupRecordKey, record_type=5):
    group_id: str = string("0+")
    member_id: str = string("0+")


class ClassicProtocol(Struct):
    name: str = string("0+")
    metadata: bytes = blob("0+")


class ClassicMemberMetadata(Struct):
    session_timeout_ms: int = int32("0+")
    supported_protocols: list[ClassicProtocol] = array(ClassicProtocol, "0+")


class ConsumerGroupMemberMetadataValue(GroupRecordValue, record_type=5, versions="0", flexible="0+", written=0):
    """`classic_member_metadata` is None for a member that speaks the consumer protocol, and that has to be said:
    where nothing is said, in a record as in this constructor, it is an empty one, as in Kafka.
    """

    instance_id: str | None = string("0+", nullable="0+")
    rack_id: str | None = string("0+", nullable="0+")
    client_id: str = string("0+")
    client_host: str = string("0+")
    subscribed_topic_names: list[str] = array(string, "0+")
    subscribed_topic_regex: str | None = string("0+", nullable="0+")
    rebalance_timeout_ms: int = int32("0+", default=-1)
    server_assignor: str | None = string("0+", nullable="0+")
    classic_member_metadata: ClassicMemberMetadata | None = nested(ClassicMemberMetadata, "0+", nullable="0+", tag=0)


class ConsumerGroupTargetAssignmentMetadataKey(GroupRecordKey, record_type=6):
    group_id: str = string("0+")


class ConsumerGroupTargetAssignmentMetadataValue(
    GroupRecordValue, record_type=6, versions="0", flexible="0+", written=0
):
    assignment_epoch: int = int32("0+")
    assignment_timestamp: int = int64("0+", tag=0)


class ConsumerGroupTargetAssignmentMemberKey(GroupRecordKey, record_type=7):
    group_id: str = string("0+")
    member_id: str = string("0+")


class TargetTopicPartitions(Struct):
    topic_id: UUID = uuid("0+")
    partitions: list[int] = array(int32, "0+")


class ConsumerGroupTargetAssignmentMemberValue(GroupRecordValue, record_type=7, versions="0", flexible="0+", written=0):
    topic_partitions: list[TargetTopicPartitions] = array(TargetTopicPartitions, "0+")


class ConsumerGroupCurrentMemberAssignmentKey(GroupRecordKey, record_type=8):
    group_id: str = string("0+")
    member_id: str = string("0+")


class CurrentTopicPartitions(Struct):
    """`assignment_epochs`, if there are any, tell for each partition the epoch that gave it to the member (KIP-1251)."""

    topic_id: UUID = uuid("0+")
    partitions: list[int] = array(int32, "0+")
    assignment_epochs: list[int] | None = array(int32, "0+", nullable="0+", tag=0)


class ConsumerGroupCurrentMemberAssignmentValue(
    GroupRecordValue, record_type=8, versions="0", flexible="0+", written=0
):
    member_epoch: int = int32("0+")
    previous_member_epoch: int = int32("0+")
    state: int = int8("0+")
    assigned_partitions: list[CurrentTopicPartitions] = array(CurrentTopicPartitions, "0+")
    partitions_pending_revocation: list[CurrentTopicPartitions] = array(CurrentTopicPartitions, "0+")


class ConsumerGroupRegularExpressionKey(GroupRecordKey, record_type=16):
    group_id: str = string("0+")
    regular_expression: str = string("0+")


class ConsumerGroupRegularExpressionValue(GroupRecordValue, record_type=16, versions="0", flexible="0+", written=0):
    topics: list[str] = array(string, "0+")
    version: int = int64("0+")
    timestamp: int = int64("0+")


_LEGACY_OFFSET_COMMIT = 0
"""The type of an offset commit before Kafka 0.9: read like one of today, never written."""
KEY_TYPES[_LEGACY_OFFSET_COMMIT] = OffsetCommitKey
VALUE_TYPES[_LEGACY_OFFSET_COMMIT] = OffsetCommitValue

_VERSION_WITH_EXPIRY = 1
"""The only version of an offset commit that can tell when it expires."""


def encode_key(key: GroupRecordKey) -> bytes:
    """The key of a log record. Raises UnencodableMessage."""
    out = bytearray(_INT16.pack(key.RECORD_TYPE))
    key.encode_into(out, _KEY_VERSION)
    return bytes(out)


def encode_value(value: GroupRecordValue) -> bytes:
    """The value of a log record, in the version that Kafka 4.3 would write. Raises UnencodableMessage."""
    version = value.WRITTEN_VERSION
    if isinstance(value, OffsetCommitValue) and value.expire_timestamp != -1:
        version = _VERSION_WITH_EXPIRY
    out = bytearray(_INT16.pack(version))
    value.encode_into(out, version)
    return bytes(out)


def decode_group_record(key: Buffer, value: Buffer | None) -> GroupRecord | UnknownGroupRecord:
    """The record that a log record carries. Raises only MalformedMessage."""
    if value is not None and (quickly := _decode_offset_commit(key, value)):
        return quickly
    record_type = _first_int16(key, "key")
    key_class = KEY_TYPES.get(record_type)
    if key_class is None:
        return UnknownGroupRecord(record_type, None)
    decoded_key = key_class.decode(key, 2, _KEY_VERSION)
    if value is None:
        return GroupRecord(decoded_key, None)
    version = _first_int16(value, "value")
    value_class = VALUE_TYPES[record_type]
    if not value_class.MIN_VERSION <= version <= value_class.MAX_VERSION:
        return UnknownGroupRecord(record_type, version)
    return GroupRecord(decoded_key, value_class.decode(value, 2, version))


def _first_int16(data: Buffer, what: str) -> int:
    if len(data) < 2:
        raise MalformedMessage(f"group record: its {what} ends too early, after {len(data)} bytes")
    number: int = _INT16.unpack_from(data)[0]
    return number


# Nearly all records are offset commits as Kafka 4.3 writes them, and a broker that starts reads millions. What follows
# reads exactly these, in two thirds of the time; anything else it leaves, with None, to the codecs made from the schema.

_OFFSET_COMMIT = _INT16.pack(OffsetCommitKey.RECORD_TYPE)
BEFORE_METADATA = Layout(">hqiB")
"""Version, offset and leader epoch of a committed offset, and in one byte how long its metadata is, and one more."""
_METADATA_START = BEFORE_METADATA.size
AFTER_METADATA = Layout(">q3s16s")
TAGGED_TOPIC_ID = bytes((1, 0, 16))
"""One tagged field, of tag 0 and with so many bytes."""


def _decode_offset_commit(key: Buffer, value: Buffer) -> GroupRecord | None:
    if key[:2] != _OFFSET_COMMIT:
        return None
    try:
        version, offset, leader_epoch, length = BEFORE_METADATA.unpack_from(value)
        end = _METADATA_START + length - 1
        commit_timestamp, tagged, topic_id = AFTER_METADATA.unpack_from(value, end)
        names = _group_and_topic(bytes(key[2:-4]))
        metadata = str(value[_METADATA_START:end], "utf-8")
        (partition,) = _INT32.unpack_from(key, len(key) - 4)
    except (ValueError, struct_error):
        return None
    written_so = version == OffsetCommitValue.WRITTEN_VERSION and 0 < length < 128 and tagged == TAGGED_TOPIC_ID
    if not written_so or names is None or end + AFTER_METADATA.size != len(value):
        return None
    # Like the codecs made from the schema, it does without the constructors, which would take a third of the time.
    decoded_key = OffsetCommitKey.__new__(OffsetCommitKey)
    decoded_key.group, decoded_key.topic = names
    decoded_key.partition = partition
    decoded_value = OffsetCommitValue.__new__(OffsetCommitValue)
    decoded_value.offset = offset
    decoded_value.leader_epoch = leader_epoch
    decoded_value.metadata = metadata
    decoded_value.commit_timestamp = commit_timestamp
    decoded_value.expire_timestamp = -1
    decoded_value.topic_id = uuid_from_bytes(topic_id)
    return GroupRecord(decoded_key, decoded_value)


@lru_cache(maxsize=4096)
def _group_and_topic(raw: bytes) -> tuple[str, str] | None:
    """Remembered, so that the commits of a group share their names in memory too."""
    if len(raw) < 4:
        return None
    (group_length,) = _INT16.unpack_from(raw)
    if not 0 <= group_length <= len(raw) - 4:
        return None
    (topic_length,) = _INT16.unpack_from(raw, 2 + group_length)
    if 4 + group_length + topic_length != len(raw):
        return None
    return str(raw[2 : 2 + group_length], "utf-8"), str(raw[4 + group_length :], "utf-8")
