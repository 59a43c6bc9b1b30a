"""What the cluster is: topics, configs and producer ids, as replaying the metadata log gives it.

Nothing here is changed but by `replay`. A handler that wants a change writes records to the metadata log, which
replays them; start-up replays the same records from disk.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from stoker.wire.metadata_records import (
    ConfigRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnknownRecord,
)

OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
INTERNAL_TOPICS: Final = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, "__share_group_state"})
"""Topics the broker keeps for itself; clients see them marked as internal."""


@dataclass(slots=True)
class PartitionState:
    """Who leads a partition, counted: each election raises the leader epoch, each change the partition epoch."""

    leader_epoch: int = 0
    partition_epoch: int = 0


@dataclass(slots=True)
class TopicState:
    name: str
    topic_id: UUID
    partitions: list[PartitionState] = field(default_factory=list)

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


class ClusterMetadata:
    """The image of the metadata log. Topics by name and by id, configs by resource, the next producer id."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicState] = {}
        self.topics_by_id: dict[UUID, TopicState] = {}
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        self.next_producer_id = 0
        self.version = 0
        """Another number whenever a topic was made, grown or removed."""

    def topic_id(self, name: str) -> UUID | None:
        topic = self.topics.get(name)
        return topic.topic_id if topic is not None else None

    def topic_name(self, topic_id: UUID) -> str | None:
        topic = self.topics_by_id.get(topic_id)
        return topic.name if topic is not None else None

    def partition_count(self, name: str) -> int | None:
        topic = self.topics.get(name)
        return len(topic.partitions) if topic is not None else None

    def names(self) -> Collection[str]:
        return self.topics

    def replay(self, record: MetadataRecord | UnknownRecord) -> None:
        """Apply one record. Records of other kinds (a later version's, or Apache Kafka's) change nothing here."""
        match record:
            case TopicRecord():
                topic = TopicState(name=record.name, topic_id=record.topic_id)
                self.topics[topic.name] = self.topics_by_id[topic.topic_id] = topic
                self.version += 1
            case PartitionRecord():
                partitions = self.topics_by_id[record.topic_id].partitions
                if record.partition_id != len(partitions):
                    raise ValueError(
                        f"partition {record.partition_id} of topic {record.topic_id} follows {len(partitions) - 1}"
                    )
                partitions.append(PartitionState(record.leader_epoch, record.partition_epoch))
                self.version += 1
            case PartitionChangeRecord():
                state = self.topics_by_id[record.topic_id].partitions[record.partition_id]
                state.partition_epoch += 1
                if record.leader != _LEADER_UNCHANGED:
                    state.leader_epoch += 1
            case RemoveTopicRecord():
                topic = self.topics_by_id.pop(record.topic_id)
                del self.topics[topic.name]
                self.version += 1
                self.configs.pop((TOPIC_RESOURCE, topic.name), None)
            case ConfigRecord():
                self._replay_config(record)
            case ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id

    def _replay_config(self, record: ConfigRecord) -> None:
        resource = (record.resource_type, record.resource_name)
        if record.value is not None:
            self.configs.setdefault(resource, {})[record.name] = record.value
        elif resource in self.configs:
            self.configs[resource].pop(record.name, None)
            if not self.configs[resource]:
                del self.configs[resource]


TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
_LEADER_UNCHANGED: Final = -2
