"""How far groups have read: fetch, alter and delete committed offsets."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused, raise_if_refused
from stoker.client.targets import CoordinatorOf
from stoker.client.topic_partition import TopicPartition, by_topic

_WITH_TOPIC_NAMES: Final = 9
"""Later versions of OffsetFetch and OffsetCommit name topics by their ids (KIP-848), and an id is one more request away."""
_NO_OFFSET: Final = -1


class CommittedOffset(NamedTuple):
    offset: int
    metadata: str
    leader_epoch: int


def committed_offsets(cluster: Cluster, group_id: str) -> dict[TopicPartition, CommittedOffset]:
    """All that the group has committed, by partition; nothing if there is no such group. Raises KafkaRefused."""
    from stoker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse

    answer = cluster.send(
        OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group_id, topics=None)]),
        OffsetFetchResponse,
        to=CoordinatorOf(group_id),
        up_to=_WITH_TOPIC_NAMES,
        error_of=lambda answer: answer.groups[0].error_code,
    )
    group = answer.groups[0]
    if group.error_code:
        raise KafkaRefused(group.error_code)
    found = {
        TopicPartition(topic.name, each.partition_index): CommittedOffset(
            each.committed_offset, each.metadata or "", each.committed_leader_epoch
        )
        for topic in group.topics
        for each in topic.partitions
        if each.committed_offset != _NO_OFFSET
    }
    return dict(sorted(found.items()))


def alter_committed_offsets(
    cluster: Cluster, group_id: str, offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, KafkaRefused | None]:
    """Commit offsets in the name of a group without members; for each partition None or why it was refused."""
    from stoker.wire.messages.offset_commit import (
        OffsetCommitRequest,
        OffsetCommitRequestPartition,
        OffsetCommitRequestTopic,
        OffsetCommitResponse,
    )

    request = OffsetCommitRequest(
        group_id=group_id,
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=offsets[TopicPartition(topic, index)],
                        committed_metadata="",
                    )
                    for index in indexes
                ],
            )
            for topic, indexes in by_topic(offsets).items()
        ],
    )

    def first_error(answer: OffsetCommitResponse) -> int:
        return next((each.error_code for topic in answer.topics for each in topic.partitions if each.error_code), 0)

    answer = cluster.send(
        request,
        OffsetCommitResponse,
        to=CoordinatorOf(group_id),
        up_to=_WITH_TOPIC_NAMES,
        error_of=first_error,
    )
    return {
        TopicPartition(topic.name, each.partition_index): KafkaRefused(each.error_code) if each.error_code else None
        for topic in answer.topics
        for each in topic.partitions
    }


def delete_committed_offsets(
    cluster: Cluster, group_id: str, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, KafkaRefused | None]:
    """Forget how far a group has read in topics that it does not read now; for each None or why it was refused.

    Raises KafkaRefused if the whole request is refused.
    """
    from stoker.wire.messages.offset_delete import (
        OffsetDeleteRequest,
        OffsetDeleteRequestPartition,
        OffsetDeleteRequestTopic,
        OffsetDeleteResponse,
    )

    topics = [
        OffsetDeleteRequestTopic(
            name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
        )
        for topic, indexes in by_topic(partitions).items()
    ]
    answer = cluster.send(
        OffsetDeleteRequest(group_id=group_id, topics=topics), OffsetDeleteResponse, to=CoordinatorOf(group_id)
    )
    raise_if_refused(answer.error_code)
    return {
        TopicPartition(topic.name, each.partition_index): KafkaRefused(each.error_code) if each.error_code else None
        for topic in answer.topics
        for each in topic.partitions
    }
