"""`stoker topics`: list, describe, create, alter and delete topics."""

from typing import Annotated, Any, Final

import typer

from stoker.cli.completion import complete_topics
from stoker.cli.connection import BootstrapServer, CommandConfig, connect
from stoker.cli.failure import CommandFailed, no_such, wrong_usage
from stoker.cli.noun import examples, noun
from stoker.cli.output import Json, Yes, confirm, counted, print_json, print_table, say
from stoker.client.admin.topics import (
    CreatedTopic,
    Topic,
    create_topic,
    delete_topics,
    describe_topics,
    grow_topic,
    list_topics,
    wait_until,
)
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.wire.error_codes import ErrorCode

application = noun("topics", "List, create, describe, alter and delete topics.")

_NO_TOPICS: Final = "There are no topics. `stoker topics create NAME` makes one."

TopicNames = Annotated[
    list[str], typer.Argument(metavar="TOPIC", help="Names of topics.", autocompletion=complete_topics)
]
Configs = Annotated[
    list[str] | None,
    typer.Option("--config", "-c", metavar="KEY=VALUE", help="A config of the topic; may be repeated."),
]


@application.command(
    "list",
    epilog=examples("stoker topics list", "stoker topics list --internal --json", "stoker topics list --names | sort"),
)
def list_(
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    internal: Annotated[bool, typer.Option("--internal", help="Show internal topics too.")] = False,
    names: Annotated[bool, typer.Option("--names", help="Print only the names, one a line.")] = False,
    json: Json = False,
) -> None:
    """List the topics of a cluster."""
    with connect(bootstrap_server, command_config) as cluster:
        topics = [topic for topic in list_topics(cluster) if internal or not topic.is_internal]
    if json:
        print_json([_summary(topic) for topic in topics])
    elif names:
        for topic in topics:
            print(topic.name)
    elif topics:
        rows = [(topic.name, len(topic.partitions), topic.replication_factor) for topic in topics]
        print_table(("TOPIC", "PARTITIONS", "REPLICATION"), rows)
    else:
        say(_NO_TOPICS)


@application.command(
    epilog=examples(
        "stoker topics describe orders",
        "stoker topics describe orders payments --json",
        "stoker topics describe --under-replicated",
    )
)
def describe(
    topics: Annotated[
        list[str] | None,
        typer.Argument(metavar="TOPIC", help="Names of topics; without any, all.", autocompletion=complete_topics),
    ] = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    under_replicated: Annotated[
        bool, typer.Option("--under-replicated", help="Only partitions with replicas that are not in sync.")
    ] = False,
    unavailable: Annotated[bool, typer.Option("--unavailable", help="Only partitions without a leader.")] = False,
    json: Json = False,
) -> None:
    """Show configs and partitions. Configs that are not the default; leader, replicas, offsets and size of each partition."""
    from stoker.cli.topic_description import describe_in_full, print_description

    with connect(bootstrap_server, command_config) as cluster:
        found = existing_topics(cluster, topics) if topics else [t for t in list_topics(cluster) if not t.is_internal]
        if not found:
            say(_NO_TOPICS)
        descriptions = [
            description.only(under_replicated=under_replicated, unavailable=unavailable)
            for description in describe_in_full(cluster, found)
        ]
    if under_replicated or unavailable:
        descriptions = [each for each in descriptions if each.partitions]
    if json:
        print_json([description.as_json() for description in descriptions])
        return
    for number, description in enumerate(descriptions):
        if number:
            print()
        print_description(description)


@application.command(
    epilog=examples(
        "stoker topics create orders --partitions 6",
        "stoker topics create profiles --config cleanup.policy=compact --config min.cleanable.dirty.ratio=0.1",
        "stoker topics create orders --partitions 6 --replication-factor 3 --if-not-exists",
    )
)
def create(
    topics: TopicNames,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    partitions: Annotated[
        int | None,
        typer.Option("--partitions", "-p", min=1, metavar="N", help="Partitions; else the broker's num.partitions."),
    ] = None,
    replication_factor: Annotated[
        int | None,
        typer.Option(
            "--replication-factor",
            "-r",
            min=1,
            metavar="N",
            help="Replicas of each partition; else the broker's default.replication.factor.",
        ),
    ] = None,
    config: Configs = None,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="A topic that is there is no error.")] = False,
    json: Json = False,
) -> None:
    """Create topics."""
    from stoker.cli.key_values import parse_key_values

    configs = parse_key_values("--config", config or [])
    created: list[CreatedTopic] = []
    with connect(bootstrap_server, command_config) as cluster:
        for name in topics:
            try:
                made = create_topic(
                    cluster, name, partitions=partitions, replication_factor=replication_factor, configs=configs
                )
            except KafkaRefused as refused:
                if refused.error_code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise _explained(name, "created", refused, configs) from refused
                if not if_not_exists:
                    raise CommandFailed(f"topic {name!r} exists already; --if-not-exists accepts that") from refused
                say(f"Topic {name!r} exists already.")
            else:
                wait_until(cluster, name, lambda topic: topic is not None)
                created.append(made)
                say(_creation(cluster, made, replication_factor))
    if json:
        print_json({"created": [made.name for made in created], "topics": [_made(made) for made in created]})


@application.command(
    epilog=examples(
        "stoker topics alter orders --partitions 12",
        "stoker topics alter orders --config retention.ms=86400000 --config cleanup.policy=compact,delete",
        "stoker topics alter orders --delete-config retention.ms",
    )
)
def alter(
    topics: TopicNames,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    partitions: Annotated[
        int | None,
        typer.Option("--partitions", "-p", min=1, metavar="N", help="The new number of partitions, never fewer."),
    ] = None,
    config: Configs = None,
    delete_config: Annotated[
        list[str] | None,
        typer.Option("--delete-config", metavar="KEY", help="A config that goes back to its default; may be repeated."),
    ] = None,
    json: Json = False,
) -> None:
    """Add partitions to topics, and set or unset their configs."""
    from stoker.cli.key_values import check_config_names, parse_key_values
    from stoker.client.admin.configs import Alteration, Operation, Resource, ResourceType, alter_configs

    configs = parse_key_values("--config", config or [])
    alterations = [Alteration(key, Operation.SET, value) for key, value in configs.items()]
    alterations += [Alteration(key, Operation.DELETE) for key in delete_config or []]
    if partitions is None and not alterations:
        wrong_usage("nothing to alter: give --partitions, --config or --delete-config")
    altered = []
    with connect(bootstrap_server, command_config) as cluster:
        found = existing_topics(cluster, topics)
        for topic in found:
            check_config_names(cluster, Resource(ResourceType.TOPIC, topic.name), delete_config or [])
        for topic in found:
            grows = partitions is not None and partitions != len(topic.partitions)
            try:
                if alterations:
                    alter_configs(cluster, Resource(ResourceType.TOPIC, topic.name), alterations)
                if partitions is not None and grows:
                    grow_topic(cluster, topic.name, partitions)
                    wait_until(cluster, topic.name, lambda grown: grown is None or len(grown.partitions) >= partitions)
            except KafkaRefused as refused:
                keys = [alteration.name for alteration in alterations]
                raise _explained(topic.name, "altered", refused, keys) from refused
            if partitions is not None and not grows:
                say(f"Topic {topic.name!r} has {counted(partitions, 'partition')} already.")
            if grows or alterations:
                altered.append(topic.name)
                say(f"Altered topic {topic.name!r}.")
    if json:
        print_json({"altered": altered})


@application.command(
    epilog=examples("stoker topics delete orders", "stoker topics delete orders payments --yes --if-exists")
)
def delete(
    topics: TopicNames,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    if_exists: Annotated[bool, typer.Option("--if-exists", help="A topic that is not there is no error.")] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Delete topics with all their records."""
    with connect(bootstrap_server, command_config) as cluster:
        names = [topic.name for topic in existing_topics(cluster, topics, tolerate_missing=if_exists)]
        for name in dict.fromkeys(topics):
            if name not in names:
                say(f"Topic {name!r} does not exist.")
        if names:
            listed = ", ".join(repr(name) for name in names)
            confirm(f"Delete {'topic' if len(names) == 1 else 'topics'} {listed} with all records?", yes=yes)
            results = delete_topics(cluster, names)
            for name, refused in results.items():
                if refused is not None:
                    raise CommandFailed(f"topic {name!r} was not deleted: {refused}")
                wait_until(cluster, name, lambda topic: topic is None)
                say(f"Deleted topic {name!r}.")
    if json:
        print_json({"deleted": names})


def existing_topics(cluster: Cluster, names: list[str], *, tolerate_missing: bool = False) -> list[Topic]:
    """The named topics. Raises CommandFailed, with what was perhaps meant, for one that does not exist."""
    found = []
    for name, topic in zip(dict.fromkeys(names), describe_topics(cluster, names), strict=True):
        if isinstance(topic, Topic):
            found.append(topic)
        elif topic.error_code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise CommandFailed(f"topic {name!r}: {topic}")
        elif not tolerate_missing:
            raise no_such("topic", name, [each.name for each in list_topics(cluster)])
    return found


def _explained(name: str, done: str, refused: KafkaRefused, config_names: Any) -> CommandFailed:
    from stoker.cli.key_values import hint_at_config
    from stoker.client.admin.configs import ResourceType

    hint = hint_at_config(refused, ResourceType.TOPIC, config_names)
    return CommandFailed(f"topic {name!r} was not {done}: {refused}{hint}")


def _creation(cluster: Cluster, made: CreatedTopic, wanted_replicas: int | None) -> str:
    if wanted_replicas is None or made.replication_factor in (None, wanted_replicas):
        return f"Created topic {made.name!r}."
    replicas, brokers = counted(made.replication_factor or 0, "replica"), counted(len(cluster.brokers()), "broker")
    return f"Created topic {made.name!r} with {replicas} in place of {wanted_replicas}: the cluster has {brokers}."


def _made(made: CreatedTopic) -> dict[str, object]:
    return {"topic": made.name, "partitions": made.partitions, "replication_factor": made.replication_factor}


def _summary(topic: Topic) -> dict[str, object]:
    return {
        "topic": topic.name,
        "partitions": len(topic.partitions),
        "replication_factor": topic.replication_factor,
        "internal": topic.is_internal,
    }
