"""Where partitions begin and end, and what is in them by time."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from stoker.client.admin.leaders import ask_each
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.targets import LeaderOf
from stoker.client.topic_partition import TopicPartition, by_topic
from stoker.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
"""The record with the highest timestamp (KIP-734)."""
EARLIEST_LOCAL: Final = -4
"""What is before it is in a remote storage (KIP-405); brokers without one say what EARLIEST is."""

UNKNOWN_OFFSET: Final = -1
_CLIENT: Final = -1

READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1
"""The latest offset is then the first one of the oldest open transaction."""


class ListedOffset(NamedTuple):
    """UNKNOWN_OFFSET if no record is as late as the timestamp that was asked for."""

    offset: int
    timestamp: int
    leader_epoch: int


def list_offsets(
    cluster: Cluster,
    wanted: Mapping[TopicPartition, int],
    *,
    isolation_level: int = READ_UNCOMMITTED,
    waits_for_leaders: bool = False,
) -> dict[TopicPartition, ListedOffset | KafkaRefused]:
    """The first offset at or after a timestamp in milliseconds, or EARLIEST, LATEST, MAX_TIMESTAMP; of each partition."""

    def ask(held: list[TopicPartition], _leader: int) -> dict[TopicPartition, ListedOffset | KafkaRefused]:
        return _ask_leader(cluster, held, wanted, isolation_level)

    return ask_each(cluster, wanted, ask, waits_for_leaders=waits_for_leaders)


def list_offsets_of(
    cluster: Cluster, partitions: Iterable[TopicPartition], timestamp: int
) -> dict[TopicPartition, ListedOffset | KafkaRefused]:
    """The same timestamp for every partition."""
    return list_offsets(cluster, dict.fromkeys(partitions, timestamp))


def _ask_leader(
    cluster: Cluster, partitions: list[TopicPartition], wanted: Mapping[TopicPartition, int], isolation_level: int
) -> dict[TopicPartition, ListedOffset | KafkaRefused]:
    request = ListOffsetsRequest(
        replica_id=_CLIENT,
        isolation_level=isolation_level,
        timeout_ms=cluster.properties.request_timeout_ms,
        topics=[
            ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsPartition(partition_index=index, timestamp=wanted[TopicPartition(topic, index)])
                    for index in indexes
                ],
            )
            for topic, indexes in by_topic(partitions).items()
        ],
    )
    answer = cluster.send(request, ListOffsetsResponse, to=LeaderOf(*partitions[0]))
    return {
        TopicPartition(topic.name, each.partition_index): KafkaRefused(each.error_code)
        if each.error_code
        else ListedOffset(each.offset, each.timestamp, each.leader_epoch)
        for topic in answer.topics
        for each in topic.partitions
    }
