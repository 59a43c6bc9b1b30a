"""The pytest plugin: a real broker in a fixture, and a schema registry in another.

    def test_orders(stoker_broker):
        producer = Producer({"bootstrap.servers": stoker_broker.bootstrap_servers})

`stoker_broker` is one broker for the whole session, on a free port, its data gone afterwards. A test that needs a
broker of its own, or one it may stop, makes a `stoker.Broker()` itself. `stoker_registry` is a schema registry on that
broker: `SchemaRegistryClient({"url": stoker_registry.url})`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from stoker.broker.embedded import Broker
    from stoker.testing.schema_registry import SchemaRegistry


@pytest.fixture(scope="session")
def stoker_broker() -> "Iterator[Broker]":
    """A running broker; `stoker_broker.bootstrap_servers` is its address."""
    from stoker.broker.embedded import Broker

    with Broker() as broker:
        yield broker


@pytest.fixture(scope="session")
def stoker_registry(stoker_broker: "Broker") -> "Iterator[SchemaRegistry]":
    """A running schema registry; `stoker_registry.url` is its address."""
    from stoker.testing.schema_registry import SchemaRegistry

    with SchemaRegistry(stoker_broker.bootstrap_servers) as registry:
        yield registry
