"""kafka-consumer-perf-test.sh: how fast records can be consumed, by librdkafka, in Kafka's own words."""

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from random import randrange
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from stoker.errors import StokerError
from stoker.kafka_tools.connection import load_properties
from stoker.kafka_tools.failure import JavaError, UsageAsked, VersionAsked, java_error
from stoker.kafka_tools.options import Option, OptionParser, Options, key_values
from stoker.kafka_tools.patterns import compiled
from stoker.kafka_tools.perf_stats import now_ms
from stoker.kafka_tools.printing import print_each_line_at_once

if TYPE_CHECKING:
    from confluent_kafka import Consumer

    from stoker.kafka_tools.pattern_subscription import PatternSubscription
    from stoker.kafka_tools.rdkafka import Errors

_MEGABYTE: Final = 1024 * 1024
_POLL_SECONDS: Final = 0.1
_AT_ONCE: Final = 500
_DATE_FORMAT: Final = "yyyy-MM-dd HH:mm:ss:SSS"
_COLUMNS: Final = (
    "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, "
    "fetch.nMsg.sec"
)


class _Known(NamedTuple):
    bootstrap_server: Option[str]
    topic: Option[str]
    include: Option[str]
    group: Option[str]
    fetch_size: Option[int]
    command_property: Option[str]
    from_latest: Option[str]
    socket_buffer_size: Option[int]
    consumer_config: Option[str]
    command_config: Option[str]
    print_metrics: Option[str]
    show_detailed_stats: Option[str]
    timeout: Option[int]
    messages: Option[int]
    num_records: Option[int]
    reporting_interval: Option[int]
    date_format: Option[str]
    hide_header: Option[str]


def main(arguments: Sequence[str]) -> int:
    parser = OptionParser()
    known = _declared(parser)
    print_each_line_at_once()
    try:
        options = _read(parser, known, arguments)
        _Test(options, known).run()
    except (UsageAsked, VersionAsked):
        raise
    except StokerError as error:
        thrown = java_error(error)
        sys.stdout.flush()
        print(f"{thrown.message}\n{thrown.described}", file=sys.stderr)
        return 1
    return 0


def _read(parser: OptionParser, known: _Known, arguments: Sequence[str]) -> Options:
    try:
        options = parser.parse(arguments)
    except JavaError as error:
        raise parser.usage(error.message) from error
    options.print_help_or_version("This tool is used to verify the consumer performance.")
    options.require(known.bootstrap_server)
    options.require_one_of(known.topic, known.include)
    options.require_one_of(known.messages, known.num_records)
    options.forbid(known.consumer_config, known.command_config)
    if options.has(known.messages):
        print("Warning: --messages is deprecated. Use --num-records instead.")
    if options.has(known.consumer_config):
        print("Warning: --consumer.config is deprecated. Use --command-config instead.")
    return options


class _Test:
    """One run of a consumer, and what it counts."""

    def __init__(self, options: Options, known: _Known) -> None:
        self._options = options
        self._known = known
        self._is_detailed = options.has(known.show_detailed_stats)
        self._date_format = options.text(known.date_format)
        self._wanted = options.integer(known.messages if options.has(known.messages) else known.num_records)
        self._records = self._bytes = 0
        self._join_start = self._join_ms = self._join_ms_in_window = 0
        self._assigned: set[tuple[str, int]] = set()

    def run(self) -> None:
        from confluent_kafka import Consumer, KafkaException

        from stoker.kafka_tools.rdkafka import Errors, open_client

        options, known = self._options, self._known
        properties, errors = self._properties(), Errors()
        if not options.has(known.hide_header):
            print(f"{'time, threadId' if self._is_detailed else 'start.time, end.time'}, {_COLUMNS}")
        try:
            own = {"allow.auto.create.topics": options.has(known.topic)}
            consumer: Consumer = open_client(Consumer, properties, errors, own)
            try:
                start = self._join_start = now_ms()
                self._consume(consumer, self._subscribed(consumer, errors, properties))
                end = now_ms()
            finally:
                consumer.close()
        except KafkaException as error:
            raise JavaError("org.apache.kafka.common.KafkaException", error.args[0].str()) from None
        if not self._is_detailed:
            print(self._total_line(start, end))
        if options.has(known.print_metrics):
            print(f"\nMetric Name   Value\nconsumer-fetch-manager-metrics:records-consumed-total : {self._records:.3f}")

    def _properties(self) -> dict[str, str]:
        options, known = self._options, self._known
        config = options.value(known.consumer_config) or options.value(known.command_config)
        properties = {} if config is None else load_properties(config)
        properties |= key_values(options.values(known.command_property))
        properties |= {
            "bootstrap.servers": options.text(known.bootstrap_server),
            "group.id": options.text(known.group),
            "receive.buffer.bytes": str(options.integer(known.socket_buffer_size)),
            "max.partition.fetch.bytes": str(options.integer(known.fetch_size)),
            "auto.offset.reset": "latest" if options.has(known.from_latest) else "earliest",
        }
        properties.setdefault("client.id", "perf-consumer-client")
        return properties

    def _subscribed(
        self, consumer: "Consumer", errors: "Errors", properties: Mapping[str, str]
    ) -> "PatternSubscription | None":
        """To one topic, or to those of a pattern, which is to be asked from time to time whether there are more."""
        from stoker.kafka_tools.pattern_subscription import PatternSubscription

        topic = self._options.value(self._known.topic)
        callbacks = {"on_assign": self._were_assigned, "on_revoke": self._were_revoked}
        if topic is not None:
            consumer.subscribe([topic], **callbacks)
            return None
        pattern = compiled(self._options.text(self._known.include))
        subscription = PatternSubscription(consumer, errors, properties, pattern, **callbacks)
        subscription.begin()
        return subscription

    def _consume(self, consumer: "Consumer", subscription: "PatternSubscription | None") -> None:
        from stoker.kafka_tools.record_source import PASSING

        options, known = self._options, self._known
        timeout_ms, interval_ms = options.integer(known.timeout), options.integer(known.reporting_interval)
        if interval_ms <= 0:
            raise JavaError("java.lang.IllegalArgumentException", "Reporting interval must be greater than 0.")
        now = reported = last = now_ms()
        seen_records = seen_bytes = 0
        while self._records < self._wanted and now - last <= timeout_ms:
            if subscription is not None:
                subscription.renew()
            messages = consumer.consume(_AT_ONCE, _POLL_SECONDS)
            now = now_ms()
            for message in messages:
                if (error := message.error()) is not None:
                    if error.retriable() or error.code() in PASSING:
                        continue
                    raise JavaError("org.apache.kafka.common.KafkaException", error.str())
                last = now
                self._records += 1
                self._bytes += len(message.key() or b"") + len(message.value() or b"")
            if messages and now - reported >= interval_ms:
                if self._is_detailed:
                    print(self._window_line(reported, now, seen_records, seen_bytes))
                self._join_ms_in_window = 0
                reported, seen_records, seen_bytes = now, self._records, self._bytes
        if self._records < self._wanted:
            print(
                f"WARNING: Exiting before consuming the expected number of records: timeout ({timeout_ms} ms) exceeded. "
                "You can use the --timeout option to increase the timeout."
            )

    def _were_assigned(self, consumer: "Consumer", partitions: list[Any]) -> None:
        if not self._assigned:
            elapsed = now_ms() - self._join_start
            self._join_ms += elapsed
            self._join_ms_in_window += elapsed
        self._assigned |= {(each.topic, each.partition) for each in partitions}

    def _were_revoked(self, consumer: "Consumer", partitions: list[Any]) -> None:
        self._assigned -= {(each.topic, each.partition) for each in partitions}
        if not self._assigned:
            self._join_start = now_ms()

    def _total_line(self, start: int, end: int) -> str:
        seconds = max(1, end - start) / 1000
        fetch_ms = (end - start) - self._join_ms
        megabytes = self._bytes / _MEGABYTE
        fetch_seconds = max(1, fetch_ms) / 1000
        return (
            f"{self._shown(start)}, {self._shown(end)}, {megabytes:.4f}, {megabytes / seconds:.4f}, {self._records}, "
            f"{self._records / seconds:.4f}, {self._join_ms}, {fetch_ms}, {megabytes / fetch_seconds:.4f}, "
            f"{self._records / fetch_seconds:.4f}"
        )

    def _window_line(self, start: int, end: int, records_before: int, bytes_before: int) -> str:
        elapsed = max(1, end - start)
        records = self._records - records_before
        megabytes = (self._bytes - bytes_before) / _MEGABYTE
        fetch_ms = end - start - self._join_ms_in_window
        rate = 1000.0 / fetch_ms if fetch_ms > 0 else 0.0
        return (
            f"{self._shown(end)}, 0, {self._bytes / _MEGABYTE:.4f}, {1000.0 * megabytes / elapsed:.4f}, "
            f"{self._records}, {1000.0 * records / elapsed:.4f}, {self._join_ms_in_window}, {fetch_ms}, "
            f"{megabytes * rate:.4f}, {records * rate:.4f}"
        )

    def _shown(self, milliseconds: int) -> str:
        moment = datetime.fromtimestamp(milliseconds / 1000).astimezone()
        shown = self._date_format
        for letters, value in (
            ("yyyy", f"{moment.year:04d}"),
            ("SSS", f"{milliseconds % 1000:03d}"),
            ("MM", f"{moment.month:02d}"),
            ("dd", f"{moment.day:02d}"),
            ("HH", f"{moment.hour:02d}"),
            ("mm", f"{moment.minute:02d}"),
            ("ss", f"{moment.second:02d}"),
        ):
            shown = shown.replace(letters, value)
        return shown


def _declared(parser: OptionParser) -> _Known:
    return _Known(
        bootstrap_server=parser.option(
            "bootstrap-server", "REQUIRED: The server(s) to connect to.", described_as="server to connect to"
        ),
        topic=parser.option("topic", "The topic to consume from.", described_as="topic"),
        include=parser.option(
            "include",
            "Regular expression specifying list of topics to include for consumption.",
            described_as="Java regex (String)",
        ),
        group=parser.option(
            "group",
            "The group id to consume on.",
            described_as="gid",
            default=f"perf-consumer-{randrange(100_000)}",
        ),
        fetch_size=parser.number(
            "fetch-size",
            "The maximum amount of data to fetch from a single partition per request.",
            described_as="size",
            default=_MEGABYTE,
        ),
        command_property=parser.option(
            "command-property",
            "Kafka consumer related configuration properties like client.id. These configs take precedence over those "
            "passed via --command-config or --consumer.config.",
            described_as="prop1=val1",
        ),
        from_latest=parser.flag(
            "from-latest",
            "If the consumer does not already have an established offset to consume from, start with the latest record "
            "present in the log rather than the earliest record.",
        ),
        socket_buffer_size=parser.number(
            "socket-buffer-size", "The size of the tcp RECV size.", described_as="size", default=2 * _MEGABYTE
        ),
        consumer_config=parser.option(
            "consumer.config",
            "(DEPRECATED) Consumer config properties file. This option will be removed in a future version. Use "
            "--command-config instead.",
            described_as="config file",
        ),
        command_config=parser.option("command-config", "Config properties file.", described_as="config file"),
        print_metrics=parser.flag("print-metrics", "Print out the metrics."),
        show_detailed_stats=parser.flag(
            "show-detailed-stats",
            "If set, stats are reported for each reporting interval as configured by reporting-interval.",
        ),
        timeout=parser.number(
            "timeout",
            "The maximum allowed time in milliseconds between returned records.",
            described_as="milliseconds",
            default=10_000,
            is_long=True,
            is_argument_optional=True,
        ),
        messages=parser.number(
            "messages",
            "(DEPRECATED) The number of records to consume. This option will be removed in a future version. Use "
            "--num-records instead.",
            described_as="count",
            is_long=True,
        ),
        num_records=parser.number(
            "num-records", "REQUIRED: The number of records to consume.", described_as="count", is_long=True
        ),
        reporting_interval=parser.number(
            "reporting-interval",
            "Interval in milliseconds at which to print progress info.",
            described_as="interval_ms",
            default=5_000,
            is_long=True,
        ),
        date_format=parser.option(
            "date-format",
            "The date format to use for formatting the time field. See java.text.SimpleDateFormat for options.",
            described_as="date format",
            default=_DATE_FORMAT,
        ),
        hide_header=parser.flag("hide-header", "If set, skips printing the header for the stats."),
    )
