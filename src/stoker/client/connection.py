"""One connection to one broker: a request goes out, its response comes back."""

import time
from collections.abc import Callable
from socket import socket
from struct import Struct as Layout
from typing import Final, TypeVar

from stoker import __version__
from stoker.client.address import Address
from stoker.client.errors import ConnectionLost, NotKafka, RequestTimedOut, UnsupportedByBroker, raise_if_refused
from stoker.client.transport import open_transport
from stoker.errors import MalformedMessage, UnencodableMessage
from stoker.wire.error_codes import ErrorCode
from stoker.wire.frames import RequestHeader, decode_response_header, encode_request_header
from stoker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from stoker.wire.schema import Request, Response

MAX_RESPONSE_BYTES: Final = 100 * 1024 * 1024
_CHUNK: Final = 1024 * 1024
_LENGTH: Final = Layout(">i")
_ERROR_CODE: Final = Layout(">h")
_SOFTWARE: Final = "stoker"
_UNSUPPORTED: Final = int(ErrorCode.UNSUPPORTED_VERSION)

R = TypeVar("R", bound=Response)


class Connection:
    """A connection whose broker has told which APIs it has. After any error of `send` it is closed."""

    def __init__(self, address: Address, stream: socket, client_id: str, clock: Callable[[], float]) -> None:
        self.address = address
        self._stream = stream
        self._client_id = client_id
        self._clock = clock
        self._correlation_id = 0
        self._offered: dict[int, tuple[int, int]] = {}
        self.is_open = True

    @classmethod
    def open(
        cls,
        address: Address,
        *,
        client_id: str,
        security_protocol: str,
        timeout: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> "Connection":
        """Connect, and agree on versions. Raises ClientError."""
        connection = cls(address, open_transport(address, security_protocol, timeout), client_id, clock)
        try:
            connection._negotiate(timeout)
        except BaseException:
            connection.close()
            raise
        return connection

    def send(self, request: Request, response: type[R], *, timeout: float, up_to: int | None = None) -> R:
        """The broker's answer, in the highest version that both speak (and no later one than `up_to`).

        Raises ConnectionLost, RequestTimedOut, NotKafka, UnsupportedByBroker.
        """
        version = self._common_version(type(request), up_to)
        try:
            frame = self._exchange(request, version, timeout)
        except UnencodableMessage as error:
            if version == self._highest_version(type(request), up_to):
                raise
            raise UnsupportedByBroker(f"the broker at {self.address} is too old for this request: {error}") from None
        return self._decode(frame, response, version)

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self._stream.close()

    def _negotiate(self, timeout: float) -> None:
        request = ApiVersionsRequest(client_software_name=_SOFTWARE, client_software_version=__version__)
        version = ApiVersionsRequest.MAX_VERSION
        frame = self._exchange(request, version, timeout)
        if _error_code(frame) == _UNSUPPORTED:  # answered in version 0, with what the broker does speak (KIP-511)
            offered = {api.api_key: api.max_version for api in self._decode(frame, ApiVersionsResponse, 0).api_keys}
            version = min(version, offered.get(ApiVersionsRequest.API_KEY, 0))
            frame = self._exchange(request, version, timeout)
        answer = self._decode(frame, ApiVersionsResponse, version)
        raise_if_refused(answer.error_code)
        self._offered = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}

    def _common_version(self, request: type[Request], up_to: int | None) -> int:
        name = request.__name__.removesuffix("Request")
        offered = self._offered.get(request.API_KEY)
        if offered is None:
            raise UnsupportedByBroker(f"the broker at {self.address} has no {name} API")
        highest = self._highest_version(request, up_to)
        version = min(highest, offered[1])
        if version < max(request.MIN_VERSION, offered[0]):
            raise UnsupportedByBroker(
                f"the broker at {self.address} speaks {name} {offered[0]}-{offered[1]}, this needs "
                f"{request.MIN_VERSION}-{highest}"
            )
        return version

    @staticmethod
    def _highest_version(request: type[Request], up_to: int | None) -> int:
        return request.MAX_VERSION if up_to is None else up_to

    def _exchange(self, request: Request, version: int, timeout: float) -> bytearray:
        """Send, and give the frame that answers: its correlation id is checked, its body is not decoded."""
        self._correlation_id += 1
        header = RequestHeader(request.API_KEY, version, self._correlation_id, self._client_id)
        out = bytearray(_LENGTH.size)
        out += encode_request_header(header)
        request.encode_into(out, version)
        _LENGTH.pack_into(out, 0, len(out) - _LENGTH.size)
        deadline = self._clock() + timeout
        try:
            self._stream.settimeout(timeout)
            self._stream.sendall(out)
            (length,) = _LENGTH.unpack(self._receive(_LENGTH.size, deadline))
            if not _LENGTH.size <= length <= MAX_RESPONSE_BYTES:
                raise NotKafka(str(self.address), f"it announced a response of {length} bytes")
            frame = self._receive(length, deadline)
        except TimeoutError:
            self.close()
            name = type(request).__name__.removesuffix("Request")
            raise RequestTimedOut(str(self.address), name, timeout) from None
        except OSError as error:
            self.close()
            raise ConnectionLost(str(self.address), error.strerror or str(error)) from None
        except BaseException:
            self.close()
            raise
        return frame

    def _receive(self, count: int, deadline: float) -> bytearray:
        """Exactly so many bytes; memory grows with what has come, not with what was announced."""
        received = bytearray()
        while len(received) < count:
            left = deadline - self._clock()
            if left <= 0:
                raise TimeoutError
            self._stream.settimeout(left)
            piece = self._stream.recv(min(count - len(received), _CHUNK))
            if not piece:
                raise ConnectionLost(str(self.address), "the broker closed it")
            received += piece
        return received

    def _decode(self, frame: bytearray, response: type[R], version: int) -> R:
        try:
            correlation_id, position = decode_response_header(frame, response.API_KEY, version)
            if correlation_id != self._correlation_id:
                raise MalformedMessage(f"correlation id {correlation_id} in place of {self._correlation_id}")
            return response.decode(frame, position, version)
        except MalformedMessage as error:
            self.close()
            raise NotKafka(str(self.address), str(error)) from None


def _error_code(api_versions_frame: bytearray) -> int:
    position = _LENGTH.size  # behind the correlation id: this response has header version 0 in every version
    if len(api_versions_frame) < position + _ERROR_CODE.size:
        return 0
    return int(_ERROR_CODE.unpack_from(api_versions_frame, position)[0])
