"""`listeners` and `advertised.listeners`: from `PLAINTEXT://host:port` to what a server can bind and a client can be told."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from stoker.broker.config.errors import ConfigError, InvalidConfig

PLAINTEXT = "PLAINTEXT"
SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SERVED_PROTOCOLS = (PLAINTEXT,)
"""The security protocols Stoker serves so far."""

_LISTENER = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
_COMMA = re.compile(r"\s*,\s*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Listener:
    """One address. An empty `host` means every interface, and to clients the name of this machine; port 0 means a free port."""

    name: str
    security_protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def listener_at(address: str) -> str:
    """`HOST:PORT` as a value of `listeners`. Raises ConfigError.

    Kafka writes every interface as no host at all, and refuses to tell clients of 0.0.0.0.
    """
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise ConfigError(f"Cannot listen on {address}: the form is HOST:PORT, such as 127.0.0.1:9092 or :9092")
    return f"{PLAINTEXT}://{'' if host in ('0.0.0.0', '*') else host}:{port}"


def parse_map(name: str, text: str) -> dict[str, str]:
    """`a:1,b:2` as a mapping. The last colon counts, so that an IPv6 address may be a key."""
    entries: dict[str, str] = {}
    for entry in _COMMA.split(text.strip()) if text.strip() else ():
        key, colon, value = entry.rpartition(":")
        if not colon:
            reason = f"entry '{entry}' is not of the form key:value"
            raise InvalidConfig(name, text, reason, message=f"Error parsing configuration property '{name}': {reason}")
        entries[key.strip()] = value.strip()
    return entries


def parse_protocol_map(text: str) -> dict[str, str]:
    """`listener.security.protocol.map`, its names in capitals."""
    setting = "listener.security.protocol.map"
    protocols = {listener.upper(): protocol.upper() for listener, protocol in parse_map(setting, text).items()}
    for protocol in protocols.values():
        if protocol not in SECURITY_PROTOCOLS:
            reason = f"the security protocols are {', '.join(SECURITY_PROTOCOLS)}"
            message = f"Invalid security protocol `{protocol}` defined in {setting}: {reason}"
            raise InvalidConfig(setting, text, reason, message=message)
    return protocols


def parse_listeners(
    setting: str, entries: tuple[str, ...], protocols: Mapping[str, str], *, distinct_ports: bool
) -> tuple[Listener, ...]:
    """The addresses of `entries`; raises InvalidConfig as Kafka does for what cannot be listened on together."""
    written = f"[{', '.join(entries)}]"

    def refused(reason: str) -> InvalidConfig:
        message = f"Error creating broker listeners from '{written}': {reason}"
        return InvalidConfig(setting, ",".join(entries), reason, message=message)

    listeners: list[Listener] = []
    for entry in entries:
        match = _LISTENER.fullmatch(entry)
        if match is None:
            raise refused(f"Unable to parse {entry} to a broker endpoint (the form is NAME://host:port)")
        name, host, port = match.group(1).upper(), match.group(2), int(match.group(3))
        if name not in protocols:
            known = ", ".join(protocols)
            raise refused(
                f"No security protocol defined for listener {name}; listener.security.protocol.map knows {known}"
            )
        if not 0 <= port <= 65535:
            raise refused(f"port {port} of listener {name} is not between 0 and 65535")
        listeners.append(Listener(name=name, security_protocol=protocols[name], host=host, port=port))
    if len({listener.name for listener in listeners}) != len(listeners):
        raise refused(f"Each listener must have a different name, listeners: {written}")
    if distinct_ports:
        for port in {listener.port for listener in listeners if listener.port != 0}:
            sharing = [listener for listener in listeners if listener.port == port]
            if len(sharing) > 1 and sorted(map(_ip_version, sharing)) != [4, 6]:
                raise refused(
                    "Each listener must have a different port unless one has an IPv4 address and the other an IPv6 "
                    f"address, listeners: {written}, port: {port}"
                )
    return tuple(listeners)


def _ip_version(listener: Listener) -> int:
    """4 or 6; 0 for a host name or every interface."""
    import ipaddress  # slow to import, and seldom needed

    try:
        return ipaddress.ip_address(listener.host).version
    except ValueError:
        return 0
