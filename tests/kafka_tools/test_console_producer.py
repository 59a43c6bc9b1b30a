"""How kafka-console-producer.sh ends."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition

from stoker import Broker


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with Broker(config={"num.partitions": 1}) as broker:
        yield broker.bootstrap_servers


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_was_read_is_sent_before_it_ends(address: str, number: signal.Signals, code: int) -> None:
    """Records that wait for others to fill their batch when the signal comes."""
    topic = f"ended-by-{number}"
    command = [sys.executable, "-m", "stoker.kafka_tools", "kafka-console-producer.sh", "--bootstrap-server", address]
    with subprocess.Popen(
        [*command, "--topic", topic, "--timeout", "60000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as producer:
        assert producer.stdin is not None
        producer.stdin.write(b"".join(b"%d\n" % each for each in range(10)))
        producer.stdin.flush()
        consumer = Consumer({"bootstrap.servers": address, "group.id": "test"})
        while topic not in consumer.list_topics(timeout=10).topics:  # made when it asks for it, before it reads
            time.sleep(0.05)
        time.sleep(1)  # nothing tells when it has read what waits in the pipe
        assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) == (0, 0)
        producer.send_signal(number)
        assert producer.wait(30) == code
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) == (0, 10)
    consumer.close()


def test_a_separator_that_is_no_pattern_is_told_of(address: str) -> None:
    command = [sys.executable, "-m", "stoker.kafka_tools", "kafka-console-producer.sh", "--bootstrap-server", address]
    properties = ["--reader-property", "parse.headers=true", "--reader-property", "headers.separator=("]
    ran = subprocess.run(
        [*command, "--topic", "x", *properties], input="", capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith("java.util.regex.PatternSyntaxException: missing ), unterminated subpattern")
