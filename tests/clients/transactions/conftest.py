"""Clients with transactions, for the tests of one broker."""

from collections.abc import Iterator

import pytest

from tests.clients.client import fresh_topic
from tests.clients.conftest import Clients
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.transactions.kinds import transactions_of
from tests.clients.transactions.transactional_client import TransactionalClient


@pytest.fixture
def client(request: pytest.FixtureRequest, clients: Clients) -> Iterator[TransactionalClient]:
    """The client that the test's parameter names; what it has opened is closed after the test."""
    client = transactions_of(request.param, clients)
    with client.opened:
        yield client


@pytest.fixture
def reader(request: pytest.FixtureRequest, clients: Clients) -> Iterator[TransactionalClient]:
    """A second client, one that reads."""
    reader = transactions_of(request.param, clients)
    with reader.opened:
        yield reader


@pytest.fixture
def topic(confluent: ConfluentKafka) -> str:
    """A new topic of one partition."""
    name = fresh_topic("transactions")
    confluent.create_ready_topic(name)
    return name
