"""Ports for servers that must be told theirs: a broker that comes back must be found where it was."""

import random
import socket
from typing import Final

_RANGE: Final = range(20_000, 32_000)
"""Below the ports that operating systems hand out by themselves, so that no client that connects meanwhile takes one."""

_chance = random.SystemRandom()
_drawn: set[int] = set()


def free_port() -> int:
    """A port that nobody listens on now; never the same twice, and by chance, so that other test processes draw others."""
    while True:
        port = _chance.choice(_RANGE)
        if port not in _drawn and _is_free(port):
            _drawn.add(port)
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
