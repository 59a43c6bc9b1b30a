"""kill -9, again and again, under idempotent load."""

import os
import random
from pathlib import Path

import pytest

from tests.faults.killing import run_kills


@pytest.mark.acceptance("B002", "B003", "B059")
def test_acknowledged_records_survive_kills(tmp_path: Path) -> None:
    """SIGKILL after SIGKILL under idempotent load: every acked record is there once, in order per producer."""
    tally = run_kills(
        tmp_path / "data",
        seconds=6,
        kills=6,
        records=30_000,  # more than a segment of 1 MiB a partition
        producers=3,
        partitions=4,
        records_per_second=15_000,
        seed=random.randrange(2**32),
    )
    print(tally)
    assert tally.segments > 4


@pytest.mark.soak
@pytest.mark.acceptance("B002", "B003", "B059")
def test_acknowledged_records_survive_minutes_of_kills(tmp_path: Path) -> None:
    """Minutes of SIGKILLs, also during start-up: every acked record is there once, in order per producer.

    STOKER_SOAK_SECONDS says for how long, STOKER_SOAK_SEED repeats the moments of an earlier run.
    """
    tally = run_kills(
        tmp_path / "data",
        seconds=float(os.environ.get("STOKER_SOAK_SECONDS", "300")),
        producers=5,
        partitions=8,
        records_per_second=15_000,
        seed=int(os.environ.get("STOKER_SOAK_SEED", random.randrange(2**32))),
    )
    print(tally)
    assert tally.kills_before_ready
