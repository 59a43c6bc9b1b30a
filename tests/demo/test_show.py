"""`stoker demo` as a user runs it."""

import re
import subprocess
from typing import Final

import pytest

from stoker.demo.platform import DemoFailed
from stoker.demo.show import Demo
from tests.faults.stoker_process import STOKER

LONGEST_SECONDS: Final = 900.0


@pytest.mark.spark
@pytest.mark.timeout(LONGEST_SECONDS + 20)
def test_the_demo_balances_although_spark_is_killed() -> None:
    """Events go through the pipeline, Spark is killed in a micro-batch and started again, and nothing is lost or doubled."""
    run = subprocess.run(
        [STOKER, "demo", "--events", "20000"], capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"Spark is killed in micro-batch [1-9]", run.stdout)
    assert "The balance is right: nothing lost, nothing doubled." in run.stdout
    assert "wrong" not in run.stdout
    late = re.search(r"orders too late for their hour\s+(\d+)\s+(\d+)", run.stdout)
    assert late is not None
    assert late[1] == late[2] != "0"


def test_a_broker_needs_its_registry() -> None:
    """--bootstrap-servers alone is refused before anything is started."""
    with pytest.raises(DemoFailed, match="--registry must name a registry"):
        Demo(bootstrap_servers="localhost:1", say=lambda line: None).run()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--events", "5"], "10000"),
        (["--events", "many"], "many"),
        (["--kept"], "--keep"),
        (["--bootstrap-servers", "localhost:1"], "--registry"),
    ],
    ids=["too few", "no number", "no such option", "no registry"],
)
def test_wrong_options_are_refused(arguments: list[str], told: str) -> None:
    """With what they take, before anything is started."""
    run = subprocess.run([STOKER, "demo", *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode in (1, 2)
    assert told in run.stderr, run.stderr
