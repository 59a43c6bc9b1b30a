"""The byte stream under a connection, with TLS or without."""

import socket
from typing import TYPE_CHECKING

from stoker.client.address import Address
from stoker.client.errors import CannotConnect

if TYPE_CHECKING:
    from stoker.client.security import Tls


def open_transport(address: Address, tls: "Tls | None", timeout: float) -> socket.socket:
    """A connected socket. Raises CannotConnect and NotTrusted, and InvalidClientProperty for certificates that cannot be used."""
    try:
        stream = socket.create_connection(address, timeout)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is None:
            return stream
        from stoker.client.tls import wrap

        return wrap(stream, tls, address)
    except TimeoutError:
        raise CannotConnect(str(address), f"no answer in {timeout:g} s") from None
    except OSError as error:  # also a name that is not known
        raise CannotConnect(str(address), error.strerror or str(error)) from None
