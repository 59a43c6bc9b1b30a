"""kafka-console-producer.sh: each line of standard input is a record."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from stoker.errors import StokerError
from stoker.kafka_tools.console_producer_options import ConsoleProducerOptions
from stoker.kafka_tools.failure import JavaError, ToolEnds, java_error
from stoker.kafka_tools.line_reader import LineReader

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

    from stoker.kafka_tools.rdkafka import Errors

_READER: Final = "org.apache.kafka.tools.LineMessageReader"
_LOGGER: Final = "org.apache.kafka.clients.producer.internals.ErrorLoggingCallback"
_DELIVERY_MS: Final = "120000"
_WAIT_SECONDS: Final = 0.1
_BETWEEN_POLLS: Final = 1000


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
        _produce(options, reader)
    except ToolEnds:
        raise
    except StokerError as error:
        thrown = java_error(error)
        sys.stdout.flush()
        print(thrown.message if thrown.java_class.startswith("joptsimple.") else thrown.described, file=sys.stderr)
        return 1
    return 0


def _produce(options: ConsoleProducerOptions, reader: LineReader) -> None:
    from confluent_kafka import Producer

    from stoker.kafka_tools.rdkafka import Errors, first_metadata, open_client

    properties = options.producer_properties
    topic = options.given.text(options.topic)
    errors = Errors()
    is_idempotent = properties["acks"] in ("all", "-1") and properties["retries"] != "0"
    properties.setdefault("delivery.timeout.ms", _DELIVERY_MS)
    properties.setdefault("enable.idempotence", "true" if is_idempotent else "false")
    producer: Producer = open_client(
        Producer,
        properties,
        errors,
        {"partitioner": "murmur2_random", "on_delivery": _delivered, "delivery.report.only.error": True},
    )
    first_metadata(producer, errors, properties["bootstrap.servers"], topic)
    if (
        is_idempotent
    ):  # now of a broker that librdkafka knows by number: else it waits half a second before it asks for a producer id
        first_metadata(producer, errors, properties["bootstrap.servers"], topic)
    sending = _Sending(producer, errors, topic, is_synchronous=options.given.has(options.sync))
    try:
        for record in reader.records(_lines()):
            sending.send(record)
    finally:
        sending.finish()


class _Sending:
    def __init__(self, producer: "Producer", errors: "Errors", topic: str, *, is_synchronous: bool) -> None:
        self._producer = producer
        self._errors = errors
        self._topic = topic
        self._is_synchronous = is_synchronous
        self._sent = 0
        self._failure: JavaError | None = None

    def send(self, record: dict[str, Any]) -> None:
        if self._is_synchronous:
            record = {**record, "on_delivery": self._acknowledged}
        while True:
            try:
                self._producer.produce(self._topic, **record)
                break
            except BufferError:
                self._producer.poll(_WAIT_SECONDS)
        self._sent += 1
        if self._is_synchronous:
            self._producer.flush()
            if self._failure is not None:
                raise self._failure
        elif self._sent % _BETWEEN_POLLS == 0:
            self._producer.poll(0)
        if self._errors.fatal is not None:
            raise JavaError("org.apache.kafka.common.KafkaException", self._errors.fatal.str())

    def finish(self) -> None:
        """Until all is delivered, or given up."""
        while len(self._producer):
            self._producer.flush(_WAIT_SECONDS)

    def _acknowledged(self, error: "KafkaError | None", message: "Message") -> None:
        if error is not None:
            self._failure = _as_java(error)


def _delivered(error: "KafkaError | None", message: "Message") -> None:
    """As Kafka's tool, which goes on."""
    if error is None:
        return
    from stoker.kafka_tools.thrown import log_error

    key, value = message.key(), message.value()
    shown = [
        f"{name}: {'null' if part is None else f'{len(part)} bytes'}" for name, part in (("key", key), ("value", value))
    ]
    log_error(f"Error when sending message to topic {message.topic()} with {', '.join(shown)} with error:", _LOGGER)
    print(_as_java(error).described, file=sys.stderr)


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
