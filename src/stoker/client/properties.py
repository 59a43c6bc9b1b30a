"""The properties of a client, by Kafka's names: from a `--command-config` file and from the caller."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stoker.client.address import Address, parse_addresses
from stoker.client.errors import InvalidClientProperty
from stoker.errors import MalformedProperties
from stoker.settings.secrets import is_secret

if TYPE_CHECKING:
    from stoker.properties import Property

BOOTSTRAP_SERVERS: Final = "bootstrap.servers"

_NUMBERS: Final = {
    "request.timeout.ms": 30_000,
    "default.api.timeout.ms": 60_000,
    "retry.backoff.ms": 100,
    "retry.backoff.max.ms": 1_000,
}
_LARGEST: Final = 2**31 - 1
_DIGITS: Final = 18
"""Of which the first are enough to see that a number is too large."""
_ACCEPTED_PREFIXES: Final = ("sasl.", "ssl.", "metric.reporters", "metrics.", "security.")
_ACCEPTED: Final = frozenset(
    [
        "auto.include.jmx.reporter",
        "bootstrap.controllers",
        "client.dns.lookup",
        "connections.max.idle.ms",
        "enable.metrics.push",
        "metadata.max.age.ms",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retries",
        "send.buffer.bytes",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
    ]
)
"""Settings of Kafka's admin client that change nothing here, and are no mistake."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientProperties:
    """`given` is all that was given, by Kafka's names, for whoever hands it on to another client."""

    bootstrap_servers: tuple[Address, ...]
    client_id: str
    request_timeout_ms: int
    """How long one answer may take."""
    default_api_timeout_ms: int
    """How long one call may take, with all its retries."""
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    given: Mapping[str, str] = field(repr=False)

    @property
    def unknown(self) -> list[str]:
        """The given names that Kafka's admin client does not have: its users are told, and it goes on."""
        known = _NUMBERS.keys() | _ACCEPTED | {BOOTSTRAP_SERVERS, "client.id"}
        return sorted(name for name in self.given if name not in known and not name.startswith(_ACCEPTED_PREFIXES))


def client_properties(bootstrap_servers: str | None = None, given: Mapping[str, str] | None = None) -> ClientProperties:
    """Properties from what is given; `bootstrap_servers` is stronger. Raises InvalidClientProperty."""
    given = dict(given or {})
    if bootstrap_servers is not None:
        given[BOOTSTRAP_SERVERS] = bootstrap_servers
    return ClientProperties(
        bootstrap_servers=parse_addresses(given.get(BOOTSTRAP_SERVERS, "")),
        client_id=given.get("client.id", "stoker"),
        request_timeout_ms=_number(given, "request.timeout.ms"),
        default_api_timeout_ms=_number(given, "default.api.timeout.ms"),
        retry_backoff_ms=_number(given, "retry.backoff.ms"),
        retry_backoff_max_ms=_number(given, "retry.backoff.max.ms"),
        given=given,
    )


def read_client_properties(path: Path) -> dict[str, str]:
    """The properties of a file; of a name that comes twice the last counts. Raises InvalidClientProperty."""
    from stoker.properties import read_properties  # most commands are given no file

    try:
        return {each.name: text_of(each) for each in read_properties(path)}
    except OSError as error:
        raise InvalidClientProperty(f"{path} cannot be read: {error.strerror}") from error
    except MalformedProperties as error:
        raise InvalidClientProperty(f"{path} {error}") from error


def text_of(found: "Property") -> str:
    """Its value. A comment behind it is left out, but for secrets, which may hold a #."""
    return (found if is_secret(found.name) else found.without_comment()).value.strip()


def _number(given: Mapping[str, str], name: str) -> int:
    text = given.get(name)
    if text is None:
        return _NUMBERS[name]
    stripped = text.strip()
    if not (stripped.isascii() and stripped.isdecimal() and int(stripped[:_DIGITS]) <= _LARGEST):
        raise InvalidClientProperty(f"{name}={text} is not a number of milliseconds, 0 to {_LARGEST}")
    return int(stripped)
