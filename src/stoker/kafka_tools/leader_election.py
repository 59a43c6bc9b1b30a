"""kafka-leader-election.sh: preferred and unclean elections of leaders."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from stoker.client.admin.elections import ElectionType, elect_leaders
from stoker.client.cluster import CONNECTION_FAILURES
from stoker.client.errors import ClientError, KafkaRefused
from stoker.client.topic_partition import TopicPartition
from stoker.errors import StokerError
from stoker.kafka_tools.connection import connect, load_properties
from stoker.kafka_tools.failure import (
    COMMAND_FAILED,
    OPERATION_FAILED,
    JavaError,
    UsageAsked,
    VersionAsked,
    java_error,
)
from stoker.kafka_tools.hash_order import partition_order
from stoker.kafka_tools.options import Option, OptionParser, Options
from stoker.kafka_tools.reassignment_json import duplicates
from stoker.wire.error_codes import ErrorCode

_HELP: Final = (
    "This tool attempts to elect a new leader for a set of topic partitions. The type of elections supported are "
    "preferred replicas and unclean replicas."
)
_TIMEOUT_MS: Final = 30_000


class _Known(NamedTuple):
    bootstrap_server: Option[str]
    admin_config: Option[str]
    command_config: Option[str]
    path_to_json_file: Option[str]
    topic: Option[str]
    partition: Option[int]
    all_topic_partitions: Option[str]
    election_type: Option[str]


def main(arguments: Sequence[str]) -> int:
    try:
        _run(arguments)
    except (UsageAsked, VersionAsked):
        raise
    except StokerError as error:
        thrown = java_error(error)
        print(f"{thrown.message}\n{thrown.described}", file=sys.stderr)
        return 1
    return 0


def _run(arguments: Sequence[str]) -> None:
    parser = OptionParser()
    known = _declared(parser)
    options = parser.parse(arguments)
    options.print_help_or_version(_HELP)
    _check(options, known)
    election_type = _election_type(options, known)
    partitions = _partitions(options, known)
    if options.has(known.admin_config):
        print(
            "Option --admin.config has been deprecated and will be removed in a future version. "
            "Use --command-config instead."
        )
    config = options.value(known.admin_config) or options.value(known.command_config)
    properties = {} if config is None else load_properties(config)
    properties.setdefault("default.api.timeout.ms", str(_TIMEOUT_MS))
    properties.setdefault("request.timeout.ms", str(_TIMEOUT_MS // 2))
    with connect(options.value(known.bootstrap_server), properties) as cluster:
        try:
            results = elect_leaders(cluster, election_type, partitions)
        except CONNECTION_FAILURES as error:
            message = "Timeout waiting for election results"
            print(message)
            raise JavaError(COMMAND_FAILED, message) from error
        except KafkaRefused as refused:
            if refused.error_code is not ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                raise JavaError("java.lang.RuntimeException", java_error(refused).described) from refused
            message = "Not authorized to perform leader election"
            print(message)
            raise JavaError(COMMAND_FAILED, message) from refused
    _print(election_type, results)


def _print(election_type: ElectionType, results: Mapping[TopicPartition, ClientError | None]) -> None:
    succeeded = partition_order(partition for partition, why in results.items() if why is None)
    refused = {partition: why for partition, why in results.items() if isinstance(why, KafkaRefused)}
    not_needed = partition_order(
        each for each, why in refused.items() if why.error_code is ErrorCode.ELECTION_NOT_NEEDED
    )
    failed = {each: why for each, why in refused.items() if each not in not_needed}
    if succeeded:
        listed = ", ".join(map(str, succeeded))
        print(f"Successfully completed leader election ({election_type.name}) for partitions {listed}")
    if not_needed:
        print(f"Valid replica already elected for partitions {', '.join(map(str, not_needed))}")
    for partition, why in failed.items():
        shown = java_error(why).described
        print(f"Error completing leader election ({election_type.name}) for partition: {partition}: {shown}")
    if failed:
        raise JavaError(COMMAND_FAILED, f"{len(failed)} replica(s) could not be elected")


def _declared(parser: OptionParser) -> _Known:
    known = _options(parser)
    known.election_type.type_name = f"[{','.join(ElectionType.__members__)}]"
    return known


def _options(parser: OptionParser) -> _Known:
    return _Known(
        bootstrap_server=parser.option(
            "bootstrap-server",
            "A hostname and port for the broker to connect to, in the form host:port. Multiple comma separated URLs "
            "can be given. REQUIRED.",
            described_as="host:port",
        ),
        admin_config=parser.option(
            "admin.config",
            "(DEPRECATED) Configuration properties files to pass to the admin client. This option will be removed in "
            "a future version. Use --command-config instead.",
            described_as="config file",
        ),
        command_config=parser.option(
            "command-config", "Config properties file to pass to the admin client.", described_as="Config file"
        ),
        path_to_json_file=parser.option(
            "path-to-json-file",
            "The JSON file with the list  of partition for which leader elections should be performed. This is an "
            'example format. \n{"partitions":\n\t[{"topic": "foo", "partition": 1},\n\t {"topic": "foobar", '
            '"partition": 2}]\n}\nNot allowed if --all-topic-partitions or --topic flags are specified.',
            described_as="Path to JSON file",
        ),
        topic=parser.option(
            "topic",
            "Name of topic for which to perform an election. Not allowed if --path-to-json-file or "
            "--all-topic-partitions is specified.",
            described_as="topic name",
        ),
        partition=parser.number(
            "partition",
            "Partition id for which to perform an election. REQUIRED if --topic is specified.",
            described_as="partition id",
        ),
        all_topic_partitions=parser.flag(
            "all-topic-partitions",
            "Perform election on all of the eligible topic partitions based on the type of election (see the "
            "--election-type flag). Not allowed if --topic or --path-to-json-file is specified.",
        ),
        election_type=parser.option(
            "election-type",
            'Type of election to attempt. Possible values are "preferred" for preferred leader election or "unclean" '
            "for unclean leader election. If preferred election is selection, the election is only performed if the "
            "current leader is not the preferred leader for the topic partition. If unclean election is selected, the "
            "election is only performed if there are no leader for the topic partition. REQUIRED.",
            described_as="election type",
        ),
    )


def _check(options: Options, known: _Known) -> None:
    missing = [
        name
        for name, option in (("bootstrap-server", known.bootstrap_server), ("election-type", known.election_type))
        if not options.has(option)
    ]
    if missing:
        raise JavaError(COMMAND_FAILED, f"Missing required option(s): {', '.join(missing)}")
    options.forbid(known.admin_config, known.command_config)
    scopes = (known.topic, known.all_topic_partitions, known.path_to_json_file)
    if sum(options.has(each) for each in scopes) != 1:
        names = "topic, all-topic-partitions, path-to-json-file"
        raise JavaError(COMMAND_FAILED, f"One and only one of the following options is required: {names}")
    if options.has(known.topic) and not options.has(known.partition):
        raise JavaError(COMMAND_FAILED, "Missing required option(s): partition")
    if options.has(known.partition) and not options.has(known.topic):
        raise JavaError(COMMAND_FAILED, "Option partition is only allowed if topic is used")


def _election_type(options: Options, known: _Known) -> ElectionType:
    given = options.text(known.election_type)
    try:
        return ElectionType[given.upper()]
    except KeyError:
        raise JavaError(
            "joptsimple.OptionArgumentConversionException",
            f"Cannot parse argument '{given}' of option election-type",
        ) from None


def _partitions(options: Options, known: _Known) -> list[TopicPartition] | None:
    path = options.value(known.path_to_json_file)
    if path is not None:
        return _partitions_of_file(path)
    if options.has(known.topic):
        return [TopicPartition(options.text(known.topic), options.integer(known.partition))]
    return None


def _partitions_of_file(path: str) -> list[TopicPartition]:
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except OSError:
        raise JavaError("java.lang.RuntimeException", f"java.io.IOException: Unable to read file {path}") from None
    except ValueError:
        raise JavaError(OPERATION_FAILED, "Replica election data is empty") from None
    if not isinstance(document, dict) or "partitions" not in document:
        raise JavaError(OPERATION_FAILED, 'Replica election data is missing "partitions" field')
    try:
        found = [TopicPartition(str(each["topic"]), int(each["partition"])) for each in document["partitions"]]
    except (KeyError, TypeError, ValueError) as error:
        raise JavaError(OPERATION_FAILED, f"{path}: each partition needs a topic and a partition: {error}") from None
    if doubled := duplicates(found):
        listed = ", ".join(map(str, doubled))
        raise JavaError(OPERATION_FAILED, f"Replica election data contains duplicate partitions: [{listed}]")
    return found
