"""What all tests share: what their markers need of the machine, and how hard Hypothesis tries.

A test that needs a program this machine lacks is skipped with the name of what to install; `make test` installs or
demands all of them first, so that nothing is skipped there unseen.
"""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests import backends
from tests.apache_kafka import ApacheKafka
from tests.backends import is_on_apache_kafka
from tests.class_archives import SHORT_LIVED, SPARK, archived

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from xdist.remote import Producer

    from tests.scheduling import Scheduling

pytest_plugins = ["pytester"]

REPOSITORY = Path(__file__).resolve().parent.parent
KAFKA_JARS = REPOSITORY / ".cache" / "kafka-jars"
SPRING_JARS = REPOSITORY / ".cache" / "spring-jars"
CONFLUENT_JARS = REPOSITORY / ".cache" / "confluent-jars"
NODE_MODULES = REPOSITORY / "tests" / "clients" / "kafkajs" / "node_modules"

# Machines that run tests are busy: how long one example takes says nothing there, so there is no deadline.
hypothesis.settings.register_profile("stoker", deadline=None, print_blob=True)
hypothesis.settings.register_profile("soak", parent=hypothesis.settings.get_profile("stoker"), max_examples=10_000)
hypothesis.settings.load_profile("stoker")

LONG_FIRST = (
    "tests/streams",
    "tests/spark",
    "tests/demo",
    "tests/clusters",
    "tests/kafka_tools",
    "tests/faults",
    "tests/clients",
    "tests/examples",
    "tests/cli",
    "tests/broker",
)
"""Where files of tests take seconds rather than a moment."""

MOST_WORKERS = 8

COLLECTED = pytest.StashKey[list[pytest.Item]]()
"""All tests of the files that were named, those that are left out too."""

SPARK_SHUFFLE_PARTITIONS = 4
SPARK_TIMEOUT_SECONDS = 900
"""Far more than any test needs, but on a machine that is busy with something else. A test that is interrupted while it talks
to the JVM leaves the session unusable for all that come after it."""

# In the environment, for examples and local clusters too.
os.environ.setdefault("SPARK_SUBMIT_OPTS", " ".join((*SPARK, *archived("spark"))))
os.environ.setdefault("SPARK_LAUNCHER_OPTS", " ".join(SHORT_LIVED))
os.environ.setdefault("SPARK_DAEMON_JAVA_OPTS", " ".join(archived("spark")))
os.environ.setdefault("KAFKA_OPTS", " ".join(archived("kafka")))

# Who starts the tests in the background of a shell has them ignore Ctrl-C, and so would all that they start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

PREREQUISITES: dict[str, tuple[Callable[[], bool], str]] = {
    "confluent": (
        lambda: (
            shutil.which("java") is not None
            and all((jars / ".complete").exists() for jars in (KAFKA_JARS, CONFLUENT_JARS))
        ),
        "needs a JDK, Maven, `make kafka-jars` and `make confluent-jars`",
    ),
    "curl": (lambda: shutil.which("curl") is not None, "needs curl: apt install curl, or brew install curl"),
    "java": (
        lambda: shutil.which("java") is not None and (KAFKA_JARS / ".complete").exists(),
        "needs a JDK, Maven and `make kafka-jars`",
    ),
    "kcat": (lambda: shutil.which("kcat") is not None, "needs kcat: apt install kcat, or brew install kcat"),
    "node": (
        lambda: shutil.which("node") is not None and NODE_MODULES.exists(),
        "needs Node.js and `make node-modules`",
    ),
    "spark": (
        lambda: shutil.which("java") is not None,
        "needs Java 17 or newer: apt install openjdk-17-jre-headless, or brew install openjdk@17",
    ),
    "spring": (
        lambda: shutil.which("java") is not None and (SPRING_JARS / ".complete").exists(),
        "needs a JDK, Maven and `make spring-jars`",
    ),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--against",
        default=os.environ.get("STOKER_TESTS_AGAINST", "chosen"),
        metavar="chosen|stoker|apache-kafka|both|HOST:PORT",
        help="what tests that take a backend run on (tests/backends.py)",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend" in metafunc.fixturenames:
        backends.parametrize(metafunc)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that use `spark` and `backend` are marked so. Workers (`pytest -n`) take the long files first, so that none is left alone
    at the end.
    """
    config.stash[COLLECTED] = list(items)
    for item in items:
        if isinstance(item, pytest.Function) and "backend" in item.fixturenames:
            item.add_marker(pytest.mark.backend)
        if isinstance(item, pytest.Function) and "spark" in item.fixturenames:
            item.add_marker(pytest.mark.spark)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(SPARK_TIMEOUT_SECONDS))

    def place(item: pytest.Item) -> int:
        if is_on_apache_kafka(item.nodeid):
            return 2  # all of them are one, after those that share a Spark session
        rooms = [number for number, room in enumerate(LONG_FIRST) if item.path.is_relative_to(REPOSITORY / room)]
        return rooms[0] if rooms else len(LONG_FIRST)

    if hasattr(config, "workerinput"):
        items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """For `-n auto`: one more than there are cores, since many tests wait; few, since each worker starts brokers and JVMs of its own."""
    return min((os.cpu_count() or 1) + 1, MOST_WORKERS)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "Scheduling | None":
    from tests.scheduling import Scheduling

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, (is_met, need) in PREREQUISITES.items():
        if item.get_closest_marker(marker) is not None and not is_met():
            pytest.skip(need)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Three brokers take a third of a core when they are idle: they end with the last test on them, and what uses them before."""
    if nextitem is not None and is_on_apache_kafka(item.nodeid) and not is_on_apache_kafka(nextitem.nodeid):
        assert isinstance(item, pytest.Function)
        if (backend := item._request._arg2fixturedefs.get("backend")) is not None:
            backend[-1].finish(item._request)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the work tree."""
    return REPOSITORY


@pytest.fixture(scope="session")
def backend(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[backends.Backend]:
    """The cluster that a test runs on: the embedded broker or a three-broker Apache Kafka, each started once."""
    with backends.started(request.param, tmp_path_factory.mktemp("backend")) as backend:
        yield backend


@pytest.fixture(scope="session")
def stoker_address() -> Iterator[str]:
    """A Stoker broker for all tests that use topics and groups of their own."""
    from stoker import Broker

    with Broker(config={"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture(scope="session")
def apache_kafka_address() -> Iterator[str]:
    """An Apache Kafka node likewise; for tests that are marked `java`."""
    with ApacheKafka() as kafka:
        yield kafka.bootstrap_servers


@pytest.fixture(autouse=True)
def _active_session(request: pytest.FixtureRequest) -> None:
    """Spark looks for what is written in Python in the session that is active in a thread: that of the test before may be another one."""
    if "spark" in request.fixturenames:
        from stoker.spark.spark_session import make_active

        make_active(request.getfixturevalue("spark"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """One for all tests of a process: as `stoker.spark.session()` makes it, with two cores on any machine."""
    import stoker.spark

    session = stoker.spark.session(
        "stoker-tests",
        master="local[2,4]",
        config={
            "spark.sql.shuffle.partitions": SPARK_SHUFFLE_PARTITIONS,
            "spark.sql.warehouse.dir": tmp_path_factory.mktemp("warehouse"),
            "spark.log.level": "ERROR",
        },
    )
    yield session
    session.stop()
