"""What is refused before the registry is asked: paths, methods, media types, bodies, credentials.

RegistryError
└── Refusal                 any 4xx of HTTP itself, with the message that Confluent's registry has for it
"""

from collections.abc import Iterable, Mapping
from http import HTTPStatus

from stoker.registry.errors import RegistryError


class Refusal(RegistryError):
    """`headers` go with the answer."""

    def __init__(
        self, status: HTTPStatus, message: str, *, code: int | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status.value if code is None else code, message)
        self.status = status
        self.headers = headers or {}


def no_such_path() -> Refusal:
    """Also what Jersey answers to a number that is none, in a path or a query."""
    return Refusal(HTTPStatus.NOT_FOUND, "HTTP 404 Not Found")


def method_not_allowed(allowed: Iterable[str]) -> Refusal:
    return Refusal(
        HTTPStatus.METHOD_NOT_ALLOWED, "HTTP 405 Method Not Allowed", headers={"allow": ",".join(sorted(allowed))}
    )


def not_acceptable() -> Refusal:
    return Refusal(HTTPStatus.NOT_ACCEPTABLE, "HTTP 406 Not Acceptable")


def unsupported_media_type() -> Refusal:
    return Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "HTTP 415 Unsupported Media Type")


def bad_request(reason: str) -> Refusal:
    return Refusal(HTTPStatus.BAD_REQUEST, reason)


def too_slow(seconds: float) -> Refusal:
    return Refusal(HTTPStatus.REQUEST_TIMEOUT, f"The request body did not arrive within {seconds:g} seconds")


def body_too_large(limit: int) -> Refusal:
    return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The request body is larger than the limit of {limit} bytes")


def address_too_long(limit: int) -> Refusal:
    return Refusal(HTTPStatus.REQUEST_URI_TOO_LONG, f"The path and query are longer than the limit of {limit} bytes")


def invalid_parameter(reason: str) -> Refusal:
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, reason)


def unauthorized() -> Refusal:
    return Refusal(
        HTTPStatus.UNAUTHORIZED, "Unauthorized", headers={"www-authenticate": 'Basic realm="SchemaRegistry"'}
    )


def forbidden(user: str) -> Refusal:
    return Refusal(HTTPStatus.FORBIDDEN, f"User '{user}' may only read", code=40301)
