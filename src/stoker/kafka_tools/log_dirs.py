"""kafka-log-dirs.sh: the log directories of brokers and what is in them, as JSON."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from stoker.errors import StokerError
from stoker.kafka_tools.connection import connect, load_properties
from stoker.kafka_tools.failure import JavaError, ToolEnds, java_error
from stoker.kafka_tools.options import Option, OptionParser
from stoker.kafka_tools.thrown import print_thrown

if TYPE_CHECKING:
    from stoker.client.admin.log_dirs import LogDir, LogReplica

_TERSE: Final = "org.apache.kafka.tools.TerseException"
_CLIENT_ID: Final = "log-dirs-tool"


class _Options:
    def __init__(self, arguments: Sequence[str]) -> None:
        parser = OptionParser()
        self.bootstrap_server = parser.option(
            "bootstrap-server",
            "REQUIRED: the server(s) to use for bootstrapping",
            described_as="The server(s) to use for bootstrapping",
        )
        self.command_config = parser.option(
            "command-config",
            "Property file containing configs to be passed to Admin Client.",
            described_as="Admin client property file",
        )
        self.describe = parser.flag("describe", "Describe the specified log directories on the specified brokers.")
        self.topic_list = parser.option(
            "topic-list",
            'The list of topics to be queried in the form "topic1,topic2,topic3". All topics will be queried if no topic list is specified',
            described_as="Topic list",
            default="",
        )
        self.broker_list = parser.option(
            "broker-list",
            'The list of brokers to be queried in the form "0,1,2". All brokers in the cluster will be queried if no broker list is specified',
            described_as="Broker list",
            default="",
        )
        self.given = parser.parse(arguments)
        self.given.print_help_or_version("This tool helps to query log directory usage on the specified brokers.")
        self.given.require(self.bootstrap_server, self.describe)

    def listed(self, option: Option[str]) -> list[str]:
        return [each for each in self.given.text(option).split(",") if each]


def main(arguments: Sequence[str]) -> int:
    try:
        _describe(_Options(arguments))
    except ToolEnds:
        raise
    except StokerError as error:
        thrown = java_error(error)
        if thrown.java_class == _TERSE:
            sys.stdout.flush()
            print(thrown.message, file=sys.stderr)
            return 1
        return print_thrown(thrown)
    return 0


def _describe(options: _Options) -> None:
    given = options.given
    command_config = given.value(options.command_config)
    properties = {} if command_config is None else load_properties(command_config)
    topics = set(options.listed(options.topic_list))
    from stoker.client.admin.log_dirs import describe_log_dirs

    with connect(given.text(options.bootstrap_server), {"client.id": _CLIENT_ID, **properties}) as cluster:
        there = sorted(cluster.brokers())
        wanted = sorted({_number(each) for each in options.listed(options.broker_list)})
        unknown = [each for each in wanted if each not in there]
        if unknown:
            raise JavaError(
                _TERSE,
                f"ERROR: The given brokers do not exist from --broker-list: {_joined(unknown)}. "
                f"Current existent brokers: {_joined(there)}",
            )
        brokers = wanted or there
        print("Querying brokers for log directories information")
        found = {node_id: describe_log_dirs(cluster, node_id) for node_id in brokers}
    print(f"Received log directory information from brokers {_joined(brokers)}")
    print(_as_json(found, topics))


def _as_json(found: "Mapping[int, Sequence[LogDir]]", topics: set[str]) -> str:
    from json import dumps

    brokers = [
        {
            "broker": node_id,
            "logDirs": [
                {
                    "partitions": [
                        {
                            "partition": str(replica.partition),
                            "size": replica.size,
                            "offsetLag": replica.offset_lag,
                            "isFuture": replica.is_future,
                        }
                        for replica in _in_order(
                            [each for each in directory.replicas if not topics or each.partition.topic in topics]
                        )
                    ],
                    "error": None if directory.error is None else java_error(directory.error).java_class,
                    "logDir": directory.path,
                }
                for directory in directories
            ],
        }
        for node_id, directories in found.items()
    ]
    return dumps({"brokers": brokers, "version": 1}, separators=(",", ":"), ensure_ascii=False)


def _in_order(replicas: "Sequence[LogReplica]") -> "list[LogReplica]":
    from stoker.kafka_tools.hash_order import partition_order

    by_partition = {replica.partition: replica for replica in replicas}
    return [by_partition[partition] for partition in partition_order(by_partition)]


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise JavaError("java.lang.NumberFormatException", f'For input string: "{text}"') from None


def _joined(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))
