"""A login on a connection that was just opened: SaslHandshake, and SaslAuthenticate as often as the mechanism wants."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from stoker.client.errors import KafkaRefused, NotTrusted, raise_if_refused
from stoker.client.sasl import NotBelieved, exchange
from stoker.client.security import Login
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from stoker.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from stoker.client.connection import Connection


def log_in(connection: "Connection", login: Login, seconds_left: Callable[[], float]) -> float | None:
    """For how many seconds it holds (KIP-368), or None if for ever.

    Raises KafkaRefused if the broker does not believe the client, and NotTrusted if it cannot be believed itself.
    """
    shaken = connection.send(
        SaslHandshakeRequest(mechanism=login.mechanism), SaslHandshakeResponse, timeout=seconds_left()
    )
    if shaken.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        there = ", ".join(shaken.mechanisms) or "none"
        raise KafkaRefused(
            shaken.error_code, f"{connection.address} has no sasl.mechanism {login.mechanism}: it has {there}"
        )
    raise_if_refused(shaken.error_code)
    messages = exchange(login)
    message = next(messages)
    while True:
        answer = connection.send(
            SaslAuthenticateRequest(auth_bytes=message), SaslAuthenticateResponse, timeout=seconds_left()
        )
        raise_if_refused(answer.error_code, answer.error_message)
        try:
            message = messages.send(answer.auth_bytes)
        except StopIteration:
            return answer.session_lifetime_ms / 1000 if answer.session_lifetime_ms > 0 else None
        except NotBelieved as error:
            raise NotTrusted(str(connection.address), str(error)) from None
