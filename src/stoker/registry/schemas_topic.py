"""The topic that schemas are kept in: one partition, compacted. Made if it is not there, mended if it was made otherwise."""

import logging
from typing import Final

from stoker.client.admin.cluster import registered_brokers
from stoker.client.admin.configs import (
    Alteration,
    Operation,
    Resource,
    ResourceType,
    alter_configs,
    describe_configs,
)
from stoker.client.admin.topics import Topic, create_topic, describe_topics, wait_until
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused, UnsupportedByBroker
from stoker.errors import StokerError
from stoker.wire.error_codes import ErrorCode

logger = logging.getLogger("stoker.registry")

_MOST_REPLICAS: Final = 3
_POLICY: Final = "cleanup.policy"
_COMPACT: Final = "compact"


class UnfitTopic(StokerError):
    """A topic that schemas cannot be kept in."""


def prepare_topic(cluster: Cluster, name: str) -> str:
    """Afterwards the topic is there and compacted. Gives the cluster's id. Raises UnfitTopic and ClientError."""
    metadata = cluster.metadata([name])
    replicas = min(_MOST_REPLICAS, _brokers(cluster))
    (topic,) = describe_topics(cluster, [name])
    if isinstance(topic, KafkaRefused):
        if topic.error_code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise topic
        _create(cluster, name, replicas)
    else:
        _check(cluster, topic)
        if (there := len(topic.partitions[0].replicas)) < replicas:
            logger.warning(
                "the topic %s has %d of %d replicas, as there were fewer brokers when it was made: "
                "kafka-reassign-partitions.sh gives it more",
                name,
                there,
                replicas,
            )
    return metadata.cluster_id or ""


def _brokers(cluster: Cluster) -> int:
    """How many there are, with those that are down at this moment: they get their replica when they are back."""
    try:
        return len(registered_brokers(cluster))
    except UnsupportedByBroker:  # before Kafka 4.0
        return len(cluster.metadata([]).brokers)


def _create(cluster: Cluster, name: str, replicas: int) -> None:
    if replicas < _MOST_REPLICAS:
        logger.info(
            "the topic %s is made with %d of %d replicas: there are no more brokers", name, replicas, _MOST_REPLICAS
        )
    is_ours = True
    try:
        create_topic(cluster, name, partitions=1, replication_factor=replicas, configs={_POLICY: _COMPACT})
    except KafkaRefused as refused:
        if refused.error_code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise
        is_ours = False
    wait_until(cluster, name, lambda topic: topic is not None and bool(topic.partitions))
    if not is_ours:  # somebody else made it a moment ago, perhaps not as it must be
        for topic in describe_topics(cluster, [name]):
            if isinstance(topic, KafkaRefused):
                raise topic
            _check(cluster, topic)


def _check(cluster: Cluster, topic: Topic) -> None:
    if len(topic.partitions) != 1:
        raise UnfitTopic(
            f"the topic {topic.name} has {len(topic.partitions)} partitions: schemas are kept in a topic of one partition, "
            "so that all changes have one order; name another topic, or move the records to a topic of one partition"
        )
    resource = Resource(ResourceType.TOPIC, topic.name)
    policy = next((each.value or "" for each in describe_configs(cluster, resource, [_POLICY])), "")
    if policy != _COMPACT:
        logger.warning(
            "the topic %s had %s=%s, which loses schemas: it is now %s", topic.name, _POLICY, policy, _COMPACT
        )
        alter_configs(cluster, resource, [Alteration(_POLICY, Operation.SET, _COMPACT)])
