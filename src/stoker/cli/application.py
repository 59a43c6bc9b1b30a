"""The command `stoker` and its subcommands."""

from typing import Annotated

import typer

from stoker import __version__

application = typer.Typer(
    name="stoker",
    help="An event-streaming platform for Python teams, on a Kafka-compatible log.",
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


@application.command(
    "broker", add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def broker(context: typer.Context) -> None:
    """Run a Kafka-compatible broker until Ctrl-C or SIGTERM."""
    from stoker.cli.broker import main

    raise typer.Exit(main(context.args))
