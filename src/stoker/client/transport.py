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
    except UnicodeError:  # an empty label, or one of more than 63 characters
        raise CannotConnect(str(address), "that can be no host's name") from None


def is_about_certificates(error: OSError) -> bool:
    """Whether the broker wants another certificate of this client: told in the handshake, with TLS 1.3 only to who reads."""
    reason = str(getattr(error, "reason", None))  # of an SSLError
    return "_ALERT_" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason)
