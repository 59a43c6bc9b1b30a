"""What client and broker say to each other in a login by name and password: PLAIN (RFC 4616) and SCRAM (RFC 5802, RFC 7677).

An exchange is a generator: it yields what is to be sent, and is sent what the broker answers.
"""

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable, Generator
from secrets import token_urlsafe
from typing import Final

from stoker.client.security import Login

Exchange = Generator[bytes, bytes, None]

_NONCE_BYTES: Final = 24
_WITHOUT_BINDING: Final = "n,,"
_FEWEST_ITERATIONS: Final = 4096
_MOST_ITERATIONS: Final = 1_000_000
"""About a second; Kafka's brokers have at most 16,384."""


class NotBelieved(Exception):
    """The broker does not prove that it knows the password, or says what makes no sense; the message tells of it."""


def exchange(login: Login, draw_nonce: Callable[[int], str] = token_urlsafe) -> Exchange:
    """Raises NotBelieved."""
    if login.mechanism == "PLAIN":
        return _plain(login)
    return _scram(login, login.mechanism.removeprefix("SCRAM-").replace("-", "").lower(), draw_nonce(_NONCE_BYTES))


def _plain(login: Login) -> Exchange:
    yield f"\0{login.username}\0{login.password}".encode()


def _scram(login: Login, algorithm: str, nonce: str) -> Exchange:
    def keyed(key: bytes, message: str) -> bytes:
        return hmac.digest(key, message.encode(), algorithm)

    name = login.username.replace("=", "=3D").replace(",", "=2C")
    first = f"n={name},r={nonce}"
    challenge = (yield f"{_WITHOUT_BINDING}{first}".encode()).decode(errors="replace")
    theirs, salt, iterations = _read_challenge(challenge, nonce)
    salted = hashlib.pbkdf2_hmac(algorithm, login.password.encode(), salt, iterations)
    final = f"c={_base64(_WITHOUT_BINDING.encode())},r={theirs}"
    signed = f"{first},{challenge},{final}"
    client_key = keyed(salted, "Client Key")
    proof = _xor(client_key, keyed(hashlib.new(algorithm, client_key).digest(), signed))
    answer = _attributes((yield f"{final},p={_base64(proof)}".encode()).decode(errors="replace"))
    if "e" in answer:
        raise NotBelieved(f"the login is refused: {answer['e']}")
    expected = _base64(keyed(keyed(salted, "Server Key"), signed))
    if not hmac.compare_digest(answer.get("v", "").encode(), expected.encode()):
        raise NotBelieved("it does not know the password of this user")


def _read_challenge(text: str, nonce: str) -> tuple[str, bytes, int]:
    """The nonce of both, the salt and the iterations."""
    told = _attributes(text)
    theirs, iterations = told.get("r", ""), told.get("i", "")
    try:
        salt = b64decode(told.get("s", ""), validate=True)
    except ValueError:  # it is no base64, or not even ASCII
        salt = b""
    if not (theirs.startswith(nonce) and len(theirs) > len(nonce) and salt and iterations.isdecimal()):
        raise NotBelieved("its challenge is none of SCRAM")
    if len(iterations) > len(str(_MOST_ITERATIONS)) or not _FEWEST_ITERATIONS <= int(iterations) <= _MOST_ITERATIONS:
        raise NotBelieved(
            f"it wants {iterations[:20]} iterations, and {_FEWEST_ITERATIONS} to {_MOST_ITERATIONS} are done"
        )
    return theirs, salt, int(iterations)


def _attributes(text: str) -> dict[str, str]:
    return {name: value for name, _, value in (part.partition("=") for part in text.split(","))}


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(left ^ right for left, right in zip(one, other, strict=True))
