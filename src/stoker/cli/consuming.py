"""Taking records from librdkafka, many at a time, until there is a reason to stop."""

import select
import sys
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from stoker.cli.failure import CommandFailed, no_such
from stoker.cli.interruption import Interruption
from stoker.cli.output import say
from stoker.cli.record_client import ClientErrors, cluster_metadata, open_client, sentence
from stoker.cli.record_format import BlockFormatter
from stoker.cli.record_selection import Selection
from stoker.cli.starting_points import Partition
from stoker.cli.stopping_points import AtEnds, StoppingPoint
from stoker.client.properties import ClientProperties

_BATCH: Final = 1000
"""Larger ones fall out of the processor's cache."""
_WAIT_SECONDS: Final = 0.1
_LOOKUP_SECONDS: Final = 30.0
_NO_GROUP: Final = "stoker-consume"
"""librdkafka wants a name even of a consumer that joins no group and commits nothing."""
_GROUP_ERRORS: Final = (
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)
_WIDER: Final = 4


class Reader:
    """A librdkafka consumer: of a group, or of none."""

    def __init__(
        self,
        properties: ClientProperties,
        own: Mapping[str, str],
        settings: Mapping[str, Any],
        *,
        group: str | None,
        interruption: Interruption,
    ) -> None:
        self.errors = ClientErrors()
        self.interruption = interruption
        self._group = group
        self._properties = properties
        self._starts: dict[Partition, int] = {}
        """Where this member began in those of its partitions of which the group had committed nothing, and nothing was read."""
        self._begins_at_end = {**settings, **properties.given, **own}["auto.offset.reset"] == "latest"
        self._consumer: Consumer = open_client(
            Consumer,
            properties,
            own,
            # Fetch again as soon as there is room: librdkafka's own second is long for who reads a million a second.
            {"fetch.queue.backoff.ms": 10, **settings},
            self.errors,
            fixed={
                "group.id": _NO_GROUP if group is None else group,
                "enable.auto.commit": group is not None,
                "enable.auto.offset.store": False,
                "enable.partition.eof": True,
            },
        )

    def close(self) -> None:
        """Commit what was marked as written, and leave the group at once.

        Where nothing was read the start is committed, as by Java's consumer: else there would be no lag to see, and who
        comes next and begins at the end would pass over what is there.
        """
        if self._starts:
            self._store([TopicPartition(topic, number, offset) for (topic, number), offset in self._starts.items()])
        self._consumer.close()

    # What there is --------------------------------------------------------------------------------------------------

    def partitions(self, topics: Sequence[str]) -> list[Partition]:
        """Those of the topics. Raises CommandFailed for one that does not exist."""
        known = cluster_metadata(self._consumer, self._consumer.poll, self._properties, self.errors).topics
        for topic in topics:
            if topic not in known:
                raise no_such("topic", topic, known)
        return [
            Partition(topic, number) for topic in dict.fromkeys(topics) for number in sorted(known[topic].partitions)
        ]

    def beginnings(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return self._look_up(partitions, OFFSET_BEGINNING)

    def ends(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return self._look_up(partitions, OFFSET_END)

    def at_time(self, partitions: Iterable[Partition], milliseconds: int) -> dict[Partition, int]:
        found = self._look_up(partitions, max(0, milliseconds))
        return found | self.ends([partition for partition, offset in found.items() if offset < 0])

    def _look_up(self, partitions: Iterable[Partition], what: int) -> dict[Partition, int]:
        asked = [TopicPartition(topic, number, what) for topic, number in partitions]
        if not asked:
            return {}
        answered = self._consumer.offsets_for_times(asked, timeout=_LOOKUP_SECONDS)
        for each in answered:
            if each.error is not None:
                raise CommandFailed(f"{each.topic}-{each.partition}: {sentence(each.error)}")
        return {Partition(each.topic, each.partition): each.offset for each in answered}

    # Reading --------------------------------------------------------------------------------------------------------

    def read_from(self, begins: Mapping[Partition, int]) -> None:
        """Read these partitions, whoever else does."""
        self._consumer.assign([TopicPartition(topic, number, offset) for (topic, number), offset in begins.items()])

    def subscribe(self, topics: Sequence[str], stop: StoppingPoint) -> None:
        """Share the topics with the other members of the group."""

        def assigned(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            self._starts |= self._starts_of(partitions)
            stop.assign(dict.fromkeys(map(_partition, partitions)))

        def revoked(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            for partition in map(_partition, partitions):
                self._starts.pop(partition, None)
            stop.revoke(map(_partition, partitions))

        try:
            self._consumer.subscribe(list(topics), on_assign=assigned, on_revoke=revoked, on_lost=revoked)
        except KafkaException as refused:
            patterns = [topic for topic in topics if topic.startswith("^")]
            if refused.args[0].code() != KafkaError._INVALID_ARG or not patterns:
                raise
            raise CommandFailed(
                f"{', '.join(map(repr, patterns))}: no regular expression that librdkafka takes"
            ) from None

    def _starts_of(self, partitions: list[TopicPartition]) -> dict[Partition, int]:
        if not partitions:
            return {}
        committed = self._consumer.committed(partitions, timeout=_LOOKUP_SECONDS)
        new = [_partition(each) for each in committed if each.error is None and each.offset < 0]
        return self.ends(new) if self._begins_at_end else self.beginnings(new)

    def next_records(self, stop: StoppingPoint) -> Sequence[Message]:
        """The records before the stopping point that are there, or that come in a moment."""
        batch = self._consumer.consume(_BATCH, 0)
        if not batch:
            first = self._consumer.poll(_WAIT_SECONDS)
            batch = [] if first is None else [first]
        if self.errors.fatal is not None:
            raise CommandFailed(sentence(self.errors.fatal))
        records = [message for message in batch if message.error() is None]
        if records and self.errors.hopeless:
            self.errors.connected()
        admitted = stop.admit(records)
        if len(records) < len(batch):
            for message in batch:
                if (error := message.error()) is not None:
                    self._handle(error, message, stop)
        return admitted

    def _handle(self, error: KafkaError, message: Message, stop: StoppingPoint) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            stop.end_of_partition(Partition(message.topic() or "", message.partition() or 0), message.offset() or 0)
        elif error.code() == KafkaError._MAX_POLL_EXCEEDED:
            say("the group went on without this member, which was silent for too long; joining again")
        elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART and (message.topic() or "").startswith("^"):
            pass  # no topic matches yet
        elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise CommandFailed(f"topic {message.topic()!r} does not exist any longer")
        elif self._group is not None or error.code() not in _GROUP_ERRORS:
            raise CommandFailed(sentence(error))

    def mark_written(self, records: Sequence[Message]) -> None:
        """Let the next commit, which comes every few seconds and at the end, tell that the group has had these."""
        latest = {Partition(record.topic() or "", record.partition() or 0): record for record in records}
        if self._starts:
            self._starts = {partition: start for partition, start in self._starts.items() if partition not in latest}
        self._store([_position_after(record) for record in latest.values()])

    def _store(self, positions: list[TopicPartition]) -> None:
        try:
            self._consumer.store_offsets(offsets=positions)
        except KafkaException as refused:
            # A rebalance has just given the partition to another member, who will have these records too.
            if refused.args[0].code() != KafkaError._STATE:
                raise


def _position_after(record: Message) -> TopicPartition:
    leader_epoch = record.leader_epoch()
    return TopicPartition(
        record.topic() or "",
        record.partition() or 0,
        (record.offset() or 0) + 1,
        leader_epoch=-1 if leader_epoch is None else leader_epoch,
    )


def _partition(of: TopicPartition) -> Partition:
    return Partition(of.topic, of.partition)


class Output:
    """Writes blocks of records to stdout."""

    def __init__(self, formatter: BlockFormatter) -> None:
        self._formatter = formatter
        self._stream = sys.stdout.buffer
        self._hang_up = select.poll()
        try:
            self._hang_up.register(sys.stdout.fileno(), 0)
        except OSError:  # stdout is no file: this command runs inside another program
            pass

    def write(self, records: Sequence[Message]) -> None:
        self._stream.write(self._formatter(records))
        self._stream.flush()

    def check(self) -> None:
        """Raises BrokenPipeError when nobody reads any longer: `head` may end long before there is more to write."""
        for _, events in self._hang_up.poll(0):
            if events & (select.POLLERR | select.POLLHUP):
                raise BrokenPipeError


def copy_records(
    reader: Reader,
    stop: StoppingPoint,
    selection: Selection,
    output: Output,
    *,
    timeout: float | None,
    mark: bool,
) -> None:
    """Write what is read until the stopping point, the limit, a signal, or `timeout` seconds without a record."""
    last_seen = time.monotonic()
    while not (stop.is_reached or selection.is_full or reader.interruption):
        records = reader.next_records(stop)
        if records:
            chosen, looked_at = selection.choose(records)
            if chosen:
                output.write(chosen)
            if mark:
                reader.mark_written(records[:looked_at])
            last_seen = time.monotonic()
        else:
            output.check()
            if timeout is not None and time.monotonic() - last_seen >= timeout:
                return


def last_records(
    reader: Reader, beginnings: Mapping[Partition, int], ends: Mapping[Partition, int], count: int
) -> list[Message]:
    """The last `count` records before `ends` of all partitions together, by their timestamps.

    Offsets without a record (transaction markers, compaction) make it look further back.
    """
    last: dict[Partition, deque[Message]] = {}
    widths = {partition: count for partition in ends if ends[partition] > beginnings[partition]}
    while widths and not reader.interruption:
        begins = {each: max(beginnings[each], ends[each] - width) for each, width in widths.items()}
        last |= _read_window(reader, begins, ends, count)
        widths = {
            each: width * _WIDER
            for each, width in widths.items()
            if len(last[each]) < count and begins[each] > beginnings[each]
        }
    records = [record for each in last.values() for record in each]
    records.sort(key=_by_time)
    return records[-count:]


def _read_window(
    reader: Reader, begins: Mapping[Partition, int], ends: Mapping[Partition, int], count: int
) -> dict[Partition, deque[Message]]:
    window: dict[Partition, deque[Message]] = {partition: deque(maxlen=count) for partition in begins}
    stop = AtEnds(lambda partitions: {partition: ends[partition] for partition in partitions})
    stop.assign(begins)
    reader.read_from(begins)
    while not stop.is_reached and not reader.interruption:
        for record in reader.next_records(stop):
            window[Partition(record.topic() or "", record.partition() or 0)].append(record)
    return window


def _by_time(record: Message) -> tuple[int, str, int, int]:
    return record.timestamp()[1], record.topic() or "", record.partition() or 0, record.offset() or 0
