"""Every test here runs an unmodified client of Confluent's against a registry in a process of its own."""

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from tests.clients.client import fresh_topic
from tests.clients.drivers.confluent import ConfluentKafka
from tests.registry.registry_process import RegistryProcess


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(os.path.dirname(__file__)):
            item.add_marker(pytest.mark.clients)


@pytest.fixture(scope="session")
def registry(bootstrap_servers: str) -> Iterator[RegistryProcess]:
    """For all tests that have subjects of their own."""
    name = fresh_topic("_schemas")
    options = {"kafkastore.topic": name, "schema.registry.group.id": name}
    with RegistryProcess(bootstrap_servers, options=options) as started:
        yield started


@pytest.fixture
def own_registry(bootstrap_servers: str) -> Iterator[RegistryProcess]:
    """For a test that changes what all subjects share."""
    name = fresh_topic("_schemas")
    options = {"kafkastore.topic": name, "schema.registry.group.id": name}
    with RegistryProcess(bootstrap_servers, options=options) as started:
        yield started


@pytest.fixture
def new_client(registry: RegistryProcess) -> Iterator[Callable[[], SchemaRegistryClient]]:
    """Makes clients that have cached nothing yet."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(SchemaRegistryClient({"url": registry.url}))


@pytest.fixture
def client(new_client: Callable[[], SchemaRegistryClient]) -> SchemaRegistryClient:
    return new_client()


@pytest.fixture
def subject() -> str:
    return f"subject-{uuid.uuid4().hex[:10]}"


@pytest.fixture(scope="session")
def confluent(bootstrap_servers: str) -> Iterator[ConfluentKafka]:
    """Sends and reads what the serializers make."""
    started = ConfluentKafka(bootstrap_servers)
    yield started
    started.close()


@pytest.fixture
def topic(confluent: ConfluentKafka) -> str:
    name = fresh_topic("orders")
    confluent.create_ready_topic(name)
    return name
