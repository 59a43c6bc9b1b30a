"""Offsets of real partitions."""

import pytest

from stoker.client.admin.offsets import (
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    UNKNOWN_OFFSET,
    ListedOffset,
    list_offsets,
    list_offsets_of,
)
from stoker.client.admin.records import delete_records
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.topic_partition import TopicPartition
from stoker.wire.error_codes import ErrorCode


@pytest.mark.parametrize(
    ("timestamp", "offset"),
    [
        (EARLIEST, 0),
        (LATEST, 3),
        (MAX_TIMESTAMP, 2),
        (0, 0),
        (1_700_000_000_500, 1),
        (1_700_000_002_000, 2),
        (1_700_000_002_001, UNKNOWN_OFFSET),
    ],
)
def test_by_time(cluster: Cluster, topic: str, records: list[int], timestamp: int, offset: int) -> None:
    partition = TopicPartition(topic, 0)
    found = list_offsets(cluster, {partition: timestamp})[partition]
    assert isinstance(found, ListedOffset)
    assert found.offset == offset


def test_many_partitions_at_once(cluster: Cluster, topic: str, records: list[int]) -> None:
    first, second, missing = (TopicPartition(topic, number) for number in (0, 1, 2))
    nowhere = TopicPartition(f"{topic}-nowhere", 0)
    found = list_offsets_of(cluster, [missing, second, nowhere, first], LATEST)
    assert list(found) == [missing, second, nowhere, first]
    ends = [result.offset if isinstance(result, ListedOffset) else result.error_code for result in found.values()]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ends == [unknown, 0, unknown, 3]


def test_nothing_is_asked_for_nothing(cluster: Cluster) -> None:
    assert list_offsets(cluster, {}) == {}


def test_deleted_records_move_the_start(cluster: Cluster, topic: str, records: list[int]) -> None:
    first, missing = TopicPartition(topic, 0), TopicPartition(topic, 9)
    results = delete_records(cluster, {first: 2, missing: 1})
    assert results[first] == 2
    assert isinstance(results[missing], KafkaRefused)
    start = list_offsets(cluster, {first: EARLIEST})[first]
    assert isinstance(start, ListedOffset)
    assert start.offset == 2
    refused = delete_records(cluster, {first: 99})[first]
    assert isinstance(refused, KafkaRefused)
    assert refused.error_code is ErrorCode.OFFSET_OUT_OF_RANGE
