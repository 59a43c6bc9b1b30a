"""Topics: list, describe, create, delete, grow."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused, raise_if_refused
from stoker.client.targets import CONTROLLER
from stoker.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from stoker.wire.messages.metadata import MetadataResponsePartition, MetadataResponseTopic


_NOT_TOLD: Final = -1
"""By a cluster before KIP-525, and to one who may not see the configs of the topic."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Partition:
    """`leader` is None while there is none."""

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...]


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


def create_topic(
    cluster: Cluster,
    name: str,
    *,
    partitions: int | None = None,
    replication_factor: int | None = None,
    configs: Mapping[str, str] | None = None,
    validate_only: bool = False,
) -> CreatedTopic:
    """Create a topic; what is not given is the broker's default. Raises KafkaRefused."""
    from stoker.wire.messages.create_topics import (
        CreatableTopic,
        CreatableTopicConfig,
        CreateTopicsRequest,
        CreateTopicsResponse,
    )

    topic = CreatableTopic(
        name=name,
        num_partitions=-1 if partitions is None else partitions,
        replication_factor=-1 if replication_factor is None else replication_factor,
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


def grow_topic(cluster: Cluster, name: str, partitions: int, *, validate_only: bool = False) -> None:
    """Raise the number of partitions. Raises KafkaRefused."""
    from stoker.wire.messages.create_partitions import (
        CreatePartitionsRequest,
        CreatePartitionsResponse,
        CreatePartitionsTopic,
    )

    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=name, count=partitions, assignments=None)],
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


def _topic(topic: "MetadataResponseTopic") -> Topic:
    partitions = sorted((_partition(partition) for partition in topic.partitions), key=lambda each: each.partition)
    return Topic(
        name=topic.name or "",
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=tuple(partitions),
    )


def _partition(partition: "MetadataResponsePartition") -> Partition:
    return Partition(
        partition=partition.partition_index,
        leader=None if partition.leader_id < 0 else partition.leader_id,
        replicas=tuple(partition.replica_nodes),
        isr=tuple(partition.isr_nodes),
        offline=tuple(partition.offline_replicas),
    )
