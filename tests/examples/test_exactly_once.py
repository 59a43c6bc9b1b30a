import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "exactly_once.py"


@pytest.mark.acceptance("B106")
def test_each_order_has_one_invoice_though_a_worker_is_killed() -> None:
    """A worker is killed and another goes on: read_committed has one invoice an order, read_uncommitted has more."""
    ran = subprocess.run(
        [sys.executable, EXAMPLE, "--orders", "5000"], capture_output=True, text=True, timeout=100, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "The first worker was killed.\nThe second worker is done.\n" in ran.stdout
    everything = re.search(r"read_uncommitted: ([\d,]+) invoices", ran.stdout)
    assert everything is not None
    assert int(everything[1].replace(",", "")) > 5000
    assert ran.stdout.endswith("read_committed: 5,000 invoices; missing: 0, more than once: 0.\n")


def test_a_bad_number_is_named() -> None:
    ran = subprocess.run([sys.executable, EXAMPLE, "--orders", "3"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "--orders 3: there must be at least 1000" in ran.stderr
