"""What the tests of state share: a state, and the Spark session of tests/spark for the one test that needs it."""

from pathlib import Path

import pytest

from tests.spark.conftest import spark
from tests.streams.state.written_state import WrittenState

__all__ = ["spark"]


@pytest.fixture
def state(tmp_path: Path) -> WrittenState:
    """Of an application that has yet to finish its first micro-batch."""
    return WrittenState(tmp_path / "application")
