"""Two codecs that share nothing with ours read what we write, and write the same bytes.

kio knows every API and version that Stoker declares; kafka-python knows all but telemetry and KIP-848 groups.
"""

import importlib
import io
from typing import Any

import kafka.protocol.admin
import kafka.protocol.consumer
import kafka.protocol.metadata
import kafka.protocol.producer
import kafka.protocol.sasl
import pytest
from kio.serial import entity_reader, entity_writer

from stoker.wire.schema import Message, Request
from tests.wire.examples import MESSAGES, MessageAndVersion, examples_of, name_of

KAFKA_PYTHON: dict[str, Any] = {
    name: value
    for package in ("metadata", "admin", "consumer", "producer", "sasl")
    for name, value in vars(getattr(kafka.protocol, package)).items()
}
UNKNOWN_TO_KAFKA_PYTHON = {
    "ConsumerGroupDescribe",
    "ConsumerGroupHeartbeat",
    "GetTelemetrySubscriptions",
    "PushTelemetry",
    "UnregisterBroker",
}

LARGEST = 100
"""kio has types for times and error codes, which do not take every integer of their width."""


def api_of(message: type[Message]) -> str:
    return message.__name__.removesuffix("Request").removesuffix("Response")


@pytest.mark.parametrize("message_and_version", MESSAGES, ids=name_of)
def test_kio(message_and_version: MessageAndVersion) -> None:
    message, version = message_and_version
    kind = "request" if issubclass(message, Request) else "response"
    module = importlib.import_module(f"kio.schema.{message.__module__.rpartition('.')[2]}.v{version}.{kind}")
    theirs = getattr(module, message.__name__)
    for original in examples_of(message, version, 3, LARGEST):
        encoded = original.encode(version)
        entity, end = entity_reader(theirs)(encoded, 0)
        assert end == len(encoded)
        written = io.BytesIO()
        entity_writer(theirs)(written, entity)
        assert written.getvalue() == encoded


@pytest.mark.parametrize(
    "message_and_version",
    [(message, version) for message, version in MESSAGES if api_of(message) not in UNKNOWN_TO_KAFKA_PYTHON],
    ids=name_of,
)
def test_kafka_python(message_and_version: MessageAndVersion) -> None:
    message, version = message_and_version
    theirs = KAFKA_PYTHON[message.__name__]
    for original in examples_of(message, version, 3, LARGEST):
        if message.__name__ == "ApiVersionsResponse":
            # It takes any response with an error for one of version 0, as a client must.
            original.error_code = 0  # type: ignore[attr-defined]
        encoded = original.encode(version)
        decoded = theirs.decode(encoded, version=version)
        decoded._header = None  # decoding without a header forgets to set it, encoding asks for it
        assert bytes(decoded.encode(version=version)) == encoded
