"""What has to be there before an application runs: its topics, as many partitions as joins need, and formats."""

import logging
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from stoker.client.admin.offsets import READ_COMMITTED, ListedOffset, list_offsets
from stoker.client.admin.topics import create_topic, describe_topics
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.properties import client_properties
from stoker.client.topic_partition import TopicPartition
from stoker.streams import nodes
from stoker.streams.compiler.times import keeps_partitions
from stoker.streams.errors import InvalidTopology, NotCoPartitioned
from stoker.streams.kafka_inputs import Access
from stoker.streams.kafka_outputs import changelog
from stoker.streams.nodes import TopicSource, in_order
from stoker.streams.topology import Topology
from stoker.wire.error_codes import ErrorCode

_LOGGER: Final = logging.getLogger(__name__)
_KAFKA: Final = "kafka."
_CHANGELOG: Final = {"cleanup.policy": "compact", "min.compaction.lag.ms": "86400000", "retention.ms": "-1"}
"""Compaction must not take a row that a batch which is run again still needs."""
_REPARTITION: Final = {"cleanup.policy": "delete", "retention.ms": "-1"}


def cluster_of(access: Access) -> Cluster:
    given = {name[len(_KAFKA) :]: value for name, value in access.options.items() if name.startswith(_KAFKA)}
    return Cluster(client_properties(given=given | {"bootstrap.servers": access.bootstrap_servers}))


def partitions_of(cluster: Cluster, topics: Iterable[str]) -> dict[str, int]:
    """Without topics that are not there."""
    wanted = list(dict.fromkeys(topics))
    found = describe_topics(cluster, wanted) if wanted else []
    return {each.name: len(each.partitions) for each in found if not isinstance(each, KafkaRefused)}


class PlannedTopic(NamedTuple):
    """One that has to be made."""

    name: str
    partitions: int
    configs: Mapping[str, str]


def planned_topics(cluster: Cluster, topology: Topology, application: str, logged: Iterable[str]) -> list[PlannedTopic]:
    """The topics that are written and not there; those that are read must be, but for what is written here too.

    Nothing is made. Raises InvalidTopology and NotCoPartitioned.
    """
    written = {sink.topic: sink for sink in topology.sinks if isinstance(sink, nodes.ToTopic)}
    changelogs = [changelog(application, store) for store in sorted(logged)]
    dead_letters = [each.dead_letters for each in topology.sources if each.dead_letters is not None]
    known = partitions_of(cluster, [*topology.topics, *written, *changelogs, *dead_letters])
    missing = [topic for topic in topology.topics if topic not in known and topic not in written]
    if missing:
        raise InvalidTopology(
            f"there is no topic {missing[0]!r} to read. Make it first (stoker topics create {missing[0]}), or look at the name: "
            "stoker topics list"
        )
    most = max((known[topic] for topic in topology.topics if topic in known), default=1)
    planned = {
        topic: PlannedTopic(
            topic,
            sink.partitions or most,
            {**(_REPARTITION if topic.endswith("-repartition") else {}), **sink.configs},
        )
        for topic, sink in written.items()
    }
    planned |= {topic: PlannedTopic(topic, 1, {}) for topic in dead_letters if topic not in planned}
    planned |= {topic: PlannedTopic(topic, most, _CHANGELOG) for topic in changelogs}
    check_co_partitioning(topology, {**{each.name: each.partitions for each in planned.values()}, **known})
    return [each for each in planned.values() if each.name not in known]


def make_topics(cluster: Cluster, topics: Iterable[PlannedTopic]) -> None:
    for each in topics:
        try:
            create_topic(cluster, each.name, partitions=each.partitions, configs=each.configs)
            _LOGGER.info("made topic %s with %d partitions", each.name, each.partitions)
        except KafkaRefused as refused:
            if refused.error_code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise


def check_co_partitioning(topology: Topology, partitions: Mapping[str, int]) -> None:
    """Topics that are joined by the keys they have must have as many partitions, as in Kafka Streams.

    What was given another key on the way is distributed anew, and may have as many as it likes; so may a global table.
    """
    for node in topology.nodes:
        if not isinstance(node, nodes.StreamJoin | nodes.TableLookup | nodes.TableJoin):
            continue
        if getattr(node, "foreign_key", None) is not None or getattr(node, "key", None) is not None:
            continue
        found = [(side, _topic_of(side)) for side in (node.left, node.right)]
        named = [topic for side, topic in found if topic is not None and keeps_partitions(side)]
        if len(named) == 2 and partitions.get(named[0]) != partitions.get(named[1]):
            raise NotCoPartitioned(
                f"{node.describe()}: topic {named[0]} has {partitions.get(named[0])} partitions and topic {named[1]} has "
                f"{partitions.get(named[1])}, so records with the same key need not be in partitions of the same number. Give "
                "both as many (stoker topics alter --partitions), use repartition(...) or key_by(...) on one of them, or make the "
                "table a global_table"
            )


def _topic_of(node: nodes.Node) -> str | None:
    """The one topic that the rows come from."""
    topics = {each.topic for each in in_order([node]) if isinstance(each, TopicSource)}
    return topics.pop() if len(topics) == 1 else None


def registered_formats(access: Access, topics: Iterable[str]) -> dict[str, dict[str, str]]:
    """By topic, the formats of keys and values that the registry has a schema of."""
    wanted = list(topics)
    if access.registry is None:
        return {topic: {} for topic in wanted}
    from stoker.registry.client import RegistryClient, type_of

    with RegistryClient(access.registry) as registry:
        subjects = set(registry.subjects())
        return {
            topic: {
                side: type_of(registry.version(f"{topic}-{side}")).lower()
                for side in ("key", "value")
                if f"{topic}-{side}" in subjects
            }
            for topic in wanted
        }


def offsets_of(cluster: Cluster, topics: Iterable[str], place: int) -> dict[TopicPartition, int]:
    """Where the partitions of these topics begin or end (EARLIEST, LATEST), for who reads what is committed.

    Without topics that are not there. One that has no leader at this moment is waited for: without it the answer would be
    that of a smaller topic. Raises KafkaRefused.
    """
    counts = partitions_of(cluster, topics)
    wanted = {TopicPartition(topic, each): place for topic, count in counts.items() for each in range(count)}
    found = list_offsets(cluster, wanted, isolation_level=READ_COMMITTED, waits_for_leaders=True)
    offsets: dict[TopicPartition, int] = {}
    for partition, each in found.items():
        if isinstance(each, ListedOffset):
            offsets[partition] = each.offset
        elif each.error_code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise KafkaRefused(each.error_code, f"where {partition} begins and ends: {each.message}")
    return offsets
