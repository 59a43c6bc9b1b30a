"""The options of kafka-topics.sh, and which of them go together."""

from collections.abc import Sequence
from typing import Final

from stoker.kafka_tools.failure import ILLEGAL_ARGUMENT, JavaError
from stoker.kafka_tools.options import Option, OptionParser

_ALTERING: Final = " (To alter topic configurations, the kafka-configs tool can be used.)"


def _about_config() -> str:
    from stoker.kafka_tools.config_names import listed

    return (
        "A topic configuration override for the topic being created. The following is a list of valid configurations: \n"
        f"{listed('topics')}\n"
        "See the Kafka documentation for full details on the topic configs. It is supported only in combination with "
        f"--create.{_ALTERING}"
    )


class TopicOptions:
    """What was given to kafka-topics.sh. Raises JavaError and UsageAsked if it cannot be."""

    def __init__(self, arguments: Sequence[str]) -> None:
        parser = OptionParser()
        self.bootstrap_server = parser.option(
            "bootstrap-server", "REQUIRED: The Kafka server to connect to.", described_as="server to connect to"
        )
        self.command_config = parser.option(
            "command-config",
            "Property file containing configs to be passed to Admin Client.",
            described_as="command config property file",
        )
        self.list_ = parser.flag("list", "List all available topics.")
        self.create = parser.flag("create", "Create a new topic.")
        self.delete = parser.flag("delete", "Delete a topic.")
        self.alter = parser.flag(
            "alter",
            "Alter the number of partitions and replica assignment. (To alter topic configurations, the kafka-configs tool can be used.)",
        )
        self.describe = parser.flag("describe", "List details for the given topics.")
        self.topic = parser.option(
            "topic",
            "The topic to create, alter, describe or delete. It also accepts a regular expression, except for --create option.",
            described_as="topic",
        )
        self.topic_id = parser.option("topic-id", "The topic-id to describe.", described_as="topic-id")
        self.config = parser.option("config", _about_config, described_as="name=value")
        self.delete_config = parser.option(
            "delete-config", "This option is no longer supported and has been deprecated since 4.0", described_as="name"
        )
        self.partitions = parser.number(
            "partitions",
            "The number of partitions for the topic being created or altered. If not supplied with --create, the topic uses the cluster default. (WARNING: If partitions are increased for a topic that has a key, the partition logic or ordering of the messages will be affected).",
            described_as="# of partitions",
        )
        self.replication_factor = parser.number(
            "replication-factor",
            "The replication factor for each partition in the topic being created. If not supplied, the topic uses the cluster default.",
            described_as="replication factor",
        )
        self.replica_assignment = parser.option(
            "replica-assignment",
            "A list of manual partition-to-broker assignments for the topic being created or altered.",
            described_as="broker_id_for_part1_replica1 : broker_id_for_part1_replica2 , broker_id_for_part2_replica1 : broker_id_for_part2_replica2 , ...",
        )
        self.under_replicated_partitions = parser.flag(
            "under-replicated-partitions", "If set when describing topics, only show under-replicated partitions."
        )
        self.unavailable_partitions = parser.flag(
            "unavailable-partitions",
            "If set when describing topics, only show partitions whose leader is not available.",
        )
        self.under_min_isr_partitions = parser.flag(
            "under-min-isr-partitions",
            "If set when describing topics, only show partitions whose isr count is less than the configured minimum.",
        )
        self.at_min_isr_partitions = parser.flag(
            "at-min-isr-partitions",
            "If set when describing topics, only show partitions whose isr count is equal to the configured minimum.",
        )
        self.topics_with_overrides = parser.flag(
            "topics-with-overrides", "If set when describing topics, only show topics that have overridden configs."
        )
        self.if_exists = parser.flag(
            "if-exists",
            "If set when altering or deleting or describing topics, the action will only execute if the topic exists.",
        )
        self.if_not_exists = parser.flag(
            "if-not-exists",
            "If set when creating topics, the create request will not fail if the topic already exists, but the request will still be sent.",
        )
        self.exclude_internal = parser.flag(
            "exclude-internal",
            "Exclude internal topics when listing or describing topics. By default, the internal topics are included.",
        )
        self.partition_size_limit_per_response = parser.number(
            "partition-size-limit-per-response",
            "The maximum partition size to be included in one DescribeTopicPartitions response.",
            described_as="maximum number of partitions per response",
        )
        self._parser = parser
        self._actions = [self.alter, self.create, self.describe, self.list_, self.delete]
        self._reports = [
            self.under_replicated_partitions,
            self.under_min_isr_partitions,
            self.at_min_isr_partitions,
            self.unavailable_partitions,
        ]
        self.given = parser.parse(arguments)
        self._check()

    def has(self, option: Option[str] | Option[int]) -> bool:
        return self.given.has_any(option)

    @property
    def is_report(self) -> bool:
        """Whether only partitions in some trouble are asked for."""
        return any(map(self.has, self._reports))

    def _check(self) -> None:
        given = self.given
        if not given.arguments:
            raise self._parser.usage("Create, delete, describe, or change a topic.")
        given.print_help_or_version("This tool helps to create, delete, describe, or change a topic.")
        if sum(map(self.has, self._actions)) != 1:
            raise self._parser.usage(
                "Command must include exactly one action: --list, --describe, --create, --alter or --delete"
            )
        if self.has(self.delete_config):
            import sys

            print(
                "delete-config option is no longer supported and deprecated since version 4.0. "
                "The config will be fully removed in future releases.",
                file=sys.stderr,
            )
        self._check_required()
        self._check_invalid()

    def _check_required(self) -> None:
        given = self.given
        if not self.has(self.bootstrap_server):
            raise JavaError(ILLEGAL_ARGUMENT, "--bootstrap-server must be specified")
        if self.has(self.describe) and self.has(self.if_exists):
            if not self.has(self.topic) and not self.has(self.topic_id):
                raise self._parser.usage("--topic or --topic-id is required to describe a topic")
            if self.has(self.topic) and self.has(self.topic_id):
                print(
                    "Only topic id will be used when both --topic and --topic-id are specified and topicId is not "
                    "Uuid.ZERO_UUID"
                )
        if not self.has(self.list_) and not self.has(self.describe):
            given.require(self.topic)
        if self.has(self.alter):
            if self.has(self.config):
                used = f"[{self.bootstrap_server}, {self.config}]"
                raise self._parser.usage(
                    f'Option combination "{used}" can\'t be used with option "{self.alter}"{_ALTERING}'
                )
            given.require(self.partitions)

    def _check_invalid(self) -> None:
        given, actions = self.given, self._actions

        def but(*allowed: Option[str]) -> list[Option[str]]:
            return [action for action in actions if action not in allowed]

        given.forbid(self.config, *but(self.alter, self.create))
        given.forbid(self.partitions, *but(self.alter, self.create))
        given.forbid(self.replication_factor, *but(self.create))
        given.forbid(self.replica_assignment, *but(self.alter, self.create))
        if self.has(self.create):
            given.forbid(self.replica_assignment, self.partitions, self.replication_factor)
        for report in self._reports:
            given.forbid(report, *but(self.describe), self.topics_with_overrides)
        given.forbid(self.topics_with_overrides, *but(self.describe), *self._reports)
        given.forbid(self.if_exists, *but(self.alter, self.delete, self.describe))
        given.forbid(self.if_not_exists, *but(self.create))
        given.forbid(self.exclude_internal, *but(self.list_, self.describe))
