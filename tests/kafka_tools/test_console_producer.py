"""How kafka-console-producer.sh ends."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from stoker import Broker
from tests.faults.broker_process import BrokerProcess


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with Broker(config={"num.partitions": 1}) as broker:
        yield broker.bootstrap_servers


def _started(address: str, topic: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "stoker.kafka_tools", "kafka-console-producer.sh", "--bootstrap-server", address]
    return subprocess.Popen([*command, "--topic", topic, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _wait_for_topic(consumer: Consumer, topic: str) -> None:
    """It is made when the tool asks for it, before it reads."""
    while topic not in consumer.list_topics(timeout=10).topics:
        time.sleep(0.05)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_was_read_is_sent_before_it_ends(address: str, number: signal.Signals, code: int) -> None:
    """Records that wait for others to fill their batch when the signal comes."""
    topic = f"ended-by-{number}"
    with _started(address, topic, "--timeout", "60000") as producer:
        assert producer.stdin is not None
        producer.stdin.write(b"".join(b"%d\n" % each for each in range(10)))
        producer.stdin.flush()
        consumer = Consumer({"bootstrap.servers": address, "group.id": "test"})
        _wait_for_topic(consumer, topic)
        time.sleep(1)  # nothing tells when it has read what waits in the pipe
        assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) == (0, 0)
        producer.send_signal(number)
        assert producer.wait(30) == code
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) == (0, 10)
    consumer.close()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_is_queued_is_sent_before_it_ends(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """A signal that comes behind the end of the input, while the broker is slow to answer."""
    with BrokerProcess(tmp_path) as broker:
        with _started(broker.bootstrap_servers, "orders") as producer:
            assert producer.stdin is not None
            consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "test"})
            _wait_for_topic(consumer, "orders")
            time.sleep(1)  # nothing tells when it knows what it asked for
            broker.send_signal(signal.SIGSTOP)
            producer.stdin.write(b"1\n2\n")
            producer.stdin.close()
            time.sleep(1)  # nothing tells when it has read all
            producer.send_signal(number)
            with pytest.raises(subprocess.TimeoutExpired):
                producer.wait(1)
            broker.send_signal(signal.SIGCONT)
            assert producer.wait(30) == code
        assert consumer.get_watermark_offsets(TopicPartition("orders", 0), timeout=10) == (0, 2)
        consumer.close()


def test_a_record_that_is_refused_is_told_of_while_it_waits_for_others(address: str) -> None:
    """By the broker, which has a limit that the producer does not know of."""
    command = [sys.executable, "-m", "stoker.kafka_tools", "kafka-console-producer.sh", "--bootstrap-server", address]
    admin = AdminClient({"bootstrap.servers": address})
    (made,) = admin.create_topics([NewTopic("small", 1, config={"max.message.bytes": "100"})]).values()
    made.result()
    with subprocess.Popen([*command, "--topic", "small"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as producer:
        assert producer.stdin is not None
        assert producer.stderr is not None
        producer.stdin.write(b"x" * 1000 + b"\n")
        producer.stdin.flush()
        assert b"Error when sending message to topic small" in producer.stderr.readline(), "and its input is open"
        producer.stdin.close()
        assert producer.wait(30) == 0


def test_a_separator_that_is_no_pattern_is_told_of(address: str) -> None:
    command = [sys.executable, "-m", "stoker.kafka_tools", "kafka-console-producer.sh", "--bootstrap-server", address]
    properties = ["--reader-property", "parse.headers=true", "--reader-property", "headers.separator=("]
    ran = subprocess.run(
        [*command, "--topic", "x", *properties], input="", capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith("java.util.regex.PatternSyntaxException: missing ), unterminated subpattern")
