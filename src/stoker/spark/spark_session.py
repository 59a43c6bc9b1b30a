"""A Spark session that suits Stoker: what is set, why, and what a session that runs already cannot take over."""

import os
import shutil
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stoker.spark.errors import SparkCannotStart
from stoker.spark.master import check_master
from stoker.spark.settings import LOCAL_MASTER, Setting, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MASTER: Final = "spark.master"
_GATEWAY: Final = "PYSPARK_GATEWAY_PORT"
"""Set when Spark has started this Python (`spark-submit`), not the other way round."""
_WIDTH: Final = 100
_END_SECONDS: Final = 5.0


class SettingsNotTaken(UserWarning):
    """A session runs already, and some settings can only be made before it starts."""


def session(
    app_name: str = "stoker", *, master: str | None = None, config: Mapping[str, object] | None = None
) -> "SparkSession":
    """The Spark session of this process, set up as `explain_settings()` says; started if there is none.

    `master` is by default what STOKER_SPARK_MASTER or stoker.toml names, else `local[*,4]`: all cores, and a task may fail three
    times (plain `local[*]` allows no failure).
    What is given in `config`, or to `spark-submit`, is stronger than what is set here. If a session runs already it is
    used: settings that it has are kept, the others are made, and a warning names those that would have to be made
    before the start. It becomes the active session of the thread that calls: a thread of your own calls this before it
    uses `format("stoker")`. Raises SparkCannotStart if there is no Java,
    with what to install, or no such master.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    given = {name: _text(value) for name, value in (config or {}).items()}
    if SparkContext._active_spark_context is not None:
        if master is not None:
            given[_MASTER] = master
        running = SparkSession.builder.getOrCreate()
        _adapt(running, given)
        make_active(running)
        return running
    submitted = _submitted()
    chosen = master or given.get(_MASTER) or _named_master() or submitted.get(_MASTER)
    chosen = chosen or os.environ.get("MASTER") or LOCAL_MASTER
    ours = {each.name: each.value for each in settings(chosen) if each.name not in submitted}
    wanted = {**ours, **given, _MASTER: chosen}
    builder = SparkSession.builder.appName(app_name)
    for name, value in wanted.items():
        builder = builder.config(name, value)
    if _GATEWAY not in os.environ:
        check_master(chosen)
    with _told_by_the_environment(wanted):
        return _started(builder)


def make_active(spark: "SparkSession") -> None:
    """In this thread: where a sink begins, Spark looks for what is written in Python only in the session that is active there."""
    type(spark)._get_j_spark_session_class(spark._jvm).setActiveSession(spark._jsparkSession)


def has_ended() -> bool:
    """Whether the JVM of this process's session is gone; one that was told to end has some seconds for it."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return False
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def explain_settings(spark: "SparkSession | None" = None, *, master: str = LOCAL_MASTER) -> str:
    """Each setting with its reason, to be printed; for a session also where it has another value."""
    if spark is not None:
        master = str(spark.sparkContext.master)
    return "\n".join(_explained(each, spark) for each in settings(master))


def _explained(setting: Setting, spark: "SparkSession | None") -> str:
    line = f"{setting.name} = {setting.value}"
    if spark is not None:
        actual = spark.conf.get(setting.name, None)
        if actual != setting.value:
            line += f"   (here: {actual if actual is not None else 'not set'})"
    return f"{line}\n{textwrap.fill(setting.reason, _WIDTH, initial_indent='    ', subsequent_indent='    ')}"


def _adapt(running: "SparkSession", given: Mapping[str, str]) -> None:
    """Make the settings that can still be made. What the session has been told before is stronger, but for `given`."""
    told = running.conf.getAll
    wanted = {each.name: each.value for each in settings(told[_MASTER]) if each.name not in told} | dict(given)
    late = [
        f"{name}={value}"
        for name, value in wanted.items()
        if running.conf.get(name, None) != value and not _taken(running, name, value)
    ]
    if late:
        warnings.warn(
            "a Spark session runs already, and these settings can only be made before it starts: "
            f"{', '.join(late)}. To have them, stop it first (spark.stop()), or make it by stoker.spark.session().",
            SettingsNotTaken,
            stacklevel=3,
        )


def _taken(running: "SparkSession", name: str, value: str) -> bool:
    """Whether the running session could be told so. Core settings are read when it starts, even where Spark lets them be set."""
    from pyspark.errors import AnalysisException

    if not name.startswith("spark.sql."):
        return False
    try:
        running.conf.set(name, value)
    except AnalysisException:
        return False
    return True


def _named_master() -> str | None:
    """What stoker.toml or its variable names. Whom Spark has started (`spark-submit`) has its master already."""
    from stoker.settings.current import current_settings

    return None if _GATEWAY in os.environ else current_settings().spark_master.named


def _submitted() -> dict[str, str]:
    """What the user has told Spark elsewhere: to `spark-submit`, or in spark-defaults.conf."""
    from pyspark import SparkConf, SparkContext

    if _GATEWAY in os.environ:
        SparkContext._ensure_initialized()
        return dict(SparkConf().getAll())
    return _defaults_file()


def _defaults_file() -> dict[str, str]:
    from stoker.properties import read_properties

    home = os.environ.get("SPARK_CONF_DIR") or (
        os.path.join(os.environ["SPARK_HOME"], "conf") if os.environ.get("SPARK_HOME") else None
    )
    file = Path(home, "spark-defaults.conf") if home else None
    if file is None or not file.is_file():
        return {}
    return {each.name: each.value.strip() for each in read_properties(file)}


def _started(builder: "SparkSession.Builder") -> "SparkSession":
    from pyspark.errors import PySparkRuntimeError

    if _GATEWAY not in os.environ and _java() is None:
        raise SparkCannotStart(
            "Spark needs Java 17 or newer, and there is no java in JAVA_HOME or on the PATH. Install a JDK: "
            "`apt install openjdk-17-jre-headless`, `brew install openjdk@17`, or conda's `openjdk`."
        )
    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise SparkCannotStart(
            f"Spark's Java ended as soon as it was started; what it said is above. Spark needs Java 17 or newer, "
            f"and this one ({_java()}) says of itself: {_java_version()}"
        ) from error


@contextmanager
def _told_by_the_environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """While Spark starts: the Python of functions (UDFs) and registered sources, and not to warn of the host's name."""
    variables = {
        "PYSPARK_PYTHON": wanted.get("spark.pyspark.python"),
        "SPARK_LOCAL_IP": wanted.get("spark.driver.host"),
        "STOKER_WORKER_PYTHON": sys.executable,
    }
    ours = {name: value for name, value in variables.items() if value is not None and name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            del os.environ[name]


def _java() -> str | None:
    """As Spark finds it."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(os.path.join(home, "bin", "java")) if home else shutil.which("java")


def _java_version() -> str:
    java = _java()
    if java is None:
        return "nothing"
    asked = subprocess.run([java, "-version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    said = asked.stderr.strip().splitlines()
    return said[0] if said else "nothing"


def _text(value: object) -> str:
    """As Spark writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
