"""The blobs of classic consumer groups: by property, against kio and kafka-python, and at their edges.

Kafka itself judges them in test_against_kafka.py.
"""

import importlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment as KafkaPythonAssignment
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription as KafkaPythonSubscription
from kio.serial import entity_reader, entity_writer

from stoker.errors import MalformedMessage, UnencodableMessage
from stoker.wire.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolMessage,
    ConsumerProtocolSubscription,
    TopicPartitions,
)
from tests.wire.examples import CONSUMER_PROTOCOL, MessageAndVersion, examples_of, instances, name_of

MESSAGES: list[type[ConsumerProtocolMessage]] = [ConsumerProtocolSubscription, ConsumerProtocolAssignment]


@pytest.mark.parametrize("message_and_version", CONSUMER_PROTOCOL, ids=name_of)
@given(st.data())
def test_round_trip(message_and_version: MessageAndVersion, data: st.DataObject) -> None:
    message, version = message_and_version
    assert issubclass(message, ConsumerProtocolMessage)
    original = data.draw(instances(message, version))
    encoded = original.to_bytes(version)
    assert message.from_bytes(encoded) == original
    assert message.from_bytes(memoryview(encoded + b"more")) == original


@pytest.mark.parametrize("message_and_version", CONSUMER_PROTOCOL, ids=name_of)
def test_kio_reads_and_writes_the_same(message_and_version: MessageAndVersion) -> None:
    message, version = message_and_version
    module = "consumer_protocol_" + message.__name__.removeprefix("ConsumerProtocol").lower()
    theirs = getattr(importlib.import_module(f"kio.schema.{module}.v{version}.data"), message.__name__)
    for original in examples_of(message, version, 5):
        encoded = original.encode(version)
        entity, end = entity_reader(theirs)(encoded, 0)
        assert end == len(encoded)
        written = io.BytesIO()
        entity_writer(theirs)(written, entity)
        assert written.getvalue() == encoded


@pytest.mark.parametrize("message_and_version", CONSUMER_PROTOCOL, ids=name_of)
def test_kafka_python_reads_and_writes_the_same(message_and_version: MessageAndVersion) -> None:
    message, version = message_and_version
    theirs = {
        ConsumerProtocolSubscription: KafkaPythonSubscription,
        ConsumerProtocolAssignment: KafkaPythonAssignment,
    }[message]
    for original in examples_of(message, version, 5):
        assert isinstance(original, ConsumerProtocolMessage)
        encoded = original.to_bytes(version)
        assert bytes(theirs.decode(encoded).encode(version=version)) == encoded


def test_the_latest_version_is_written() -> None:
    subscription = ConsumerProtocolSubscription(
        topics=["t"], owned_partitions=[TopicPartitions(topic="t", partitions=[7])], generation_id=3, rack_id="r"
    )
    assert subscription.to_bytes() == bytes.fromhex(
        "0003 00000001 000174 ffffffff 00000001 000174 00000001 00000007 00000003 000172"
    )


@pytest.mark.parametrize("message", MESSAGES)
def test_a_newer_version_is_read_as_the_newest_known(message: type[ConsumerProtocolMessage]) -> None:
    (original,) = examples_of(message, message.MAX_VERSION, 1)
    newer = (message.MAX_VERSION + 5).to_bytes(2, "big") + original.encode(message.MAX_VERSION) + b"what it added"
    assert message.from_bytes(newer) == original


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize(
    ("encoded", "reason"),
    [
        ("", "ends too early, after 0 bytes"),
        ("00", "ends too early, after 1 bytes"),
        ("ffff 00000000 ffffffff", "has version -1, not 0 or later"),
        ("0000 00000001", "v0, field"),
        ("0000 00000000 00000004", "v0, field user_data"),
    ],
)
def test_malformed_blobs(message: type[ConsumerProtocolMessage], encoded: str, reason: str) -> None:
    with pytest.raises(MalformedMessage, match=f"{message.__name__}.*{reason}"):
        message.from_bytes(bytes.fromhex(encoded))


def test_versions_that_do_not_exist_are_not_written() -> None:
    with pytest.raises(UnencodableMessage, match="versions 0-3, not 4"):
        ConsumerProtocolAssignment().to_bytes(4)


@given(st.sampled_from(MESSAGES), st.binary(max_size=60))
def test_arbitrary_bytes_are_a_message_or_malformed(message: type[ConsumerProtocolMessage], data: bytes) -> None:
    try:
        decoded = message.from_bytes(b"\x00" + data)
    except MalformedMessage:
        return
    assert isinstance(decoded, message)
