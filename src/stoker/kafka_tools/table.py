"""Which tools there are. A tool is one module with `main(arguments) -> int`, imported when it is run."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

Main = Callable[[Sequence[str]], int]

_TOOLS: Final = "org.apache.kafka.tools"


class Tool(NamedTuple):
    """`classes` are the Java classes that kafka-run-class.sh knows it by, newest first."""

    module: str
    explanation: str
    classes: tuple[str, ...] = ()

    def load(self) -> Main:
        from importlib import import_module

        main: Main = import_module(f"stoker.kafka_tools.{self.module}").main
        return main


TOOLS: Final = {
    "kafka-topics.sh": Tool(
        "topics", "Create, delete, describe, or change a topic.", (f"{_TOOLS}.TopicCommand", "kafka.admin.TopicCommand")
    ),
    "kafka-configs.sh": Tool(
        "configs", "Describe and alter configs of topics, brokers and groups.", ("kafka.admin.ConfigCommand",)
    ),
    "kafka-console-producer.sh": Tool(
        "console_producer",
        "Read data from standard input and publish it to Kafka.",
        (f"{_TOOLS}.ConsoleProducer", "kafka.tools.ConsoleProducer"),
    ),
    "kafka-console-consumer.sh": Tool(
        "console_consumer",
        "Read data from Kafka topics and print it.",
        (f"{_TOOLS}.consumer.ConsoleConsumer", "kafka.tools.ConsoleConsumer"),
    ),
    "kafka-consumer-groups.sh": Tool(
        "consumer_groups",
        "List, describe, delete and reset consumer groups.",
        (f"{_TOOLS}.consumer.group.ConsumerGroupCommand", "kafka.admin.ConsumerGroupCommand"),
    ),
    "kafka-get-offsets.sh": Tool(
        "get_offsets",
        "Get the offsets of topic partitions.",
        (f"{_TOOLS}.GetOffsetShell", "kafka.tools.GetOffsetShell"),
    ),
    "kafka-run-class.sh": Tool("run_class", "Run a tool by the name of its Java class."),
    "kafka-log-dirs.sh": Tool(
        "log_dirs",
        "Query the log directories of brokers.",
        (f"{_TOOLS}.LogDirsCommand", "kafka.admin.LogDirsCommand"),
    ),
    "kafka-delete-records.sh": Tool(
        "delete_records",
        "Delete records of partitions up to an offset.",
        (f"{_TOOLS}.DeleteRecordsCommand", "kafka.admin.DeleteRecordsCommand"),
    ),
    "kafka-broker-api-versions.sh": Tool(
        "broker_api_versions",
        "Print the API versions of the brokers.",
        (f"{_TOOLS}.BrokerApiVersionsCommand", "kafka.admin.BrokerApiVersionsCommand"),
    ),
    "kafka-reassign-partitions.sh": Tool(
        "reassign_partitions",
        "Move replicas of partitions between brokers and log directories.",
        (f"{_TOOLS}.reassign.ReassignPartitionsCommand", "kafka.admin.ReassignPartitionsCommand"),
    ),
    "kafka-leader-election.sh": Tool(
        "leader_election",
        "Elect a leader for partitions.",
        (f"{_TOOLS}.LeaderElectionCommand", "kafka.admin.LeaderElectionCommand"),
    ),
    "kafka-metadata-quorum.sh": Tool(
        "metadata_quorum",
        "Describe the KRaft quorum.",
        (f"{_TOOLS}.MetadataQuorumCommand", "kafka.admin.MetadataQuorumCommand"),
    ),
    "kafka-storage.sh": Tool("storage", "Format the log directories of a node.", ("kafka.tools.StorageTool",)),
    "kafka-dump-log.sh": Tool(
        "dump_log",
        "Print the content of log segments.",
        (f"{_TOOLS}.DumpLogSegments", "kafka.tools.DumpLogSegments"),
    ),
    "kafka-producer-perf-test.sh": Tool(
        "producer_perf_test", "Measure a producer.", (f"{_TOOLS}.ProducerPerformance",)
    ),
    "kafka-consumer-perf-test.sh": Tool(
        "consumer_perf_test",
        "Measure a consumer.",
        (f"{_TOOLS}.ConsumerPerformance", "kafka.tools.ConsumerPerformance"),
    ),
    "kafka-transactions.sh": Tool(
        "transactions", "List, describe, abort and find transactions.", (f"{_TOOLS}.TransactionsCommand",)
    ),
    "kafka-features.sh": Tool(
        "features",
        "Describe and change feature flags.",
        (f"{_TOOLS}.FeatureCommand", "kafka.admin.FeatureCommand"),
    ),
    "kafka-cluster.sh": Tool(
        "cluster",
        "Print the id or the endpoints of a cluster.",
        (f"{_TOOLS}.ClusterTool", "kafka.tools.ClusterTool"),
    ),
}
"""By the names of Kafka's scripts."""


def script_name(name: str) -> str | None:
    """The script of `kafka-topics.sh`, `kafka-topics`, `/opt/kafka/bin/kafka-topics.sh` or a class of it; None if it is none."""
    name = name.rpartition("/")[2]
    for candidate in (name, f"{name}.sh"):
        if candidate in TOOLS:
            return candidate
    return next((script for script, tool in TOOLS.items() if name in tool.classes), None)


def find_tool(name: str) -> Tool | None:
    script = script_name(name)
    return None if script is None else TOOLS[script]
