"""The headers in front of every request and response body. The four bytes of length before them are the connection's.

Request headers: version 1 is key, version, correlation id, client id; version 2 appends tagged fields. Response headers:
version 0 is the correlation id; version 1 appends tagged fields. Flexible versions of an API have the later ones, with two
exceptions: the client id never has a compact length, and the response to ApiVersions always has header version 0, because
its sender does not know yet what the receiver understands (KIP-511).
"""

from struct import Struct as Layout
from struct import error as struct_error
from typing import NamedTuple

from stoker.errors import MalformedMessage
from stoker.wire.api_keys import FIRST_FLEXIBLE_VERSIONS, ApiKey
from stoker.wire.primitives import Refused, skip_tagged_fields
from stoker.wire.schema import Buffer

_REQUEST = Layout(">hhih")
_CORRELATION_ID = Layout(">i")
_NOT_FLEXIBLE = 32768


class RequestHeader(NamedTuple):
    """Who asks what. `client_id` is None if the client did not say."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None = None


def is_flexible(api_key: int, api_version: int) -> bool:
    """Whether headers and body of this version have tagged fields; an API that Kafka does not have never has."""
    return api_version >= FIRST_FLEXIBLE_VERSIONS.get(api_key, _NOT_FLEXIBLE)


def decode_request_header(view: Buffer, position: int = 0) -> tuple[RequestHeader, int]:
    """The header, and the position of the body. An unknown API is no error here: the caller decides.

    Raises only MalformedMessage.
    """
    try:
        api_key, api_version, correlation_id, length = _REQUEST.unpack_from(view, position)
        position += 10
        if length >= 0:
            stop = position + length
            if stop > len(view):
                raise Refused(f"client id takes {length} bytes, {len(view) - position} are left")
            client_id = str(view[position:stop], "utf-8")
            position = stop
        elif length == -1:
            client_id = None
        else:
            raise Refused(f"client id has length {length}")
        if api_version >= FIRST_FLEXIBLE_VERSIONS.get(api_key, _NOT_FLEXIBLE):
            count = view[position]
            position += 1
            if count:
                position = skip_tagged_fields(view, position, count)
    except Refused as refused:
        raise MalformedMessage(f"request header: {refused}") from None
    except UnicodeDecodeError:
        raise MalformedMessage("request header: client id is not UTF-8") from None
    except (struct_error, IndexError):
        raise MalformedMessage(f"request header: ends too early, after {len(view)} bytes") from None
    return RequestHeader(api_key, api_version, correlation_id, client_id), position


def encode_request_header(header: RequestHeader) -> bytes:
    """The bytes of the header, in the version that its API and version call for."""
    api_key, api_version, correlation_id, client_id = header
    client = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(client)
    tagged_fields = b"\0" if is_flexible(api_key, api_version) else b""
    return _REQUEST.pack(api_key, api_version, correlation_id, length) + client + tagged_fields


def response_header(api_key: int, api_version: int, correlation_id: int) -> bytes:
    """The header of a response to such a request."""
    if _response_is_flexible(api_key, api_version):
        return _CORRELATION_ID.pack(correlation_id) + b"\0"
    return _CORRELATION_ID.pack(correlation_id)


def decode_response_header(view: Buffer, api_key: int, api_version: int, position: int = 0) -> tuple[int, int]:
    """The correlation id, and the position of the body. Raises only MalformedMessage."""
    try:
        (correlation_id,) = _CORRELATION_ID.unpack_from(view, position)
        position += 4
        if _response_is_flexible(api_key, api_version):
            count = view[position]
            position = skip_tagged_fields(view, position + 1, count)
    except Refused as refused:
        raise MalformedMessage(f"response header: {refused}") from None
    except (struct_error, IndexError):
        raise MalformedMessage(f"response header: ends too early, after {len(view)} bytes") from None
    return correlation_id, position


def _response_is_flexible(api_key: int, api_version: int) -> bool:
    return api_key != ApiKey.API_VERSIONS and is_flexible(api_key, api_version)
