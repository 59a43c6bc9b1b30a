from uuid import uuid4

import pytest

from tests.cli.command_line import CommandLine


@pytest.fixture
def address(request: pytest.FixtureRequest) -> str:
    """Of a Stoker broker, or of what `BOTH` says."""
    kind = getattr(request, "param", "stoker")
    return str(request.getfixturevalue(f"{kind}_address"))


@pytest.fixture
def run(address: str) -> CommandLine:
    return CommandLine(address)


@pytest.fixture
def topic(run: CommandLine) -> str:
    """A topic of two partitions that nobody else uses."""
    name = f"topic-{uuid4().hex[:8]}"
    run("topics", "create", name, "--partitions", "2", "--config", "retention.ms=-1")  # records of any age stay
    return name
