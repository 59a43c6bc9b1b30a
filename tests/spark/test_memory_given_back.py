"""What a worker keeps of the memory of its tasks."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from stoker.spark.worker_memory import give_back

STATUS = Path("/proc/self/status")
BYTES = 200_000_000


def resident_bytes() -> int:
    return next(int(line.split()[1]) * 1024 for line in STATUS.read_text().splitlines() if line.startswith("VmRSS"))


@pytest.mark.skipif(not STATUS.exists(), reason="only Linux says how much memory a process has")
def test_what_arrow_had_is_given_back() -> None:
    before = resident_bytes()
    column = pa.array(np.ones(BYTES // 8)).take(pa.array(np.arange(BYTES // 8)))
    assert resident_bytes() - before > BYTES / 2  # some of it may have been the process's own already
    del column
    give_back()
    assert resident_bytes() - before < BYTES / 4
