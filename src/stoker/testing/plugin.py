"""The pytest plugin: a real broker in a fixture.

    def test_orders(stoker_broker):
        producer = Producer({"bootstrap.servers": stoker_broker.bootstrap_servers})

`stoker_broker` is one broker for the whole session, on a free port, its data gone afterwards. A test that needs a
broker of its own, or one it may stop, makes a `stoker.Broker()` itself.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from stoker.broker.embedded import Broker


@pytest.fixture(scope="session")
def stoker_broker() -> "Iterator[Broker]":
    """A running broker; `stoker_broker.bootstrap_servers` is its address."""
    from stoker.broker.embedded import Broker

    with Broker() as broker:
        yield broker
