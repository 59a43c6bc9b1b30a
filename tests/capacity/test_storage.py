"""Bytes that lie on disks."""

import pytest

from stoker.capacity import ImpossiblePlan, Load
from stoker.capacity.storage import changelogs, data, disk, state


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        pytest.param(Load(throughput=1e6, retention_seconds=100.0), 3e8, id="retention x ingest x copies"),
        pytest.param(Load(throughput=1e6, retention_seconds=100.0, compression=4), 0.75e8, id="compressed"),
        pytest.param(Load(throughput=1e6, retention_seconds=100.0, peak=10), 3e8, id="the average, not the peak"),
        pytest.param(
            Load(throughput=1e6, retention_seconds=None, keys=1000, record_bytes=500), 3e6, id="compacted: keys, twice"
        ),
        pytest.param(
            Load(throughput=1e6, retention_seconds=100.0, state_keys=1000, state_bytes=50), 3e8 + 3e5, id="changelogs"
        ),
    ],
)
def test_data(load: Load, expected: float) -> None:
    assert data(load).value == pytest.approx(expected)
    assert disk(load).value == pytest.approx(expected / 0.75)


def test_state() -> None:
    load = Load(throughput=1e6, state_keys=1_000_000, state_bytes=200, compression=2)
    assert state(load) == 2e8
    assert changelogs(load) == 2e8 / 2 * 2 * 3


def test_forever_needs_keys() -> None:
    with pytest.raises(ImpossiblePlan, match="give the number of keys of a compacted topic, or a retention such as 7d"):
        Load(throughput=1e6, retention_seconds=None)
