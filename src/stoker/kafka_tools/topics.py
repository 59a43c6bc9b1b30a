"""kafka-topics.sh: create, delete, describe, or change a topic."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from stoker.errors import StokerError
from stoker.kafka_tools.connection import connect_with
from stoker.kafka_tools.failure import (
    COMMAND_FAILED,
    ILLEGAL_ARGUMENT,
    OPERATION_FAILED,
    JavaError,
    ToolEnds,
    java_error,
)
from stoker.kafka_tools.thrown import log_error, print_thrown
from stoker.kafka_tools.topic_filter import filtered
from stoker.kafka_tools.topics_options import TopicOptions

if TYPE_CHECKING:
    from stoker.client.cluster import Cluster

_LOGGER: Final = "org.apache.kafka.tools.TopicCommand"
_LARGEST_SHORT: Final = 2**15 - 1


def main(arguments: Sequence[str]) -> int:
    try:
        options = TopicOptions(arguments)
        cluster = connect_with(
            options.given.value(options.bootstrap_server), options.given.value(options.command_config)
        )
    except ToolEnds:
        raise
    except StokerError as error:
        return print_thrown(java_error(error))
    try:
        with cluster:
            _run(cluster, options)
    except StokerError as error:
        thrown = java_error(error)
        print(f"Error while executing topic command : {thrown.message}")
        log_error(thrown.described + "\n", _LOGGER)
        return 1
    return 0


def _run(cluster: "Cluster", options: TopicOptions) -> None:
    if options.has(options.create):
        _create(cluster, options)
    elif options.has(options.alter):
        _alter(cluster, options)
    elif options.has(options.list_):
        print("\n".join(_matching(cluster, options)))
    elif options.has(options.describe):
        from stoker.kafka_tools.topics_description import describe

        describe(cluster, options, _matching)
    else:
        _delete(cluster, options)


def _matching(cluster: "Cluster", options: TopicOptions) -> list[str]:
    """The names that --topic matches, or all, by name."""
    excludes_internal = options.has(options.exclude_internal)
    names = sorted(
        topic.name or ""
        for topic in cluster.metadata().topics
        if not topic.error_code and not (excludes_internal and topic.is_internal)
    )
    return filtered(names, options.given.value(options.topic), exclude_internal=excludes_internal)


def _existing(cluster: "Cluster", options: TopicOptions) -> list[str]:
    """The same, where --topic must match something unless --if-exists says otherwise."""
    names = _matching(cluster, options)
    topic = options.given.value(options.topic)
    if topic and not names and not options.has(options.if_exists):
        raise JavaError(ILLEGAL_ARGUMENT, f"Topic '{topic}' does not exist as expected")
    return names


def _create(cluster: "Cluster", options: TopicOptions) -> None:
    from stoker.client.admin.topics import create_topic
    from stoker.client.errors import KafkaRefused
    from stoker.wire.error_codes import ErrorCode

    given = options.given
    name = given.text(options.topic)
    partitions, replication_factor = given.value(options.partitions), given.value(options.replication_factor)
    assignments = _assignments(given.value(options.replica_assignment))
    configs = _configs(given.values(options.config))
    if "." in name or "_" in name:
        print(
            "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "
            "To avoid issues it is best to use either, but not both."
        )
    if replication_factor is not None and not 1 <= replication_factor <= _LARGEST_SHORT:
        raise JavaError(ILLEGAL_ARGUMENT, f"The replication factor must be between 1 and {_LARGEST_SHORT} inclusive")
    if partitions is not None and partitions < 1:
        raise JavaError(ILLEGAL_ARGUMENT, "The partitions must be greater than 0")
    try:
        create_topic(
            cluster,
            name,
            partitions=partitions,
            replication_factor=replication_factor,
            assignments=assignments,
            configs=configs,
        )
    except KafkaRefused as refused:
        if refused.error_code == ErrorCode.TOPIC_ALREADY_EXISTS and options.has(options.if_not_exists):
            return
        raise
    print(f"Created topic {name}.")


def _alter(cluster: "Cluster", options: TopicOptions) -> None:
    from stoker.client.admin.topics import Topic, describe_topics, grow_topic
    from stoker.client.errors import KafkaRefused

    given = options.given
    partitions = given.integer(options.partitions)
    assignments = _assignments(given.value(options.replica_assignment))
    failure: KafkaRefused | None = None
    for name in _existing(cluster, options):
        added = None
        if assignments:
            (topic,) = describe_topics(cluster, [name])
            added = assignments[len(topic.partitions) if isinstance(topic, Topic) else 0 :]
        try:
            grow_topic(cluster, name, partitions, assignments=added)
        except KafkaRefused as refused:
            failure = failure or refused
    if failure is not None:
        raise failure


def _delete(cluster: "Cluster", options: TopicOptions) -> None:
    from stoker.client.admin.topics import delete_topics

    names = _existing(cluster, options)
    failures = [each for each in delete_topics(cluster, names).values() if each is not None] if names else []
    if failures:
        raise failures[0]


def _configs(texts: Sequence[str]) -> dict[str, str]:
    configs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not value.strip() or "=" in value:
            raise JavaError(
                ILLEGAL_ARGUMENT,
                'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".',
            )
        configs[name.strip()] = value.strip()
    return configs


def _assignments(text: str | None) -> list[list[int]]:
    """`1:2,2:3`: the brokers of each partition."""
    found: list[list[int]] = []
    for index, part in enumerate(text.split(",") if text else []):
        brokers = [_broker(each.strip()) for each in part.split(":")]
        duplicates = sorted({each for each in brokers if brokers.count(each) > 1})
        if duplicates:
            raise JavaError(
                COMMAND_FAILED,
                f"Partition replica lists may not contain duplicate entries: {','.join(map(str, duplicates))}",
            )
        found.append(brokers)
        if len(brokers) != len(found[0]):
            raise JavaError(OPERATION_FAILED, f"Partition {index} has different replication factor: {brokers}")
    return found


def _broker(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise JavaError("java.lang.NumberFormatException", f'For input string: "{text}"') from None
