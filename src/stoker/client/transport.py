"""The byte stream under a connection. TLS and SASL belong here: they wrap the socket before the first request."""

import socket

from stoker.client.address import Address
from stoker.client.errors import CannotConnect, InvalidClientProperty
from stoker.client.properties import PLAINTEXT


def open_transport(address: Address, security_protocol: str, timeout: float) -> socket.socket:
    """A connected socket. Raises CannotConnect and, for a protocol that is not spoken yet, InvalidClientProperty."""
    if security_protocol != PLAINTEXT:
        raise InvalidClientProperty(
            f"security.protocol={security_protocol} is not supported yet: this client speaks {PLAINTEXT}, without TLS and SASL"
        )
    try:
        stream = socket.create_connection(address, timeout)
    except TimeoutError:
        raise CannotConnect(str(address), f"no answer in {timeout:g} s") from None
    except OSError as error:  # also a name that is not known
        raise CannotConnect(str(address), error.strerror or str(error)) from None
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return stream
