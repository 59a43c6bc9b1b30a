from collections.abc import Iterator

import pytest

import stoker
from tests.raw_connection import RawConnection


@pytest.fixture(scope="module")
def broker() -> Iterator[stoker.Broker]:
    """A broker for the tests of a module; each uses topics of its own."""
    with stoker.Broker() as running:
        yield running


@pytest.fixture
def connection(broker: stoker.Broker) -> Iterator[RawConnection]:
    with RawConnection(broker.bootstrap_servers) as connected:
        yield connected


@pytest.fixture
def other(broker: stoker.Broker) -> Iterator[RawConnection]:
    """A second client."""
    with RawConnection(broker.bootstrap_servers) as connected:
        yield connected


@pytest.fixture
def topic(request: pytest.FixtureRequest, connection: RawConnection) -> str:
    """A topic of one partition that nobody else uses."""
    name = request.node.name.replace("[", "-").replace("]", "")
    connection.create_topic(name)
    return str(name)
