"""Bytes that lie on disks."""

import pytest

from stoker.capacity import ImpossiblePlan, Load
from stoker.capacity.storage import active_segments, changelogs, data, disk, state


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
    kept = expected + active_segments(load, 2).value
    assert disk(load, 2).value == pytest.approx(kept / 0.75)


@pytest.mark.parametrize(
    ("load", "partitions", "expected", "formula"),
    [
        # An hour is kept, and up to seven days of it, as Kafka 4.3 does not end a segment of 605 MB earlier.
        (Load(throughput=1e6, retention_seconds=3600.0), 1000, 3 * 7 * 86_400 * 1e6, "3,000 replicas x 605 MB in 7 d"),
        (Load(throughput=2e7, topics=200), 2000, 6000 * 2**30, "6,000 replicas x the 1 GiB of segment.bytes"),
        (
            Load(throughput=1e6, retention_seconds=None, keys=10),
            1,
            3 * 2**30,
            "3 replicas x the 1 GiB of segment.bytes",
        ),
    ],
    ids=["slow", "fast", "compacted"],
)
def test_only_whole_segments_are_deleted(load: Load, partitions: int, expected: float, formula: str) -> None:
    found = active_segments(load, partitions)
    assert found.value == pytest.approx(expected)
    assert found.formula.startswith(formula)


def test_state() -> None:
    load = Load(throughput=1e6, state_keys=1_000_000, state_bytes=200, compression=2)
    assert state(load) == 2e8
    assert changelogs(load) == 2e8 / 2 * 2 * 3


def test_forever_needs_keys() -> None:
    with pytest.raises(ImpossiblePlan, match="give the number of keys of a compacted topic, or a retention such as 7d"):
        Load(throughput=1e6, retention_seconds=None)
