"""The command `stoker` and its subcommands."""

from typing import Annotated

import typer

from stoker import __version__
from stoker.cli import broker

application = typer.Typer(
    name="stoker",
    help="An event-streaming platform for Python teams: a Kafka-compatible log with Spark as its engine.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"stoker {__version__}")
        raise typer.Exit


@application.callback()
def stoker(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


application.command("broker")(broker.broker)
