"""An application that ends at any point of a micro-batch, and is started again: each record is there once."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from stoker.streams.errors import ApplicationFailed
from tests.streams.payments_application import POINTS, application, checked, crash, crash_after, feed
from tests.streams.records import Records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT: Final = 300
KILL_SECONDS: Final = 240.0
CRASHES: Final = [
    ("store", 3),
    ("sink", 3),
    ("columnar", 1),
    ("manifest", 1),
]


@pytest.mark.acceptance("B108")
def test_a_crash_at_any_point_doubles_and_loses_nothing(
    records: Records, spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An application that fails at four points of its micro-batches, one after the other, and goes on: each record once."""
    records.create("crashed-orders", "crashed-payments", partitions=2)
    count = 0
    for point, time in CRASHES:
        feed_from, count = count, count + 100
        feed(records, "crashed", range(feed_from, count))
        app = application("crashed", records.bootstrap_servers, str(tmp_path), spark)
        with monkeypatch.context() as patch:
            crash_after(point, time, crash, patch.setattr)
            with pytest.raises(ApplicationFailed):
                app.run(until_end=True)
    app = application("crashed", records.bootstrap_servers, str(tmp_path), spark)
    app.run(until_end=True)
    checked(records, "crashed", tmp_path, count)
    status = app.status()
    assert status.rows["crashed-orders"] == count
    assert status.dead_letters == {"crashed-orders": count // 50}


@pytest.mark.acceptance("B108")
@pytest.mark.soak
@pytest.mark.parametrize("time", [1, 2, 4])
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_each_point(point: str, time: int, records: Records, spark: "SparkSession", tmp_path: Path) -> None:
    """SIGKILL of it and its JVM at each point of the first micro-batches; it goes on with other cores and shuffle partitions."""
    prefix = f"killed-{point}-{time}"
    records.create(f"{prefix}-orders", f"{prefix}-payments", partitions=2)
    feed(records, prefix, range(COUNT))
    arguments = [point, str(time), prefix, records.bootstrap_servers, str(tmp_path), "local[3]"]
    command = [sys.executable, "-m", "tests.streams.payments_application", *arguments]
    killed = subprocess.run(command, start_new_session=True, timeout=KILL_SECONDS, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-3000:]
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "3")
    application(prefix, records.bootstrap_servers, str(tmp_path), session).run(until_end=True)
    checked(records, prefix, tmp_path, COUNT)
