"""The command `stoker`: its nouns, each loaded when it is used."""

from importlib import import_module
from typing import Annotated, Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from stoker import __version__
from stoker.cli.failure import reported
from stoker.cli.values import read_plainly
from stoker.settings.current import settings_file
from stoker.settings.definitions import FILE_FLAG, FILE_NAME, FILE_VARIABLE


class Entry(NamedTuple):
    """A line of `stoker --help`, and where the Typer application behind it is."""

    explanation: str
    module: str
    attribute: str = "application"


ENTRIES: Final = {
    "up": Entry("Run the broker and the schema registry until Ctrl-C.", "stoker.cli.up"),
    "demo": Entry("See the whole platform at work, with a balance at the end.", "stoker.cli.demo"),
    "topics": Entry("List, create, describe, alter and delete topics.", "stoker.cli.topics"),
    "produce": Entry("Write records to a topic.", "stoker.cli.produce"),
    "consume": Entry("Read records from topics.", "stoker.cli.consume"),
    "groups": Entry("Describe, reset and delete consumer groups.", "stoker.cli.groups"),
    "transactions": Entry("List, describe and abort transactions; find those that hang.", "stoker.cli.transactions"),
    "streams": Entry("Look into streams applications on this machine, and their stores.", "stoker.cli.streams"),
    "sql": Entry("Run SQL on topics: continuous queries, tables, and what they hold.", "stoker.cli.sql"),
    "schemas": Entry("List, register, check, compare and delete schemas.", "stoker.cli.schemas"),
    "configs": Entry("Describe and alter the configs of topics, brokers and groups.", "stoker.cli.configs"),
    "records": Entry("Delete records from the start of partitions.", "stoker.cli.records"),
    "cluster": Entry("Run an Apache Kafka cluster on this machine.", "stoker.cli.kafka_cluster"),
    "spark": Entry("Run a Spark cluster on this machine.", "stoker.cli.spark_cluster"),
    "config": Entry("Show where addresses come from: stoker.toml, variables, flags.", "stoker.cli.config"),
    "brokers": Entry("List the brokers of a cluster.", "stoker.cli.cluster", "brokers"),
    "decommission": Entry("Move all replicas off a broker, so that it may be stopped.", "stoker.cli.decommission"),
    "plan": Entry("Work out brokers, partitions, disks and executors for a load.", "stoker.cli.plan"),
    "tools": Entry("Install and list Kafka's own tools: kafka-topics.sh and the others.", "stoker.cli.tools"),
    "cluster-id": Entry("Print the id of a cluster.", "stoker.cli.cluster", "cluster_id"),
}


class Nouns(TyperGroup):
    """Lists its commands from a table, so that help and completion import none of them, and the others one."""

    def __init__(self, *, commands: dict[str, Any], **settings: Any) -> None:
        listed = {name: TyperCommand(name, help=entry.explanation) for name, entry in ENTRIES.items()}
        super().__init__(commands=commands | listed, **settings)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _file_first(args))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name in ENTRIES:
            entry = ENTRIES[name]
            command = get_command(getattr(import_module(entry.module), entry.attribute))
            command.name = name
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        with reported(ctx):
            return super().invoke(ctx)


def _file_first(arguments: list[str]) -> list[str]:
    """--config-file is for all commands, and may be given after them, too."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    for at, argument in enumerate(arguments[:end]):
        if argument.startswith(f"{FILE_FLAG}="):
            return [argument, *arguments[:at], *arguments[at + 1 :]]
        if argument == FILE_FLAG and at + 1 < end:
            return [*arguments[at : at + 2], *arguments[:at], *arguments[at + 2 :]]
    return arguments


read_plainly()

application = typer.Typer(
    cls=Nouns,
    name="stoker",
    help="An event-streaming platform for Python teams, on a Kafka-compatible log.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"stoker {__version__}")
        raise typer.Exit


@application.callback()
def stoker(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    config_file: Annotated[
        str | None,
        typer.Option(
            FILE_FLAG,
            envvar=FILE_VARIABLE,
            metavar="FILE",
            show_default=f"the nearest {FILE_NAME} from here upwards",
            help="The file that names addresses; an empty name: none.",
        ),
    ] = None,
) -> None:
    if config_file is not None:
        context.with_resource(settings_file(config_file))


@application.command(
    "broker", add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def broker(context: typer.Context) -> None:
    """Run a Kafka-compatible broker until Ctrl-C or SIGTERM."""
    from stoker.cli.broker import main

    raise typer.Exit(main(context.args))


@application.command(
    "registry", add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def registry(context: typer.Context) -> None:
    """Run a schema registry until Ctrl-C or SIGTERM."""
    from stoker.cli.registry import main

    raise typer.Exit(main(context.args))
