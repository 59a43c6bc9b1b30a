"""What kafka-producer-perf-test.sh and kafka-consumer-perf-test.sh read and write on a Stoker broker."""

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from stoker import Broker
from tests.kafka_tools.comparison import HERE, Ran, ours

SERVER = ("--bootstrap-server", HERE)
CONSUMER = "kafka-consumer-perf-test.sh"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with Broker(config={"group.initial.rebalance.delay.ms": 0, "auto.create.topics.enable": "false"}) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        for future in admin.create_topics([NewTopic("orders", 1), NewTopic("payments", 1)]).values():
            future.result()
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for topic in ("orders", "payments"):
            for number in range(10):
                producer.produce(topic, f"{number}")
        producer.flush()
        yield broker.bootstrap_servers


def _count(ran: Ran) -> int:
    """Of the records that a consumer has told of."""
    assert ran.code == 0, ran
    return int(ran.output.splitlines()[-1].split(", ")[4])


def test_topics_of_a_pattern(address: str) -> None:
    ran = ours(address, CONSUMER, *SERVER, "--include", "orders|payments", "--num-records", "20", "--timeout", "30000")
    assert _count(ran) == 20
    bad = ours(address, CONSUMER, *SERVER, "--include", "(", "--num-records", "1")
    assert bad.code == 1
    assert "java.util.regex.PatternSyntaxException" in bad.error


def test_a_topic_that_is_not_there_is_waited_for(address: str) -> None:
    """As long as `--timeout` says; then the totals are told of, as by Kafka's own."""
    ran = ours(address, CONSUMER, *SERVER, "--topic", "nope", "--num-records", "20", "--timeout", "1000")
    assert _count(ran) == 0
    assert ran.output.splitlines()[1].startswith("WARNING: Exiting before consuming the expected number of records: ")


def test_lines_are_there_at_once(address: str) -> None:
    """Not when the test is over: `| tee` shows how far it is."""
    numbers = ("--num-records", "100000", "--record-size", "10", "--throughput", "100", "--reporting-interval", "1000")
    command = [sys.executable, "-m", "stoker.kafka_tools", "kafka-producer-perf-test.sh", "--bootstrap-server", address]
    with subprocess.Popen([*command, "--topic", "orders", *numbers], stdout=subprocess.PIPE, text=True) as producer:
        assert producer.stdout is not None
        begun = time.monotonic()
        assert " records sent, " in producer.stdout.readline()
        assert time.monotonic() - begun < 20, "of some 1000 seconds"
        producer.kill()
