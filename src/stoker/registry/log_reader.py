"""Reads the schemas' topic from its beginning, and then on and on, in a thread of its own."""

import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from stoker.client.librdkafka import open_librdkafka
from stoker.registry.election import REFUSED_PAUSE_SECONDS
from stoker.registry.records import MalformedRecord, RegistryRecord, decode_record

logger = logging.getLogger("stoker.registry")

_SILENCE_SECONDS: Final = 60.0
_PARTICULARS: Final = re.compile(r"\d+|\(.*\)")


class Rarely(logging.Filter):
    """What is said again and again but for its numbers, once a minute: librdkafka tells of every try to reach every broker."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        now, text = self._clock(), _PARTICULARS.sub("", record.getMessage())
        self._said = {each: when for each, when in self._said.items() if now - when < _SILENCE_SECONDS}
        if text in self._said:
            return False
        self._said[text] = now
        return True


_librdkafka = logger.getChild("librdkafka")
_librdkafka.setLevel(logging.WARNING)
_librdkafka.addFilter(Rarely())

_BATCH: Final = 500
_POLL_SECONDS: Final = 0.5
_EXCERPT: Final = 200
_UNKNOWN: Final = 2**63

OnRecords = Callable[[list[RegistryRecord], int], None]


class LogReader:
    """Hands on what is committed, in order. All functions are called in the reader's thread.

    `on_records` gets a batch and the offset of its last record; `on_end`, once, hears that all was read that was there at
    the start. Then there is nothing more to come: `on_loss` hears that the log is not the one that was read before, but
    begins anew or was cut, `on_failure` what else ended the reading.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        topic: str,
        *,
        on_records: OnRecords,
        on_end: Callable[[], None],
        on_loss: Callable[[str], None],
        on_failure: Callable[[Exception], None],
    ) -> None:
        self._topic = topic
        self._on_records = on_records
        self._on_end = on_end
        self._on_loss = on_loss
        self._on_failure = on_failure
        self._last = -1
        self._has_ended = False
        self._end = _UNKNOWN
        self._stopping = threading.Event()
        self._properties = properties
        self._consumer: Consumer | None = self._open()
        self._thread = threading.Thread(target=self._run_to_the_end, name="stoker-registry-reader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        if self._consumer is not None:
            self._consumer.close()

    def _open(self) -> Consumer:
        self._refusal: _Refused | None = None
        return open_librdkafka(
            Consumer,
            {
                **self._properties,
                "error_cb": self._note,
                "group.id": "stoker-registry-reader",  # named because it must be; nothing is committed
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "allow.auto.create.topics": False,
                "fetch.wait.max.ms": 100,  # also the time until the end of the topic is known at start
                "queued.max.messages.kbytes": 8 * 1024,
            },
            logger=_librdkafka,
        )

    def _run_to_the_end(self) -> None:
        try:
            self._run()
        except _Lost as lost:
            self._on_loss(str(lost))
        except Exception as problem:
            logger.exception("reading %s failed", self._topic)
            self._on_failure(problem)

    def _run(self) -> None:
        consumer = self._consumer
        while consumer is not None:
            try:
                self._read(consumer)
                return
            except _Refused as refused:
                logger.warning("reading %s: %s; it is tried again in %g s", self._topic, refused, REFUSED_PAUSE_SECONDS)
                # By itself librdkafka would log in several times a second.
                self._consumer = None
                consumer.close()
                if self._stopping.wait(REFUSED_PAUSE_SECONDS):
                    return
                self._consumer = consumer = self._open()

    def _read(self, consumer: Consumer) -> None:
        """Until it is stopped. Raises _Lost and _Refused."""
        partition = TopicPartition(self._topic, 0, self._last + 1 if self._last >= 0 else OFFSET_BEGINNING)
        try:
            # One who assigns a topic that librdkafka has not heard of waits half a second for it.
            consumer.list_topics(self._topic, _POLL_SECONDS)
            if self._end == _UNKNOWN:
                _, self._end = consumer.get_watermark_offsets(partition, _POLL_SECONDS)
        except KafkaException as problem:
            logger.info("reading %s: %s", self._topic, problem)
        consumer.assign([partition])
        while not self._stopping.is_set():
            first = consumer.poll(_POLL_SECONDS)
            if first is not None:
                self._take([first, *consumer.consume(_BATCH, 0)])
            if self._refusal is not None:
                raise self._refusal

    def _note(self, error: KafkaError) -> None:
        if error.code() == KafkaError._AUTHENTICATION:
            self._refusal = _Refused(error.str())

    def _take(self, messages: list[Message]) -> None:
        records: list[RegistryRecord] = []
        last = -1
        lost: _Lost | None = None
        has_ended = False
        for message in messages:
            error = message.error()
            if error is None:
                offset = message.offset() or 0
                if offset <= self._last:
                    lost = _Lost(f"its offset {offset} came again after {self._last}")
                    break
                last = self._last = offset
                record = _decoded(message)
                if record is not None:
                    records.append(record)
            elif error.code() == KafkaError._PARTITION_EOF:
                has_ended = True
            else:
                logger.warning("reading %s: %s", self._topic, error.str())
        if last >= 0:
            self._on_records(records, last)
        # While others write on and on, librdkafka never says that the end is reached.
        if (has_ended or last >= self._end - 1) and not self._has_ended:
            self._has_ended = True
            self._on_end()
        if lost is not None:
            raise lost


class _Refused(Exception):
    """Who reads is not let in any more: many tries would lock it out."""


class _Lost(Exception):
    """The log is not the one that was read before. Says how it shows."""


def _decoded(message: Message) -> RegistryRecord | None:
    """None, with a line in the log, for a record that is none of a registry's: one of them must not stop the reader."""
    key, value = message.key(), message.value()
    try:
        return decode_record(_bytes(key), _bytes(value))
    except MalformedRecord as problem:
        logger.warning(
            "the record at offset %s of %s is left out: %.*s", message.offset(), message.topic(), _EXCERPT, problem
        )
        return None


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
