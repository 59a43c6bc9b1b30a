"""What `kafka-topics.sh --describe` prints."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from stoker.client.admin.configs import Config, describe_topic_configs
from stoker.client.admin.reassignments import Reassignment, reassignments_if_told
from stoker.client.admin.topics import Partition, Topic, describe_partitions, list_topics
from stoker.client.errors import KafkaRefused
from stoker.client.topic_partition import TopicPartition
from stoker.kafka_tools.failure import ILLEGAL_ARGUMENT, JavaError
from stoker.kafka_tools.hash_order import hash_map_order
from stoker.kafka_tools.topics_options import TopicOptions
from stoker.wire.schema import ZERO_UUID
from stoker.wire.uuids import uuid_text

if TYPE_CHECKING:
    from uuid import UUID

    from stoker.client.cluster import Cluster

_LONGEST_UUID = 24


def describe(
    cluster: "Cluster", options: TopicOptions, matching: "Callable[[Cluster, TopicOptions], list[str]]"
) -> None:
    """Print the topics that are asked for, in Kafka's order."""
    topics = _topics(cluster, options, matching)
    configs = describe_topic_configs(cluster, [topic.name for topic in topics])
    partitions = [TopicPartition(topic.name, each.partition) for topic in topics for each in topic.partitions]
    reassignments = reassignments_if_told(cluster, partitions)
    live = set(cluster.brokers())
    for topic in topics:
        printed = _Printed(topic, configs.get(topic.name, []), reassignments, live, options)
        printed.print()


class _Printed:
    """One topic."""

    def __init__(
        self,
        topic: Topic,
        configs: Sequence[Config],
        reassignments: dict[TopicPartition, Reassignment],
        live: set[int],
        options: TopicOptions,
    ) -> None:
        self._topic = topic
        by_name = {config.name: config for config in configs}
        self._configs = [by_name[name] for name in hash_map_order(by_name)]
        self._reassignments = reassignments
        self._live = live
        self._options = options
        self._min_isr = int(by_name["min.insync.replicas"].value or 1) if "min.insync.replicas" in by_name else 1

    def print(self) -> None:
        options = self._options
        overridden = [config for config in self._configs if not config.is_default]
        has_overrides_only = options.has(options.topics_with_overrides)
        if not options.is_report and (overridden or not has_overrides_only):
            self._print_topic(overridden)
        if not has_overrides_only:
            for partition in self._topic.partitions:
                if not options.is_report or self._is_in_trouble(partition):
                    self._print_partition(partition)

    def _print_topic(self, overridden: Sequence[Config]) -> None:
        topic = self._topic
        topic_id = "" if topic.topic_id == ZERO_UUID else f"\tTopicId: {uuid_text(topic.topic_id)}"
        print(
            f"Topic: {topic.name}{topic_id}\tPartitionCount: {len(topic.partitions)}"
            f"\tReplicationFactor: {self._replication_factor(topic.partitions[0])}"
            f"\tConfigs: {','.join(f'{config.name}={config.value}' for config in overridden)}"
        )

    def _print_partition(self, partition: Partition) -> None:
        reassignment = self._reassignment(partition)
        moving = ""
        if reassignment is not None:
            moving = f"\tAdding Replicas: {_ids(reassignment.adding)}\tRemoving Replicas: {_ids(reassignment.removing)}"
        leader = partition.leader if partition.leader in self._live else None
        print(
            f"\tTopic: {self._topic.name}\tPartition: {partition.partition}"
            f"\tLeader: {'none' if leader is None else leader}"
            f"\tReplicas: {_ids(partition.replicas)}\tIsr: {_ids(partition.isr)}{moving}"
            f"\tElr: {_ids_or_none(partition.eligible_leader_replicas)}"
            f"\tLastKnownElr: {_ids_or_none(partition.last_known_eligible)}"
        )

    def _is_in_trouble(self, partition: Partition) -> bool:
        options, in_sync = self._options, len(partition.isr)
        has_leader = partition.leader is not None and partition.leader in self._live
        return (
            (options.has(options.under_replicated_partitions) and self._replication_factor(partition) > in_sync)
            or (options.has(options.unavailable_partitions) and not has_leader)
            or (options.has(options.under_min_isr_partitions) and (not has_leader or in_sync < self._min_isr))
            or (options.has(options.at_min_isr_partitions) and in_sync == self._min_isr)
        )

    def _replication_factor(self, partition: Partition) -> int:
        """While replicas are added, without these; a move may have ended since the partition was asked for."""
        reassignment = self._reassignment(partition)
        if reassignment is None or not {*reassignment.adding, *reassignment.removing} & set(partition.replicas):
            return len(partition.replicas)
        return len(reassignment.replicas) - len(reassignment.adding)

    def _reassignment(self, partition: Partition) -> Reassignment | None:
        return self._reassignments.get(TopicPartition(self._topic.name, partition.partition))


def _topics(
    cluster: "Cluster", options: TopicOptions, matching: "Callable[[Cluster, TopicOptions], list[str]]"
) -> list[Topic]:
    topic_id = _uuid(options.given.value(options.topic_id))
    if topic_id is not None:
        by_id = {topic.topic_id: topic for topic in list_topics(cluster)}
        if topic_id not in by_id and not options.has(options.if_exists):
            raise JavaError(ILLEGAL_ARGUMENT, f"TopicId '{uuid_text(topic_id)}' does not exist as expected")
        return [by_id[topic_id]] if topic_id in by_id else []
    names = matching(cluster, options)
    topic = options.given.value(options.topic)
    if topic and not names and not options.has(options.if_exists):
        raise JavaError(ILLEGAL_ARGUMENT, f"Topic '{topic}' does not exist as expected")
    limit = options.given.value(options.partition_size_limit_per_response)
    found: dict[str, Topic] = {}
    for each in describe_partitions(cluster, names, partitions_per_answer=2000 if limit is None else limit):
        if isinstance(each, KafkaRefused):
            raise each
        found[each.name] = each
    return [found[name] for name in hash_map_order(sorted(found), capacity=len(found))]


def _uuid(text: str | None) -> "UUID | None":
    """None for zeros, too. Raises JavaError."""
    if text is None:
        return None
    from stoker.wire.uuids import uuid_from_text

    if len(text) > _LONGEST_UUID:
        raise JavaError(
            ILLEGAL_ARGUMENT,
            f"Input string with prefix `{text[:_LONGEST_UUID]}` is too long to be decoded as a base64 UUID",
        )
    try:
        found = uuid_from_text(text.rstrip("="))
    except ValueError:
        size = len(text.rstrip("=")) * 3 // 4
        raise JavaError(
            ILLEGAL_ARGUMENT,
            f"Input string `{text}` decoded as {size} bytes, which is not equal to the expected 16 bytes of a "
            "base64-encoded UUID",
        ) from None
    return None if found == ZERO_UUID else found


def _ids(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))


def _ids_or_none(brokers: Iterable[int] | None) -> str:
    return "N/A" if brokers is None else _ids(brokers)
