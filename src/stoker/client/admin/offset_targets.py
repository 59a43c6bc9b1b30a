"""Where the offsets of a group may be set to: ends, times, and what is within a partition."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stoker.client.admin.offsets import EARLIEST, LATEST, UNKNOWN_OFFSET, ListedOffset, list_offsets_of
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.topic_partition import TopicPartition

Offsets = dict[TopicPartition, int]


class OffsetsNotKnown(KafkaRefused):
    """The offsets of a partition are not told, and why."""

    def __init__(self, partition: TopicPartition, refused: KafkaRefused) -> None:
        super().__init__(refused.error_code, refused.message)
        self.partition = partition


class Fitted(NamedTuple):
    """What was asked for, and the nearest offset that the partition has."""

    asked: int
    offset: int


def offsets_at(cluster: Cluster, partitions: Iterable[TopicPartition], timestamp: int) -> Offsets:
    """The offset at EARLIEST, LATEST or a time, UNKNOWN_OFFSET if there is none as late. Raises OffsetsNotKnown."""
    offsets: Offsets = {}
    for partition, found in list_offsets_of(cluster, partitions, timestamp).items():
        if not isinstance(found, ListedOffset):
            raise OffsetsNotKnown(partition, found)
        offsets[partition] = found.offset
    return offsets


def fitted(cluster: Cluster, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, Fitted]:
    """An offset that is not there becomes the nearest that is. Raises OffsetsNotKnown."""
    starts, ends = offsets_at(cluster, wanted, EARLIEST), offsets_at(cluster, wanted, LATEST)
    return {each: Fitted(asked, min(max(asked, starts[each]), ends[each])) for each, asked in wanted.items()}


def at_or_after(
    cluster: Cluster, partitions: Iterable[TopicPartition], timestamp: int
) -> tuple[Offsets, list[TopicPartition]]:
    """The first offset at or after a time, and the partitions that have none, whose end is taken. Raises OffsetsNotKnown."""
    found = offsets_at(cluster, partitions, timestamp)
    late = [partition for partition, offset in found.items() if offset == UNKNOWN_OFFSET]
    return found | offsets_at(cluster, late, LATEST), late
