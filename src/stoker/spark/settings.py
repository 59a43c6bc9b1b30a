"""What Spark needs to be told to run well from Python on one machine: each setting with its reason."""

import os
import sys
from typing import Final, NamedTuple

LOCAL_MASTER: Final = "local[*,4]"

_ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_FILE_SYSTEM_MANAGER: Final = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)


class Setting(NamedTuple):
    """One of Spark's settings. `reason` is a sentence for whoever wonders why it is so."""

    name: str
    value: str
    reason: str


def settings(master: str = LOCAL_MASTER) -> tuple[Setting, ...]:
    """What `session()` sets for that master; what only makes sense on one machine is left out for a cluster."""
    return (*_EVERYWHERE, *(_on_one_machine() if is_on_this_machine(master) else ()))


def is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def is_on_this_machine(master: str) -> bool:
    """Also a standalone cluster that only this machine reaches, as `stoker spark up` starts it."""
    return is_local(master) or master.startswith(("spark://127.0.0.1:", "spark://localhost:", "spark://[::1]:"))


def cores() -> int:
    """Those this process may use, which may be fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_EVERYWHERE: Final = (
    Setting(
        "spark.python.unix.domain.socket.enabled",
        "true",
        "Spark talks to its Python workers by a Unix socket, not by TCP: a micro-batch takes about 50 ms less.",
    ),
    Setting(
        "spark.sql.python.filterPushdown.enabled",
        "true",
        "Filters on topic, partition, offset and timestamp reach a reader that asks for them (`pushFilters`).",
    ),
    Setting(
        "spark.sql.execution.arrow.pyspark.enabled",
        "true",
        "Rows cross between Python and the JVM as Arrow columns.",
    ),
    Setting(
        "spark.sql.execution.arrow.maxRecordsPerBatch",
        "100000",
        "The sink gets more rows at once than Spark's 10,000, which makes larger record batches for Kafka.",
    ),
    Setting(
        "spark.sql.execution.arrow.maxBytesPerBatch",
        "16m",
        "But never more bytes than this at once, so that a Python worker stays small however large the rows are.",
    ),
    Setting(
        "spark.sql.streaming.stateStore.providerClass",
        _ROCKSDB,
        "The state of aggregations and joins is in RocksDB, not in the heap of the JVM, so it may be larger than memory.",
    ),
    Setting(
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
        "true",
        "A micro-batch saves what changed in the state, not all of it.",
    ),
    Setting(
        "spark.sql.adaptive.streaming.stateless.enabled",
        "false",
        "A micro-batch that is run again must be cut into the same tasks, or the sink could not tell what is written.",
    ),
    Setting(
        "spark.speculation",
        "false",
        "A second copy of a task that writes to Kafka would fence the first.",
    ),
)


def _on_one_machine() -> tuple[Setting, ...]:
    """The shuffle partitions depend on the machine; a stateful query keeps those it began with, in its checkpoint."""
    python = os.environ.get("PYSPARK_PYTHON") or sys.executable
    return (
        Setting(
            "spark.pyspark.python",
            python,
            "Workers run the Python that runs this, which has Stoker; Spark would take the machine's python3.",
        ),
        Setting("spark.pyspark.driver.python", python, "The same for what Spark plans in Python."),
        Setting(
            "spark.sql.shuffle.partitions",
            str(max(2, cores())),
            "As many as there are cores: Spark's 200 are for a cluster, and each costs a task and a state store.",
        ),
        Setting(
            "spark.sql.streaming.checkpointFileManagerClass",
            _FILE_SYSTEM_MANAGER,
            "A checkpoint's files are written aside and renamed, as by Spark's default, which starts 20 processes "
            "(chmod, readlink) a micro-batch; this starts 4, and takes about 50 ms less. Both survive a kill; neither "
            "waits for the disk.",
        ),
        Setting("spark.driver.host", "127.0.0.1", "Nobody else needs to reach this Spark, whatever the network is."),
        Setting("spark.driver.bindAddress", "127.0.0.1", "Nor can anybody."),
        Setting("spark.ui.enabled", "false", "Spark's web pages cost a second at the start and memory afterwards."),
        Setting("spark.ui.showConsoleProgress", "false", "Bars of each stage would garble what a program prints."),
    )
