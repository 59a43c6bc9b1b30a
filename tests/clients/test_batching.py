"""What a producer's settings make of many small records on their way to the broker."""

import base64
import struct
import time
from collections.abc import Iterator

import pytest

from tests.clients.client import fresh_topic
from tests.clients.connection import Connection
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.drivers.java import JavaClients

KEYS = [base64.b64encode(b"%04d" % number * 75).decode() for number in range(200)]
"""Records of 300 bytes each."""


def batch_sizes(log: bytes) -> Iterator[int]:
    """The bytes of each batch."""
    while log:
        [length] = struct.unpack_from(">i", log, 8)
        yield 12 + length
        log = log[12 + length :]


@pytest.mark.acceptance("B058")
@pytest.mark.java
def test_batches_grow_with_linger_and_batch_size(
    java: JavaClients, confluent: ConfluentKafka, broker_address: str
) -> None:
    """200 records in 200 batches, or after 300 ms of linger.ms in a few of 16 KB, or in one or two of 64 KB, or of less when compressed."""

    def sent(**settings: str) -> tuple[list[int], float]:
        topic = fresh_topic("batches")
        confluent.create_ready_topic(topic)
        named = {name.replace("_", "."): value for name, value in settings.items()}
        start = time.monotonic()
        java.call("produce_by_key", topic=topic, keys=KEYS, settings=named)
        with Connection(broker_address, topic) as connection:
            return list(batch_sizes(connection.fetch(topic, 0))), time.monotonic() - start

    single, _ = sent(batch_size="0", linger_ms="0")
    assert len(single) == len(KEYS)
    default, _ = sent(batch_size="16384", linger_ms="300")
    assert 4 <= len(default) < 20
    large, seconds = sent(batch_size="65536", linger_ms="300")
    assert len(large) <= 2
    assert max(single) < max(default) <= 16384 < max(large)
    assert sum(large) < sum(single)
    assert seconds > 0.3
    compressed, _ = sent(batch_size="65536", linger_ms="300", compression_type="lz4")
    assert sum(compressed) < sum(large) / 4
