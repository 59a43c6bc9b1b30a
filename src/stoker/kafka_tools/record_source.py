"""Where the console consumer takes records from: one partition, all of some topics, or what a group gives it."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, KafkaException, Message, TopicPartition

from stoker.kafka_tools.failure import JavaError
from stoker.kafka_tools.pattern_subscription import LOOK_SECONDS, PatternSubscription, max_age_seconds
from stoker.kafka_tools.patterns import compiled
from stoker.kafka_tools.rdkafka import Errors, first_metadata, open_client
from stoker.kafka_tools.thrown import log_error
from stoker.kafka_tools.topic_filter import is_matched

_ANSWER_SECONDS: Final = 30.0
PASSING: Final = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._PARTITION_EOF, KafkaError._ALL_BROKERS_DOWN)


class RecordSource:
    """Of a topic or of all whose names match a pattern. Raises JavaError and CannotConnect."""

    def __init__(
        self, properties: Mapping[str, str], *, topic: str | None, pattern: str | None, group: str | None
    ) -> None:
        self._topic = topic
        self._pattern = None if pattern is None else compiled(pattern)
        self._group = group
        self._address = properties["bootstrap.servers"]
        self._begins_at_end = properties["auto.offset.reset"] == "latest"
        self._begins_nowhere = properties["auto.offset.reset"] == "none"
        self._errors = Errors()
        own = {
            "fetch.queue.backoff.ms": 10,
            "allow.auto.create.topics": topic is not None,
            "enable.auto.offset.store": False,  # what was not printed is not committed
        }
        self._consumer: Consumer = open_client(Consumer, properties, self._errors, own)
        self._max_age = max_age_seconds(properties)
        self._subscription: PatternSubscription | None = None
        if group is not None and self._pattern is not None:
            self._subscription = PatternSubscription(
                self._consumer, self._errors, properties, self._pattern, on_assign=self._note_starts
            )
        self._assigned: list[TopicPartition] = []
        self._starts: list[TopicPartition] = []
        self._next_look: float | None = None

    def begin(self, partition: int | None, start: int | str) -> None:
        """`start` is where to begin in the one partition: an offset, -2 for the first and -1 for the end."""
        metadata = first_metadata(self._consumer, self._errors, self._address)
        if partition is not None:
            assert self._topic is not None
            offset = {-2: OFFSET_BEGINNING, -1: OFFSET_END}.get(int(start), int(start))
            self._consumer.assign([TopicPartition(self._topic, partition, offset)])
        elif self._subscription is not None:
            self._subscription.begin()
        elif self._group is not None:
            self._consumer.subscribe([self._topic or ""], on_assign=self._note_starts)
        else:
            self._take_all(metadata, OFFSET_END if self._begins_at_end else OFFSET_BEGINNING)

    def take(self, count: int, seconds: float) -> list[Message]:
        """At most so many records, after at most so long."""
        if self._next_look is not None and time.monotonic() >= self._next_look:
            topic = self._topic if not self._assigned else None  # asking by name may create it
            self._take_all(first_metadata(self._consumer, self._errors, self._address, topic), OFFSET_BEGINNING)
        if self._subscription is not None:
            self._subscription.renew()
        if self._begins_nowhere and self._assigned:
            raise _no_offset(self._assigned)
        found: list[Message] = []
        records = self._consumer.consume(count, seconds)
        self._store_starts()
        for record in records:
            error = record.error()
            if error is None:
                found.append(record)
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                raise _no_offset([TopicPartition(record.topic() or "", record.partition() or 0)])
            elif error.fatal() or error.code() not in PASSING:
                raise JavaError("org.apache.kafka.common.KafkaException", error.str())
        if self._errors.fatal is not None:
            raise JavaError("org.apache.kafka.common.KafkaException", self._errors.fatal.str())
        return found

    def done(self, records: Sequence[Message]) -> None:
        """They are for nobody else of the group."""
        if self._group is None:
            return
        ends = {(record.topic(), record.partition()): record.offset() for record in records}
        offsets = [
            TopicPartition(topic or "", partition or 0, (last or 0) + 1) for (topic, partition), last in ends.items()
        ]
        self._store(offsets)

    def close(self) -> None:
        """Commit, if it is of a group that is to, and leave that."""
        try:
            self._store_starts()
            self._consumer.close()
        except KafkaException as failed:
            log_error(f"the group was not left in order: {failed.args[0].str()}", __name__)

    def _take_all(self, metadata: object, offset: int) -> None:
        """Read the partitions that are not read yet, those that are new from their beginning."""
        topics = metadata.topics  # type: ignore[attr-defined]
        wanted = [name for name in topics if self._is_wanted(name)]
        known = {(each.topic, each.partition) for each in self._assigned}
        added = [
            TopicPartition(name, partition, offset)
            for name in sorted(wanted)
            for partition in sorted(topics[name].partitions)
            if (name, partition) not in known
        ]
        if added:
            self._assigned += added
            if not self._begins_nowhere:
                self._consumer.incremental_assign(added) if known else self._consumer.assign(added)
        self._next_look = time.monotonic() + (self._max_age if self._assigned else LOOK_SECONDS)

    def _is_wanted(self, name: str) -> bool:
        return name == self._topic if self._pattern is None else is_matched(name, self._pattern)

    def _note_starts(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Where it begins in partitions that the group has committed nothing of.

        They are committed, as by Java's consumer, even if nothing is read: what comes from now on is for the group.
        """
        start = OFFSET_END if self._begins_at_end else OFFSET_BEGINNING
        with suppress(KafkaException):  # then the group begins once more where its consumers are told to
            committed = consumer.committed(partitions, timeout=_ANSWER_SECONDS)
            fresh = [TopicPartition(each.topic, each.partition, start) for each in committed if each.offset < 0]
            found = consumer.offsets_for_times(fresh, timeout=_ANSWER_SECONDS) if fresh else []
            self._starts += [
                TopicPartition(each.topic, each.partition, each.offset) for each in found if not each.error
            ]

    def _store_starts(self) -> None:
        """Only now, since nothing can be stored of a partition before it is assigned."""
        starts, self._starts = self._starts, []
        self._store(starts)

    def _store(self, offsets: list[TopicPartition]) -> None:
        """For librdkafka to commit, unless `enable.auto.commit` is false."""
        if offsets:
            with suppress(KafkaException):  # of a partition that has gone to another member meanwhile
                self._consumer.store_offsets(offsets=offsets)


def _no_offset(partitions: list[TopicPartition]) -> JavaError:
    listed = ", ".join(f"{each.topic}-{each.partition}" for each in partitions)
    return JavaError(
        "org.apache.kafka.clients.consumer.NoOffsetForPartitionException",
        f"Undefined offset with no reset policy for partitions: [{listed}]",
    )
