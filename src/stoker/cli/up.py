"""`stoker up`: the broker and the schema registry with one command."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer

from stoker.cli.noun import examples, noun
from stoker.cli.parts import Addresses, Part, Parts
from stoker.settings import definitions
from stoker.settings.current import current_settings, environment_without_cluster
from stoker.settings.resolution import Value

application = noun("up", "Run the broker and the schema registry until Ctrl-C.")

_HIGHEST_PORT: Final = 65535


@application.command(
    epilog=examples(
        "stoker up",
        "stoker up --data-dir ./data --port 19092 --registry-port 18081",
        "stoker up --host 127.0.0.1",
        "stoker up --bootstrap-server broker-1:9092",
    )
)
def up(
    data_dir: Annotated[
        Path | None,
        typer.Option("--data-dir", "-d", metavar="DIR", help="Where the logs are kept; else /tmp/kafka-logs."),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="The interface that is served; empty is every one.")
    ] = "",
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=_HIGHEST_PORT, metavar="N", help="Of the broker; 0: a free one.")
    ] = 9092,
    registry_port: Annotated[
        int,
        typer.Option("--registry-port", min=0, max=_HIGHEST_PORT, metavar="N", help="Of the registry; 0: a free one."),
    ] = 8081,
    bootstrap_server: Annotated[
        str | None,
        typer.Option(
            "--bootstrap-server",
            "-b",
            envvar=definitions.BOOTSTRAP_SERVERS.variable,
            metavar="HOST:PORT",
            show_default="of stoker.toml",
            help="A cluster that runs: no broker is started.",
        ),
    ] = None,
    registry_url: Annotated[
        str | None,
        typer.Option(
            "--registry-url",
            "-r",
            envvar=definitions.REGISTRY_URL.variable,
            metavar="URL",
            show_default="of stoker.toml",
            help="A registry that runs: none is started.",
        ),
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help="Start both, whatever stoker.toml and variables name.")
    ] = False,
) -> None:
    """Run the broker and the schema registry, each a process of its own, until Ctrl-C or SIGTERM.

    What stoker.toml, a variable or an option names is not started: with a broker that is named, the registry alone, on it. What
    they log is shown with their names in front. When one of them ends, so do the others.
    """
    broker_there, registry_there = (None, None) if local else _named(bootstrap_server, registry_url)
    if broker_there is not None and registry_there is not None:
        Parts.say(
            f"stoker up: nothing to start: the broker is {broker_there.shown} ({broker_there.origin}), the registry "
            f"{registry_there.shown} ({registry_there.origin}). Use them as they are; --local starts both here."
        )
        return

    def broker(addresses: Addresses) -> list[str]:
        where = [] if data_dir is None else ["--data-dir", str(data_dir)]
        return ["broker", "--listen", f"{host}:{port}", *where]

    def registry(addresses: Addresses) -> list[str]:
        on = addresses["broker"] if broker_there is None else str(broker_there.text)
        return ["registry", "--bootstrap-server", on, "--listen", f"{host}:{registry_port}"]

    parts = []
    if broker_there is None:
        wording = {"--listen HOST:PORT": "--host and --port"}
        parts.append(Part("broker", broker, _found(r"Stoker is ready on (\S+?),? "), wording))
    else:
        Parts.say(f"stoker up: the broker is {broker_there.shown} ({broker_there.origin}); --local starts one here.")
    if registry_there is None:
        wording = {"Address already in use": "Address already in use; --registry-port chooses another"}
        ready = _found(r"the schema registry is ready on (\S+?),? ")
        parts.append(
            Part("registry", registry, ready, wording, environment_without_cluster() if broker_there is None else None)
        )
    else:
        Parts.say(
            f"stoker up: the registry is {registry_there.shown} ({registry_there.origin}); --local starts one here."
        )

    def say_ready(addresses: Addresses) -> None:
        where = ", ".join(f"{part.name} on {addresses[part.name]}" for part in parts)
        Parts.say(f"stoker up: ready, {where}; Ctrl-C stops {'both' if len(parts) > 1 else 'it'}")

    with Parts(parts) as running:
        code = running.run(say_ready)
    raise typer.Exit(code)


def _named(bootstrap_server: str | None, registry_url: str | None) -> tuple[Value | None, Value | None]:
    """The broker and the registry that somebody has named."""
    settings = current_settings(
        {definitions.BOOTSTRAP_SERVERS.name: bootstrap_server, definitions.REGISTRY_URL.name: registry_url}
    )
    broker, registry = settings.bootstrap_servers, settings.registry_url
    return broker if broker.is_named else None, registry if registry.is_named else None


def _found(pattern: str) -> Callable[[str], str | None]:
    """The address in a line of the log that says that a part is ready."""
    compiled = re.compile(pattern)

    def address(line: str) -> str | None:
        found = compiled.search(line)
        return found and found[1]

    return address
