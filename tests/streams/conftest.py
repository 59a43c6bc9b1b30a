"""What the tests of streams share: a broker, a registry, and Kafka Streams itself, to be compared with."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.faults.broker_process import BrokerProcess
from tests.registry.registry_process import RegistryProcess
from tests.streams.kafka_streams import KafkaStreamsPeer
from tests.streams.records import Records


@pytest.fixture(scope="session")
def kafka_streams() -> Iterator[KafkaStreamsPeer]:
    """For tests that are marked `java`."""
    with closing(KafkaStreamsPeer()) as peer:
        yield peer


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker, a process of its own, for all tests that use topics of their own."""
    # Records of the tests are of long ago, and must stay.
    options = {"log.retention.ms": -1}
    with BrokerProcess(tmp_path_factory.mktemp("broker") / "data", options=options) as process:
        yield process.bootstrap_servers


@pytest.fixture(scope="session")
def registry(broker: str) -> Iterator[RegistryProcess]:
    """A schema registry on that broker, for subjects of the test's own."""
    with RegistryProcess(broker) as registry:
        yield registry


@pytest.fixture(scope="session")
def records(broker: str) -> Records:
    """Writes to that broker's topics, and reads what is committed there."""
    return Records(broker)
