"""What the registry's tests share: a broker in a process of its own, since confluent-kafka may hold the interpreter."""

from collections.abc import Iterator

import pytest

from tests.faults.broker_process import BrokerProcess


@pytest.fixture(scope="session")
def registry_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker whose groups end a session after a second, so that nobody waits long for an election."""
    options = {"group.min.session.timeout.ms": 1000, "group.initial.rebalance.delay.ms": 0}
    with BrokerProcess(tmp_path_factory.mktemp("registry-broker"), options=options) as broker:
        yield broker


@pytest.fixture(scope="session")
def bootstrap_servers(registry_broker: BrokerProcess) -> str:
    return registry_broker.bootstrap_servers
