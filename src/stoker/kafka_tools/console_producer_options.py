"""The options of kafka-console-producer.sh, and the producer's properties that come of them."""

from collections.abc import Sequence
from typing import Final

from stoker.kafka_tools.connection import load_exact_properties, load_properties
from stoker.kafka_tools.failure import JavaError
from stoker.kafka_tools.options import Option, OptionParser, Options, key_values
from stoker.kafka_tools.server_addresses import complaint_about

_ABOUT_READER: Final = (
    "A mechanism to pass user-defined properties in the form key=value to the message reader. This allows custom configuration for a user-defined message reader.\n"
    "Default properties include:\n"
    " parse.key=false\n"
    " parse.headers=false\n"
    " ignore.error=false\n"
    " key.separator=\\t\n"
    " headers.delimiter=\\t\n"
    " headers.separator=,\n"
    " headers.key.separator=:\n"
    " null.marker=   When set, any fields (key, value and headers) equal to this will be replaced by null\n"
    "Default parsing pattern when:\n"
    " parse.headers=true and parse.key=true:\n"
    '  "h1:v1,h2:v2...\\tkey\\tvalue"\n'
    " parse.key=true:\n"
    '  "key\\tvalue"\n'
    " parse.headers=true:\n"
    '  "h1:v1,h2:v2...\\tvalue"'
)


class ConsoleProducerOptions:
    """Raises UsageAsked if they cannot be."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.parser = parser = OptionParser()
        self.topic = parser.option("topic", "REQUIRED: The topic name to produce messages to.", described_as="topic")
        self.bootstrap_server = parser.option(
            "bootstrap-server",
            "REQUIRED: The server(s) to connect to. The broker list string in the form HOST1:PORT1,HOST2:PORT2.",
            described_as="server to connect to",
        )
        self.sync = parser.flag(
            "sync", "If set message send requests to the brokers are synchronously, one at a time as they arrive."
        )
        self.compression_codec = parser.option(
            "compression-codec",
            "The compression codec: either 'none', 'gzip', 'snappy', 'lz4', or 'zstd'.If specified without value, then it defaults to 'gzip'",
            described_as="compression-codec",
            is_argument_optional=True,
        )
        self.batch_size = parser.number(
            "batch-size",
            "The buffer size in bytes allocated for a partition. When records are received which are smaller than this size the producer will attempt to optimistically group them together until this size is reached. This is the option to control batch.size in producer configs. Please note that this option will be replaced if max-partition-memory-bytes is also set.",
            described_as="size",
            default=16384,
        )
        self.message_send_max_retries = parser.number(
            "message-send-max-retries",
            "Brokers can fail receiving the message for multiple reasons, and being unavailable transiently is just one of them. This property specifies the number of retries before the producer give up and drop this message. This is the option to control `retries` in producer configs.",
            default=3,
        )
        self.retry_backoff_ms = parser.number(
            "retry-backoff-ms",
            "Before each retry, the producer refreshes the metadata of relevant topics. Since leader election takes a bit of time, this property specifies the amount of time that the producer waits before refreshing the metadata. This is the option to control `retry.backoff.ms` in producer configs.",
            is_long=True,
            default=100,
        )
        self.timeout = parser.number(
            "timeout",
            "If set and the producer is running in asynchronous mode, this gives the maximum amount of time a message will queue awaiting sufficient batch size. The value is given in ms. This is the option to control `linger.ms` in producer configs.",
            described_as="timeout_ms",
            is_long=True,
            default=1000,
        )
        self.request_required_acks = parser.option(
            "request-required-acks",
            "The required `acks` of the producer requests",
            described_as="request required acks",
            default="-1",
        )
        self.request_timeout_ms = parser.number(
            "request-timeout-ms",
            "The ack timeout of the producer requests. Value must be non-negative and non-zero.",
            described_as="request timeout ms",
            default=1500,
        )
        self.metadata_expiry_ms = parser.number(
            "metadata-expiry-ms",
            "The period of time in milliseconds after which we force a refresh of metadata even if we haven't seen any leadership changes. This is the option to control `metadata.max.age.ms` in producer configs.",
            described_as="metadata expiration interval",
            is_long=True,
            default=300000,
        )
        self.max_block_ms = parser.number(
            "max-block-ms",
            "The max time that the producer will block for during a send request.",
            described_as="max block on send",
            is_long=True,
            default=60000,
        )
        self.max_memory_bytes = parser.number(
            "max-memory-bytes",
            "The total memory used by the producer to buffer records waiting to be sent to the server. This is the option to control `buffer.memory` in producer configs.",
            described_as="total memory in bytes",
            is_long=True,
            default=33554432,
        )
        self.max_partition_memory_bytes = parser.number(
            "max-partition-memory-bytes",
            "(Deprecated) The buffer size in bytes allocated for a partition. When records are received which are smaller than this size the producer will attempt to optimistically group them together until this size is reached. This is the option to control batch.size in producer configs. This option will be removed in Apache Kafka 5.0. Use --batch-size instead.",
            described_as="memory in bytes per partition",
            default=16384,
        )
        self.line_reader = parser.option(
            "line-reader",
            "The class name of the class to use for reading lines from standard in. By default each line is read as a separate message.",
            described_as="reader_class",
            default="org.apache.kafka.tools.LineMessageReader",
        )
        self.socket_buffer_size = parser.number(
            "socket-buffer-size",
            "The size of the tcp RECV size. This is the option to control `send.buffer.bytes` in producer configs.",
            described_as="size",
            default=102400,
        )
        self.deprecated_property = parser.option(
            "property",
            "(DEPRECATED) "
            + _ABOUT_READER
            + "\n This option will be removed in a future version. Use --reader-property instead.",
            described_as="prop",
        )
        self.reader_property = parser.option("reader-property", _ABOUT_READER, described_as="prop")
        self.reader_config = parser.option(
            "reader-config",
            "Config properties file for the message reader. Note that [reader-property] takes precedence over this config.",
            described_as="config file",
        )
        self.producer_property = parser.option(
            "producer-property",
            "(DEPRECATED) Producer config properties in the form key=value. This option will be removed in a future version. Use --command-property instead.",
            described_as="producer_prop",
        )
        self.command_property = parser.option(
            "command-property", "Producer config properties in the form key=value.", described_as="producer_prop"
        )
        self.producer_config = parser.option(
            "producer.config",
            "(DEPRECATED) Producer config properties file. Note that [command-property] takes precedence over this config. This option will be removed in a future version. Use --command-config instead.",
            described_as="config file",
        )
        self.command_config = parser.option(
            "command-config",
            "Producer config properties file. Note that [command-property] takes precedence over this config.",
            described_as="config file",
        )
        self.given = _parsed(parser, arguments)
        self._check()

    def _check(self) -> None:
        given, parser = self.given, self.parser
        given.print_help_or_version("This tool helps to read data from standard input and publish it to Kafka.")
        given.require(self.topic)
        for new, old in (
            (self.command_config, self.producer_config),
            (self.command_property, self.producer_property),
            (self.reader_property, self.deprecated_property),
        ):
            if given.has(new) and given.has(old):
                raise parser.usage(f"Options --{new.names[0]} and --{old.names[0]} cannot be specified together.")
        self.command_property = self._newer(self.command_property, self.producer_property)
        self.command_config = self._newer(self.command_config, self.producer_config)
        self.reader_property = self._newer(self.reader_property, self.deprecated_property)
        if given.has(self.max_partition_memory_bytes):
            print(
                "Warning: --max-partition-memory-bytes is deprecated and will be removed in Apache Kafka 5.0. "
                "Use --batch-size instead."
            )
        complaint = complaint_about(given.value(self.bootstrap_server))
        if complaint is not None:
            raise parser.usage(complaint)

    def _newer(self, new: Option[str], old: Option[str]) -> Option[str]:
        if not self.given.has(old):
            return new
        print(
            f"Warning: --{old.names[0]} is deprecated and will be removed in a future version. "
            f"Use --{new.names[0]} instead."
        )
        return old

    @property
    def reader_properties(self) -> dict[str, str]:
        config = self.given.value(self.reader_config)
        found = {} if config is None else load_exact_properties(config)
        return found | key_values(self.given.values(self.reader_property))

    @property
    def producer_properties(self) -> dict[str, str]:
        given = self.given
        config = given.value(self.command_config)
        found = {} if config is None else load_properties(config)
        found |= key_values(given.values(self.command_property))
        found["bootstrap.servers"] = given.text(self.bootstrap_server)
        found["compression.type"] = self._codec()
        found.setdefault("client.id", "console-producer")
        merged: list[tuple[str, Option[str] | Option[int]]] = [
            ("linger.ms", self.timeout),
            ("acks", self.request_required_acks),
            ("request.timeout.ms", self.request_timeout_ms),
            ("retries", self.message_send_max_retries),
            ("retry.backoff.ms", self.retry_backoff_ms),
            ("send.buffer.bytes", self.socket_buffer_size),
            ("buffer.memory", self.max_memory_bytes),
            ("batch.size", self.batch_size),
            ("batch.size", self.max_partition_memory_bytes),
            ("metadata.max.age.ms", self.metadata_expiry_ms),
            ("max.block.ms", self.max_block_ms),
        ]
        for name, option in merged:
            if given.has_any(option) or name not in found:
                found[name] = str(given.any_value(option))
        return found

    def _codec(self) -> str:
        """gzip if no value is given, none if the option is not."""
        if not self.given.has(self.compression_codec):
            return "none"
        return self.given.value(self.compression_codec) or "gzip"


def _parsed(parser: OptionParser, arguments: Sequence[str]) -> Options:
    try:
        return parser.parse(arguments)
    except JavaError as error:
        raise parser.usage(error.message) from None
