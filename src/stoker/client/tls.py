"""TLS under a connection: whose certificates are believed, and which one is the client's own."""

import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from tempfile import NamedTemporaryFile
from typing import Final

from stoker.client.address import Address
from stoker.client.errors import CannotConnect, InvalidClientProperty, NotTrusted
from stoker.client.security import Tls
from stoker.client.transport import is_about_certificates
from stoker.settings.alternatives import PROBED

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


def wrap(stream: socket.socket, tls: Tls, address: Address) -> ssl.SSLSocket:
    """The same stream, encrypted. Raises InvalidClientProperty, NotTrusted, CannotConnect and OSError; then the stream is closed."""
    try:
        return _context(tls, _stamps(tls)).wrap_socket(stream, server_hostname=address.host)
    except ssl.SSLCertVerificationError as error:
        raise NotTrusted(
            str(address), f"its certificate: {error.verify_message} (ssl.truststore.location names whose are believed)"
        ) from None
    except ssl.SSLError as error:
        if is_about_certificates(error):
            raise NotTrusted(str(address), f"the certificate of this client: {error}") from None
        reason = (
            f"no TLS ({error.reason or error}): its listener may have none, or no version or cipher that is taken here, or "
            "want a certificate of this client"
        )
        raise CannotConnect(str(address), reason) from None
    finally:
        stream.close()  # what is encrypted has a socket of its own


def _stamps(tls: Tls) -> tuple[tuple[int, int, int] | None, ...]:
    """By which it is seen that a file is another one: certificates are renewed while programs run."""

    def stamp(path: str) -> tuple[int, int, int] | None:
        try:
            found = os.stat(path)
        except (OSError, ValueError):  # who reads it will tell
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    return tuple(stamp(path) for path in (tls.authorities_file, tls.certificate_file, tls.key_file) if path)


@lru_cache(maxsize=8)
def _context(tls: Tls, _stamps: tuple[tuple[int, int, int] | None, ...]) -> ssl.SSLContext:
    """Raises InvalidClientProperty."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version, context.maximum_version = _VERSIONS[tls.versions[0]], _VERSIONS[tls.versions[-1]]
    context.check_hostname = tls.checks_certificate and tls.checks_host
    context.verify_mode = ssl.CERT_REQUIRED if tls.checks_certificate else ssl.CERT_NONE
    try:
        if tls.authorities_file in ("", PROBED) and not tls.authorities:
            context.load_default_certs()
        elif os.path.isdir(tls.authorities_file):
            context.load_verify_locations(capath=tls.authorities_file)
        else:
            context.load_verify_locations(tls.authorities_file or None, cadata=tls.authorities or None)
    except (OSError, ValueError, TypeError) as error:  # Python looks at texts before OpenSSL does
        raise _unusable("the certificates to trust", tls.authorities_file, error) from error
    try:
        _load_own(context, tls)
    except (OSError, ValueError, TypeError) as error:
        raise _unusable("the certificate and the key of this client", tls.certificate_file, error) from error
    if tls.ciphers:
        try:
            context.set_ciphers(tls.ciphers)
        except ssl.SSLError as error:
            raise InvalidClientProperty(
                f"ssl.cipher.suites={tls.ciphers} cannot be used: OpenSSL's names are taken, such as ECDHE+AESGCM"
            ) from error
    return context


def _load_own(context: ssl.SSLContext, tls: Tls) -> None:
    with _file(tls.certificate_file, tls.certificate) as certificate, _file(tls.key_file, tls.key) as key:
        if certificate or key:
            # Without a password in hand OpenSSL would ask for one at the terminal.
            context.load_cert_chain(certificate or key, key or None, password=lambda: tls.key_password)


@contextmanager
def _file(path: str, text: str) -> Iterator[str]:
    """OpenSSL wants files. What is given as text is to be on no disk: it is in memory, where there are such files."""
    if path or not text:
        yield path
    elif hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("pem"), "w") as memory:
            memory.write(text)
            memory.flush()
            yield f"/proc/self/fd/{memory.fileno()}"
    else:
        with NamedTemporaryFile("w") as file:
            file.write(text)
            file.flush()
            yield file.name


def _unusable(what: str, path: str, error: Exception) -> InvalidClientProperty:
    place = f" in {path}" if path else ""
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
        return InvalidClientProperty(f"{what}{place} cannot be read: {error.strerror or error}")
    return InvalidClientProperty(
        f"{what}{place} cannot be used: PEM is read here, with ssl.key.password where a key has one "
        f"({getattr(error, 'reason', None) or error})"
    )
