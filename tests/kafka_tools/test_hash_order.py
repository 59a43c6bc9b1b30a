"""The order of Java's hash tables. What it should be was printed by Java."""

from stoker.client.topic_partition import TopicPartition
from stoker.kafka_tools.hash_order import hash_map_order, java_hash, partition_order

EXPECTED_HASHES = {"": 0, "orders": 3286196965, "é": 233, "😀": 1772899, "__consumer_offsets": 3324595927}
EXPECTED_ORDER = [f"topic-{number}" for number in (6, 7, 8, 9, 0, 1, 2, 3, 10, 4, 11, 5, 12, 13)]
EXPECTED_PARTITIONS = ["orders-0", "orders-1", "orders-2", "events-0", "events-1", "events-2"]


def test_hashes_of_texts() -> None:
    assert {text: java_hash(text) for text in ("", "orders", "é", "😀", "__consumer_offsets")} == EXPECTED_HASHES


def test_the_order_of_texts() -> None:
    assert hash_map_order(f"topic-{number}" for number in range(14)) == EXPECTED_ORDER
    assert hash_map_order(["b", "a", "c"], capacity=3) == ["a", "b", "c"]


def test_the_order_of_partitions() -> None:
    partitions = [TopicPartition(topic, number) for topic in ("orders", "events") for number in range(3)]
    assert [str(each) for each in partition_order(partitions)] == EXPECTED_PARTITIONS
