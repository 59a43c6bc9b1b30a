"""The options of kafka-console-consumer.sh, and the consumer's properties that come of them."""

from collections.abc import Mapping, Sequence
from random import randrange
from typing import Final

from stoker.kafka_tools.connection import load_exact_properties, load_properties
from stoker.kafka_tools.failure import JavaError, ToolExit
from stoker.kafka_tools.options import Option, OptionParser, Options, key_values

EARLIEST: Final = "earliest"
LATEST: Final = "latest"

_LARGEST_OFFSET: Final = 2**63 - 1
_ABOUT_FORMATTER: Final = (
    "The properties to initialize the message formatter. Default properties include: \n"
    " print.timestamp=true|false\n"
    " print.key=true|false\n"
    " print.offset=true|false\n"
    " print.epoch=true|false\n"
    " print.partition=true|false\n"
    " print.headers=true|false\n"
    " print.value=true|false\n"
    " key.separator=<key.separator>\n"
    " line.separator=<line.separator>\n"
    " headers.separator=<headers.separator>\n"
    " null.literal=<null.literal>\n"
    " key.deserializer=<key.deserializer>\n"
    " value.deserializer=<value.deserializer>\n"
    " header.deserializer=<header.deserializer>\n"
    "\n"
    "Users can also pass in customized properties for their formatter; more specifically, users can pass in properties keyed with 'key.deserializer.', 'value.deserializer.' and 'headers.deserializer.' prefixes to configure their deserializers."
)


class ConsoleConsumerOptions:
    """Raises UsageAsked if they cannot be."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.parser = parser = OptionParser()
        self.topic = parser.option("topic", "The topic to consume from.", described_as="topic")
        self.include = parser.option(
            "include",
            "Regular expression specifying list of topics to include for consumption.",
            described_as="Java regex (String)",
        )
        self.partition = parser.number(
            "partition",
            "The partition to consume from. Consumption starts from the end of the partition unless '--offset' is specified.",
            described_as="partition",
        )
        self.offset = parser.option(
            "offset",
            "The offset to consume from (a non-negative number), or 'earliest' which means from beginning, or 'latest' which means from end",
            described_as="consume offset",
            default="latest",
        )
        self.consumer_property = parser.option(
            "consumer-property",
            "(DEPRECATED) Consumer config properties in the form key=value. This option will be removed in a future version. Use --command-property instead.",
            described_as="consumer_prop",
        )
        self.command_property = parser.option(
            "command-property", "Consumer config properties in the form key=value.", described_as="consumer_prop"
        )
        self.consumer_config = parser.option(
            "consumer.config",
            "(DEPRECATED) Consumer config properties file. Note that [command-property] takes precedence over this config. This option will be removed in a future version. Use --command-config instead.",
            described_as="config file",
        )
        self.command_config = parser.option(
            "command-config",
            "Consumer config properties file. Note that [command-property] takes precedence over this config.",
            described_as="config file",
        )
        self.formatter = parser.option(
            "formatter",
            "The name of a class to use for formatting kafka messages for display.",
            described_as="class",
            default="org.apache.kafka.tools.consumer.DefaultMessageFormatter",
        )
        self.deprecated_property = parser.option(
            "property",
            "(DEPRECATED) "
            + _ABOUT_FORMATTER
            + " \nThis option will be removed in a future version. Use --formatter-property instead.",
            described_as="prop",
        )
        self.formatter_property = parser.option("formatter-property", _ABOUT_FORMATTER, described_as="prop")
        self.formatter_config = parser.option(
            "formatter-config",
            "Config properties file to initialize the message formatter. Note that [formatter-property] takes precedence over this config.",
            described_as="config file",
        )
        self.from_beginning = parser.flag(
            "from-beginning",
            "If the consumer does not already have an established offset to consume from, start with the earliest message present in the log rather than the latest message.",
        )
        self.max_messages = parser.number(
            "max-messages",
            "The maximum number of messages to consume before exiting. If not set, consumption is continual.",
            described_as="num_messages",
        )
        self.timeout_ms = parser.number(
            "timeout-ms",
            "If specified, exit if no message is available for consumption for the specified interval.",
            described_as="timeout_ms",
            is_long=True,
        )
        self.skip_message_on_error = parser.flag(
            "skip-message-on-error", "If there is an error when processing a message, skip it instead of halt."
        )
        self.bootstrap_server = parser.option(
            "bootstrap-server", "REQUIRED: The server(s) to connect to.", described_as="server to connect to"
        )
        self.key_deserializer = parser.option(
            "key-deserializer",
            "The name of the class to use for deserializing keys.",
            described_as="deserializer for keys",
        )
        self.value_deserializer = parser.option(
            "value-deserializer",
            "The name of the class to use for deserializing values.",
            described_as="deserializer for values",
        )
        self.enable_systest_events = parser.flag(
            "enable-systest-events",
            "Log lifecycle events of the consumer in addition to logging consumed messages. (This is specific for system tests.)",
        )
        self.isolation_level = parser.option(
            "isolation-level",
            "Set to read_committed in order to filter out transactional messages which are not committed. Set to read_uncommitted to read all messages.",
            default="read_uncommitted",
        )
        self.group = parser.option("group", "The consumer group id of the consumer.", described_as="consumer group id")
        self.given = _parsed(parser, arguments)
        self._check()
        from_file = self._file(self.command_config)
        typed = key_values(self.given.values(self.command_property))
        self.group_id = self._group_id(from_file, typed)
        """None if none was given: the records are nobody else's then."""
        self.consumer_properties = self._consumer_properties({**from_file, **typed})
        self.start = self._start()
        """Of `--partition`: earliest, latest or an offset."""
        timeout = self.given.value(self.timeout_ms)
        self.timeout = timeout if timeout is not None and timeout >= 0 else None
        self.formatter_properties = self._formatter_properties()

    def _check(self) -> None:
        given, parser = self.given, self.parser
        given.print_help_or_version("This tool helps to read data from Kafka topics and outputs it to standard output.")
        given.require_one_of(self.topic, self.include)
        if given.has(self.partition):
            if not given.has(self.topic):
                raise parser.usage("The topic is required when partition is specified.")
            if given.has(self.from_beginning) and given.has(self.offset):
                raise parser.usage("Options from-beginning and offset cannot be specified together.")
        elif given.has(self.offset):
            raise parser.usage("The partition is required when offset is specified.")
        given.require(self.bootstrap_server)
        for old, new in ((self.consumer_property, self.command_property), (self.consumer_config, self.command_config)):
            self._not_both(old, new)
        self.command_property = self._newer(self.command_property, self.consumer_property)
        self.command_config = self._newer(self.command_config, self.consumer_config)

    def _not_both(self, old: Option[str], new: Option[str]) -> None:
        if self.given.has(old) and self.given.has(new):
            raise self.parser.usage(f"Options --{old.names[0]} and --{new.names[0]} cannot be specified together.")

    def _newer(self, new: Option[str], old: Option[str]) -> Option[str]:
        if not self.given.has(old):
            return new
        print(
            f"Option --{old.names[0]} is deprecated and will be removed in a future version. "
            f"Use --{new.names[0]} instead."
        )
        return old

    def _file(self, option: Option[str]) -> dict[str, str]:
        path = self.given.value(option)
        return {} if path is None else load_properties(path)

    def _group_id(self, from_file: Mapping[str, str], typed: Mapping[str, str]) -> str | None:
        given = self.given
        named = [given.value(self.group), from_file.get("group.id"), typed.get("group.id")]
        groups = list(dict.fromkeys(each for each in named if each is not None))
        if len(groups) > 1:
            listed = ", ".join(f"'{group}'" for group in groups)
            raise self.parser.usage(
                "The group ids provided in different places (directly using '--group', via '--consumer-property', or via "
                f"'--consumer.config') do not match. Detected group ids: {listed}"
            )
        if groups and given.has(self.partition):
            raise self.parser.usage("Options group and partition cannot be specified together.")
        return groups[0] if groups else None

    def _consumer_properties(self, properties: dict[str, str]) -> dict[str, str]:
        given = self.given
        reset = properties.get("auto.offset.reset")
        is_from_beginning = given.has(self.from_beginning)
        if reset is None:
            properties["auto.offset.reset"] = EARLIEST if is_from_beginning else LATEST
        elif is_from_beginning and reset != EARLIEST:
            raise ToolExit(
                1,
                error=f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={reset}', "
                "please remove one option",
            )
        properties["bootstrap.servers"] = given.text(self.bootstrap_server)
        properties.setdefault("client.id", "console-consumer")
        if given.has(self.isolation_level) or "isolation.level" not in properties:
            properties["isolation.level"] = given.text(self.isolation_level)
        if self.group_id is None:
            properties["group.id"] = f"console-consumer-{randrange(100_000)}"
            properties.setdefault("enable.auto.commit", "false")
        else:
            properties["group.id"] = self.group_id
        return properties

    def _start(self) -> str | int:
        given = self.given
        if not given.has(self.offset):
            return EARLIEST if given.has(self.from_beginning) else LATEST
        text = given.text(self.offset)
        if text.lower() in (EARLIEST, LATEST):
            return text.lower()
        if not (text.isascii() and text.isdecimal()) or int(text) > _LARGEST_OFFSET:
            raise self.parser.usage(
                f"The provided offset value '{text}' is incorrect. Valid values are 'earliest', 'latest', or a "
                "non-negative long."
            )
        return int(text)

    def _formatter_properties(self) -> dict[str, str]:
        given = self.given
        if given.has(self.formatter_property) and given.has(self.deprecated_property):
            raise self.parser.usage("Options --property and --formatter-property cannot be specified together.")
        self.formatter_property = self._newer(self.formatter_property, self.deprecated_property)
        config = given.value(self.formatter_config)
        found = {} if config is None else load_exact_properties(config)
        for name, option in (
            ("key.deserializer", self.key_deserializer),
            ("value.deserializer", self.value_deserializer),
        ):
            deserializer = given.value(option)
            if deserializer:
                found[name] = deserializer
        return found | key_values(given.values(self.formatter_property))


def _parsed(parser: OptionParser, arguments: Sequence[str]) -> Options:
    try:
        return parser.parse(arguments)
    except JavaError as error:
        raise parser.usage(error.message) from None
