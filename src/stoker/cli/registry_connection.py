"""Which registry a command talks to, and as whom."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final

import typer

from stoker.cli.failure import CommandFailed, wrong_usage

if TYPE_CHECKING:
    from stoker.registry.client import RegistryClient

DEFAULT_REGISTRY_URL: Final = "http://localhost:8081"
_UNAUTHORIZED: Final = 401

RegistryUrl = Annotated[
    str | None,
    typer.Option(
        "--registry-url",
        "-r",
        envvar="STOKER_REGISTRY_URL",
        metavar="URL",
        show_default=DEFAULT_REGISTRY_URL,
        help="The schema registry.",
    ),
]
User = Annotated[
    str | None,
    typer.Option(
        "--user",
        "-u",
        envvar="STOKER_REGISTRY_USER",
        metavar="NAME:PASSWORD",
        help="Who asks, if the registry wants to know; the variable is not seen by other users of the machine.",
    ),
]


@contextmanager
def connect_registry(url: str | None, user: str | None) -> "Iterator[RegistryClient]":
    """The registry of the options. What goes wrong with it is explained by the options that mend it."""
    # On first use: the HTTP client takes longer to load than all the rest.
    from stoker.registry.client import InvalidRegistryUrl, RegistryClient, RegistryRefused, RegistryUnreachable

    try:
        client = RegistryClient(url or DEFAULT_REGISTRY_URL, user=user)
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
