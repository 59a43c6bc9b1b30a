"""`stoker configs`: what topics, brokers and groups are set to, where that comes from, and how to change it."""

from typing import Annotated, NoReturn

import typer

from stoker.cli.completion import complete_brokers, complete_groups, complete_topics
from stoker.cli.connection import BootstrapServer, CommandConfig, connect
from stoker.cli.failure import CommandFailed, wrong_usage
from stoker.cli.key_values import (
    check_config_names,
    hint_at_config,
    known_configs,
    no_such_config,
    parse_key_values,
    resource_in_words,
)
from stoker.cli.noun import examples, noun
from stoker.cli.output import Json, print_json, print_table, say
from stoker.client.admin.configs import (
    Alteration,
    Config,
    Operation,
    Resource,
    ResourceType,
    alter_configs,
    describe_configs,
)
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused

application = noun("configs", "Describe and alter the configs of topics, brokers and groups.")

TopicOption = Annotated[
    str | None,
    typer.Option("--topic", "-t", metavar="TOPIC", help="Configs of this topic.", autocompletion=complete_topics),
]
BrokerOption = Annotated[
    str | None,
    typer.Option("--broker", metavar="ID", help="Configs of this broker.", autocompletion=complete_brokers),
]
BrokerDefaults = Annotated[
    bool, typer.Option("--broker-defaults", help="Configs of all brokers that have no value of their own.")
]
GroupOption = Annotated[
    str | None,
    typer.Option("--group", "-g", metavar="GROUP", help="Configs of this group.", autocompletion=complete_groups),
]


@application.command(
    epilog=examples(
        "stoker configs describe --topic orders",
        "stoker configs describe --topic orders --all",
        "stoker configs describe --topic orders retention.ms cleanup.policy",
        "stoker configs describe --broker 1",
        "stoker configs describe --group payments --json",
    )
)
def describe(
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="KEY", help="Names of configs; without any, those that are set.")
    ] = None,
    topic: TopicOption = None,
    broker: BrokerOption = None,
    broker_defaults: BrokerDefaults = False,
    group: GroupOption = None,
    all_: Annotated[bool, typer.Option("--all", "-a", help="Show those too that have their default.")] = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    json: Json = False,
) -> None:
    """Show what is set, where, and the defaults. Of a topic, a broker or a group."""
    resource = _resource(topic, broker, broker_defaults, group)
    with connect(bootstrap_server, command_config) as cluster:
        _check_exists(cluster, resource)
        try:
            configs = describe_configs(cluster, resource)
        except KafkaRefused as refused:
            raise CommandFailed(f"{resource_in_words(resource)}: {refused}") from refused
    if keys:
        configs = _named(configs, keys, resource, broker_defaults=broker_defaults)
    elif not all_:
        configs = [config for config in configs if not config.is_default]
    if json:
        print_json([_as_json(config) for config in configs])
    elif configs:
        rows = [(each.name, _value(each), each.source.label, _default(each)) for each in configs]
        print_table(("CONFIG", "VALUE", "SET BY", "DEFAULT"), rows)
    else:
        where = "`stoker configs describe --broker ID --all`" if broker_defaults else "--all"
        say(f"Nothing is set for {resource_in_words(resource)}; {where} shows the defaults.")


@application.command(
    epilog=examples(
        "stoker configs alter --topic orders --set retention.ms=86400000",
        "stoker configs alter --topic orders --delete retention.ms",
        "stoker configs alter --topic orders --append cleanup.policy=compact",
        "stoker configs alter --broker-defaults --set log.retention.ms=86400000",
        "stoker configs alter --group payments --set consumer.session.timeout.ms=60000",
    )
)
def alter(
    topic: TopicOption = None,
    broker: BrokerOption = None,
    broker_defaults: BrokerDefaults = False,
    group: GroupOption = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set a config; may be repeated.")
    ] = None,
    delete: Annotated[
        list[str] | None, typer.Option("--delete", metavar="KEY", help="Back to the default; may be repeated.")
    ] = None,
    append: Annotated[
        list[str] | None, typer.Option("--append", metavar="KEY=VALUE", help="Add to a list; may be repeated.")
    ] = None,
    subtract: Annotated[
        list[str] | None, typer.Option("--subtract", metavar="KEY=VALUE", help="Take from a list; may be repeated.")
    ] = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    json: Json = False,
) -> None:
    """Change some configs and leave the others. Of a topic, a broker or a group: all that is asked, or nothing."""
    resource = _resource(topic, broker, broker_defaults, group)
    alterations = [
        *_alterations("--set", Operation.SET, set_),
        *[Alteration(key, Operation.DELETE) for key in delete or []],
        *_alterations("--append", Operation.APPEND, append),
        *_alterations("--subtract", Operation.SUBTRACT, subtract),
    ]
    if not alterations:
        wrong_usage("nothing to alter: give --set, --delete, --append or --subtract")
    with connect(bootstrap_server, command_config) as cluster:
        _check_exists(cluster, resource)
        check_config_names(cluster, resource, delete or [])
        try:
            alter_configs(cluster, resource, alterations)
        except KafkaRefused as refused:
            _refuse(resource, refused, alterations)
    say(f"Altered the configs of {resource_in_words(resource)}.")
    if json:
        print_json({"altered": [alteration.name for alteration in alterations]})


def _resource(topic: str | None, broker: str | None, broker_defaults: bool, group: str | None) -> Resource:
    given = [
        *([Resource(ResourceType.TOPIC, topic)] if topic is not None else []),
        *([Resource(ResourceType.BROKER, broker)] if broker is not None else []),
        *([Resource(ResourceType.BROKER, "")] if broker_defaults else []),
        *([Resource(ResourceType.GROUP, group)] if group is not None else []),
    ]
    if len(given) != 1:
        wrong_usage("give one of --topic, --broker, --broker-defaults, --group")
    if broker is not None and not broker.isdecimal():
        wrong_usage(f"--broker {broker}: the id of a broker is a number")
    return given[0]


def _check_exists(cluster: Cluster, resource: Resource) -> None:
    if resource.type is ResourceType.TOPIC:
        from stoker.cli.topics import existing_topics

        existing_topics(cluster, [resource.name])
    elif resource.type is ResourceType.BROKER and resource.name and int(resource.name) not in cluster.brokers():
        raise CommandFailed(f"there is no broker {resource.name}; there are {', '.join(map(str, cluster.brokers()))}")


def _named(configs: list[Config], keys: list[str], resource: Resource, *, broker_defaults: bool) -> list[Config]:
    """Of all brokers only what is set for them is told, so that another name may still be right."""
    by_name = {config.name: config for config in configs}
    unset = set(known_configs(resource.type)) if broker_defaults else set()
    for key in keys:
        if key not in by_name and key not in unset:
            raise no_such_config(resource, key, by_name)
    return [by_name[key] for key in keys if key in by_name]


def _alterations(option: str, operation: Operation, texts: list[str] | None) -> list[Alteration]:
    return [Alteration(key, operation, value) for key, value in parse_key_values(option, texts or []).items()]


def _refuse(resource: Resource, refused: KafkaRefused, alterations: list[Alteration]) -> NoReturn:
    hint = hint_at_config(refused, resource.type, [alteration.name for alteration in alterations])
    raise CommandFailed(f"the configs of {resource_in_words(resource)} were not altered: {refused}{hint}") from refused


def _value(config: Config) -> str | None:
    return "(hidden)" if config.is_sensitive else config.value


def _default(config: Config) -> str | None:
    return config.value if config.is_default else config.default


def _as_json(config: Config) -> dict[str, object]:
    return {
        "name": config.name,
        "value": config.value,
        "source": config.source.name,
        "default": _default(config),
        "sensitive": config.is_sensitive,
        "read_only": config.is_read_only,
        "synonyms": [
            {"name": synonym.name, "value": synonym.value, "source": synonym.source.name} for synonym in config.synonyms
        ],
    }
