"""Which cluster a command talks to."""

from pathlib import Path
from time import monotonic
from typing import Annotated, Final

import typer

from stoker.cli.output import say
from stoker.client.cluster import Cluster
from stoker.client.errors import InvalidClientProperty
from stoker.client.properties import ClientProperties, client_properties, read_client_properties
from stoker.settings import definitions
from stoker.settings.current import current_settings
from stoker.settings.resolution import Place, Settings

_PATIENCE_SECONDS: Final = 2.0

BootstrapServer = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        "-b",
        envvar=definitions.BOOTSTRAP_SERVERS.variable,
        metavar="HOST:PORT",
        show_default=f"of stoker.toml, else {definitions.BOOTSTRAP_SERVERS.default}",
        help="The cluster: one broker of it, or more with commas between.",
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option("--command-config", metavar="FILE", help="Kafka client properties, such as request.timeout.ms."),
]


def properties_of(bootstrap_server: str | None, command_config: Path | None) -> ClientProperties:
    """What the options say, and where they say nothing the variables and stoker.toml: `stoker.settings`.

    What of stoker.toml does not count is told on stderr. Raises InvalidClientProperty and InvalidSettings.
    """
    return _properties(cluster_settings(bootstrap_server, command_config))


def connect(bootstrap_server: str | None, command_config: Path | None) -> Cluster:
    """The cluster of the options, to be used in a `with`; properties that nobody knows are named on stderr."""
    settings = cluster_settings(bootstrap_server, command_config)
    properties = _properties(settings)
    # stoker.toml is for all clients, so that it may have what only some of them know.
    if unknown := [name for name in properties.unknown if settings.kafka_properties[name].place is Place.FLAG]:
        say(f"{command_config}: unknown properties are ignored: {', '.join(unknown)}")
    return Cluster(properties, on_retry=_Patience(properties.default_api_timeout_ms))


def cluster_settings(bootstrap_server: str | None, command_config: Path | None) -> Settings:
    """The settings of a command with these options."""
    given = {} if command_config is None else read_client_properties(command_config)
    return current_settings({definitions.BOOTSTRAP_SERVERS.name: bootstrap_server}, given)


def _properties(settings: Settings) -> ClientProperties:
    if left := [each for each in settings.left_aside if each.value.name.startswith(definitions.KAFKA_PROPERTIES)]:
        say(
            f"{settings.file}: [{definitions.KAFKA_PROPERTIES}] is for {left[0].belongs_to}, and does not count for "
            f"{left[0].used}; {definitions.COMMAND_CONFIG_FLAG} gives properties."
        )
    try:
        return client_properties(settings.bootstrap_servers.text, settings.properties)
    except InvalidClientProperty as error:
        raise InvalidClientProperty(f"{error}{_named_by(settings, str(error))}") from error


def _named_by(settings: Settings, problem: str) -> str:
    """Where a value stands that cannot be used, if it was not typed."""
    for name, value in {
        str(settings.bootstrap_servers.text): settings.bootstrap_servers,
        **settings.kafka_properties,
    }.items():
        if value.place in (Place.VARIABLE, Place.FILE) and name in problem:
            return f" ({value.origin})"
    return ""


class _Patience:
    """Says, once, why a command takes so long."""

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._first: float | None = None
        self._has_said = False

    def __call__(self, reason: str) -> None:
        now = monotonic()
        if self._first is None:
            self._first = now
        if not self._has_said and now - self._first > _PATIENCE_SECONDS:
            self._has_said = True
            say(f"Still trying, for up to {self._timeout_ms / 1000:g} s (default.api.timeout.ms): {reason}")
