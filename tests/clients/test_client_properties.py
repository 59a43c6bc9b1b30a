"""Properties files of tutorials, given to Kafka's console tools and to Stoker's command line."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.client import Record, fresh_topic
from tests.clients.connection import Connection, codec_of
from tests.clients.consumer_groups import ConsumerGroups
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.drivers.java import JavaClients
from tests.clients.kafka_tools import KafkaTools
from tests.clients.tutorials import everything, source

A_NUMBER = {"retries=Integer.MAX_VALUE": "retries=2147483647"}
BY_KEY = {"partitioner.class=org.apache.kafka.clients.producer.RoundRobinPartitioner": ""}


def without_comments(text: str) -> str:
    """Without the comments behind values, which are a part of the value to Kafka."""
    return re.sub(r"(?m)(?<=\S)\s+#.*$", "", text)


@pytest.fixture(scope="module")
def tools(java: JavaClients) -> KafkaTools:
    return KafkaTools(java)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "client.properties"


def stoker(address: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command line; it may be any cluster's."""
    command = [sys.executable, "-m", "stoker", *arguments, "--bootstrap-server", address]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


@pytest.mark.acceptance("S030")
@pytest.mark.java
def test_durable_producer_settings_in_kafkas_tool(
    tools: KafkaTools, orders: str, confluent: ConfluentKafka, broker_address: str, file: Path
) -> None:
    """As pasted, comments and Java's name of a number are refused; without them the record is sent."""
    produce = f"kafka-console-producer.sh --bootstrap-server localhost:9092 --topic orders --command-config {file}"
    file.write_text(source("durable_producer.properties", broker_address))
    assert "Invalid value Integer.MAX_VALUE         # retry forever" in tools.complaint(produce, stdin="hello\n")
    file.write_text(without_comments(source("durable_producer.properties", broker_address, A_NUMBER)))
    tools.output(produce, stdin="hello\n")
    assert [each.value for each in everything(confluent, orders)] == [b"hello"]


@pytest.mark.acceptance("S030")
def test_durable_producer_settings_in_our_command_line(
    confluent: ConfluentKafka, broker_address: str, file: Path
) -> None:
    """`stoker produce` takes the comments for comments and names Integer.MAX_VALUE; with a number it sends, in lz4."""
    topic = fresh_topic("durable")
    confluent.create_ready_topic(topic)
    file.write_text(source("durable_producer.properties", broker_address))
    refused = stoker(broker_address, "produce", topic, "--command-config", str(file), stdin="hello\n")
    assert (refused.returncode, "retries=Integer.MAX_VALUE is no number" in refused.stderr) == (2, True)
    file.write_text(source("durable_producer.properties", broker_address, A_NUMBER))
    text = "hello " * 100  # what does not shrink is sent as it is
    produced = stoker(broker_address, "produce", topic, "--command-config", str(file), stdin=f"{text}\n")
    assert (produced.returncode, produced.stdout) == (0, ""), produced.stderr
    assert [each.value for each in confluent.read(topic, 0, count=1)] == [text.encode()]
    with Connection(broker_address, topic) as connection:
        assert codec_of(connection.fetch(topic, 0)) == "lz4"


@pytest.mark.acceptance("S031")
@pytest.mark.java
def test_production_producer_settings_in_kafkas_tool(
    tools: KafkaTools, orders: str, confluent: ConfluentKafka, broker_address: str, file: Path
) -> None:
    """The file is taken as it is; its RoundRobinPartitioner spreads one key over all partitions, and without it the key stays in one."""
    produce = (
        f"kafka-console-producer.sh --bootstrap-server localhost:9092 --topic orders --command-config {file}"
        " --reader-property parse.key=true --reader-property key.separator=:"
    )
    file.write_text(source("production_producer.properties", broker_address))
    tools.output(produce, stdin="USR-1:spread\n" * 6)
    assert {each.partition for each in everything(confluent, orders)} == {0, 1, 2}
    file.write_text(source("production_producer.properties", broker_address, BY_KEY))
    tools.output(produce, stdin="USR-1:kept\n" * 6)
    assert len({each.partition for each in everything(confluent, orders) if each.value == b"kept"}) == 1


@pytest.mark.acceptance("S031")
def test_production_producer_settings_in_our_command_line(
    orders: str, confluent: ConfluentKafka, broker_address: str, file: Path
) -> None:
    """`stoker produce` names the partitioner, a Java class, and takes all the rest, addresses and serializers included."""
    produce = ("produce", orders, "--key-separator", ":", "--command-config", str(file))
    file.write_text(source("production_producer.properties", broker_address))
    refused = stoker(broker_address, *produce, stdin="USR-1:kept\n")
    assert refused.returncode == 2
    assert "partitioner.class cannot be used: it names a Java class" in refused.stderr
    file.write_text(source("production_producer.properties", broker_address, BY_KEY))
    produced = stoker(broker_address, *produce, stdin="USR-1:kept\n" * 6)
    assert (produced.returncode, produced.stdout) == (0, ""), produced.stderr
    assert len({each.partition for each in everything(confluent, orders)}) == 1


@pytest.mark.acceptance("S045")
@pytest.mark.java
def test_consumer_settings_in_kafkas_tool(
    tools: KafkaTools, orders: str, confluent: ConfluentKafka, broker_address: str, file: Path
) -> None:
    """As pasted, the comments are refused; without them a group reads from the beginning, as auto.offset.reset=earliest says."""
    confluent.produce(orders, [Record(value=b"hello")])
    consume = (
        "kafka-console-consumer.sh --bootstrap-server localhost:9092 --topic orders --max-messages 1 --timeout-ms 20000"
        f" --group {fresh_topic('readers')} --command-config {file}"
    )
    file.write_text(source("consumer.properties", broker_address))
    assert "Invalid value 45000          # broker considers consumer dead" in tools.complaint(consume)
    file.write_text(without_comments(source("consumer.properties", broker_address)))
    assert tools.output(consume) == "hello\n"


@pytest.mark.acceptance("S045")
def test_consumer_settings_in_our_command_line(
    orders: str, confluent: ConfluentKafka, consumer_groups: ConsumerGroups, broker_address: str, file: Path
) -> None:
    """`stoker consume --group` takes the file as pasted: it reads from the beginning, as auto.offset.reset=earliest says."""
    confluent.produce(orders, [Record(value=b"hello")])
    file.write_text(source("consumer.properties", broker_address))
    group = fresh_topic("readers")
    consume = ("consume", orders, "--group", group, "--max", "1", "--timeout", "20", "--command-config", str(file))
    consumed = stoker(broker_address, *consume)
    assert (consumed.returncode, consumed.stdout) == (0, "hello\n"), consumed.stderr
    assert consumer_groups.committed(group, orders)[0] == 1
