"""`__consumer_offsets` is Kafka's: its tools read what we write, and we read what it wrote."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import stoker
from tests.apache_kafka import CLASS_PATH, FAST_START, ApacheKafka

pytestmark = pytest.mark.java

_DUMP = ("java", *FAST_START, "-cp", CLASS_PATH, "org.apache.kafka.tools.DumpLogSegments")
Decoded = tuple[dict[str, Any], dict[str, Any] | None]
_QUICK = {"group.initial.rebalance.delay.ms": "0"}


def use_groups(bootstrap_servers: str) -> None:
    """Two groups read ten records, one of each protocol, and commit with a word; a third commits without members."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_topics([NewTopic("orders", num_partitions=1)])["orders"].result(10)
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    for number in range(10):
        producer.produce("orders", b"%d" % number)
    producer.flush()
    for protocol in ("classic", "consumer"):
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": f"{protocol}-group",
                "group.protocol": protocol,
                "client.id": "a-client",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe(["orders"])
        read = 0
        while read < 10:
            read += len(consumer.consume(10, timeout=1))
        consumer.commit(offsets=[TopicPartition("orders", 0, 10, metadata="by hand")], asynchronous=False)
        consumer.close()
    simple = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "simple-group", "enable.auto.commit": False})
    simple.commit(offsets=[TopicPartition("orders", 0, 4)], asynchronous=False)
    simple.close()


def committed(bootstrap_servers: str, group: str) -> tuple[int, str | None]:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": group, "enable.auto.commit": False})
    try:
        [partition] = consumer.committed([TopicPartition("orders", 0)], timeout=10)
        return partition.offset, partition.metadata
    finally:
        consumer.close()


def decoded(data_dir: Path) -> list[Decoded]:
    """Keys and values of all records, as `DumpLogSegments --offsets-decoder` reads them."""
    files = [path for path in data_dir.glob("__consumer_offsets-*/*.log") if path.stat().st_size]
    dump = subprocess.run(
        [*_DUMP, "--offsets-decoder", "--files", ",".join(map(str, files))],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = []
    for key, payload in re.findall(r"key: (\{.*\}) payload: (\{.*\}|<DELETE>)$", dump.stdout, re.MULTILINE):
        found.append((json.loads(key), None if payload == "<DELETE>" else json.loads(payload)))
    assert len(found) == len(re.findall(r"^\| offset:", dump.stdout, re.MULTILINE)), dump.stdout
    return found


@pytest.fixture(scope="module")
def records(
    tmp_path_factory: pytest.TempPathFactory,
) -> list[Decoded]:
    data_dir = tmp_path_factory.mktemp("data")
    with stoker.Broker(data_dir=data_dir, config=_QUICK) as broker:
        use_groups(broker.bootstrap_servers)
    return decoded(data_dir)


def test_kafkas_tool_decodes_our_offsets(records: list[Decoded]) -> None:
    """DumpLogSegments --offsets-decoder reads every record, and the commits say what was committed."""
    commits = {
        str(key["data"]["group"]): value["data"] for key, value in records if key["type"] == "1" and value is not None
    }
    # confluent-kafka counts the zero byte behind a C string as metadata.
    assert {group: (data["offset"], data["metadata"].rstrip("\0")) for group, data in commits.items()} == {
        "classic-group": (10, "by hand"),
        "consumer-group": (10, "by hand"),
        "simple-group": (4, ""),
    }


def test_kafkas_tool_decodes_our_groups(records: list[Decoded]) -> None:
    """Members and assignments of both protocols are decoded, and the groups are empty in the end."""
    types = {key["type"] for key, _ in records}
    assert types == {"1", "2", "3", "5", "6", "7", "8"}
    classic = [value["data"] for key, value in records if key["type"] == "2" and value is not None]
    assert [len(data["members"]) for data in classic] == [0, 1, 0]  # Kafka too writes a new group at once
    assert [key["type"] for key, value in records if value is None] != [], "a member that left is a tombstone"


def test_we_read_kafkas_offsets(tmp_path: Path) -> None:
    """A `__consumer_offsets` that Apache Kafka wrote, put in the place of ours, gives the same groups and offsets."""
    with ApacheKafka(properties=_QUICK) as kafka:
        use_groups(kafka.bootstrap_servers)
        kafka.stop()
        data_dir = tmp_path / "data"
        with stoker.Broker(data_dir=data_dir, config=_QUICK) as broker:
            admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
            admin.create_topics([NewTopic("orders", 1)])["orders"].result(10)
            committed(broker.bootstrap_servers, "makes-the-topic")
        for theirs in kafka.data_directory.glob("__consumer_offsets-*"):
            for segment in theirs.glob("*.log"):
                shutil.copy(segment, data_dir / theirs.name / segment.name)
    with stoker.Broker(data_dir=data_dir, config=_QUICK) as broker:
        found = {group: committed(broker.bootstrap_servers, group) for group in ("classic-group", "consumer-group")}
        assert found == {"classic-group": (10, "by hand"), "consumer-group": (10, "by hand")}
        assert committed(broker.bootstrap_servers, "simple-group")[0] == 4
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        listed = admin.list_consumer_groups().result(10)
        assert {(group.group_id, group.type.name) for group in listed.valid} >= {
            ("classic-group", "CLASSIC"),
            ("consumer-group", "CONSUMER"),
            ("simple-group", "CLASSIC"),
        }
