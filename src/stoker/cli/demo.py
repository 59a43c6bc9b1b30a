"""`stoker demo`: the whole platform at work, with a balance at the end."""

from typing import Annotated

import typer

from stoker.cli.noun import examples, noun

application = noun("demo", "See the whole platform at work, with a balance at the end.")


@application.command(epilog=examples("stoker demo", "stoker demo --events 50000", "stoker demo --keep"))
def demo(
    events: Annotated[
        int, typer.Option("--events", min=10_000, max=100_000_000, metavar="N", help="About so many events.")
    ] = 200_000,
    keep: Annotated[bool, typer.Option("--keep", help="Leave everything running at the end, until Ctrl-C.")] = False,
    bootstrap_servers: Annotated[
        str | None,
        typer.Option(
            "--bootstrap-servers", "--bootstrap-server", metavar="HOST:PORT", help="A broker that runs already."
        ),
    ] = None,
    registry: Annotated[
        str | None, typer.Option("--registry", metavar="URL", help="The registry on that broker.")
    ] = None,
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="Spark's master; all cores of this machine if not given."),
    ] = None,
) -> None:
    """Orders, customers and payments go through a pipeline of streams, Spark is killed on the way, and the books are checked.

    A broker and a registry are started for it, unless one is named. The pipeline sets malformed events aside, enriches orders
    with their customers, matches payments, sums up revenue by the hour, routes large orders and writes Parquet files. The exit
    code is 1 if anything is lost or doubled.
    """
    from stoker.demo.show import Demo

    shown = Demo(
        events=events, bootstrap_servers=bootstrap_servers, registry=registry, master=master, keep=keep, say=_say
    )
    raise typer.Exit(shown.run())


def _say(line: str) -> None:
    print(line, flush=True)
