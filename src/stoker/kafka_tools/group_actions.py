"""What kafka-consumer-groups.sh deletes: groups, and some of their offsets."""

from collections.abc import Sequence
from typing import Final

from stoker.client.admin.group_offsets import delete_committed_offsets
from stoker.client.admin.groups import delete_groups as delete_groups_of
from stoker.client.admin.topics import Topic, describe_topics
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.topic_partition import TopicPartition
from stoker.kafka_tools.failure import ILLEGAL_ARGUMENT, JavaError, java_error
from stoker.kafka_tools.group_description import MISSING
from stoker.wire.error_codes import ErrorCode

_WHOLE: Final = -1
"""Stands for a topic whose partitions are not known."""
_OF_THE_GROUP: Final = (
    ErrorCode.INVALID_GROUP_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.NON_EMPTY_GROUP,
)
_OF_A_PARTITION: Final = (
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
_TOPIC_WIDTH: Final = 15


def delete_groups(cluster: Cluster, group_ids: Sequence[str]) -> None:
    """Raises ClientError."""
    results = delete_groups_of(cluster, group_ids)
    deleted = ", ".join(f"'{group_id}'" for group_id, why in results.items() if why is None)
    failed = {group_id: why for group_id, why in results.items() if why is not None}
    if not failed:
        print(f"Deletion of requested consumer groups ({deleted}) was successful.")
        return
    print("\nError: Deletion of some consumer groups failed:")
    for group_id, why in failed.items():
        print(f"* Group '{group_id}' could not be deleted due to: {java_error(why).described}")
    if deleted:
        print(f"\nThese consumer groups were deleted successfully: {deleted}")


def delete_offsets(cluster: Cluster, group_id: str, topics: Sequence[str]) -> None:
    """Raises ClientError, and JavaError for a topic that cannot be read."""
    results: dict[TopicPartition, KafkaRefused | None] = {}
    partitions = [partition for text in topics if ":" in text for partition in parse_partitions(text)]
    names = [text for text in dict.fromkeys(topics) if ":" not in text]
    for name, topic in zip(names, describe_topics(cluster, names) if names else (), strict=True):
        if isinstance(topic, Topic):
            partitions += [TopicPartition(name, each.partition) for each in topic.partitions]
        else:
            results[TopicPartition(name, _WHOLE)] = topic
    first: KafkaRefused | None = None
    if partitions:
        try:
            deleted = delete_committed_offsets(cluster, group_id, list(dict.fromkeys(partitions)))
        except KafkaRefused as refused:
            deleted = dict.fromkeys(partitions, refused)
        first = next((why for why in deleted.values() if why is not None), None)
        results |= deleted
    if first is None:
        print(f"Request succeeded for deleting offsets from group {group_id}.")
    elif first.error_code in _OF_THE_GROUP:
        print(f"\nError: {java_error(KafkaRefused(first.error_code)).message}")
    elif first.error_code in _OF_A_PARTITION:
        print("\nError: Encountered some partition-level error, see the follow-up details.")
    else:
        print(f"\nError: Encountered some unknown error: {first.error_code.name}")
    _print_results(results)


def _print_results(results: dict[TopicPartition, KafkaRefused | None]) -> None:
    width = max((_TOPIC_WIDTH, *(len(partition.topic) for partition in results)))
    rows = [("TOPIC", "PARTITION", "STATUS")]
    for partition, why in sorted(results.items(), key=lambda item: f"{item[0].topic}{item[0].partition}"):
        index = MISSING if partition.partition == _WHOLE else str(partition.partition)
        status = "Successful" if why is None else f"Error: {java_error(why).described}"
        rows.append((partition.topic, index, status))
    for topic, index, status in rows:
        print(f"\n{topic:<{width}} {index:<10} {status:<15}", end="")
    print()


def parse_partitions(text: str) -> list[TopicPartition]:
    """Of `orders:0,1`. Raises JavaError."""
    parts = text.split(":")
    if len(parts) != 2 or not parts[1]:
        raise JavaError(ILLEGAL_ARGUMENT, f"Invalid topic arg '{text}', expected topic name and partitions")
    topic, listed = parts
    found = []
    for each in listed.split(","):
        if not (each.isascii() and each.lstrip("+-").isdigit()):
            raise JavaError(ILLEGAL_ARGUMENT, f"Invalid partition '{each}' specified in topic arg '{text}''")
        found.append(TopicPartition(topic, int(each)))
    return found
