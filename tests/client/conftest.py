"""The client is judged by Apache Kafka as well as by Stoker."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from stoker.client.admin.topics import create_topic, wait_until
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from tests.backends import Backend


@pytest.fixture
def address(backend: Backend) -> str:
    return backend.bootstrap_servers


@pytest.fixture
def cluster(address: str) -> Iterator[Cluster]:
    with Cluster(client_properties(address)) as connected:
        yield connected


@pytest.fixture
def topic(cluster: Cluster) -> str:
    """A topic of two partitions that nobody else uses."""
    name = f"topic-{uuid4().hex[:8]}"
    create_topic(cluster, name, partitions=2)
    wait_until(cluster, name, lambda topic: topic is not None)
    return name


@pytest.fixture
def records(address: str, topic: str) -> list[int]:
    """The timestamps of the records of partition 0: three, a second apart."""
    timestamps = [1_700_000_000_000, 1_700_000_001_000, 1_700_000_002_000]
    producer = Producer({"bootstrap.servers": address})
    for timestamp in timestamps:
        producer.produce(topic, b"value", partition=0, timestamp=timestamp)
    assert producer.flush(30) == 0
    return timestamps
