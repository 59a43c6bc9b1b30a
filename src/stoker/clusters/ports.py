"""Ports of 127.0.0.1: which are free, and which are good for a server that comes back to them."""

import random
import socket
from collections.abc import Collection
from typing import Final

HOST: Final = "127.0.0.1"
HIGHEST_PORT: Final = 65_535
_RANGE: Final = range(20_000, 32_000)
"""Below the ports that operating systems hand out by themselves, so that no client takes one while its server is down."""


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((HOST, port))
        except OSError:
            return False
        return True


def draw_ports(count: int) -> int:
    """The first of so many free ports in a row."""
    chance = random.SystemRandom()
    while True:
        first = chance.randrange(_RANGE.start, _RANGE.stop - count)
        if all(map(is_free, range(first, first + count))):
            return first


def draw_port(taken: Collection[int] = ()) -> int:
    """A free port, none of `taken`; by chance, so that two who draw at once draw different ones."""
    chance = random.SystemRandom()
    while True:
        port = chance.choice(_RANGE)
        if port not in taken and is_free(port):
            return port
