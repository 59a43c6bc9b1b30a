"""One Spark session for all tests of a process, and brokers that are processes of their own.

A test that uses `spark` is marked so: without a JDK it is skipped.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import stoker.spark
from tests.faults.broker_process import BrokerProcess
from tests.registry.registry_process import RegistryProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHUFFLE_PARTITIONS = 4
TIMEOUT_SECONDS = 300
"""Far more than any test needs, but on a machine that is busy with something else. A test that is interrupted while it talks
to the JVM leaves the session unusable for all that come after it."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and "spark" in item.fixturenames:
            item.add_marker(pytest.mark.spark)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(TIMEOUT_SECONDS))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """As `stoker.spark.session()` makes it, with two cores on any machine."""
    session = stoker.spark.session(
        "stoker-tests",
        master="local[2,4]",
        config={
            "spark.sql.shuffle.partitions": SHUFFLE_PARTITIONS,
            "spark.sql.warehouse.dir": tmp_path_factory.mktemp("warehouse"),
            "spark.log.level": "ERROR",
        },
    )
    yield session
    session.stop()


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
