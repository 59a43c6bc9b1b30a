"""`stoker demo`: the whole platform at work, with a balance at the end."""

from typing import Annotated, Final

import typer

from stoker.cli.failure import CommandFailed
from stoker.cli.noun import examples, noun
from stoker.cli.output import say
from stoker.settings import definitions
from stoker.settings.current import current_settings
from stoker.settings.resolution import Settings

_SECURITY: Final = ("security.", "sasl.", "ssl.")
"""How the properties begin that a client needs to be let in."""

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
            "--bootstrap-servers",
            "--bootstrap-server",
            envvar=definitions.BOOTSTRAP_SERVERS.variable,
            metavar="HOST:PORT",
            show_default="of stoker.toml",
            help="A broker that runs already.",
        ),
    ] = None,
    registry: Annotated[
        str | None,
        typer.Option(
            "--registry",
            envvar=definitions.REGISTRY_URL.variable,
            metavar="URL",
            show_default="of stoker.toml",
            help="The registry on that broker.",
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(
            "--master",
            envvar=definitions.SPARK_MASTER.variable,
            metavar="URL",
            show_default="of stoker.toml, else all cores of this machine",
            help="Spark's master.",
        ),
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help="Start a broker and a registry, whatever stoker.toml and variables name.")
    ] = False,
) -> None:
    """Orders, customers and payments go through a pipeline of streams, Spark is killed on the way, and the books are checked.

    A broker and a registry are started for it, unless they are named. The pipeline sets malformed events aside, enriches orders
    with their customers, matches payments, sums up revenue by the hour, routes large orders and writes Parquet files. The exit
    code is 1 if anything is lost or doubled.
    """
    settings = current_settings(
        {
            definitions.BOOTSTRAP_SERVERS.name: bootstrap_servers,
            definitions.REGISTRY_URL.name: registry,
            definitions.SPARK_MASTER.name: master,
        }
    )
    servers, registry = (None, None) if local else _platform(settings)
    from stoker.demo.show import Demo

    shown = Demo(
        events=events,
        bootstrap_servers=servers,
        registry=registry,
        master=settings.spark_master.named,
        keep=keep,
        say=_say,
    )
    raise typer.Exit(shown.run())


def _platform(settings: Settings) -> tuple[str | None, str | None]:
    """The broker and the registry that are named; neither if no broker is."""
    servers, registry = settings.bootstrap_servers, settings.registry_url
    if not servers.is_named:
        return None, None
    if not registry.is_named:
        raise CommandFailed(
            f"{servers.origin} names the broker {servers.shown}, so a registry on it must be named too: by --registry, by "
            f"{definitions.REGISTRY_URL.variable}, or in stoker.toml. --local starts both for the demo."
        )
    if security := [
        *(each for name, each in settings.kafka_properties.items() if name.startswith(_SECURITY)),
        *([settings.registry_user] if settings.registry_user.text else []),
    ]:
        raise CommandFailed(
            f"the demo speaks to brokers and registries without security alone, and {security[0].origin} sets "
            f"{security[0].name}. --local starts both for the demo."
        )
    say(
        f"The broker is named by {servers.origin}, the registry by {registry.origin}; --local starts both for the demo."
    )
    return servers.text, registry.text


def _say(line: str) -> None:
    print(line, flush=True)
