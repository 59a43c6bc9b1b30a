"""Writing and reading by confluent-kafka, which knows nothing of how the broker keeps its records."""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

WAIT_SECONDS: Final = 30.0


def create_topic(bootstrap_servers: str, topic: str, partitions: int = 1, **config: str) -> None:
    """Raises KafkaException when the broker refuses."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    settings = {name.replace("_", "."): value for name, value in config.items()}
    new_topic = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=settings)
    admin.create_topics([new_topic], operation_timeout=WAIT_SECONDS)[topic].result(WAIT_SECONDS)


def topics_of(bootstrap_servers: str) -> set[str]:
    """Without `__consumer_offsets`, which a reader's look for its coordinator makes."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    return set(admin.list_topics(timeout=WAIT_SECONDS).topics) - {"__consumer_offsets"}


def produce(
    bootstrap_servers: str, topic: str, values: Sequence[bytes], *, partition: int = 0, **settings: Any
) -> list[int]:
    """Returns the offsets; raises KafkaException with the first error."""
    producer = Producer(
        {"bootstrap.servers": bootstrap_servers, "linger.ms": 0}
        | {name.replace("_", "."): value for name, value in settings.items()}
    )
    offsets: list[int] = []
    errors: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            errors.append(error)
        else:
            offsets.append(message.offset() or 0)

    for value in values:
        producer.produce(topic, value, partition=partition, on_delivery=delivered)
    left = producer.flush(WAIT_SECONDS)
    if errors:
        raise KafkaException(errors[0])
    assert not left, f"{left} records were neither acknowledged nor refused"
    return offsets


def read_all(bootstrap_servers: str, topic: str, partition: int = 0) -> list[tuple[int, bytes]]:
    """Every record of a partition, as offset and value, in the order in which the broker gives them."""
    found: list[tuple[int, bytes]] = []
    read_each(bootstrap_servers, topic, partition, lambda offset, value: found.append((offset, value)))
    return found


def read_each(bootstrap_servers: str, topic: str, partition: int, visit: Callable[[int, bytes], None]) -> None:
    """Call `visit` with offset and value of each record of a partition, from its first to its last."""
    settings = {
        "bootstrap.servers": bootstrap_servers,
        "group.id": "faults",
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "check.crcs": True,
        "fetch.wait.max.ms": 50,
    }
    with closing(Consumer(settings)) as consumer:
        start, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), WAIT_SECONDS)
        consumer.assign([TopicPartition(topic, partition, start)])
        reached = start
        while reached < end:
            messages = consumer.consume(min(end - reached, 10_000), WAIT_SECONDS)
            assert messages, f"{topic}-{partition} ends at {end}, but nothing came after {reached}"
            for message in messages:
                if message.error() is not None:
                    raise KafkaException(message.error())
                offset = message.offset()
                assert offset is not None
                visit(offset, message.value() or b"")
                reached = offset + 1


def values_of(bootstrap_servers: str, topic: str, partition: int = 0) -> list[bytes]:
    return [value for _, value in read_all(bootstrap_servers, topic, partition)]
