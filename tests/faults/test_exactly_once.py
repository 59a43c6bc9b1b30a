"""Read, process, write: each input is in the output once, whatever is killed when."""

import os
import random
from typing import Final

import pytest

from tests.faults.exactly_once import ExactlyOnceRun
from tests.faults.kill_points import KillPoint, Step, Victim, When

_WORKERS: Final = "worker-"
_STEPS: Final = tuple(step for step in Step if step is not Step.COMMIT_OUTSIDE)


def points_at_each_step(chance: random.Random) -> list[KillPoint]:
    """The broker and a worker, before and after each step, in any order."""
    points = [
        KillPoint(step=step, when=when, victim=victim, count=chance.randint(1, 4), clients=_WORKERS)
        for step in _STEPS
        for when in (When.BEFORE, When.AFTER)
        for victim in Victim
    ]
    chance.shuffle(points)
    return points


@pytest.mark.timeout(400)  # thirty kills, and each waits for the group to get on, on a machine that may be busy
@pytest.mark.acceptance("S055", "B099", "B106", "B107")
def test_each_input_is_processed_once() -> None:
    """Three workers and their broker are killed before and after each step: the output holds each input once."""
    seed = random.randrange(2**32)
    with ExactlyOnceRun(workers=3, seed=seed, is_static=True) as run:
        points = points_at_each_step(random.Random(seed))
        run.go_through(points)
        assert run.kills == len(points)
        run.kill_at_random(2)
        run.settle()
        finding = run.look()
        print(f"seed {seed}: {run.kills} kills, {run.transactions} transactions")
        assert not finding, str(finding)


def test_a_loop_without_the_guarantee_is_found_out() -> None:
    """Offsets committed outside of the transaction: a worker that dies between the two loses records, and the count tells."""
    with ExactlyOnceRun(workers=1, seed=1, is_static=True, commits_outside=True) as run:
        run.go_through(
            [KillPoint(step=Step.COMMIT_OUTSIDE, when=When.AFTER, victim=Victim.CLIENT, count=2, clients=_WORKERS)]
        )
        run.settle()
        finding = run.look()
        assert finding.missing, "the count did not notice"


@pytest.mark.soak
@pytest.mark.java
@pytest.mark.acceptance("S055", "B099", "B106", "B107")
def test_each_input_is_processed_once_for_minutes() -> None:
    """Minutes of kills at each step and at random: the output holds each input once.

    Two workers are Java's, with transactions v2: these have no steps of their own for adding partitions and offsets.
    STOKER_SOAK_SECONDS says for how long, STOKER_SOAK_SEED repeats the choices of an earlier run.
    """
    seconds = float(os.environ.get("STOKER_SOAK_SECONDS", "300"))
    seed = int(os.environ.get("STOKER_SOAK_SEED", random.randrange(2**32)))
    for is_static in (False, True):
        with ExactlyOnceRun(workers=3, java_workers=2, seed=seed, is_static=is_static, records_per_second=500) as run:
            chance = random.Random(seed)
            run.go_through(points_at_each_step(chance))
            run.kill_at_random(seconds / 2)
            run.go_through(points_at_each_step(chance))
            run.settle()
            finding = run.look()
            print(f"seed {seed}: {run.kills} kills, {run.transactions} transactions")
            assert not finding, str(finding)
