"""kafka-console-producer.sh: each line of standard input is a record."""

import sys
from collections.abc import Iterator, Sequence
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

from stoker.errors import StokerError
from stoker.kafka_tools.console_producer_options import ConsoleProducerOptions
from stoker.kafka_tools.failure import JavaError, ToolEnds, java_error
from stoker.kafka_tools.line_reader import LineReader
from stoker.kafka_tools.signals import Signalled, Signals

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

    from stoker.kafka_tools.rdkafka import Errors

_READER: Final = "org.apache.kafka.tools.LineMessageReader"
_LOGGER: Final = "org.apache.kafka.clients.producer.internals.ErrorLoggingCallback"
_DELIVERY_MS: Final = "120000"
_WAIT_SECONDS: Final = 0.1
_BATCH_AND_RECORD_OVERHEAD: Final = 61 + 21
DEFAULT_MAX_REQUEST_SIZE: Final = "1048576"

Part = bytes | str | None
"""Of a record: its key or its value."""


def main(arguments: Sequence[str]) -> int:
    try:
        options = ConsoleProducerOptions(arguments)
        reader_class = options.given.text(options.line_reader)
        if reader_class != _READER:
            raise JavaError(
                "java.lang.ClassNotFoundException",
                f"{reader_class}: a reader is a Java class, and there is no Java here; there is {_READER}",
            )
        reader = LineReader(options.reader_properties)
        signals = Signals()
        with signals.handled():
            _produce(options, reader, signals)
    except ToolEnds:
        raise
    except Signalled as signalled:
        return signalled.exit_code
    except StokerError as error:
        thrown = java_error(error)
        sys.stdout.flush()
        print(thrown.message if thrown.java_class.startswith("joptsimple.") else thrown.described, file=sys.stderr)
        return 1
    return 0


def _produce(options: ConsoleProducerOptions, reader: LineReader, signals: Signals) -> None:
    """Raises Signalled after what was read is sent, and JavaError and CannotConnect."""
    from confluent_kafka import KafkaError, Producer

    from stoker.kafka_tools.rdkafka import Errors, first_metadata, open_client

    properties = options.producer_properties
    topic = options.given.text(options.topic)
    errors = Errors()
    is_idempotent = properties["acks"] in ("all", "-1") and properties["retries"] != "0"
    properties.setdefault("delivery.timeout.ms", _DELIVERY_MS)
    properties.setdefault("max.request.size", DEFAULT_MAX_REQUEST_SIZE)
    properties.setdefault("enable.idempotence", "true" if is_idempotent else "false")
    producer: Producer = open_client(
        Producer,
        properties,
        errors,
        {"partitioner": "murmur2_random", "on_delivery": _delivered, "delivery.report.only.error": True},
    )
    metadata = first_metadata(producer, errors, properties["bootstrap.servers"], topic)
    if is_idempotent:
        # Now of a broker that librdkafka knows by number: else it waits half a second before it asks for a producer id.
        metadata = first_metadata(producer, errors, properties["bootstrap.servers"], topic)
    sending = _Sending(
        producer,
        errors,
        topic,
        is_valid=metadata.topics[topic].error != KafkaError.TOPIC_EXCEPTION,
        max_request_size=int(properties["max.request.size"]),
        is_synchronous=options.given.has(options.sync),
    )
    finished = Event()
    teller = Thread(target=_tell_of_failures, args=(producer, finished), daemon=True)
    teller.start()
    try:
        try:
            for record in reader.records(_lines()):
                sending.send(record)
        finally:
            signals.hold()
    finally:  # even if one came just before it was held
        sending.finish()
    finished.set()
    teller.join()
    signals.release()


def _tell_of_failures(producer: "Producer", finished: Event) -> None:
    """Also while nothing comes from standard input: librdkafka calls back only whoever asks it."""
    while not finished.wait(_WAIT_SECONDS):
        producer.poll(0)


class _Sending:
    def __init__(
        self,
        producer: "Producer",
        errors: "Errors",
        topic: str,
        *,
        is_valid: bool,
        max_request_size: int,
        is_synchronous: bool,
    ) -> None:
        self._producer = producer
        self._errors = errors
        self._topic = topic
        self._is_valid = is_valid
        self._max_request_size = max_request_size
        self._is_synchronous = is_synchronous
        self._failure: JavaError | None = None

    def send(self, record: dict[str, Any]) -> None:
        """Raises JavaError, if it waits for the answer; else a record that cannot be sent is told of, and the next one may be."""
        try:
            self._check(record)
        except JavaError as refused:
            if self._is_synchronous:
                raise _executing(refused) from None
            _log_failure(self._topic, record.get("key"), record.get("value"), refused)
            return
        if self._is_synchronous:
            record = {**record, "on_delivery": self._acknowledged}
        while True:
            try:
                self._producer.produce(self._topic, **record)
                break
            except BufferError:
                self._producer.poll(_WAIT_SECONDS)
        if self._is_synchronous:
            self._producer.flush()
            if self._failure is not None:
                raise _executing(self._failure)
        if self._errors.fatal is not None:
            raise JavaError("org.apache.kafka.common.KafkaException", self._errors.fatal.str())

    def _check(self, record: dict[str, Any]) -> None:
        """What Kafka's producer refuses before it sends anything."""
        if not self._is_valid:
            raise JavaError("org.apache.kafka.common.errors.InvalidTopicException", f"Invalid topics: [{self._topic}]")
        size = _serialized_size(record)
        if size > self._max_request_size:
            raise JavaError(
                "org.apache.kafka.common.errors.RecordTooLargeException",
                f"The message is {size} bytes when serialized which is larger than {self._max_request_size}, which is the "
                "value of the max.request.size configuration.",
            )

    def finish(self) -> None:
        """Until all is delivered, or given up."""
        while len(self._producer):
            self._producer.flush(_WAIT_SECONDS)

    def _acknowledged(self, error: "KafkaError | None", message: "Message") -> None:
        if error is not None:
            self._failure = _as_java(error)


def _delivered(error: "KafkaError | None", message: "Message") -> None:
    """As Kafka's tool, which goes on."""
    if error is not None:
        _log_failure(message.topic(), message.key(), message.value(), _as_java(error))


def _log_failure(topic: "str | None", key: "Part", value: "Part", failure: JavaError) -> None:
    from stoker.kafka_tools.thrown import log_error

    shown = [
        f"{name}: {'null' if part is None else f'{len(part)} bytes'}" for name, part in (("key", key), ("value", value))
    ]
    log_error(f"Error when sending message to topic {topic} with {', '.join(shown)} with error:", _LOGGER)
    print(failure.described, file=sys.stderr)


def _executing(failure: JavaError) -> JavaError:
    return JavaError("java.util.concurrent.ExecutionException", failure.described)


def _serialized_size(record: dict[str, Any]) -> int:
    """The most that it can take in a batch of its own, as Kafka's producer reckons."""
    size = _BATCH_AND_RECORD_OVERHEAD + _sized(record.get("key")) + _sized(record.get("value"))
    headers = record.get("headers") or ()
    return size + _varint_size(len(headers)) + sum(_sized(name.encode()) + _sized(value) for name, value in headers)


def _sized(part: bytes | None) -> int:
    return 1 if part is None else _varint_size(len(part)) + len(part)


def _varint_size(number: int) -> int:
    return max(1, (number.bit_length() + 7) // 7)  # with the bit of the sign


def _as_java(error: "KafkaError") -> JavaError:
    from stoker.client.errors import KafkaRefused

    if error.code() > 0:
        return java_error(KafkaRefused(error.code()))
    return JavaError("org.apache.kafka.common.errors.TimeoutException", error.str())


def _lines() -> Iterator[str]:
    """Those of standard input, split as Java does; at a terminal with a prompt."""
    from io import TextIOWrapper

    stream = TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace", newline=None)
    has_prompt = sys.stdin.isatty() and sys.stdout.isatty()
    while True:
        if has_prompt:
            print(">", end="", flush=True)
        line = stream.readline()
        if not line:
            return
        yield line.removesuffix("\n")
