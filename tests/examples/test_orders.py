import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "orders.py"


def test_every_order_is_read_back() -> None:
    ran = subprocess.run(
        [sys.executable, EXAMPLE, "--orders", "20000"], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.endswith("Every order was read back as it was written.\n")
    assert ran.stdout.count(" equal\n") == 4
    assert "DIFFERENT" not in ran.stdout


def test_a_bad_number_is_named() -> None:
    ran = subprocess.run([sys.executable, EXAMPLE, "--orders", "0"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "--orders 0: there must be at least one" in ran.stderr
