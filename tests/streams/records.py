"""Records written and read by librdkafka, which knows nothing of streams: what is there once is there once."""

import json
from collections.abc import Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic, ResourceType

from tests.known_topics import wait_for_partitions

WAIT_SECONDS: Final = 30.0


class Records:
    """Of one broker. Values are JSON unless they are bytes."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, "log_level": 0})

    # -- topics

    def create(self, *topics: str, partitions: int = 1) -> None:
        """Their records stay, however old their timestamps are."""
        wanted = [NewTopic(each, partitions, config={"retention.ms": "-1"}) for each in topics]
        for done in self._admin.create_topics(wanted).values():
            done.result(WAIT_SECONDS)
        for each in topics:
            wait_for_partitions(self.bootstrap_servers, each, partitions)

    def add_partitions(self, topic: str, count: int) -> None:
        for done in self._admin.create_partitions([NewPartitions(topic, count)]).values():
            done.result(WAIT_SECONDS)
        wait_for_partitions(self.bootstrap_servers, topic, count)

    def topics(self) -> dict[str, int]:
        """All of the broker, with their numbers of partitions."""
        found = self._admin.list_topics(timeout=WAIT_SECONDS).topics
        return {name: len(each.partitions) for name, each in found.items()}

    def config(self, topic: str, name: str) -> str:
        [done] = self._admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
        return str(done.result(WAIT_SECONDS)[name].value)

    # -- records

    def send(
        self, topic: str, key: str | None, value: Mapping[str, Any] | bytes | None, timestamp: int, partition: int = -1
    ) -> None:
        content = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
        self._producer.produce(topic, key=key, value=content, timestamp=timestamp, partition=partition)
        self._producer.poll(0)

    def flush(self) -> None:
        assert self._producer.flush(WAIT_SECONDS) == 0

    def read(self, topic: str) -> list[Message]:
        """All that is committed in a topic now, each partition in its order."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "group.id": "reader",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "log_level": 0,
            }
        )
        partitions = range(self.topics()[topic])
        consumer.assign([TopicPartition(topic, each, 0) for each in partitions])
        found: list[Message] = []
        ended = 0
        while ended < len(partitions):
            for message in consumer.consume(1000, timeout=0.1):
                error = message.error()
                if error is None:
                    found.append(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended += 1
                else:
                    raise KafkaException(error)
        consumer.close()
        return found

    def values(self, topic: str) -> list[tuple[str | None, Any]]:
        """Keys as text, values of JSON."""
        return [(_text(each.key()), _json(each.value())) for each in self.read(topic)]

    def latest(self, topic: str) -> dict[str | None, Any]:
        """What each key was given last."""
        return dict(self.values(topic))

    def ends(self, topic: str) -> dict[int, int]:
        """Behind the last committed record of each partition."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap_servers, "group.id": "reader", "log_level": 0})
        found = {
            each: consumer.get_watermark_offsets(TopicPartition(topic, each), timeout=WAIT_SECONDS)[1]
            for each in range(self.topics()[topic])
        }
        consumer.close()
        return found

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """What a group has read up to."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap_servers, "group.id": group, "log_level": 0})
        wanted = [TopicPartition(topic, each) for each in range(self.topics()[topic])]
        found = {each.partition: each.offset for each in consumer.committed(wanted, timeout=WAIT_SECONDS)}
        consumer.close()
        return found


def headers(message: Message) -> dict[str, str]:
    found: Any = message.headers() or []  # which has other types for those that are to be sent
    return {name: (value or b"").decode() for name, value in found}


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def _json(data: bytes | None) -> Any:
    return None if data is None else json.loads(data)
