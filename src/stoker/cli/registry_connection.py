"""Which registry a command talks to, and as whom."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final

import typer

from stoker.cli.failure import CommandFailed, wrong_usage
from stoker.cli.output import say
from stoker.settings import definitions
from stoker.settings.current import current_settings
from stoker.settings.resolution import Settings

if TYPE_CHECKING:
    from stoker.registry.client import RegistryClient

_UNAUTHORIZED: Final = 401

RegistryUrl = Annotated[
    str | None,
    typer.Option(
        "--registry-url",
        "-r",
        envvar=definitions.REGISTRY_URL.variable,
        metavar="URL",
        show_default=f"of stoker.toml, else {definitions.REGISTRY_URL.default}",
        help="The schema registry.",
    ),
]
User = Annotated[
    str | None,
    typer.Option(
        "--user",
        "-u",
        envvar=definitions.REGISTRY_USER.variable,
        metavar="NAME:PASSWORD",
        help="Who asks, if the registry wants to know; the variable is not seen by other users of the machine.",
    ),
]


def registry_settings(url: str | None, user: str | None) -> Settings:
    """The settings of a command with these options. Raises InvalidSettings."""
    return current_settings({definitions.REGISTRY_URL.name: url, definitions.REGISTRY_USER.name: user})


def say_who_does_not_ask(settings: Settings) -> None:
    """Of a user that is named for another registry."""
    for each in settings.left_aside:
        if each.value.name == definitions.REGISTRY_USER.name:
            say(f"{settings.file}: {each.value.name} is for {each.belongs_to}, and does not count for {each.used}.")


@contextmanager
def connect_registry(url: str | None, user: str | None) -> "Iterator[RegistryClient]":
    """The registry of the options and settings. What goes wrong with it is explained by the options that mend it."""
    # On first use: the HTTP client takes longer to load than all the rest.
    from stoker.registry.client import InvalidRegistryUrl, RegistryClient, RegistryRefused, RegistryUnreachable

    settings = registry_settings(url, user)
    say_who_does_not_ask(settings)
    try:
        client = RegistryClient(str(settings.registry_url.text), user=settings.registry_user.text)
    except InvalidRegistryUrl as error:
        wrong_usage(str(error))
    with client:
        try:
            yield client
        except RegistryUnreachable as error:
            raise CommandFailed(
                f"{error}. Is a registry running there? --registry-url or STOKER_REGISTRY_URL names another address."
            ) from error
        except RegistryRefused as refused:
            if refused.status != _UNAUTHORIZED:
                raise
            raise CommandFailed(f"{refused}. --user NAME:PASSWORD or STOKER_REGISTRY_USER says who asks.") from refused
