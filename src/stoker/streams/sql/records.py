"""A few records of a topic, as bytes: for the log of statements, PRINT, and to see how JSON is spelled."""

import logging
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from stoker.client.librdkafka import librdkafka_settings, open_librdkafka
from stoker.streams.errors import StreamsError
from stoker.streams.kafka_inputs import Access

_SILENT: Final = logging.Logger("librdkafka", level=logging.CRITICAL + 1)  # noqa: LOG001 - known to nobody else
_POLL_SECONDS: Final = 0.2
_SECONDS: Final = 30.0
_KAFKA: Final = "kafka."

Ranges = Mapping[int, tuple[int, int]]
"""By partition, from an offset up to before another."""


class Record(NamedTuple):
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class RecordsUnavailable(StreamsError):
    """A topic could not be read or written."""


def client_settings(access: Access) -> dict[str, str]:
    given = {name[len(_KAFKA) :]: value for name, value in access.options.items() if name.startswith(_KAFKA)}
    return {**librdkafka_settings(given), "bootstrap.servers": access.bootstrap_servers}


def read_records(access: Access, topic: str, ranges: Ranges) -> list[Record]:
    """All of these that are committed; each partition in order. Raises RecordsUnavailable and InvalidClientProperty."""
    wanted = {partition: bounds for partition, bounds in ranges.items() if bounds[0] < bounds[1]}
    return list(_read(access, topic, wanted)) if wanted else []


def _read(access: Access, topic: str, wanted: Ranges) -> Iterator[Record]:
    settings = {
        **client_settings(access),
        "group.id": "stoker-sql-reader",  # named because it must be; nothing is committed
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "allow.auto.create.topics": False,
        "fetch.wait.max.ms": 100,
    }
    consumer = open_librdkafka(Consumer, settings, logger=_SILENT)
    open_ = dict(wanted)
    waited = 0.0
    try:
        consumer.assign([TopicPartition(topic, each, start) for each, (start, _) in wanted.items()])
        while open_:
            message = consumer.poll(_POLL_SECONDS)
            if message is None:
                waited += _POLL_SECONDS
                if waited > _SECONDS:
                    raise RecordsUnavailable(f"topic {topic} could not be read within {_SECONDS:g} seconds")
                continue
            yield from _taken(message, open_, topic)
    except KafkaException as problem:
        raise RecordsUnavailable(f"topic {topic} could not be read: {problem.args[0].str()}") from problem
    finally:
        consumer.close()


def _taken(message: Message, open_: dict[int, tuple[int, int]], topic: str) -> Iterator[Record]:
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    error = message.error()
    if error is not None:
        if error.name() != "_PARTITION_EOF":
            raise RecordsUnavailable(f"topic {topic} could not be read: {error.str()}")
        open_.pop(partition, None)
        return
    if partition not in open_ or offset is None:
        return
    end = open_[partition][1]
    if offset < end:
        key, value = message.key(), message.value()
        yield Record(partition, offset, message.timestamp()[1], _bytes(key), _bytes(value))
    if offset >= end - 1:
        del open_[partition]


def _bytes(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content


def append_record(access: Access, topic: str, value: bytes, key: bytes | None = None) -> int:
    """Write a record, and give its offset when all replicas have it. Raises RecordsUnavailable and InvalidClientProperty."""
    outcome: list[tuple[str | None, int]] = []
    settings = {**client_settings(access), "enable.idempotence": True, "linger.ms": 0}
    producer = open_librdkafka(Producer, settings, logger=_SILENT)

    def delivered(error: object, message: Message) -> None:
        outcome.append((None if error is None else str(error), message.offset() or 0))

    producer.produce(topic, value=value, key=key, on_delivery=delivered)
    producer.flush(_SECONDS)
    if not outcome or outcome[0][0] is not None:
        raise RecordsUnavailable(f"topic {topic} could not be written: {outcome[0][0] if outcome else 'no answer'}")
    return outcome[0][1]
