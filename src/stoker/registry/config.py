"""The settings of a registry, by the names they have in Confluent's schema-registry.properties."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from stoker.client.properties import text_of
from stoker.client.security import PROTOCOLS
from stoker.errors import MalformedProperties, StokerError
from stoker.properties import read_properties
from stoker.registry.errors import RegistryError
from stoker.registry.settings import Level, parse_level
from stoker.settings.alternatives import overlaid

_STORE: Final = "kafkastore."
BOOTSTRAP_SERVERS: Final = "kafkastore.bootstrap.servers"
_PROTOCOL: Final = "kafkastore.security.protocol"
HANDED_ON: Final = ("security.", "sasl.", "ssl.", "enable.ssl.", "client.")
"""How the properties begin that its Kafka client is given."""
_OTHER_NAMES: Final = {
    "avro.compatibility.level": "schema.compatibility.level",
    "master.eligibility": "leader.eligibility",
    "kafkastore.group.id": "schema.registry.group.id",
}
"""Older names, which still stand in many files."""


class InvalidRegistryConfig(StokerError):
    """A setting that cannot be used; the message names it."""


class Listener(NamedTuple):
    """An empty host is every interface; port 0 is a free one."""

    host: str
    port: int


@dataclass(frozen=True, kw_only=True)
class RegistryConfig:
    bootstrap_servers: str
    topic: str
    group_id: str
    listener: Listener
    advertised_url: str | None
    """Where other instances reach this one; None is found out."""
    is_eligible: bool
    default_level: Level
    session_timeout_ms: int
    write_timeout_ms: int
    start_timeout_ms: int
    auth_file: Path | None
    is_read_only: bool
    client_properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """`kafkastore.security.protocol` and the like, without the prefix."""


class Setting(NamedTuple):
    attribute: str
    default: str
    read: Callable[[str], Any]
    explanation: str


def load_registry_config(
    path: Path | None,
    overrides: Mapping[str, str],
    defaults: Callable[[str | None], Mapping[str, str]] | None = None,
) -> tuple[RegistryConfig, list[str]]:
    """The settings of the file, the overrides being stronger; and the given names that change nothing.

    `defaults` tells what counts where these say nothing; it is given the cluster that they name, if any. Raises
    InvalidRegistryConfig.
    """
    given: dict[str, str] = {}
    if path is not None:
        try:
            given = {each.name: text_of(each) for each in read_properties(path)}
        except OSError as error:
            raise InvalidRegistryConfig(f"--config {path} cannot be read: {error.strerror}") from error
        except MalformedProperties as error:
            raise InvalidRegistryConfig(f"{path} {error}") from error
    given = {_OTHER_NAMES.get(name, name): value for name, value in overlaid(given, overrides, _STORE).items()}
    if defaults is not None:
        given = overlaid(defaults(given.get(BOOTSTRAP_SERVERS)), given, _STORE)
    _check_protocols(given)
    values: dict[str, Any] = {}
    for name, setting in SETTINGS.items():
        text = given.pop(name, setting.default)
        try:
            values[setting.attribute] = setting.read(text)
        except (ValueError, RegistryError) as problem:
            raise InvalidRegistryConfig(f"{name}={text}: {problem}") from None
    host_name = given.pop("host.name", None)
    if host_name is not None and values["advertised_url"] is None:
        values["advertised_url"] = f"http://{host_name}:{values['listener'].port}"
    handed_on = {
        name.removeprefix(_STORE): given.pop(name)
        for name in list(given)
        if name.startswith(tuple(_STORE + each for each in HANDED_ON))
    }
    return RegistryConfig(**values, client_properties=handed_on), sorted(given)


def _check_protocols(given: Mapping[str, str]) -> None:
    """Who writes SASL_SSL:// in front of an address means it. Raises InvalidRegistryConfig."""
    protocol = given.get(_PROTOCOL, PROTOCOLS[0]).strip().upper()
    for address in given.get(BOOTSTRAP_SERVERS, "").split(","):
        scheme = address.strip().rpartition("://")[0].upper()
        if scheme in PROTOCOLS[1:] and scheme != protocol:
            raise InvalidRegistryConfig(
                f"{BOOTSTRAP_SERVERS}={address.strip()}, but {_PROTOCOL} is {protocol}: set it to {scheme}, or take that out"
            )


def parse_options(arguments: Iterable[str]) -> dict[str, str]:
    """`-o key=value` as often as given; the last of a name counts. Raises InvalidRegistryConfig."""
    options: dict[str, str] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or not name.strip():
            raise InvalidRegistryConfig(f"-o {argument}: the form is key=value, such as -o kafkastore.topic=_schemas")
        options[name.strip()] = value.strip()
    return options


def _listener(text: str) -> Listener:
    parts = urlsplit(text if "://" in text else f"http://{text}")
    if "," in text:
        raise ValueError("one listener is served, not several")
    if parts.scheme.lower() != "http":
        raise ValueError(f"{parts.scheme} is not served: put a proxy in front that ends TLS, and listen on http")
    if parts.port is None or parts.path not in ("", "/"):
        raise ValueError("the form is http://HOST:PORT or HOST:PORT, such as http://0.0.0.0:8081")
    host = parts.hostname or ""
    return Listener("" if host in ("0.0.0.0", "::") else host, parts.port)


def _url(text: str) -> str | None:
    if not text:
        return None
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port is None or parts.path not in ("", "/"):
        raise ValueError("the form is http://HOST:PORT")
    return text.rstrip("/")


def _bootstrap_servers(text: str) -> str:
    """Confluent's takes Kafka's listeners, PLAINTEXT://host:port."""
    return ",".join(each.strip().rpartition("://")[2] for each in text.split(","))


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("it is true or false")
    return text.lower() == "true"


def _milliseconds(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 0 < int(text[:10]) < 2**31:
        raise ValueError("it is a number of milliseconds from 1 to 2147483647")
    return int(text)


def _name(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    return text


def _file(text: str) -> Path | None:
    return Path(text) if text else None


SETTINGS: Final = {
    BOOTSTRAP_SERVERS: Setting(
        "bootstrap_servers", "localhost:9092", _bootstrap_servers, "the cluster that the schemas are kept in"
    ),
    "kafkastore.topic": Setting("topic", "_schemas", _name, "the topic that they are kept in"),
    "schema.registry.group.id": Setting(
        "group_id", "schema-registry", _name, "the group in which instances elect the one that takes the writes"
    ),
    "listeners": Setting("listener", "http://0.0.0.0:8081", _listener, "the address that is served"),
    "advertised.url": Setting(
        "advertised_url",
        "",
        _url,
        "where other instances reach this one; if it is not set, `host.name` and the port, or the address from which "
        "the cluster is reached",
    ),
    "leader.eligibility": Setting("is_eligible", "true", _boolean, "whether this instance may be elected"),
    "schema.compatibility.level": Setting(
        "default_level", "backward", parse_level, "the level of subjects for which none is set"
    ),
    "kafkastore.session.timeout.ms": Setting(
        "session_timeout_ms", "10000", _milliseconds, "after this time without a sign of life another one is elected"
    ),
    "kafkastore.timeout.ms": Setting(
        "write_timeout_ms", "30000", _milliseconds, "after this time a write that is not confirmed is given up"
    ),
    "kafkastore.init.timeout.ms": Setting(
        "start_timeout_ms", "60000", _milliseconds, "for this time the cluster is waited for at start"
    ),
    "authentication.file": Setting(
        "auth_file", "", _file, "users and bcrypt hashes, as `htpasswd -B` writes them; without it everybody is let in"
    ),
    "read.only": Setting("is_read_only", "false", _boolean, "whether every write is refused, and none handed on"),
}
