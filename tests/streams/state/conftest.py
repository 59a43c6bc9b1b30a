"""What the tests of state share: a state."""

from pathlib import Path

import pytest

from tests.streams.state.written_state import WrittenState


@pytest.fixture
def state(tmp_path: Path) -> WrittenState:
    """Of an application that has yet to finish its first micro-batch."""
    return WrittenState(tmp_path / "application")
