"""`stoker up`: the broker and the schema registry with one command."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer

from stoker.cli.noun import examples, noun
from stoker.cli.parts import Addresses, Part, Parts

application = noun("up", "Run the broker and the schema registry until Ctrl-C.")

_HIGHEST_PORT: Final = 65535


@application.command(
    epilog=examples(
        "stoker up",
        "stoker up --data-dir ./data --port 19092 --registry-port 18081",
        "stoker up --host 127.0.0.1",
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
) -> None:
    """Run the broker and the schema registry, each a process of its own, until Ctrl-C or SIGTERM.

    What they log is shown with their names in front. When one of them ends, so do the others.
    """

    def broker(addresses: Addresses) -> list[str]:
        where = [] if data_dir is None else ["--data-dir", str(data_dir)]
        return ["broker", "--listen", f"{host}:{port}", *where]

    def registry(addresses: Addresses) -> list[str]:
        return [
            "registry",
            "--bootstrap-server",
            addresses["broker"],
            "--listen",
            f"{host}:{registry_port}",
        ]

    parts = [
        Part("broker", broker, _found(r"Stoker is ready on (\S+?),? "), {"--listen HOST:PORT": "--host and --port"}),
        Part(
            "registry",
            registry,
            _found(r"the schema registry is ready on (\S+?),? "),
            {"Address already in use": "Address already in use; --registry-port chooses another"},
        ),
    ]

    def say_ready(addresses: Addresses) -> None:
        Parts.say(
            f"stoker up: ready, broker on {addresses['broker']}, registry on {addresses['registry']}; Ctrl-C stops both"
        )

    with Parts(parts) as running:
        code = running.run(say_ready)
    raise typer.Exit(code)


def _found(pattern: str) -> Callable[[str], str | None]:
    """The address in a line of the log that says that a part is ready."""
    compiled = re.compile(pattern)

    def address(line: str) -> str | None:
        found = compiled.search(line)
        return found and found[1]

    return address
