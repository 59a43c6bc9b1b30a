"""kafka-console-consumer.sh: the records of topics on standard output.

With `--group` it is a member of the group. Without, it reads all partitions by itself, where Kafka's tool joins a group of a random
name: that takes seconds, and leaves the group behind.
"""

import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from stoker.errors import StokerError
from stoker.kafka_tools.console_consumer_options import EARLIEST, LATEST, ConsoleConsumerOptions
from stoker.kafka_tools.failure import JavaError, ToolEnds, java_error
from stoker.kafka_tools.message_formatter import DEFAULT, FORMATTERS, LOGGING, NO_OP, Formatter, MessageFormatter
from stoker.kafka_tools.signals import Signalled, Signals
from stoker.kafka_tools.thrown import log_error

if TYPE_CHECKING:
    from confluent_kafka import Message

    from stoker.kafka_tools.record_source import RecordSource

_LOGGER: Final = "org.apache.kafka.tools.consumer.ConsoleConsumer"
_ADVICE: Final = (
    "The consumer rebalance protocol (KIP-848) is production-ready! Set group.protocol=consumer to try it out. "
    "See https://kafka.apache.org/documentation/#consumer_rebalance_protocol"
)
_BATCH: Final = 1000
_WAIT_SECONDS: Final = 0.1
_TIMED_OUT: Final = "org.apache.kafka.common.errors.TimeoutException"


def main(arguments: Sequence[str]) -> int:
    options = ConsoleConsumerOptions(arguments)
    name = options.given.text(options.formatter)
    if name not in FORMATTERS:
        raise options.parser.usage(f"{name}: a formatter is a Java class; there are {', '.join(FORMATTERS)}")
    formatter = _formatter(name, options)
    signals = Signals()
    try:
        with signals.handled():
            return _run(options, formatter, signals)
    except ToolEnds:
        raise
    except StokerError as error:
        log_error("Unknown error when running consumer: ", _LOGGER)
        print(java_error(error).described, file=sys.stderr)
        return 1
    finally:
        if options.given.has(options.enable_systest_events):
            print("shutdown_complete")


def _formatter(name: str, options: ConsoleConsumerOptions) -> Formatter | None:
    """None prints nothing."""
    if name == NO_OP:
        return None
    if name in (DEFAULT, LOGGING):
        return MessageFormatter(options.formatter_properties)
    from stoker.kafka_tools.coordinator_formatter import CoordinatorFormatter

    return CoordinatorFormatter(name)


def _run(options: ConsoleConsumerOptions, formatter: Formatter | None, signals: Signals) -> int:
    from stoker.kafka_tools.record_source import RecordSource

    given = options.given
    source = RecordSource(
        options.consumer_properties,
        topic=given.value(options.topic),
        pattern=given.value(options.include),
        group=options.group_id,
    )
    partition = given.value(options.partition)
    if partition is None and options.consumer_properties.get("group.protocol", "classic").lower() == "classic":
        print(_ADVICE, file=sys.stderr)
    limit = given.value(options.max_messages)
    printing = _Printing(source, formatter, signals, skips_errors=given.has(options.skip_message_on_error))
    code = 0
    try:
        source.begin(partition, {EARLIEST: -2, LATEST: -1}.get(str(options.start), options.start))
        printing.print_all(limit=-1 if limit is None else limit, timeout_ms=options.timeout)
    except Signalled as signalled:
        code = signalled.exit_code
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)  # a second one does not wait for the group
        source.close()
        sys.stdout.flush()
        print(f"Processed a total of {printing.count} messages", file=sys.stderr)
    return code


class _Printing:
    def __init__(
        self, source: "RecordSource", formatter: Formatter | None, signals: Signals, *, skips_errors: bool
    ) -> None:
        self.count = 0
        self._source = source
        self._formatter = formatter
        self._signals = signals
        self._skips_errors = skips_errors
        self._output = open(sys.stdout.fileno(), "wb", closefd=False)  # noqa: SIM115  # one that minds if nobody reads

    def print_all(self, *, limit: int, timeout_ms: int | None) -> None:
        """Until `limit`, unless that is -1, or until no record came for so long."""
        sys.stdout.flush()
        last = time.monotonic()
        while self.count < limit or limit == -1:
            try:
                records = self._source.take(_BATCH if limit == -1 else min(_BATCH, limit - self.count), _WAIT_SECONDS)
            except JavaError as failed:
                _terminate(failed.described)
                return
            if records:
                try:
                    with self._signals.held():
                        self._print(records)
                except BrokenPipeError:
                    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where Python flushes at exit
                    print("Unable to write to standard out, closing consumer.", file=sys.stderr)
                    return
                last = time.monotonic()
            elif timeout_ms is not None and time.monotonic() - last > timeout_ms / 1000:
                _terminate(_TIMED_OUT)
                return

    def _print(self, records: "Sequence[Message]") -> None:
        """All, or up to one that cannot be shown, which is done with, too."""
        lines: list[bytes] = []
        failure: JavaError | None = None
        for number, record in enumerate(records if self._formatter is not None else (), 1):
            assert self._formatter is not None
            try:
                lines.append(self._formatter(record))
            except ValueError as error:
                if not self._skips_errors:
                    failure = JavaError("org.apache.kafka.common.errors.SerializationException", str(error))
                    records = records[:number]
                    break
                log_error(f"Error processing message, skipping this message: {error}", _LOGGER)
        self._output.write(b"".join(lines))
        self._output.flush()
        self._source.done(records)
        self.count += len(records)
        if failure is not None:
            raise failure


def _terminate(cause: str) -> None:
    """It ends in order all the same, with 0."""
    log_error("Error processing message, terminating consumer process: ", _LOGGER)
    print(cause, file=sys.stderr)
