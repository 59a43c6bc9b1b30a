"""Which partition a record goes to, where the client chooses: the broker must put it there, and tell clients alike how many there are."""

import zlib
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby

import pytest

from tests.clients.client import Client, Record, fresh_topic
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.drivers.java import JavaClients
from tests.clients.drivers.kafka_python import KafkaPython
from tests.clients.matrix import CLIENTS

PARTITIONS = 6
MURMUR2_PARTITIONS = {
    b"a": 4,
    b"key": 1,
    b"order-123": 1,
    b"USR-123": 5,
    b"customer-42": 3,
    "größe".encode(): 2,
    bytes(range(16)): 3,
    b"us-east:order-1": 3,
    b"k" * 100: 4,
}
"""Where Java's default partitioner puts each key: murmur2(key), made positive, modulo the number of partitions."""


@pytest.fixture
def six_partitions(confluent: ConfluentKafka) -> str:
    topic = fresh_topic("keys")
    confluent.create_ready_topic(topic, partitions=PARTITIONS)
    return topic


@pytest.mark.acceptance("B052", "B053", "S028")
@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_every_client_puts_a_key_where_java_does(
    client: Client, six_partitions: str, confluent: ConfluentKafka
) -> None:
    """Same key, same partition, for a table of keys; librdkafka's clients are told to use murmur2, the others do by default."""
    keys = list(MURMUR2_PARTITIONS)
    assert client.produce_by_key(six_partitions, keys) == list(MURMUR2_PARTITIONS.values())
    for partition in set(MURMUR2_PARTITIONS.values()):
        expected = [key for key, place in MURMUR2_PARTITIONS.items() if place == partition]
        assert [each.key for each in confluent.read(six_partitions, partition, count=len(expected))] == expected


@pytest.mark.acceptance("B053")
def test_librdkafka_by_itself_uses_crc32(confluent: ConfluentKafka, six_partitions: str) -> None:
    """Without a setting confluent-kafka places keys by CRC32, so Java finds them elsewhere than its own."""
    keys = list(MURMUR2_PARTITIONS)
    chosen = confluent.partitions_chosen(six_partitions, keys, {})
    assert chosen == [zlib.crc32(key) % PARTITIONS for key in keys]
    assert chosen != list(MURMUR2_PARTITIONS.values())


@pytest.mark.acceptance("B054")
@pytest.mark.java
def test_records_without_a_key_stick_to_a_partition_for_a_batch(java: JavaClients, six_partitions: str) -> None:
    """Null keys spread over the partitions, and by batches: far fewer changes of partition than records."""
    settings = {"batch.size": "1000", "linger.ms": "5"}
    count = 3000
    partitions = java.call("produce_by_key", topic=six_partitions, keys=[None] * count, settings=settings)
    assert len(partitions) == count
    assert len(set(partitions)) > 1
    assert len(list(groupby(partitions))) < count / 10


@pytest.mark.acceptance("B019")
def test_a_key_may_move_when_partitions_are_added(confluent: ConfluentKafka) -> None:
    """After growth new records of a key go elsewhere, and the old ones stay: one key in two partitions."""
    topic = fresh_topic("grown")
    confluent.create_ready_topic(topic, partitions=1)
    assert confluent.produce_by_key(topic, [b"key"]) == [0]
    confluent.create_partitions(topic, PARTITIONS)
    for partition in range(PARTITIONS):
        confluent.wait_for_leader(topic, partition)
    [moved] = confluent.produce_by_key(topic, [b"key"])
    assert moved == MURMUR2_PARTITIONS[b"key"] != 0
    assert [each.key for each in confluent.read(topic, 0, count=1)] == [b"key"]
    assert [each.key for each in confluent.read(topic, moved, count=1)] == [b"key"]


@pytest.mark.acceptance("B005")
def test_one_partition_gives_one_order_for_all_readers(confluent: ConfluentKafka, kafka_python: KafkaPython) -> None:
    """Producers that write at the same time to one partition are seen in the same order by every reader."""
    topic = fresh_topic("order")
    confluent.create_ready_topic(topic)
    values = [str(number).encode() for number in range(200)]
    keys = [b"one", b"two", b"three"]

    def produce(key: bytes) -> None:
        confluent.produce(topic, [Record(key=key, value=value) for value in values], idempotent=True)

    with ThreadPoolExecutor() as threads:
        list(threads.map(produce, keys))
    seen = confluent.read(topic, 0, count=600)
    assert seen == kafka_python.read(topic, 0, count=600)
    for key in keys:
        assert [each.value for each in seen if each.key == key] == values


@pytest.mark.acceptance("B004")
def test_order_is_kept_in_each_partition_and_nowhere_else(confluent: ConfluentKafka, six_partitions: str) -> None:
    """Records sent one after the other over six partitions come back in that order within each of them; across them none is promised."""
    sent = [Record(value=b"%d" % number, partition=number * 7 % PARTITIONS) for number in range(600)]
    confluent.produce(six_partitions, sent)
    for partition in range(PARTITIONS):
        expected = [each.value for each in sent if each.partition == partition]
        assert [each.value for each in confluent.read(six_partitions, partition, count=100)] == expected
