"""Consumer groups as an administrator sees them, through confluent-kafka."""

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription

from tests.clients.client import WAIT_SECONDS, eventually


class ConsumerGroups:
    def __init__(self, bootstrap_servers: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers})

    def describe(self, group: str) -> ConsumerGroupDescription:
        described: ConsumerGroupDescription = _only(self._admin.describe_consumer_groups([group]))
        return described

    def member_count(self, group: str) -> int:
        return len(self.describe(group).members or [])

    def is_empty(self, group: str) -> bool:
        """Whether the group has its offsets and no member."""
        return self.describe(group).state == ConsumerGroupState.EMPTY

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """The committed offsets of the topic's partitions that have one."""
        request = ConsumerGroupTopicPartitions(group)
        found = _only(self._admin.list_consumer_group_offsets([request])).topic_partitions
        return {each.partition: each.offset for each in found if each.topic == topic and each.offset >= 0}

    def commit(self, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        """Set the offsets of a group without members; such a group need not exist."""
        partitions = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
        _only(self._admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, partitions)]))

    def forget(self, group: str) -> None:
        """Delete a group whose name a tutorial has chosen, if it is there, and wait until its coordinator lets that be done."""

        def refusal() -> KafkaError | None:
            error = self._admin.delete_consumer_groups([group])[group].exception(WAIT_SECONDS)
            return error.args[0] if isinstance(error, KafkaException) else None

        final = (None, KafkaError.GROUP_ID_NOT_FOUND)
        error = eventually(refusal, lambda found: (found and found.code()) in final)
        assert (error and error.code()) in final, error


def _only(futures: Mapping[Any, "Future[Any]"]) -> Any:
    [future] = futures.values()
    return future.result(WAIT_SECONDS)
