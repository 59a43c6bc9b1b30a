"""One Spark session in which both connectors are: Spark's own from its jars, and Stoker's."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import stoker.spark
from side_by_side import processes
from side_by_side.processes import LoadFailed
from side_by_side.programs import REPOSITORY, NotSetUp

JARS = REPOSITORY / ".cache" / "spark-jars"
MASTER = "local[2,4]"
SAMPLE_EVERY_SECONDS = 0.05
SETTINGS: Mapping[str, str] = {
    "spark.driver.memory": "3g",
    "spark.sql.streaming.numRecentProgressUpdates": "10000",
    # More than partitions: where Spark's connector has to close a consumer to make place for another, that waits half a
    # second for a fetch on its way, and 200 partitions take a minute.
    "spark.kafka.consumer.cache.capacity": "512",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Connector:
    """A format of Spark's, as `name` in the table; `sink_options` are for writing with it."""

    name: str
    format: str
    sink_options: Mapping[str, str] = field(default_factory=dict)


STOKER = Connector(name="stoker", format="stoker")
SPARK = Connector(name="spark", format="kafka")
TUNED = Connector(
    name="tuned", format="kafka", sink_options={"kafka.batch.size": str(1 << 20), "kafka.linger.ms": "20"}
)
CONNECTORS: Sequence[Connector] = (STOKER, SPARK)


@contextmanager
def session() -> Iterator[SparkSession]:
    """The one session of this process, as Stoker sets it up, with Spark's own connector in it."""
    jars = sorted(JARS.glob("*.jar"))
    if not jars:
        raise NotSetUp(f"Spark's own connector is not in {JARS}: run `make spark-jars`")
    spark = stoker.spark.session(
        "side by side", master=MASTER, config={**SETTINGS, "spark.jars": ",".join(map(str, jars))}
    )
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


def jar_versions() -> str:
    return ", ".join(path.stem for path in sorted(JARS.glob("spark-*.jar")))


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """Of a query: wall time, and processor time of the JVM, of its Python workers and of the driver."""

    seconds: float
    cpu_seconds: float


def timed(query: Callable[[], object]) -> Cost:
    """What a query took."""
    cpu = processes.cpu_seconds(os.getpid())
    began = time.monotonic()
    query()
    return Cost(seconds=time.monotonic() - began, cpu_seconds=processes.cpu_seconds(os.getpid()) - cpu)


@contextmanager
def failing() -> Iterator[None]:
    """An error of Spark becomes LoadFailed."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise LoadFailed(_first_lines(str(error))) from error


def peak_megabytes(query: Callable[[], object]) -> float:
    """The most memory that any one Python worker has had resident while a query ran."""
    for worker in _workers():
        try:
            Path(f"/proc/{worker}/clear_refs").write_text("5")  # its highest begins anew
        except OSError:
            pass
    highest = 0
    ended = threading.Event()

    def watch() -> None:
        nonlocal highest
        while True:
            is_last = ended.wait(SAMPLE_EVERY_SECONDS)
            highest = max([highest, *map(_highest_kilobytes, _workers())])
            if is_last:
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        query()
    finally:
        ended.set()
        watcher.join()
    return highest / 1000


def _workers() -> list[int]:
    """Spark's Python workers, and the daemon that forks them."""
    return [pid for pid in processes.family(os.getpid()) if b"pyspark.daemon" in _command_line(pid)]


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has just ended
        return b""


def _highest_kilobytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def _first_lines(text: str) -> str:
    """What an error of Spark says first and last, without the stack of the JVM."""
    said = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("at ", "..."))]
    return " | ".join(dict.fromkeys([*said[:2], *said[-2:]]))[:600]
