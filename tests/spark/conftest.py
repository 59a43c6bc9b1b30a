"""What the tests that share a Spark session need besides: a cluster, a registry, a place for a query."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stoker.client.cluster_pool import close_idle_clusters
from tests.backends import Backend
from tests.registry.registry_process import RegistryProcess


@pytest.fixture(scope="session")
def broker(backend: Backend) -> Iterator[str]:
    """The address of a cluster for all tests that use topics of their own and leave it running."""
    yield backend.bootstrap_servers
    close_idle_clusters()


@pytest.fixture(scope="session")
def registry(broker: str) -> Iterator[RegistryProcess]:
    """A schema registry on that cluster, for subjects of the test's own."""
    with RegistryProcess(broker, options={"kafkastore.topic": "_schemas-of-spark"}) as registry:
        yield registry


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """Where a query of this test keeps how far it is."""
    return str(tmp_path / "checkpoint")
