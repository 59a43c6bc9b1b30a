"""Every test here runs an unmodified Kafka client against a broker: Stoker, or whatever the tests themselves are to be judged by."""

import os
from collections.abc import Iterator
from contextlib import closing
from typing import TypeVar

import pytest

from tests.backends import Backend
from tests.clients.client import Client, fresh_topic
from tests.clients.consumer_groups import ConsumerGroups
from tests.clients.drivers.aio import AioKafka
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.drivers.java import JavaClients
from tests.clients.drivers.kafka_python import KafkaPython
from tests.clients.drivers.kafkajs import KafkaJs
from tests.clients.drivers.kcat import Kcat
from tests.clients.records import KEEP_FOREVER, PARTITIONS

Driver = TypeVar("Driver", bound=Client)


class Clients:
    """The clients of a test session; each starts when it is first asked for and then serves all tests."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self._started: dict[type[Client], Client] = {}

    def of(self, driver: type[Driver]) -> Driver:
        if driver not in self._started:
            self._started[driver] = driver(self.bootstrap_servers)
        started = self._started[driver]
        assert isinstance(started, driver)
        return started

    def close(self) -> None:
        for client in self._started.values():
            client.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(os.path.dirname(__file__)):
            item.add_marker(pytest.mark.clients)


@pytest.fixture(scope="session")
def broker_address(backend: Backend) -> str:
    """Where the broker under test listens."""
    return backend.bootstrap_servers


@pytest.fixture(scope="session")
def clients(broker_address: str) -> Iterator[Clients]:
    """Every client, connected to the broker under test."""
    with closing(Clients(broker_address)) as all_of_them:
        yield all_of_them


@pytest.fixture
def client(request: pytest.FixtureRequest, clients: Clients) -> Client:
    """The client that the test's parameter names."""
    driver: type[Client] = request.param
    return clients.of(driver)


@pytest.fixture
def reader(request: pytest.FixtureRequest, clients: Clients) -> Client:
    """A second client, one that reads."""
    driver: type[Client] = request.param
    return clients.of(driver)


@pytest.fixture(scope="session")
def confluent(clients: Clients) -> ConfluentKafka:
    """The client that sets up and looks on where another is tested."""
    return clients.of(ConfluentKafka)


@pytest.fixture(scope="session")
def java(clients: Clients) -> JavaClients:
    return clients.of(JavaClients)


@pytest.fixture(scope="session")
def kcat(clients: Clients) -> Kcat:
    return clients.of(Kcat)


@pytest.fixture(scope="session")
def aiokafka(clients: Clients) -> AioKafka:
    return clients.of(AioKafka)


@pytest.fixture(scope="session")
def kafka_python(clients: Clients) -> KafkaPython:
    return clients.of(KafkaPython)


@pytest.fixture(scope="session")
def kafkajs(clients: Clients) -> KafkaJs:
    return clients.of(KafkaJs)


@pytest.fixture(scope="session")
def consumer_groups(broker_address: str) -> ConsumerGroups:
    return ConsumerGroups(broker_address)


@pytest.fixture(scope="session")
def refuses_three_replicas(confluent: ConfluentKafka) -> bool:
    """Where there are fewer brokers, as Kafka does; Stoker makes one by default."""
    [broker_id, *others] = confluent.broker_ids()
    if len(others) >= 2:
        return False
    return confluent.broker_configs(broker_id).get("stoker.replication.factor.policy", "refuse") == "refuse"


@pytest.fixture
def topic(confluent: ConfluentKafka) -> str:
    """A new topic of three partitions that keeps old records; its leaders answer, so that even acks=0 loses nothing."""
    name = fresh_topic("records")
    confluent.create_ready_topic(name, partitions=PARTITIONS, configs=KEEP_FOREVER)
    return name


@pytest.fixture
def orders(confluent: ConfluentKafka) -> str:
    """The topic of the tutorials, new and empty, with three partitions."""
    confluent.create_anew("orders", partitions=3)
    return "orders"
