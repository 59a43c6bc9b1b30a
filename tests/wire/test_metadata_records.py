"""The frame of metadata records; their bodies are judged by Kafka in test_against_kafka.py."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.errors import MalformedMessage
from stoker.wire.metadata_records import (
    FeatureLevelRecord,
    MetadataRecord,
    NoOpRecord,
    TopicRecord,
    UnknownRecord,
    decode_record,
    encode_record,
)
from tests.wire.examples import METADATA_RECORDS, MessageAndVersion, examples_of, name_of

TOPIC_ID = UUID("12345678-1234-5678-1234-567812345678")
RECORDS = {
    "topic": (TopicRecord(name="orders", topic_id=TOPIC_ID), "01 02 00 07 6f7264657273" + TOPIC_ID.hex + "00"),
    "feature": (
        FeatureLevelRecord(name="kraft.version", feature_level=1),
        "01 0c 00 0e 6b726166742e76657273696f6e 0001 00",
    ),
    "nothing": (NoOpRecord(), "01 14 00 00"),
}


@pytest.mark.parametrize(("record", "encoded"), RECORDS.values(), ids=RECORDS)
def test_frames(record: MetadataRecord, encoded: str) -> None:
    assert encode_record(record) == bytes.fromhex(encoded)
    assert decode_record(bytes.fromhex(encoded)) == record


@pytest.mark.parametrize("record_and_version", METADATA_RECORDS, ids=name_of)
def test_round_trip(record_and_version: MessageAndVersion) -> None:
    record_type, version = record_and_version
    for record in examples_of(record_type, version, 3):
        assert isinstance(record, MetadataRecord)
        assert decode_record(memoryview(encode_record(record, version))) == record


UNKNOWN = {"type": ("01 7f 00 00", UnknownRecord(127, 0)), "version": ("01 02 09 00", UnknownRecord(2, 9))}


@pytest.mark.parametrize(("encoded", "unknown"), UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_records(encoded: str, unknown: UnknownRecord) -> None:
    assert decode_record(bytes.fromhex(encoded)) == unknown


MALFORMED = {
    "empty": ("", "frame ends too early, after 0 bytes"),
    "no version": ("01 02", "frame ends too early, after 2 bytes"),
    "frame version": ("02 02 00", "has frame version 2, not 1"),
    "varint": ("01 ffffffffffff", "frame is a varint of more than 5 bytes"),
    "body": ("01 02 00 07 6f72", "TopicRecord v0, field name"),
}


@pytest.mark.parametrize(("encoded", "reason"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_records(encoded: str, reason: str) -> None:
    with pytest.raises(MalformedMessage, match=reason):
        decode_record(bytes.fromhex(encoded))


@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_a_record_or_malformed(data: bytes) -> None:
    try:
        record = decode_record(b"\x01" + data)
    except MalformedMessage:
        return
    assert isinstance(record, MetadataRecord | UnknownRecord)
