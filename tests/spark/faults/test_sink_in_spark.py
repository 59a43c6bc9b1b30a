"""A streaming query from topic to topic, exactly once, whatever is killed: workers, the driver, the broker."""

import os
import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import pytest

from tests.spark.faults.doom import Doom, Victim, When, at_each_step
from tests.spark.faults.killable_brokers import KillableBroker, apache_kafka, stoker, three_nodes
from tests.spark.faults.spark_run import SparkRun

pytestmark = pytest.mark.spark

_SHORT: Final = [
    Doom("EndTxn", When.BEFORE, Victim.BROKER),
    Doom("EndTxn", When.AFTER, Victim.SELF),
    Doom("EndTxn", When.AFTER, Victim.DRIVER),
]
"""One life of a worker, of the driver, and of the broker after the other: it takes the start of two sessions."""

Started = Callable[[Path], AbstractContextManager[KillableBroker]]


@pytest.mark.soak
def test_kills_of_a_query(tmp_path: Path) -> None:
    """Workers, the driver and the broker die where it matters most: each number is in the target once."""
    with stoker(tmp_path) as broker:
        run = SparkRun(tmp_path, broker, rows=1200, batches=6, seed=0)
        run.fill()
        run.dooms.plan(_SHORT)
        run.until_done(seconds=350)
        assert not run.dooms.left
        run.check()


@pytest.mark.soak
@pytest.mark.java
@pytest.mark.parametrize("started", [stoker, apache_kafka, three_nodes])
def test_kills_of_a_query_for_minutes(tmp_path: Path, started: Started) -> None:
    """At each step and at random. STOKER_SOAK_SEED repeats the choices of an earlier run."""
    seed = int(os.environ.get("STOKER_SOAK_SEED", random.randrange(2**32)))
    with started(tmp_path) as broker:
        run = SparkRun(tmp_path, broker, rows=20_000, batches=40, seed=seed)
        run.fill()
        run.dooms.plan(at_each_step(random.Random(seed), Victim))
        run.until_done(seconds=3600, kills_at_random=30)
        print(f"seed {seed}: {run}")
        run.check()
