"""A cluster that wants TLS and a login, named once in stoker.toml: commands, Kafka's tools, registry, Spark, streams."""

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import stoker.spark
from stoker import Streams
from stoker.client.librdkafka import librdkafka_settings
from stoker.registry.election import REFUSED_PAUSE_SECONDS
from stoker.registry.log_reader import LogReader
from stoker.streams import open_store
from tests.cli.up_process import UpProcess, named_up
from tests.clients.drivers.java import JavaClients
from tests.clients.kafka_tools import MAIN_CLASSES
from tests.faults.stoker_process import STOKER
from tests.secured_kafka import PASSWORD, SecuredKafka, secured_kafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.java, pytest.mark.timeout(600)]

ORDER = (
    '{"type":"record","name":"Order","fields":[{"name":"customer","type":"string"},{"name":"amount","type":"double"}]}'
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A directory with a stoker.toml, and the registry that `stoker up` runs there."""

    directory: Path
    kafka: SecuredKafka
    up: UpProcess

    @property
    def security(self) -> dict[str, str]:
        """As in a file of Kafka's Java client."""
        login = (
            f'org.apache.kafka.common.security.scram.ScramLoginModule required username="ann" password="{PASSWORD}";'
        )
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": login,
        } | self.kafka.trust

    def stoker(self, *arguments: str, stdin: str = "") -> str:
        command = [STOKER, *arguments]
        ran = subprocess.run(
            command, cwd=self.directory, env=environment(), input=stdin, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout


def environment() -> dict[str, str]:
    return {**os.environ, "STOKER_KAFKA_PROPERTIES_SASL_PASSWORD": PASSWORD}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    directory = tmp_path_factory.mktemp("secured")
    with secured_kafka(directory) as kafka:
        (directory / "stoker.toml").write_text(f"""
[kafka]
bootstrap-servers = "{kafka.addresses["BOTH"]}"

[kafka.properties]
security.protocol = "SASL_SSL"
sasl.mechanism = "SCRAM-SHA-512"
sasl.username = "ann"
ssl.truststore.type = "PEM"
ssl.truststore.location = "{kafka.authority.certificate}"
""")
        with named_up(directory, env=environment()) as running:
            yield Project(directory=directory, kafka=kafka, up=running)


@pytest.fixture(autouse=True)
def in_the_project(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program of the project finds."""
    monkeypatch.chdir(project.directory)
    monkeypatch.setenv("STOKER_KAFKA_PROPERTIES_SASL_PASSWORD", PASSWORD)
    monkeypatch.setenv("STOKER_REGISTRY_URL", project.up.registry)


def test_commands(project: Project) -> None:
    """Stoker's own client, and librdkafka, which writes and reads the records."""
    project.stoker("topics", "create", "words", "--partitions", "2")
    project.stoker("produce", "words", stdin="one\ntwo\n")
    consumed = project.stoker("consume", "words", "--group", "readers", "--from-beginning", "--until", "end")
    assert sorted(consumed.split()) == ["one", "two"]
    [described] = json.loads(project.stoker("groups", "describe", "readers", "--json"))
    assert [each["lag"] for each in described["partitions"]] == [0, 0]
    assert PASSWORD not in project.stoker("config", "show")


@pytest.mark.parametrize("command", [["topics", "list"], ["consume", "words"], ["produce", "words"]])
def test_a_wrong_password(project: Project, command: list[str]) -> None:
    """Told of by either client, and without the question whether a broker is there."""
    wrong = environment() | {"STOKER_KAFKA_PROPERTIES_SASL_PASSWORD": "wrong"}
    ran = subprocess.run(
        [STOKER, *command], cwd=project.directory, env=wrong, input="", capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "Authentication failed" in ran.stderr
    assert "Is a broker running" not in ran.stderr


def test_kafkas_tools(project: Project) -> None:
    """Ours take the file of Kafka's own, and print the same."""
    file = project.directory / "client.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in project.security.items()))
    address = project.kafka.addresses["BOTH"]
    arguments = ["--bootstrap-server", address, "--command-config", str(file), "--describe", "--topic", "tools"]
    project.stoker("topics", "create", "tools", "--partitions", "3")
    with closing(JavaClients(address)) as java:
        theirs = java.tool(MAIN_CLASSES["kafka-topics.sh"], *arguments)
    assert theirs.status == 0, theirs.error
    assert project.stoker("kafka-topics.sh", *arguments) == theirs.output


def test_the_registry_keeps_its_schemas_there(project: Project) -> None:
    (project.directory / "order.avsc").write_text(ORDER)
    assert "version 1" in project.stoker("schemas", "register", "typed-value", "order.avsc")
    assert project.up.registry
    assert not project.up.broker, "the cluster of the file is used"


@pytest.mark.spark
def test_spark_reads_and_writes_exactly_once(project: Project, spark: "SparkSession") -> None:
    """Driver and Python workers alike connect with what the file and the environment say."""
    project.stoker("topics", "create", "typed", "--partitions", "2")
    attached = stoker.spark.attach(spark, topics=["typed"], value_format="avro", database="secured")
    try:
        spark.sql(
            "INSERT INTO secured.typed (customer, amount) SELECT concat('customer ', id % 3), CAST(id AS DOUBLE) FROM range(30)"
        )
        rows = spark.sql("SELECT customer, sum(amount) AS total FROM secured.typed GROUP BY customer").collect()
    finally:
        attached.detach()
    assert {row.customer: row.total for row in rows} == {"customer 0": 135.0, "customer 1": 145.0, "customer 2": 155.0}


@pytest.mark.spark
def test_streams(project: Project, spark: "SparkSession") -> None:
    """From topic to topic with a store, exactly once; and nobody writes the password down."""
    project.stoker("topics", "create", "lines", "--partitions", "2")
    project.stoker("produce", "lines", stdin="".join(f"word {number % 4}\n" for number in range(40)))
    app = Streams("secured", spark=spark, registry="", state_dir=str(project.directory / "state"))
    app.stream("lines").group_by("value").count(store="counts").to("counts")
    app.run(until_end=True)
    state = project.directory / "state"
    assert open_store("secured", "counts", state_dir=state).get("word 1") is not None
    files = [each for each in state.rglob("*") if each.is_file()]
    assert files
    assert [each for each in files if PASSWORD.encode() in each.read_bytes()] == []
    assert PASSWORD not in project.up.output
    consumed = project.stoker(
        "consume", "counts", "--from-beginning", "--until", "end", "--isolation", "read_committed"
    )
    assert sorted(consumed.split("\n"))[1:] == ['{"count":10}'] * 4


def test_sql(project: Project) -> None:
    """Statements go to the log of their service, and records come from their topic."""
    project.stoker("topics", "create", "printed")
    project.stoker("produce", "printed", stdin='{"id": 1}\n{"id": 2}\n')
    stream = "CREATE STREAM numbers (id INT) WITH (KAFKA_TOPIC='printed', VALUE_FORMAT='JSON')"
    shown = project.stoker(
        "sql", "-e", stream, "-e", "SHOW STREAMS", "-e", "PRINT printed FROM BEGINNING LIMIT 2", "--state-dir", "state"
    )
    assert "NUMBERS" in shown
    assert '{"id": 2}' in shown


def test_a_password_that_is_changed_while_a_registry_reads(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """It logs in once a minute, not several times a second, and goes on when it is let in again."""
    wrong = {"sasl.password": "wrong", "bootstrap.servers": project.kafka.addresses["BOTH"]}
    properties = librdkafka_settings(project.security) | wrong
    pauses: list[float | None] = []
    ended, failures = threading.Event(), list[object]()
    reader = LogReader(
        properties,
        "_schemas",
        on_records=lambda records, last: None,
        on_end=ended.set,
        on_loss=failures.append,
        on_failure=failures.append,
    )

    def wait(seconds: float | None = None) -> bool:
        pauses.append(seconds)
        properties["sasl.password"] = PASSWORD
        return False

    monkeypatch.setattr(reader._stopping, "wait", wait)
    reader.start()
    try:
        assert ended.wait(60)
    finally:
        reader.stop()
    assert (pauses, failures) == ([REFUSED_PAUSE_SECONDS], [])
