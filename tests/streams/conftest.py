"""What the tests of streams share: a broker, a registry, and Kafka Streams itself, to be compared with."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.backends import Backend
from tests.registry.registry_process import RegistryProcess
from tests.streams.kafka_streams import KafkaStreamsPeer
from tests.streams.records import Records


@pytest.fixture(scope="session")
def kafka_streams() -> Iterator[KafkaStreamsPeer]:
    """For tests that are marked `java`."""
    with closing(KafkaStreamsPeer()) as peer:
        yield peer


@pytest.fixture(scope="session")
def broker(backend: Backend) -> str:
    """The address of a cluster, for all tests that use topics of their own."""
    return backend.bootstrap_servers


@pytest.fixture(scope="session")
def registry(broker: str) -> Iterator[RegistryProcess]:
    """A schema registry on that cluster, for subjects of the test's own."""
    with RegistryProcess(broker, options={"kafkastore.topic": "_schemas-of-streams"}) as registry:
        yield registry


@pytest.fixture(scope="session")
def records(broker: str) -> Records:
    """Writes to that cluster's topics, and reads what is committed there."""
    return Records(broker)
