"""Topics: list, describe, create, delete, grow."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused, UnsupportedByBroker, raise_if_refused
from stoker.client.targets import CONTROLLER
from stoker.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from stoker.wire.messages.describe_topic_partitions import (
        DescribeTopicPartitionsResponsePartition,
        DescribeTopicPartitionsResponseTopic,
    )
    from stoker.wire.messages.metadata import MetadataResponsePartition, MetadataResponseTopic


_NOT_TOLD: Final = -1
"""By a cluster before KIP-525, and to one who may not see the configs of the topic."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Partition:
    """`leader` is None while there is none. Who may lead when all others are gone (KIP-966) only `describe_partitions` tells."""

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...]
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_eligible: tuple[int, ...] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    name: str
    topic_id: UUID
    is_internal: bool
    partitions: tuple[Partition, ...]

    @property
    def replication_factor(self) -> int:
        return len(self.partitions[0].replicas) if self.partitions else 0


class CreatedTopic(NamedTuple):
    """What was made of a topic, which may be less than was asked for; None where the cluster does not tell."""

    name: str
    partitions: int | None
    replication_factor: int | None


def list_topics(cluster: Cluster) -> list[Topic]:
    """All topics, internal ones too, by name."""
    topics = [_topic(topic) for topic in cluster.metadata().topics if not topic.error_code]
    return sorted(topics, key=lambda topic: topic.name)


def describe_topics(cluster: Cluster, names: Iterable[str]) -> list[Topic | KafkaRefused]:
    """The named topics in their order, each as it is or why it is not told."""
    names = list(dict.fromkeys(names))
    found: dict[str | None, Topic | KafkaRefused] = {
        topic.name: KafkaRefused(topic.error_code) if topic.error_code else _topic(topic)
        for topic in cluster.metadata(names).topics
    }
    missing = KafkaRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return [found.get(name, missing) for name in names]


def describe_partitions(
    cluster: Cluster, names: Iterable[str], *, partitions_per_answer: int = 2000
) -> list[Topic | KafkaRefused]:
    """As `describe_topics`, page by page and with all that is known of leaders; of an older broker, as `describe_topics`."""
    from stoker.wire.messages.describe_topic_partitions import (
        DescribeTopicPartitionsRequest,
        DescribeTopicPartitionsResponse,
        TopicRequest,
    )

    names = sorted(set(names))
    found: dict[str, Topic | KafkaRefused] = {}
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names], response_partition_limit=partitions_per_answer
    )
    while names:
        try:
            answer = cluster.send(request, DescribeTopicPartitionsResponse)
        except UnsupportedByBroker:
            return describe_topics(cluster, names)
        for told in answer.topics:
            name, known = told.name or "", found.get(told.name or "")
            if told.error_code:
                found[name] = KafkaRefused(told.error_code)
            else:
                before = known.partitions if isinstance(known, Topic) else ()
                found[name] = _topic(told, before)
        if answer.next_cursor is None:
            break
        request.cursor = answer.next_cursor
    missing = KafkaRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return [found.get(name, missing) for name in names]


def create_topic(
    cluster: Cluster,
    name: str,
    *,
    partitions: int | None = None,
    replication_factor: int | None = None,
    assignments: Sequence[Sequence[int]] = (),
    configs: Mapping[str, str] | None = None,
    validate_only: bool = False,
) -> CreatedTopic:
    """Create a topic; what is not given is the broker's default. Raises KafkaRefused.

    `assignments` are the brokers of each partition, in place of the two numbers.
    """
    from stoker.wire.messages.create_topics import (
        CreatableReplicaAssignment,
        CreatableTopic,
        CreatableTopicConfig,
        CreateTopicsRequest,
        CreateTopicsResponse,
    )

    topic = CreatableTopic(
        name=name,
        num_partitions=-1 if partitions is None else partitions,
        replication_factor=-1 if replication_factor is None else replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=list(brokers))
            for index, brokers in enumerate(assignments)
        ],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=_timeout_ms(cluster), validate_only=validate_only)
    answer = cluster.send(
        request, CreateTopicsResponse, to=CONTROLLER, error_of=lambda answer: answer.topics[0].error_code
    )
    (made,) = answer.topics
    raise_if_refused(made.error_code, made.error_message)
    return CreatedTopic(
        name=name,
        partitions=None if made.num_partitions == _NOT_TOLD else made.num_partitions,
        replication_factor=None if made.replication_factor == _NOT_TOLD else made.replication_factor,
    )


def delete_topics(cluster: Cluster, names: Sequence[str]) -> dict[str, KafkaRefused | None]:
    """Delete topics; for each name None or why it was not deleted."""
    from stoker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState

    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name) for name in names], topic_names=list(names), timeout_ms=_timeout_ms(cluster)
    )
    answer = cluster.send(request, DeleteTopicsResponse, to=CONTROLLER)
    return {
        result.name or "": KafkaRefused(result.error_code, result.error_message) if result.error_code else None
        for result in answer.responses
    }


def grow_topic(
    cluster: Cluster,
    name: str,
    partitions: int,
    *,
    assignments: Sequence[Sequence[int]] | None = None,
    validate_only: bool = False,
) -> None:
    """Raise the number of partitions; `assignments` are the brokers of each new one. Raises KafkaRefused."""
    from stoker.wire.messages.create_partitions import (
        CreatePartitionsAssignment,
        CreatePartitionsRequest,
        CreatePartitionsResponse,
        CreatePartitionsTopic,
    )

    request = CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(
                name=name,
                count=partitions,
                assignments=None
                if assignments is None
                else [CreatePartitionsAssignment(broker_ids=list(brokers)) for brokers in assignments],
            )
        ],
        timeout_ms=_timeout_ms(cluster),
        validate_only=validate_only,
    )
    answer = cluster.send(request, CreatePartitionsResponse, to=CONTROLLER)
    raise_if_refused(answer.results[0].error_code, answer.results[0].error_message)


def wait_until(cluster: Cluster, name: str, is_so: Callable[[Topic | None], bool]) -> None:
    """Until the cluster tells of a topic what was just done to it: brokers learn from the controller a moment later."""
    for _ in cluster.attempts():
        (topic,) = describe_topics(cluster, [name])
        if is_so(topic if isinstance(topic, Topic) else None):
            return


def _timeout_ms(cluster: Cluster) -> int:
    """What the broker may take: less than what we wait for its answer."""
    return cluster.properties.request_timeout_ms * 9 // 10


def _topic(
    topic: "MetadataResponseTopic | DescribeTopicPartitionsResponseTopic", before: Sequence[Partition] = ()
) -> Topic:
    partitions = sorted([*before, *map(_partition, topic.partitions)], key=lambda each: each.partition)
    return Topic(
        name=topic.name or "",
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=tuple(partitions),
    )


def _partition(partition: "MetadataResponsePartition | DescribeTopicPartitionsResponsePartition") -> Partition:
    eligible = getattr(partition, "eligible_leader_replicas", None)
    last_known = getattr(partition, "last_known_elr", None)
    return Partition(
        partition=partition.partition_index,
        leader=None if partition.leader_id < 0 else partition.leader_id,
        replicas=tuple(partition.replica_nodes),
        isr=tuple(partition.isr_nodes),
        offline=tuple(partition.offline_replicas),
        eligible_leader_replicas=None if eligible is None else tuple(eligible),
        last_known_eligible=None if last_known is None else tuple(last_known),
    )
