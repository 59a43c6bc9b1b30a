"""Where brokers are: `localhost:9092,[::1]:9093`."""

from typing import NamedTuple

from stoker.client.errors import InvalidClientProperty

DEFAULT_PORT = 9092


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_addresses(text: str) -> tuple[Address, ...]:
    """The addresses of a `bootstrap.servers`; a port that is left out is 9092."""
    addresses = tuple(_parse(part.strip()) for part in text.split(",") if part.strip())
    if not addresses:
        raise InvalidClientProperty(
            "bootstrap.servers is empty: it takes host:port, or more of them with commas between"
        )
    return addresses


def _parse(text: str) -> Address:
    _, _, rest = text.rpartition("://")  # Kafka takes, and ignores, a protocol in front
    if rest.startswith("["):
        host, bracket, port = rest[1:].partition("]")
        well_formed = bool(bracket) and (not port or port.startswith(":"))
        port = port.removeprefix(":")
    else:
        host, _, port = rest.partition(":")
        well_formed = True
    if not (host and well_formed and (not port or (port.isdecimal() and 0 < int(port) < 65536))):
        raise InvalidClientProperty(f"{text!r} in bootstrap.servers is no address: the form is host:port")
    return Address(host, int(port) if port else DEFAULT_PORT)
