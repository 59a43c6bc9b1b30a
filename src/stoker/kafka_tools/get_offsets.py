"""kafka-get-offsets.sh: the offsets of topic partitions, `topic:partition:offset` a line."""

import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from stoker.errors import StokerError
from stoker.kafka_tools.connection import connect, load_properties
from stoker.kafka_tools.failure import JavaError, ToolEnds, java_error
from stoker.kafka_tools.options import Option, OptionParser, Options
from stoker.kafka_tools.patterns import split
from stoker.kafka_tools.server_addresses import complaint_about
from stoker.kafka_tools.thrown import print_thrown
from stoker.kafka_tools.topic_filter import TopicFilter

if TYPE_CHECKING:
    from stoker.client.topic_partition import TopicPartition

_USAGE: Final = "An interactive shell for getting topic-partition offsets."
_TOPIC_PARTITION: Final = "([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?"
_COMMA: Final = re.compile(",")
_TERSE: Final = "org.apache.kafka.tools.TerseException"
_CLIENT_ID: Final = "GetOffsetShell"
_TIMES: Final = {
    "latest": -1,
    "earliest": -2,
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
    "earliest-pending-upload": -6,
}
_CHOICES: Final = (
    "-1 or latest / -2 or earliest / -3 or max-timestamp / -4 or earliest-local / -5 or latest-tiered / "
    "-6 or earliest-pending-upload"
)

_Wanted = Callable[["TopicPartition"], bool]


class GetOffsetsOptions:
    def __init__(self, arguments: Sequence[str]) -> None:
        parser = OptionParser()
        self.bootstrap_server = parser.option(
            "bootstrap-server",
            "REQUIRED. The server(s) to connect to in the form HOST1:PORT1,HOST2:PORT2.",
            described_as="HOST1:PORT1,...,HOST3:PORT3",
        )
        self.topic_partitions = parser.option(
            "topic-partitions",
            "Comma separated list of topic-partition patterns to get the offsets for, with the format of '"
            f"{_TOPIC_PARTITION}"
            "'. The first group is an optional regex for the topic name, if omitted, it matches any topic name. The section after ':' describes a 'partition' pattern, which can be: a number, a range in the format of 'NUMBER-NUMBER' (lower inclusive, upper exclusive), an inclusive lower bound in the format of 'NUMBER-', an exclusive upper bound in the format of '-NUMBER' or may be omitted to accept all partitions.",
            described_as="topic1:1,topic2:0-3,topic3,topic4:5-,topic5:-3",
        )
        self.topic = parser.option(
            "topic",
            "The topic to get the offsets for. It also accepts a regular expression. If not present, all authorized topics are queried. Cannot be used if --topic-partitions is present.",
            described_as="topic",
        )
        self.partitions = parser.option(
            "partitions",
            "Comma separated list of partition ids to get the offsets for. If not present, all partitions of the authorized topics are queried. Cannot be used if --topic-partitions is present.",
            described_as="partition ids",
        )
        self.time = parser.option(
            "time",
            "timestamp of the offsets before that. [Note: No offset is returned, if the timestamp greater than recently committed record timestamp is given.]",
            described_as="<timestamp> / -1 or latest / -2 or earliest / -3 or max-timestamp / -4 or earliest-local / -5 or latest-tiered / -6 or earliest-pending-upload",
            default="latest",
        )
        self.command_config = parser.option(
            "command-config",
            "Property file containing configs to be passed to Admin Client.",
            described_as="config file",
        )
        self.exclude_internal_topics = parser.flag(
            "exclude-internal-topics",
            "By default, internal topics are included. If specified, internal topics are excluded.",
        )
        self.broker_list = Option[str](
            ["broker-list"],
            "",
            takes_argument=True,
            convert=str,
        )
        parser.accept_quietly(self.broker_list)
        if not arguments:
            raise parser.usage(_USAGE)
        self.given = given = _terse_parse(parser, arguments)
        given.print_help_or_version(_USAGE)
        if given.has(self.broker_list) and not given.has(self.bootstrap_server):
            self.bootstrap_server = self.broker_list
        given.require(self.bootstrap_server)
        complaint = complaint_about(given.value(self.bootstrap_server))
        if complaint is not None:
            raise parser.usage(complaint)


def main(arguments: Sequence[str]) -> int:
    try:
        _print_offsets(GetOffsetsOptions(arguments))
    except ToolEnds:
        raise
    except StokerError as error:
        thrown = java_error(error)
        if thrown.java_class == _TERSE:
            sys.stdout.flush()
            print(f"Error occurred: {thrown.message}", file=sys.stderr)
            return 1
        return print_thrown(thrown, before="Error occurred: ")
    return 0


def _print_offsets(options: GetOffsetsOptions) -> None:
    given = options.given
    if given.has(options.topic_partitions) and given.has_any(options.topic, options.partitions):
        raise JavaError(_TERSE, "--topic-partitions cannot be used with --topic or --partitions")
    timestamp = _timestamp(given.text(options.time))
    wanted = wanted_by(options)
    command_config = given.value(options.command_config)
    properties = {} if command_config is None else load_properties(command_config)
    from stoker.client.admin.offsets import UNKNOWN_OFFSET, list_offsets_of
    from stoker.client.admin.topics import list_topics
    from stoker.client.errors import KafkaRefused
    from stoker.client.topic_partition import TopicPartition

    excludes_internal = given.has(options.exclude_internal_topics)
    with connect(given.text(options.bootstrap_server), {**properties, "client.id": _CLIENT_ID}) as cluster:
        partitions = [
            TopicPartition(topic.name, each.partition)
            for topic in list_topics(cluster)
            if not (excludes_internal and topic.is_internal)
            for each in topic.partitions
            if wanted(TopicPartition(topic.name, each.partition))
        ]
        if not partitions:
            raise JavaError(_TERSE, "Could not match any topic-partitions with the specified filters")
        found = list_offsets_of(cluster, partitions, timestamp)
    for partition in sorted(partitions, key=str):
        result = found[partition]
        if isinstance(result, KafkaRefused):
            why = java_error(result).described
            print(f"Skip getting offsets for topic-partition {partition} due to error: {why}", file=sys.stderr)
        elif result.offset != UNKNOWN_OFFSET:
            print(f"{partition.topic}:{partition.partition}:{result.offset}")


def _timestamp(text: str) -> int:
    if text in _TIMES:
        return _TIMES[text]
    try:
        return int(text)
    except ValueError:
        raise JavaError(
            _TERSE,
            f"Malformed time argument {text}. Please use {_CHOICES}, or a specified long format timestamp",
        ) from None


def wanted_by(options: GetOffsetsOptions) -> _Wanted:
    given = options.given
    patterns = given.value(options.topic_partitions)
    if patterns is not None:
        rules = [_rule(text) for text in split(_COMMA, patterns)]
        return lambda partition: any(rule(partition) for rule in rules)
    topic = given.value(options.topic)
    topics = TopicFilter(".*" if topic is None else topic)
    partitions = _numbers(given.value(options.partitions))
    return lambda each: topics.allows(each.topic) and (not partitions or each.partition in partitions)


def _numbers(text: str | None) -> set[int]:
    try:
        return {int(each) for each in split(_COMMA, text)} if text else set()
    except ValueError:
        raise JavaError(
            _TERSE, f"--partitions expects a comma separated list of numeric partition ids, but received: {text}"
        ) from None


def _rule(text: str) -> _Wanted:
    """A pattern of `--topic-partitions`."""
    match = re.fullmatch(_TOPIC_PARTITION, text)
    if match is None:
        # Kafka wraps what it throws here once more.
        raise JavaError("java.lang.RuntimeException", f"{_TERSE}: Invalid rule specification: {text}")
    topic, one, lower, upper = match.groups()
    topics = TopicFilter(topic or ".*")
    if one:
        return lambda each: topics.allows(each.topic) and each.partition == int(one)
    first, end = int(lower or 0), int(upper or 2**31 - 1)
    return lambda each: topics.allows(each.topic) and first <= each.partition < end


def _terse_parse(parser: OptionParser, arguments: Sequence[str]) -> Options:
    try:
        return parser.parse(arguments)
    except JavaError as error:
        raise JavaError(_TERSE, error.message) from None
