import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "engine.py"
ORDERS = 30_000
BALANCE = re.compile(r"ordered +(\S+ +\S+ +\S+)\ncommitted +(\S+ +\S+ +\S+)\n")


@pytest.mark.spark
@pytest.mark.timeout(300)  # Spark starts twice, and a busy machine is slow at that
def test_the_balance_is_right_though_spark_is_killed() -> None:
    """Spark is killed inside a transaction and started again: a plain consumer finds each sum once, and right."""
    ran = subprocess.run(
        [sys.executable, EXAMPLE, "--orders", str(ORDERS)], capture_output=True, text=True, timeout=270, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search(r"Spark is killed in batch \d+: [\d,]+ sums of it are written and not committed\n", ran.stdout)
    assert ran.stdout.count("Spark is ready after") == 2
    balance = BALANCE.search(ran.stdout)
    assert balance is not None, ran.stdout
    assert balance[1] == balance[2]
    assert re.search(r"Of [\d,]+ sums that were committed, 0 are there twice\.\n", ran.stdout)


@pytest.mark.spark
def test_ctrl_c_stops_everything() -> None:
    example = subprocess.Popen(
        [sys.executable, EXAMPLE, "--orders", str(ORDERS)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert example.stdout is not None
    with example, example.stdout:
        assert example.stdout.readline().startswith("Stoker is ready on ")
        os.killpg(example.pid, signal.SIGINT)
        # The pipes end when the last of the processes that hold them has ended.
        _, said = example.communicate()
        assert said == "\nstopped\n"
        assert example.returncode == 130


def test_a_bad_number_is_named() -> None:
    ran = subprocess.run([sys.executable, EXAMPLE, "--orders", "0"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "--orders 0: there must be at least 1000" in ran.stderr
