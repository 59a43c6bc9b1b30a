"""Brokers that are processes of their own, for the tests that share a Spark session."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.broker_process import BrokerProcess
from tests.registry.registry_process import RegistryProcess


@pytest.fixture(scope="session")
def broker_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker of ours for all tests that use topics of their own and leave it running."""
    with BrokerProcess(tmp_path_factory.mktemp("broker") / "data") as broker:
        yield broker


@pytest.fixture(scope="session")
def broker(broker_process: BrokerProcess) -> str:
    """Its address."""
    return broker_process.bootstrap_servers


@pytest.fixture(scope="session")
def registry(broker: str) -> Iterator[RegistryProcess]:
    """A schema registry on that broker, for subjects of the test's own."""
    with RegistryProcess(broker) as registry:
        yield registry


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """Where a query of this test keeps how far it is."""
    return str(tmp_path / "checkpoint")
