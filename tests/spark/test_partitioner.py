"""Where rows go, judged by what Java's producer does with the same keys."""

from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Producer
from kafka.partitioner.default import murmur2 as murmur2_of_kafka_python

from stoker.client.admin.topics import create_topic, wait_until
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.spark.errors import UnwritableRow
from stoker.spark.partitioner import Spread, by_key, choose_partitions
from stoker.wire.batch_columns import Integers
from tests.clients.client import fresh_topic
from tests.clients.drivers.java import JavaClients
from tests.clients.test_partitioning import MURMUR2_PARTITIONS, PARTITIONS

RUN = Spread(start=0, run_bytes=100)


def chosen(
    keys: list[bytes | None] | None,
    wanted: list[int | None] | None = None,
    *,
    count: int = 4,
    size: int = 10,
    spread: Spread = RUN,
    rows: Integers | None = None,
) -> list[int]:
    length = len(keys if keys is not None else wanted or [])
    found = choose_partitions(
        None if keys is None else pa.array(keys, type=pa.binary()),
        None if wanted is None else pa.array(wanted, type=pa.int32()),
        np.full(length, size),
        topic="orders",
        partition_count=count,
        spread=spread,
        rows=np.arange(length) if rows is None else rows,
    )
    return list(map(int, found))


def topic_of_seven(address: str) -> str:
    topic = fresh_topic("keys")
    with Cluster(client_properties(address)) as cluster:
        create_topic(cluster, topic, partitions=7)
        wait_until(cluster, topic, lambda found: found is not None)
    return topic


def test_keys_go_where_javas_default_partitioner_puts_them() -> None:
    keys = pa.array(list(MURMUR2_PARTITIONS), type=pa.binary())
    assert by_key(keys, PARTITIONS).tolist() == list(MURMUR2_PARTITIONS.values())


@pytest.mark.parametrize("count", [1, 2, 7, 200, 100_000])
def test_keys_of_any_length_in_any_number_of_partitions(count: int) -> None:
    random = np.random.default_rng(count)
    keys = [random.bytes(int(length)) for length in random.integers(0, 40, 2000)]
    expected = [(murmur2_of_kafka_python(key) & 0x7FFF_FFFF) % count for key in keys]
    assert by_key(pa.array(keys, type=pa.binary()), count).tolist() == expected


def test_librdkafka_puts_the_same_keys_into_the_same_partitions(broker: str) -> None:
    topic = topic_of_seven(broker)
    random = np.random.default_rng(3)
    keys = [random.bytes(int(length)) for length in random.integers(1, 40, 3000)]
    placed: dict[bytes | None, int | None] = {}
    producer = Producer({"bootstrap.servers": broker, "partitioner": "murmur2_random"})
    for key in keys:
        producer.produce(
            topic, b"", key, on_delivery=lambda _error, record: placed.update({record.key(): record.partition()})
        )
    assert producer.flush(30) == 0
    assert by_key(pa.array(keys, type=pa.binary()), 7).tolist() == [placed[key] for key in keys]


@pytest.mark.java
def test_javas_producer_puts_the_same_keys_into_the_same_partitions(broker: str) -> None:
    topic = topic_of_seven(broker)
    random = np.random.default_rng(4)
    keys = [random.bytes(int(length)) for length in (*range(40), 511, 512, 513, 5000)]
    with closing(JavaClients(broker)) as java:
        assert java.produce_by_key(topic, keys) == by_key(pa.array(keys, type=pa.binary()), 7).tolist()


def test_rows_without_a_key_go_to_one_partition_by_runs() -> None:
    assert chosen([None] * 40, count=3) == [0] * 10 + [1] * 10 + [2] * 10 + [0] * 10
    assert chosen([None] * 20, count=3, spread=Spread(5, 100)) == [2] * 10 + [0] * 10
    assert chosen([None] * 3, count=3, size=1000) == [0, 1 * 10 % 3, 20 % 3], "a large row is several runs"


def test_rows_with_and_without_keys_are_told_apart() -> None:
    assert chosen([b"a", None, b"key", None], count=PARTITIONS, spread=Spread(3, 100)) == [4, 3, 1, 3]


def test_an_empty_key_is_a_key() -> None:
    assert chosen([b""], count=1000, spread=Spread(1, 100)) == [(murmur2_of_kafka_python(b"") & 0x7FFF_FFFF) % 1000]


def test_the_partition_that_a_row_asks_for_is_stronger_than_its_key() -> None:
    assert chosen([b"a", b"a", None], [5, None, 2], count=PARTITIONS) == [5, 4, 2]


@pytest.mark.parametrize("wrong", [-1, 4, 2**31 - 1])
def test_a_partition_that_is_not_there_is_refused_by_row(wrong: int) -> None:
    with pytest.raises(UnwritableRow, match=f"row 101 asks for partition {wrong} of topic 'orders'.* 0 to 3"):
        chosen([b"a", b"b"], [0, wrong], rows=np.arange(100, 102))
