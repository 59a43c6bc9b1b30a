"""What the registry's tests share: a cluster to keep schemas in."""

import pytest

from tests.backends import Backend


@pytest.fixture(scope="session")
def bootstrap_servers(backend: Backend) -> str:
    return backend.bootstrap_servers
