"""The frame of group records and the short cut for offset commits; Kafka judges bodies in test_against_kafka.py."""

from collections.abc import Callable, Iterator
from contextlib import closing
from uuid import UUID

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from hypothesis import given
from hypothesis import strategies as st

from stoker.errors import MalformedMessage, UnencodableMessage
from stoker.wire.group_records import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue,
    GroupMetadataKey,
    GroupMetadataValue,
    GroupRecord,
    GroupRecordKey,
    GroupRecordValue,
    OffsetCommitKey,
    OffsetCommitValue,
    UnknownGroupRecord,
    decode_group_record,
    encode_key,
    encode_value,
)
from tests.apache_kafka import ApacheKafka
from tests.wire.examples import GROUP_RECORD_VALUES, MessageAndVersion, instances, name_of

TOPIC_ID = UUID("12345678-1234-5678-1234-567812345678")

RECORDS = {
    "offset commit": (
        OffsetCommitKey(group="g", topic="orders", partition=3),
        "0001 0001 67 0006 6f7264657273 00000003",
        OffsetCommitValue(offset=5, leader_epoch=2, metadata="m", commit_timestamp=8, topic_id=TOPIC_ID),
        "0004 0000000000000005 00000002 02 6d 0000000000000008 01 00 10" + TOPIC_ID.hex,
    ),
    "offset commit without a topic id": (
        OffsetCommitKey(group="g", topic="t", partition=0),
        "0001 0001 67 0001 74 00000000",
        OffsetCommitValue(offset=5, commit_timestamp=8),
        "0004 0000000000000005 ffffffff 01 0000000000000008 00",
    ),
    "offset commit that expires": (
        OffsetCommitKey(group="g", topic="t", partition=0),
        "0001 0001 67 0001 74 00000000",
        OffsetCommitValue(offset=5, commit_timestamp=8, expire_timestamp=9),
        "0001 0000000000000005 0000 0000000000000008 0000000000000009",
    ),
    "classic group": (
        GroupMetadataKey(group="g"),
        "0002 0001 67",
        GroupMetadataValue(protocol_type="consumer", generation=1, protocol=None, leader=None),
        "0003 0008 636f6e73756d6572 00000001 ffff ffff ffffffffffffffff 00000000",
    ),
    "consumer group": (
        ConsumerGroupMetadataKey(group_id="g"),
        "0003 0001 67",
        ConsumerGroupMetadataValue(epoch=7, metadata_hash=1),
        "0000 00000007 01 00 08 0000000000000001",
    ),
}


@pytest.mark.parametrize(("key", "encoded_key", "value", "encoded_value"), RECORDS.values(), ids=RECORDS)
def test_frames(key: GroupRecordKey, encoded_key: str, value: GroupRecordValue, encoded_value: str) -> None:
    assert encode_key(key) == bytes.fromhex(encoded_key)
    assert encode_value(value) == bytes.fromhex(encoded_value)
    assert decode_group_record(encode_key(key), encode_value(value)) == GroupRecord(key, value)
    assert decode_group_record(encode_key(key), None) == GroupRecord(key, None)


def test_an_offset_commit_of_the_oldest_kind_is_one_like_any_other() -> None:
    record = decode_group_record(
        bytes.fromhex("0000 0001 67 0001 74 00000003"), bytes.fromhex("0000 0000000000000005 0001 6d 0000000000000008")
    )
    assert record == GroupRecord(
        OffsetCommitKey(group="g", topic="t", partition=3),
        OffsetCommitValue(offset=5, metadata="m", commit_timestamp=8),
    )


def test_a_member_of_the_consumer_protocol_is_told_from_a_classic_one() -> None:
    modern = ConsumerGroupMemberMetadataValue(classic_member_metadata=None)
    classic = ConsumerGroupMemberMetadataValue(classic_member_metadata=ClassicMemberMetadata(session_timeout_ms=1))
    assert encode_value(modern).endswith(bytes.fromhex("01 00 01 00"))
    assert encode_value(classic).endswith(bytes.fromhex("01 00 07 01 00000001 01 00"))


@pytest.mark.parametrize("value_and_version", GROUP_RECORD_VALUES, ids=name_of)
@given(st.data())
def test_values_of_every_version_are_read(value_and_version: MessageAndVersion, data: st.DataObject) -> None:
    value_type, version = value_and_version
    assert issubclass(value_type, GroupRecordValue)
    value = data.draw(instances(value_type, version))
    encoded = version.to_bytes(2, "big") + value.encode(version)
    key = value_type.RECORD_TYPE.to_bytes(2, "big") + bytes(20)
    record = decode_group_record(key, encoded)
    assert isinstance(record, GroupRecord)
    assert record.value == value


metadata = st.text(max_size=130) | st.sampled_from(["m" * 126, "m" * 127, "ü" * 63, "ü" * 64])


@given(
    st.builds(OffsetCommitKey, group=st.text(), topic=st.text(), partition=st.integers(-(2**31), 2**31 - 1)),
    instances(OffsetCommitValue, 4),
    metadata,
)
def test_the_short_cut_for_offset_commits_is_the_schema(
    key: OffsetCommitKey, value: OffsetCommitValue, metadata: str
) -> None:
    value.metadata = metadata
    encoded_key, encoded_value = encode_key(key), encode_value(value)
    assert encoded_key == b"\x00\x01" + key.encode(0)
    assert encoded_value == b"\x00\x04" + value.encode(4)
    assert decode_group_record(encoded_key, encoded_value) == GroupRecord(key, value)
    assert decode_group_record(memoryview(encoded_key), memoryview(encoded_value)) == GroupRecord(key, value)


@given(st.data())
def test_damaged_offset_commits_are_read_as_the_schema_says(data: st.DataObject) -> None:
    key = bytearray(encode_key(OffsetCommitKey(group="group", topic="topic", partition=3)))
    value = bytearray(encode_value(OffsetCommitValue(offset=5, metadata="meta", topic_id=TOPIC_ID)))
    damaged = data.draw(st.sampled_from([key, value]))
    damaged[data.draw(st.integers(2, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    del damaged[data.draw(st.integers(2, len(damaged))) :]
    expected = outcome(lambda: GroupRecord(OffsetCommitKey.decode(key, 2, 0), OffsetCommitValue.decode(value, 2, 4)))
    assert outcome(lambda: decode_group_record(key, value)) == expected


def outcome(decode: Callable[[], object]) -> object:
    try:
        return decode()
    except MalformedMessage as malformed:
        return str(malformed)


UNENCODABLE = {
    "partition": (OffsetCommitKey(partition=2**31), "OffsetCommitKey v0: .*number <= 2147483647"),
    "group": (OffsetCommitKey(group="g" * 40_000), "OffsetCommitKey v0, field group"),
    "no group": (OffsetCommitKey(group=None), "OffsetCommitKey v0, field group"),  # type: ignore[arg-type]
    "offset": (OffsetCommitValue(offset=2**63, topic_id=TOPIC_ID), "OffsetCommitValue v4, field"),
    "no metadata": (OffsetCommitValue(metadata=None), "OffsetCommitValue v4, field metadata"),  # type: ignore[arg-type]
    "half a character": (
        OffsetCommitValue(metadata="\ud800", topic_id=TOPIC_ID),
        "OffsetCommitValue v4, field metadata",
    ),
}


@pytest.mark.parametrize(("message", "reason"), UNENCODABLE.values(), ids=UNENCODABLE)
def test_what_does_not_fit_is_refused(message: GroupRecordKey | GroupRecordValue, reason: str) -> None:
    with pytest.raises(UnencodableMessage, match=reason):
        encode_key(message) if isinstance(message, GroupRecordKey) else encode_value(message)


UNKNOWN = {
    "type": ("0011 0001 67", "0000", UnknownGroupRecord(17, None)),
    "type of a tombstone": ("7fff", None, UnknownGroupRecord(32767, None)),
    "negative type": ("ffff", None, UnknownGroupRecord(-1, None)),
    "version": ("0002 0001 67", "0005", UnknownGroupRecord(2, 5)),
    "negative version": ("0001 0001 67 0001 74 00000000", "ffff", UnknownGroupRecord(1, -1)),
}


@pytest.mark.parametrize(("key", "value", "unknown"), UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_records(key: str, value: str | None, unknown: UnknownGroupRecord) -> None:
    assert decode_group_record(bytes.fromhex(key), None if value is None else bytes.fromhex(value)) == unknown


MALFORMED = {
    "empty key": ("", None, "its key ends too early, after 0 bytes"),
    "half a type": ("00", "0000", "its key ends too early, after 1 bytes"),
    "empty value": ("0002 0001 67", "", "its value ends too early, after 0 bytes"),
    "key": ("0002 0004 67", None, "GroupMetadataKey v0, field group"),
    "value": ("0003 0001 67", "0000 0000", "ConsumerGroupMetadataValue v0, .* ends too early"),
    "null group": ("0001 ffff 0001 74 00000000", None, "OffsetCommitKey v0, field group"),
    "not UTF-8": ("0001 0001 ff 0001 74 00000000", "0004" + 40 * "00", "OffsetCommitKey v0, field group.*UTF-8"),
}


@pytest.mark.parametrize(("key", "value", "reason"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_records(key: str, value: str | None, reason: str) -> None:
    with pytest.raises(MalformedMessage, match=reason):
        decode_group_record(bytes.fromhex(key), None if value is None else bytes.fromhex(value))


@given(st.integers(0, 17), st.binary(max_size=60), st.none() | st.binary(max_size=60))
def test_arbitrary_bytes_are_a_record_or_malformed(record_type: int, key: bytes, value: bytes | None) -> None:
    try:
        record = decode_group_record(record_type.to_bytes(2, "big") + key, value)
    except MalformedMessage:
        return
    assert isinstance(record, GroupRecord | UnknownGroupRecord)


GROUPS = {
    "classic": {},
    "static": {"group.instance.id": "one"},
    "modern": {"group.protocol": "consumer", "client.rack": "a"},
    "pattern": {"group.protocol": "consumer"},
}

PROPERTIES = {
    "offsets.topic.num.partitions": "1",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",  # a member learns at its next heartbeat what it is to read
}


@pytest.mark.java
def test_what_apache_kafka_writes_is_read_and_written_the_same() -> None:
    """Groups of both protocols live and end in a real broker; each of its records is encoded again, byte for byte."""
    with ApacheKafka(properties=PROPERTIES) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        admin.create_topics([NewTopic("orders", 3, 1)])["orders"].result()
        for group, config in GROUPS.items():
            join_and_commit(kafka, group, config)
        admin.delete_consumer_groups(["classic"])["classic"].result()
        written = list(records_of_groups(kafka))
    seen = set()
    for key, value in written:
        record = decode_group_record(key, value)
        assert isinstance(record, GroupRecord)
        assert encode_key(record.key) == key
        assert record.value is None or encode_value(record.value) == value
        seen.add(type(record.value))
    assert seen >= {
        type(None),
        OffsetCommitValue,
        GroupMetadataValue,
        ConsumerGroupMetadataValue,
        ConsumerGroupMemberMetadataValue,
        ConsumerGroupTargetAssignmentMetadataValue,
        ConsumerGroupTargetAssignmentMemberValue,
        ConsumerGroupCurrentMemberAssignmentValue,
        ConsumerGroupRegularExpressionValue,
    }


def join_and_commit(kafka: ApacheKafka, group: str, config: dict[str, str]) -> None:
    settings = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": group, "enable.auto.commit": "false"}
    with closing(Consumer(settings | config)) as consumer:
        consumer.subscribe(["^ord.*"] if group == "pattern" else ["orders"])
        for _ in range(150):
            if consumer.assignment():
                break
            consumer.poll(0.1)
        consumer.commit(offsets=[TopicPartition("orders", 0, 5)], asynchronous=False)


def records_of_groups(kafka: ApacheKafka) -> Iterator[tuple[bytes, bytes | None]]:
    settings = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "reader", "enable.partition.eof": "true"}
    with closing(Consumer(settings)) as consumer:
        consumer.assign([TopicPartition("__consumer_offsets", 0, 0)])
        while (message := consumer.poll(10)) is not None and message.error() is None:
            key, value = message.key(), message.value()
            assert isinstance(key, bytes)
            assert not isinstance(value, str)
            yield key, value
