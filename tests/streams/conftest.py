"""What the tests of streams share: Kafka Streams itself, to be compared with."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.streams.kafka_streams import KafkaStreamsPeer


@pytest.fixture(scope="session")
def kafka_streams() -> Iterator[KafkaStreamsPeer]:
    """For tests that are marked `java`."""
    with closing(KafkaStreamsPeer()) as peer:
        yield peer
