"""Handing records to librdkafka, fast, and knowing what became of them."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from stoker.cli.failure import CommandFailed, did_you_mean, no_such
from stoker.cli.interruption import Interruption
from stoker.cli.output import say
from stoker.cli.pace import Pace
from stoker.cli.record_client import ClientErrors, cluster_metadata, open_client, sentence
from stoker.cli.record_input import ANY_PARTITION, NOW, MalformedRecord, NewRecord, Parser
from stoker.client.properties import ClientProperties

_SETTINGS: Final = {
    # Equal keys go where Java's producer puts them, and every librdkafka client that does not care.
    "partitioner": "murmur2_random",
    # After 2 minutes a record is given up, as by Java's producer; librdkafka waits 5.
    "delivery.timeout.ms": 120_000,
}
_WAIT_SECONDS: Final = 0.1
_CREATION_SECONDS: Final = 3.0
"""Kafka answers that there is no such topic while it is creating it, and just so if it never will."""
_ANSWER_SECONDS: Final = 30.0
_LIMITS_OF_TIME: Final = "message.timestamp.after.max.ms, message.timestamp.before.max.ms"
_ADVICE: Final = {
    KafkaError.MSG_SIZE_TOO_LARGE: ": -X max.request.size=BYTES (1000000 unless set) and the topic's max.message.bytes"
    " say how large a record may be",
    KafkaError.INVALID_TIMESTAMP: f": it is too far from now for the topic ({_LIMITS_OF_TIME})",
    KafkaError.INVALID_RECORD: f": its time may be too far from now for the topic ({_LIMITS_OF_TIME}), or it has no key"
    " and the topic is compacted",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of the records that were read."""

    read: int
    failures: dict[str, int]
    seconds: float

    @property
    def failed(self) -> int:
        return sum(self.failures.values())

    @property
    def produced(self) -> int:
        return self.read - self.failed


class Sender:
    """Sends to one topic whatever it is given, and stops when there was an interruption."""

    def __init__(
        self,
        properties: ClientProperties,
        own: dict[str, str],
        *,
        topic: str,
        pace: Pace | None,
        interruption: Interruption,
        progress: Callable[[int], None],
    ) -> None:
        self.read = 0
        self._topic = topic
        self._properties = properties
        self._failures: Counter[str] = Counter()
        self._errors = ClientErrors()
        self._pace = pace
        self._interruption = interruption
        self._progress = progress
        self._producer: Producer = open_client(
            Producer,
            properties,
            own,
            _SETTINGS | {"enable.idempotence": _may_be_idempotent({**properties.given, **own})},
            self._errors,
            fixed={"on_delivery": self._delivered, "delivery.report.only.error": True},
        )
        self._begun = time.monotonic()
        # Known when the topic was found
        self._wanted_partition = ANY_PARTITION
        self._partitions: list[int] = []
        self._is_new = False

    # The topic ------------------------------------------------------------------------------------------------------

    def find_topic(self, partition: int) -> None:
        """Raises CommandFailed if the topic's name looks like a slip, or if it has no such partition.

        One that is not there yet is left to the cluster to create when the first record has come.
        """
        known = cluster_metadata(self._producer, self._producer.poll, self._properties, self._errors).topics
        if self._topic not in known and did_you_mean(self._topic, known):
            raise CommandFailed(f"{no_such('topic', self._topic, known)} A new one: stoker topics create {self._topic}")
        self._wanted_partition = partition
        self._is_new = self._topic not in known
        if not self._is_new:
            self._check_partition()

    def _check_partition(self) -> None:
        self._partitions = self._partitions_by_name()
        if self._wanted_partition != ANY_PARTITION and self._wanted_partition not in self._partitions:
            raise CommandFailed(
                f"topic {self._topic!r} has no partition {self._wanted_partition}; it has {self._there_are()}"
            )

    def _there_are(self) -> str:
        return "only partition 0" if len(self._partitions) == 1 else f"partitions 0 to {self._partitions[-1]}"

    def _create(self) -> None:
        self._check_partition()
        say(f"topic {self._topic!r} is new: the cluster has created it")
        self._is_new = False

    def _partitions_by_name(self) -> list[int]:
        """Asking for a topic by its name makes a cluster create it, where auto.create.topics.enable says so.

        It also connects librdkafka to a broker that it knows by number, without which an idempotent producer waits for
        half a second before it asks for its id.
        """
        deadline = time.monotonic() + _CREATION_SECONDS
        while True:
            described = self._producer.list_topics(self._topic, timeout=_ANSWER_SECONDS).topics[self._topic]
            if described.partitions:
                return sorted(described.partitions)
            error = described.error or KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
            is_unknown = error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
            is_final = not is_unknown and not error.retriable()
            if is_final or self._interruption or time.monotonic() > deadline:
                break
            self._interruption.wait(_WAIT_SECONDS)
        if is_unknown:
            raise CommandFailed(
                f"topic {self._topic!r} does not exist, and the cluster creates none by itself; "
                f"stoker topics create {self._topic} does"
            )
        raise CommandFailed(f"topic {self._topic!r}: {sentence(error)}")

    # Records --------------------------------------------------------------------------------------------------------

    def send_values(self, blocks: Iterator[list[bytes]], template: NewRecord) -> None:
        """Each line is a value; all else is the template's."""
        # Typed by hand: mypy believes that **arguments could be all that produce() takes.
        send: Callable[[bytes], None] = partial(self._producer.produce, self._topic, **_arguments(template))
        for lines in self._portions(blocks):
            self.read += len(lines)
            for value in lines:
                try:
                    send(value)
                except (BufferError, KafkaException) as refused:
                    self._insist(partial(send, value), refused)

    def send_parsed(self, blocks: Iterator[list[bytes]], parse: Parser, describe: Callable[[int], str]) -> None:
        """Each line is what the parser makes of it. Raises CommandFailed at the first line that is no record."""
        produce, topic = self._producer.produce, self._topic
        before = 0
        for lines in self._portions(blocks):
            for number, line in enumerate(lines, before + 1):
                try:
                    record = parse(line)
                except MalformedRecord as malformed:
                    raise CommandFailed(f"{describe(number)} {malformed}") from None
                if record is None:
                    continue
                self.read += 1
                arguments = _arguments(record)
                try:
                    produce(topic, **arguments)
                except (BufferError, KafkaException) as refused:
                    self._insist(partial(produce, topic, **arguments), refused)
            before += len(lines)

    def _portions(self, blocks: Iterator[list[bytes]]) -> Iterator[Sequence[bytes]]:
        """The lines in portions that may go at once, until there was an interruption."""
        for block in blocks:
            if self._is_new:
                self._create()
            if self._pace is None:
                yield block
                self.look_around()
            else:
                yield from self._paced(block, self._pace)
            if self._interruption:
                return

    def _paced(self, block: list[bytes], pace: Pace) -> Iterator[Sequence[bytes]]:
        sent = 0
        while sent < len(block) and not self._interruption:
            if taken := pace.take(len(block) - sent):
                yield block[sent : sent + taken]
                sent += taken
                self.look_around()
            else:
                self._interruption.wait(pace.seconds_to_next())

    def look_around(self) -> None:
        """Learn what became of earlier records. Raises CommandFailed if there is no use in sending more."""
        self._producer.poll(0)
        if self._errors.fatal is not None:
            raise CommandFailed(f"nothing more can be produced: {sentence(self._errors.fatal)}")
        self._progress(self.read)

    def _insist(self, send: Callable[[], None], refused: BufferError | KafkaException) -> None:
        """Send when librdkafka, whose queue is full, has room again; any other refusal is final."""
        while isinstance(refused, BufferError):
            self._producer.poll(_WAIT_SECONDS)
            self._progress(self.read)
            if self._interruption.count > 1:
                self._failures["given up"] += 1
                return
            try:
                send()
            except (BufferError, KafkaException) as again:
                refused = again
            else:
                return
        self._failures[self._reason(refused.args[0])] += 1

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failures[self._reason(error)] += 1

    def _reason(self, error: KafkaError) -> str:
        """Why a record was not delivered, and what to do about it where that is known."""
        if error.code() == KafkaError._UNKNOWN_PARTITION:
            return f"{sentence(error)}: topic {self._topic!r} has {self._there_are()}"
        return sentence(error) + _ADVICE.get(error.code(), "")

    # The end --------------------------------------------------------------------------------------------------------

    def finish(self) -> Outcome:
        """Wait until all is delivered or has failed; a signal that comes while waiting ends it."""
        signals = self._interruption.count
        while len(self._producer) and self._interruption.count == signals:
            self._producer.flush(_WAIT_SECONDS)
            self._progress(self.read)
        if len(self._producer):
            self._producer.purge()
            self._producer.flush(_WAIT_SECONDS)
        return Outcome(read=self.read, failures=dict(self._failures), seconds=time.monotonic() - self._begun)


def _may_be_idempotent(given: dict[str, str]) -> bool:
    """Idempotence is only to be had where every record is acknowledged by all."""
    acks = given.get("acks", given.get("request.required.acks", "all"))
    return acks.strip() in ("all", "-1")


def _arguments(record: NewRecord) -> dict[str, Any]:
    """Only what is there: every argument costs."""
    arguments: dict[str, Any] = {}
    if record.value is not None:
        arguments["value"] = record.value
    if record.key is not None:
        arguments["key"] = record.key
    if record.headers:
        arguments["headers"] = list(record.headers)
    if record.partition != ANY_PARTITION:
        arguments["partition"] = record.partition
    if record.timestamp != NOW:
        arguments["timestamp"] = record.timestamp
    return arguments


class Progress:
    """A line on the terminal that counts, from the second second on."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted
        self._begun = time.monotonic()
        self._next = self._begun + 1.0
        self._shown = False

    def __call__(self, records: int) -> None:
        if not self._wanted or (now := time.monotonic()) < self._next:
            return
        self._next = now + 0.2
        self._shown = True
        rate = records / (now - self._begun)
        print(f"\r\x1b[K{records:,} records, {rate:,.0f} a second", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
