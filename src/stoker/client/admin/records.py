"""Deleting records: the start of a partition moves forward."""

from collections.abc import Mapping
from typing import Final

from stoker.client.admin.leaders import ask_each
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.targets import LeaderOf
from stoker.client.topic_partition import TopicPartition, by_topic
from stoker.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)

HIGH_WATERMARK: Final = -1
"""In place of an offset: all records that are there."""


def delete_records(cluster: Cluster, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | KafkaRefused]:
    """Delete the records before an offset; for each partition where it begins now, or why nothing was deleted."""

    def ask(held: list[TopicPartition], _leader: int) -> dict[TopicPartition, int | KafkaRefused]:
        request = DeleteRecordsRequest(
            timeout_ms=cluster.properties.request_timeout_ms * 9 // 10,
            topics=[
                DeleteRecordsTopic(
                    name=topic,
                    partitions=[
                        DeleteRecordsPartition(partition_index=index, offset=before[TopicPartition(topic, index)])
                        for index in indexes
                    ],
                )
                for topic, indexes in by_topic(held).items()
            ],
        )
        answer = cluster.send(request, DeleteRecordsResponse, to=LeaderOf(*held[0]))
        return {
            TopicPartition(topic.name, each.partition_index): KafkaRefused(each.error_code)
            if each.error_code
            else each.low_watermark
            for topic in answer.topics
            for each in topic.partitions
        }

    return ask_each(cluster, before, ask)
