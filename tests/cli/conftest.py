from uuid import uuid4

import pytest

from tests.backends import Backend
from tests.cli.command_line import CommandLine


@pytest.fixture
def address(backend: Backend) -> str:
    return backend.bootstrap_servers


@pytest.fixture
def run(address: str) -> CommandLine:
    return CommandLine(address)


@pytest.fixture
def topic(run: CommandLine) -> str:
    """A topic of two partitions that nobody else uses."""
    name = f"topic-{uuid4().hex[:8]}"
    run("topics", "create", name, "--partitions", "2", "--config", "retention.ms=-1")  # records of any age stay
    return name
