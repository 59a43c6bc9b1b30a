import os
import re
import signal
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "orders.py"
TAKEOVER = re.compile(r"(member-\d) was killed half way; (member-\d) had its partitions \d and \d \d+\.\d s later\n")


def test_the_member_that_is_left_takes_over_and_nothing_is_lost() -> None:
    ran = subprocess.run(
        [sys.executable, EXAMPLE, "--orders", "20000"], capture_output=True, text=True, timeout=90, check=False
    )
    assert ran.returncode == 0, ran.stderr
    taken_over = TAKEOVER.search(ran.stdout)
    assert taken_over is not None, ran.stdout
    killed, survivor = taken_over.groups()
    assert killed != survivor
    assert ran.stdout.count(f"{killed}, then {survivor}\n") == 2
    # Those that the killed one had processed and could not commit: a batch.
    assert "Processed once: 19,800; more often: 200; lost: 0.\n" in ran.stdout
    assert ran.stdout.endswith("Every order was processed at least once, and the group's lag is 0.\n")


def test_ctrl_c_stops_the_members_too() -> None:
    example = subprocess.Popen(
        [sys.executable, EXAMPLE, "--orders", "20000"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert example.stderr is not None
    with example, example.stderr:
        assert example.stderr.readline() == "produce   20,000/20,000\n"
        os.killpg(example.pid, signal.SIGINT)
        # The pipe ends when the last of the processes that hold it has ended.
        assert example.stderr.read() == "\nstopped\n"
        assert example.wait() == 130


def test_a_bad_number_is_named() -> None:
    ran = subprocess.run([sys.executable, EXAMPLE, "--orders", "0"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "--orders 0: there must be at least 1000" in ran.stderr
