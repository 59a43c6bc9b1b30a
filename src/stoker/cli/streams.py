"""`stoker streams`: applications of `stoker.Streams` on this machine, and what their stores hold while they run."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from stoker.cli.failure import CommandFailed, wrong_usage
from stoker.cli.noun import examples, noun
from stoker.cli.output import Json, Yes, confirm, counted, print_json, print_table, say, shown_bytes

if TYPE_CHECKING:
    from stoker.streams.state.applications import ApplicationStatus
    from stoker.streams.state.snapshots import StoreSnapshot

application = noun("streams", "Look into streams applications on this machine, and their stores.")

_WATCH_SECONDS: Final = 0.5
_A_WHILE_SECONDS: Final = 3600.0
_HIGHEST_PORT: Final = 65535


def _complete_applications(context: typer.Context, incomplete: str) -> list[str]:
    from stoker.streams.state.applications import list_applications

    return [name for name in list_applications(context.params.get("state_dir")) if name.startswith(incomplete)]


def _complete_stores(context: typer.Context, incomplete: str) -> list[str]:
    from stoker.errors import StokerError
    from stoker.streams.state.applications import application_status

    try:
        status = application_status(str(context.params.get("application_name")), context.params.get("state_dir"))
    except StokerError:
        return []
    return [store.name for store in status.stores if store.name.startswith(incomplete)]


ApplicationName = Annotated[
    str,
    typer.Argument(
        metavar="APPLICATION", help="The name that Streams(...) was given.", autocompletion=_complete_applications
    ),
]
StateDir = Annotated[
    str | None,
    typer.Option(
        "--state-dir",
        metavar="DIR",
        help="What Streams(state_dir=...) was given; else $XDG_STATE_HOME/stoker/streams.",
    ),
]


@application.command("list", epilog=examples("stoker streams list", "stoker streams list --json"))
def list_(state_dir: StateDir = None, json: Json = False) -> None:
    """List the applications that have state on this machine, whether they run or not."""
    from stoker.cli.stream_tables import ago
    from stoker.streams.state.applications import application_status, list_applications
    from stoker.streams.state.json_values import status_json

    found = [application_status(name, state_dir) for name in list_applications(state_dir)]
    if json:
        print_json([status_json(status) for status in found])
    elif found:
        print_table(
            ("APPLICATION", "BATCH", "COMMITTED", "STORES", "STATE"),
            [(each.name, each.batch, ago(each.staleness), len(each.stores), shown_bytes(each.bytes)) for each in found],
        )
    else:
        say("No application has state here.")


@application.command(
    epilog=examples(
        "stoker streams status order-processor",
        "stoker streams status order-processor --watch --bootstrap-server localhost:9092",
        "stoker streams status order-processor --json",
    )
)
def status(
    application_name: ApplicationName,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Show it again after every micro-batch, until Ctrl-C.")
    ] = False,
    bootstrap_server: Annotated[
        str | None,
        typer.Option(
            "--bootstrap-server",
            "-b",
            envvar="STOKER_BOOTSTRAP_SERVER",
            metavar="HOST:PORT",
            show_default="of stoker.toml",
            help="The cluster that it reads: shows the lag too.",
        ),
    ] = None,
    command_config: Annotated[
        Path | None, typer.Option("--command-config", metavar="FILE", help="Kafka client properties of that cluster.")
    ] = None,
    state_dir: StateDir = None,
    json: Json = False,
) -> None:
    """Show how far an application is: micro-batch, rate, late records, dead letters, stores; and the lag, with a cluster.

    Ctrl-C is the normal end of watching: exit code 0.
    """
    from stoker.cli.interruption import Interruption
    from stoker.cli.stream_tables import lag_of, print_status
    from stoker.settings.current import current_settings
    from stoker.streams.state.applications import application_status, existing_application
    from stoker.streams.state.json_values import status_json

    names_cluster = (
        bootstrap_server is not None or command_config is not None or current_settings().bootstrap_servers.is_named
    )

    def show(found: "ApplicationStatus") -> None:
        lag = lag_of(found, bootstrap_server, command_config) if names_cluster else None
        if json:
            print_json(status_json(found) | ({} if lag is None else {"lag": lag}))
        else:
            print_status(found, lag)

    directory = existing_application(application_name, state_dir)
    seen = directory.manifest_versions()
    show(application_status(application_name, state_dir))
    if not watch:
        return
    with Interruption() as interruption:
        while not interruption:
            sys.stdout.flush()
            interruption.wait(_WATCH_SECONDS)
            known, seen = seen, directory.manifest_versions()
            if seen != known and not interruption:
                show(application_status(application_name, state_dir))


@application.command(
    epilog=examples(
        "stoker streams store order-processor",
        "stoker streams store order-processor hourly-revenue --from customer-100 --to customer-199",
        "stoker streams store order-processor hourly-revenue customer-123 --since -2h",
        "stoker streams store order-processor customers customer-123 --json",
    )
)
def store(
    application_name: ApplicationName,
    store_name: Annotated[
        str | None,
        typer.Argument(
            metavar="STORE", help="One of its stores; else they are listed.", autocompletion=_complete_stores
        ),
    ] = None,
    key: Annotated[str | None, typer.Argument(metavar="KEY", help="Of one row; else all rows are shown.")] = None,
    first: Annotated[
        str | None, typer.Option("--from", metavar="KEY", help="Rows from this key on; keys come in order.")
    ] = None,
    last: Annotated[
        str | None, typer.Option("--to", metavar="KEY", help="Rows up to this key, itself included.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TIME", help="Of a key, windows that start then or later: 2026-02-01T12:30, -2h."
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Of a key, windows that start then or earlier.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="So many rows at most.")] = 100,
    state_dir: StateDir = None,
    json: Json = False,
) -> None:
    """Show what a store holds: a key, some rows, or which stores there are. As of the last micro-batch; nothing is disturbed."""
    from stoker.cli import stream_tables

    if key is not None and (first is not None or last is not None):
        wrong_usage("give a KEY, or --from and --to")
    if key is None and (since is not None or until is not None):
        wrong_usage("--since and --until choose among the windows of a KEY")
    if store_name is None:
        stream_tables.print_stores(application_name, state_dir, as_json=json)
        return
    start, end = _milliseconds("--since", since), _milliseconds("--until", until)

    def ask(snapshot: "StoreSnapshot") -> Any:
        if key is None:
            return stream_tables.rows_between(snapshot, first, last, limit)
        return stream_tables.rows_of_key(snapshot, key, start, end, limit)

    found = stream_tables.asked(application_name, store_name, state_dir, ask)
    if key is not None and not found.value.rows:
        raise CommandFailed(f"store {store_name!r} has no key {key!r}{' with such windows' if since or until else ''}")
    stream_tables.print_rows(found, application_name, store_name, as_json=json)


@application.command(
    epilog=examples(
        "stoker streams serve", "stoker streams serve --host 0.0.0.0 --port 7070", "stoker streams serve -p 0"
    )
)
def serve(
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="The interface that is served.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=_HIGHEST_PORT, metavar="N", help="0: a free one.")
    ] = 7070,
    state_dir: StateDir = None,
) -> None:
    """Answer questions about the stores of all applications here over HTTP, until Ctrl-C or SIGTERM."""
    from stoker.cli.interruption import Interruption
    from stoker.streams.http import serve as serve_stores

    with Interruption() as interruption, serve_stores(state_dir, host, port) as server:
        say(f"Stores are served on {server.url}/applications; Ctrl-C stops it.")
        while not interruption:
            interruption.wait(_A_WHILE_SECONDS)


@application.command(
    epilog=examples("stoker streams reset order-processor", "stoker streams reset order-processor --yes")
)
def reset(application_name: ApplicationName, yes: Yes = False, state_dir: StateDir = None, json: Json = False) -> None:
    """Remove the state of an application that has stopped, so that it begins anew. Topics stay as they are."""
    from stoker.streams.state.applications import application_status, existing_application

    found = application_status(application_name, state_dir)
    confirm(
        f"Remove the state of {application_name!r}, {counted(len(found.stores), 'store')} and {shown_bytes(found.bytes)} in "
        f"{found.directory}? It must not run",
        yes=yes,
    )
    existing_application(application_name, state_dir).remove()
    if json:
        print_json({"removed": found.directory})
    else:
        print(f"Removed the state of {application_name!r}.")
        say(
            "Its topics stay, also those that it has written: when it is started again, it reads and writes all of it anew."
        )


def _milliseconds(option: str, text: str | None) -> int | None:
    from stoker.cli.moments import MalformedMoment, parse_moment

    try:
        return None if text is None else parse_moment(text, time.time_ns() // 1_000_000)
    except MalformedMoment as error:
        wrong_usage(f"{option}: {error}")
