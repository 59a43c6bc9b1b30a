from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.broker_process import BrokerProcess


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker of this test's own, with Kafka's defaults."""
    with BrokerProcess(tmp_path) as running:
        yield running
