"""The order of Java's HashMap, in which some of Kafka's tools print: no order for people, but the same each time."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from stoker.client.topic_partition import TopicPartition

T = TypeVar("T")

_SMALLEST: Final = 16
_MASK: Final = 0xFFFFFFFF


def java_hash(text: str) -> int:
    """`String.hashCode`, as a number without sign."""
    units = text.encode("utf-16-be")
    value = 0
    for index in range(0, len(units), 2):
        value = (31 * value + (units[index] << 8 | units[index + 1])) & _MASK
    return value


def in_hash_order(keys: Iterable[T], hashed: Callable[[T], int], *, capacity: int = _SMALLEST) -> list[T]:
    """As a HashMap of this capacity would give them back that the keys were put into one after the other."""
    keys = list(dict.fromkeys(keys))
    size = 1
    while size < capacity:
        size *= 2
    while len(keys) > size * 3 // 4:
        size *= 2

    def bucket(key: T) -> int:
        value = hashed(key) & _MASK
        return (value ^ value >> 16) & (size - 1)

    return sorted(keys, key=bucket)


def hash_map_order(keys: Iterable[str], *, capacity: int = _SMALLEST) -> list[str]:
    """The same of texts."""
    return in_hash_order(keys, java_hash, capacity=capacity)


def partition_order(partitions: "Iterable[TopicPartition]") -> "list[TopicPartition]":
    """The same of TopicPartitions, whose hash is made of the partition and the topic."""
    return in_hash_order(partitions, lambda each: 31 * (31 + each.partition) + java_hash(each.topic))


def combined(*hashes: int) -> int:
    """The hash of an object from those of its fields, as most Java classes make it."""
    value = 1
    for each in hashes:
        value = (31 * value + each) & _MASK
    return value
