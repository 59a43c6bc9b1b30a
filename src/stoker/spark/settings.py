"""What Spark needs to be told to run well from Python on one machine: each setting with its reason."""

import os
import sys
from pathlib import Path
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


def worker_python() -> str:
    """The script that starts this Python for a worker; the Python itself where files of packages cannot be run."""
    script = Path(__file__).with_name("worker_python.sh")
    return str(script) if os.access(script, os.X_OK) else sys.executable


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


_ARROW: Final = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
_ARROW_REASON: Final = (
    "Arrow would look before each value whether its memory is still there and the place in it, though it always is: "
    "a tenth of what the JVM does for a row."
)

_COMPILER: Final = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000 "
    "-XX:Tier4BackEdgeThreshold=400000"
)
"""Ten times the JVM's own."""
_COMPILER_REASON: Final = (
    "The JVM's second compiler waits until code has run ten times as often: Spark runs so much of it a few times only that "
    "to compile it took more than to run it, in the first minutes of a query."
)

_EVERYWHERE: Final = (
    Setting(
        "spark.python.daemon.module",
        "stoker.spark.worker_daemon",
        "Python workers are forked from a process that has imported all they need, and start in milliseconds. Spark's own "
        "compiles pyspark's sources in each of them, which takes a second.",
    ),
    Setting("spark.driver.extraJavaOptions", f"{_ARROW} {_COMPILER}", f"{_ARROW_REASON} {_COMPILER_REASON}"),
    Setting(
        "spark.executor.extraJavaOptions", f"{_ARROW} {_COMPILER}", "The same where executors have JVMs of their own."
    ),
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
        "spark.sql.redaction.options.regex",
        r"(?i)url|jaas|user\.info|\.pem$|store\.key$|credential",
        "Keys and logins among the options of a reader or sink are not shown in plans; what Spark itself hides has `password`, "
        "`secret` or `token` in its name.",
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
    chosen = os.environ.get("PYSPARK_PYTHON")
    return (
        Setting(
            "spark.pyspark.python",
            chosen or worker_python(),
            "Workers run the Python that runs this, which has Stoker; Spark would take the machine's python3. A script starts it "
            "without the zip of pyspark that Spark puts on its path, whose sources would be compiled in each worker.",
        ),
        Setting(
            "spark.executorEnv.STOKER_WORKER_PYTHON",
            sys.executable,
            "Which Python that script starts, where executors are processes of their own.",
        ),
        Setting("spark.pyspark.driver.python", chosen or sys.executable, "The same for what Spark plans in Python."),
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
