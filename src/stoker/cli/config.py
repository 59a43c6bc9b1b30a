"""`stoker config`: which addresses count here, and where they come from. (`stoker configs` is about Kafka's own.)"""

import os
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from stoker.cli.failure import CommandFailed
from stoker.cli.noun import examples, noun
from stoker.cli.output import Json, print_json, print_table, say
from stoker.settings import definitions
from stoker.settings.current import current_file, current_settings
from stoker.settings.resolution import LeftAside, Place, Settings, Value

application = noun(
    "config", "Addresses, named once: stoker.toml, variables, flags. (Kafka's own configs: `stoker configs`.)"
)

_NEARLY: Final = 0.85
"""How much of two names must be the same, which all begin alike."""

# Without `envvar`: what comes from a variable is to be told apart from what was typed.
BootstrapServer = Annotated[
    str | None, typer.Option("--bootstrap-server", "-b", metavar="HOST:PORT", help="As if a command was given this.")
]
RegistryUrl = Annotated[
    str | None, typer.Option("--registry-url", "-r", metavar="URL", help="As if a command was given this.")
]
Master = Annotated[str | None, typer.Option("--master", metavar="URL", help="As if a command was given this.")]


@application.command(
    epilog=examples(
        "stoker config show",
        "stoker config show --json",
        "stoker config show --bootstrap-server broker-2:9092",
        "stoker --config-file production.toml config show",
    )
)
def show(
    bootstrap_server: BootstrapServer = None,
    registry_url: RegistryUrl = None,
    user: Annotated[
        str | None, typer.Option("--user", "-u", metavar="NAME:PASSWORD", help="As if a command was given this.")
    ] = None,
    master: Master = None,
    command_config: Annotated[
        Path | None, typer.Option("--command-config", metavar="FILE", help="As if a command was given this.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what a command or program that is started here uses, and where each value comes from. Nothing is connected to.

    A flag is stronger than a variable, that than the file, that than the default. Passwords are not shown.
    """
    from stoker.client.properties import read_client_properties

    settings = current_settings(
        {
            definitions.BOOTSTRAP_SERVERS.name: bootstrap_server,
            definitions.REGISTRY_URL.name: registry_url,
            definitions.REGISTRY_USER.name: user,
            definitions.SPARK_MASTER.name: master,
        },
        {} if command_config is None else read_client_properties(command_config),
    )
    if json:
        print_json(_settings_json(settings))
    else:
        print_table(
            ("SETTING", "VALUE", "FROM"),
            [(value.name, value.shown, value.origin if value.text is not None else None) for value in settings.values],
        )
        say(f"The file is {settings.file}." if settings.file is not None else _no_file())
    for each in settings.left_aside:
        say(
            f"{each.value.name} ({each.value.origin}) does not count: it is for {each.belongs_to}, not for {each.used}."
        )
    for variable in _likely_mistakes():
        say(variable)


@application.command(epilog=examples("stoker config path", "cat $(stoker config path)"))
def path() -> None:
    """Print where the file is that counts here: the nearest stoker.toml upwards, or what is named. Exit code 1 if none."""
    found = current_file()
    if found is None:
        raise CommandFailed(_no_file())
    print(found)


@application.command(
    epilog=examples(
        "stoker config init",
        "stoker config init --bootstrap-server broker-1:9092,broker-2:9092 --registry-url http://registry-1:8081",
        "stoker config init --master spark://spark-1:7077 --force",
    )
)
def init(
    bootstrap_server: Annotated[
        str | None, typer.Option("--bootstrap-server", "-b", metavar="HOST:PORT", help="Write this address.")
    ] = None,
    registry_url: Annotated[
        str | None, typer.Option("--registry-url", "-r", metavar="URL", help="Write this address.")
    ] = None,
    master: Annotated[str | None, typer.Option("--master", metavar="URL", help="Write this address.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a stoker.toml into this directory, with a comment for each setting; those that are given are made."""
    from stoker.log.files import replace_file
    from stoker.settings.template import template

    given = {
        definitions.BOOTSTRAP_SERVERS.name: bootstrap_server,
        definitions.REGISTRY_URL.name: registry_url,
        definitions.SPARK_MASTER.name: master,
    }
    # An empty text is not given: it is what becomes of a shell's variable that is not set.
    made = {name: value for name, value in given.items() if value and value.strip()}
    text = template(made)
    file = Path(definitions.FILE_NAME)
    if not force and os.path.lexists(file):
        raise CommandFailed(f"{file.absolute()} is there already; --force writes over it")
    try:
        mode = file.stat().st_mode if file.exists() else None  # who hides what is in it hides it still
        replace_file(os.path.realpath(file), text.encode(), sync=False)
        if mode is not None:
            file.chmod(mode)
    except OSError as error:
        raise CommandFailed(f"{file.absolute()} cannot be written: {error.strerror}") from error
    print(f"Wrote {file.absolute()}.")
    if not made:
        say("All of it is comments: take the # away from what you name. `stoker config show` tells what counts.")


def _no_file() -> str:
    if os.environ.get(definitions.FILE_VARIABLE) == "":
        return f"There is no file: {definitions.FILE_VARIABLE} is empty, which means none."
    return (
        f"There is no {definitions.FILE_NAME} here or in a directory above; `stoker config init` writes one, and "
        f"{definitions.FILE_FLAG} or {definitions.FILE_VARIABLE} names another file."
    )


def _likely_mistakes() -> list[str]:
    """Variables that nobody reads, whose names are nearly those of settings."""
    from difflib import get_close_matches

    known = [setting.variable for setting in definitions.SETTINGS] + [definitions.FILE_VARIABLE]
    unread = [name for name in os.environ if name.startswith("STOKER_") and name not in known]
    close = {name: get_close_matches(name, known, n=1, cutoff=_NEARLY) for name in sorted(unread)}
    return [
        f"The variable {name} means nothing to Stoker; did you mean {found[0]}?"
        for name, found in close.items()
        if found
    ]


def _settings_json(settings: Settings) -> dict[str, Any]:
    return {
        "file": None if settings.file is None else str(settings.file),
        "settings": [_value_json(value) for value in settings.values],
        "left_aside": [_left_aside_json(each) for each in settings.left_aside],
    }


def _value_json(value: Value) -> dict[str, Any]:
    origin = value.origin
    source: dict[str, Any] = {"kind": {Place.VARIABLE: "environment"}.get(origin.place, origin.place.name.lower())}
    if origin.name:
        source["name"] = origin.name
    if origin.line is not None:
        source["line"] = origin.line
    return {"name": value.name, "value": value.shown, "secret": value.is_secret, "from": source}


def _left_aside_json(each: LeftAside) -> dict[str, Any]:
    return _value_json(each.value) | {"belongs_to": each.belongs_to, "used": each.used}
