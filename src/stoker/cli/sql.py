"""`stoker sql`: statements of ksqlDB's language against a cluster."""

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from stoker.cli.connection import BootstrapServer, CommandConfig, properties_of
from stoker.cli.failure import CommandFailed, wrong_usage
from stoker.cli.noun import examples, noun
from stoker.cli.output import Json, say
from stoker.cli.registry_connection import registry_settings, say_who_does_not_ask

if TYPE_CHECKING:
    from stoker.streams.sql.engine import SqlEngine

application = noun("sql", "Run SQL on topics: continuous queries, tables, and what they hold.")

_A_WHILE_SECONDS: Final = 3600.0


@application.command(
    epilog=examples(
        "stoker sql",
        "stoker sql -e 'SHOW STREAMS;'",
        "stoker sql -e \"SELECT * FROM totals WHERE customer_id = 'c1';\" --json",
        "stoker sql -f orders.sql --until-end",
        "stoker sql -f orders.sql --wait --registry http://localhost:8081",
    )
)
def sql(
    *,
    execute: Annotated[
        list[str] | None, typer.Option("--execute", "-e", metavar="STATEMENT", help="Run this, and end.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="Run the statements of a file; - for stdin.")
    ] = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    registry: Annotated[
        str | None,
        typer.Option(
            "--registry",
            "--registry-url",
            "-r",
            envvar="STOKER_REGISTRY_URL",
            metavar="URL",
            show_default="of stoker.toml",
            help="The schema registry, for AVRO and its like.",
        ),
    ] = None,
    service: Annotated[
        str, typer.Option("--service", metavar="NAME", help="Whose statements: those of a service are in one log.")
    ] = "default",
    state_dir: Annotated[
        str | None,
        typer.Option(
            "--state-dir", metavar="DIR", help="Where queries keep their state; else $XDG_STATE_HOME/stoker/streams."
        ),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="After -e or -f, run the queries of the service until Ctrl-C.")
    ] = False,
    until_end: Annotated[
        bool, typer.Option("--until-end", help="After -e or -f, run them until they have read what is there.")
    ] = False,
    json: Json = False,
) -> None:
    """Run statements; without -e and -f ask for them, with history and completion.

    Queries that CREATE ... AS SELECT and INSERT INTO ... SELECT make are kept in a log, and run while a `stoker sql` that runs
    them does: at the prompt, or with --wait.
    """
    text = _text(execute, file)
    if wait and until_end:
        wrong_usage("give --wait or --until-end")
    if text is None and (wait or until_end):
        wrong_usage("--wait and --until-end are for -e and -f: at the prompt queries run anyway")
    logging.getLogger("SQLQueryContextLogger").disabled = True  # what it says is in our errors
    properties = properties_of(bootstrap_server, command_config)
    from stoker.spark.named_cluster import USER_OPTION
    from stoker.streams.sql.engine import SqlEngine

    options = {f"kafka.{name}": value for name, value in properties.given.items() if name != "bootstrap.servers"}
    named = registry_settings(registry, None)
    say_who_does_not_ask(named)
    if named.registry_user.text is not None:
        options[USER_OPTION] = named.registry_user.text
    with SqlEngine(
        properties.given["bootstrap.servers"],
        named.registry_url.named,
        service,
        state_dir,
        options=options,
        runs=text is None or wait,
    ) as engine:
        if text is None:
            _ask(engine, as_json=json)
        else:
            _run(engine, text, as_json=json, wait=wait, until_end=until_end)


def _text(statements: list[str] | None, file: Path | None) -> str | None:
    """The script; None if a person is to be asked."""
    if statements and file is not None:
        wrong_usage("give -e or -f")
    if statements:
        return "\n".join(each if each.rstrip().endswith(";") else f"{each};" for each in statements)
    if file is not None and str(file) != "-":
        try:
            return file.read_text()
        except OSError as error:
            raise CommandFailed(f"{file} cannot be read: {error.strerror}") from error
    return sys.stdin.read() if file is not None or not sys.stdin.isatty() else None


def _ask(engine: "SqlEngine", *, as_json: bool) -> None:
    from stoker.cli.sql_prompt import prompt

    say("Statements end with a semicolon; help lists some, exit leaves.")
    prompt(engine, as_json=as_json)


def _run(engine: "SqlEngine", text: str, *, as_json: bool, wait: bool, until_end: bool) -> None:
    from stoker.cli.sql_results import show
    from stoker.streams.sql.results import Message

    made = []
    for result in engine.iterate(text):
        show(result, as_json=as_json)
        if isinstance(result, Message) and result.query_id is not None:
            made.append(result.query_id)
    if until_end:
        done = engine.run_until_end()
        say(
            f"{', '.join(done) or 'No query'} has read what is there."
            if len(done) < 2
            else f"{', '.join(done)} have read what is there."
        )
    elif wait:
        _wait(engine)
    elif made:
        say(
            f"{', '.join(made)}: made, and run while `stoker sql` runs at its prompt or with --wait (service {engine.service}); "
            "--until-end reads what is there now."
        )


def _wait(engine: "SqlEngine") -> None:
    from stoker.cli.interruption import Interruption

    with Interruption() as interruption:
        if not engine.runs_queries and engine.state.queries:
            say("Another process runs the queries of this service.")
        say(f"Running {', '.join(engine.state.queries) or 'nothing'}; Ctrl-C stops it.")
        while not interruption:
            interruption.wait(_A_WHILE_SECONDS)
