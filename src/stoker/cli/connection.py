"""Which cluster a command talks to."""

import time
from pathlib import Path
from typing import Annotated, Final

import typer

from stoker.cli.output import say
from stoker.client.cluster import Cluster
from stoker.client.properties import BOOTSTRAP_SERVERS, ClientProperties, client_properties, read_client_properties

DEFAULT_BOOTSTRAP_SERVER: Final = "localhost:9092"
_PATIENCE_SECONDS: Final = 2.0

BootstrapServer = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        "-b",
        envvar="STOKER_BOOTSTRAP_SERVER",
        metavar="HOST:PORT",
        show_default=DEFAULT_BOOTSTRAP_SERVER,
        help="The cluster: one broker of it, or more with commas between.",
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option("--command-config", metavar="FILE", help="Kafka client properties, such as request.timeout.ms."),
]


def properties_of(bootstrap_server: str | None, command_config: Path | None) -> ClientProperties:
    """What the options say: --bootstrap-server, or else the file's bootstrap.servers, or else localhost:9092."""
    given = {} if command_config is None else read_client_properties(command_config)
    if bootstrap_server is None and BOOTSTRAP_SERVERS not in given:
        bootstrap_server = DEFAULT_BOOTSTRAP_SERVER
    return client_properties(bootstrap_server, given)


def connect(bootstrap_server: str | None, command_config: Path | None) -> Cluster:
    """The cluster of the options, to be used in a `with`; properties that nobody knows are named on stderr."""
    properties = properties_of(bootstrap_server, command_config)
    if properties.unknown:
        say(f"{command_config}: unknown properties are ignored: {', '.join(properties.unknown)}")
    return Cluster(properties, on_retry=_Patience(properties.default_api_timeout_ms))


class _Patience:
    """Says, once, why a command takes so long."""

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._first: float | None = None
        self._has_said = False

    def __call__(self, reason: str) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = now
        if not self._has_said and now - self._first > _PATIENCE_SECONDS:
            self._has_said = True
            say(f"Still trying, for up to {self._timeout_ms / 1000:g} s (default.api.timeout.ms): {reason}")
