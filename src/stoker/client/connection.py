"""One connection to one broker: a request goes out, its response comes back."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from socket import SHUT_RDWR, socket
from struct import Struct as Layout
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from stoker import __version__
from stoker.client.address import Address
from stoker.client.errors import (
    ConnectionLost,
    NotKafka,
    NotTrusted,
    RequestTimedOut,
    UnsupportedByBroker,
    raise_if_refused,
)
from stoker.client.transport import is_about_certificates, open_transport
from stoker.errors import MalformedMessage, UnencodableMessage
from stoker.wire.error_codes import ErrorCode
from stoker.wire.frames import RequestHeader, decode_response_header, encode_request_header
from stoker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from stoker.wire.schema import Buffer, Request, Response

MAX_RESPONSE_BYTES: Final = 100 * 1024 * 1024
_MAX_BYTES_OF_STRANGERS: Final = 1024 * 1024
"""Until versions are agreed on, and the broker has shown who it is."""
_CHUNK: Final = 1024 * 1024
_SMALL: Final = 64 * 1024
_LENGTH: Final = Layout(">i")
_ERROR_CODE: Final = Layout(">h")
_TLS_ALERT: Final = 0x1503
"""Its type and the first byte of its version, where a length should be."""
_SHORTEST_WAIT_SECONDS: Final = 0.001
"""In which what has come is taken, and what is small is sent; in none at all TLS would do neither."""
_RENEWED_AFTER: Final = 0.85
"""Of the time for which a login holds: as by Kafka's clients."""
_SOFTWARE: Final = "stoker"
_UNSUPPORTED: Final = int(ErrorCode.UNSUPPORTED_VERSION)

if TYPE_CHECKING:
    from stoker.client.security import Security

R = TypeVar("R", bound=Response)

Place = Callable[[int], memoryview]
"""Gives room for an answer of so many bytes."""


class Posted(NamedTuple):
    """A request whose answer is yet to come."""

    name: str
    version: int
    correlation_id: int
    timeout: float
    deadline: float


class Connection:
    """A connection whose broker has told which APIs it has. After any error of `send` it is closed."""

    def __init__(self, address: Address, stream: socket, client_id: str, clock: Callable[[], float]) -> None:
        self.address = address
        self._stream = stream
        self._client_id = client_id
        self._clock = clock
        self._correlation_id = 0
        self._unanswered: deque[int] = deque()
        self._unclaimed: dict[int, Buffer] = {}
        self.offered: dict[int, tuple[int, int]] = {}
        """The first and the last version of each API that the broker has, by the API's key."""
        self.features: dict[str, int] = {}
        """The levels that the cluster has agreed on (KIP-584), by name."""
        self.is_open = True
        self._max_response_bytes = _MAX_BYTES_OF_STRANGERS
        self._renewed_at = inf
        self._may_want_login = False
        """Whether nobody has logged in, and nothing but the versions has been answered, which anybody is told."""

    @classmethod
    def open(
        cls,
        address: Address,
        *,
        client_id: str,
        timeout: float,
        security: "Security | None" = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> "Connection":
        """Connect, agree on versions, and log in, all within `timeout`; without `security` it is PLAINTEXT. Raises ClientError."""
        deadline = clock() + timeout
        tls, login = (None, None) if security is None else (security.tls, security.login)
        connection = cls(address, open_transport(address, tls, timeout), client_id, clock)
        try:
            connection._negotiate(deadline - clock())
            if login is not None:
                from stoker.client.login import log_in

                lifetime = log_in(connection, login, lambda: deadline - clock())
                connection._renewed_at = inf if lifetime is None else clock() + lifetime * _RENEWED_AFTER
            connection._may_want_login = login is None
            connection._max_response_bytes = MAX_RESPONSE_BYTES
        except BaseException:
            connection.close()
            raise
        return connection

    def send(
        self,
        request: Request,
        response: type[R],
        *,
        timeout: float,
        up_to: int | None = None,
        place: Place | None = None,
    ) -> R:
        """The broker's answer, in the highest version that both speak (and no later one than `up_to`).

        It is received into what `place` gives, and what it holds of records stays there.
        Raises ConnectionLost, RequestTimedOut, NotKafka, UnsupportedByBroker.
        """
        version = self._common_version(type(request), up_to)
        try:
            posted = self._post(request, version, timeout)
        except UnencodableMessage as error:
            if version == self._highest_version(type(request), up_to):
                raise
            raise UnsupportedByBroker(f"the broker at {self.address} is too old for this request: {error}") from None
        return self.collect(posted, response, place)

    def post(self, request: Request, *, timeout: float, up_to: int | None = None) -> Posted:
        """Send without waiting for the answer, which `collect` gives. Raises as `send` does."""
        return self._post(request, self._common_version(type(request), up_to), timeout)

    def post_parts(
        self, request: type[Request], parts: Callable[[int], list[Buffer]], *, timeout: float, up_to: int
    ) -> Posted:
        """`post` of a request whose body is given in parts, for the version that is agreed on: large ones are not copied."""
        version = self._common_version(request, up_to)
        return self._send(request, version, parts(version), timeout)

    def collect(self, posted: Posted, response: type[R], place: Place | None = None) -> R:
        """The answer to a posted request. Raises as `send` does."""
        return self._decode(self._receive_frame(posted, place), response, posted)

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self._stream.close()

    def interrupt(self) -> None:
        """From another thread: whoever waits for an answer gets ConnectionLost at once."""
        with suppress(OSError):  # it is closed already
            socket.shutdown(self._stream, SHUT_RDWR)  # of the stream below TLS, whose own is for its thread alone

    @property
    def is_used_up(self) -> bool:
        """Whether another should take its place: it is closed, or idle and its login holds for not much longer (KIP-368)."""
        return not self.is_open or (self._clock() > self._renewed_at and not self._unanswered)

    def _negotiate(self, timeout: float) -> None:
        request = ApiVersionsRequest(client_software_name=_SOFTWARE, client_software_version=__version__)
        version = ApiVersionsRequest.MAX_VERSION
        posted = self._post(request, version, timeout)
        frame = self._receive_frame(posted)
        if _error_code(frame) == _UNSUPPORTED:  # answered in version 0, with what the broker does speak (KIP-511)
            answer = self._decode(frame, ApiVersionsResponse, posted._replace(version=0))
            offered = {api.api_key: api.max_version for api in answer.api_keys}
            posted = self._post(request, min(version, offered.get(ApiVersionsRequest.API_KEY, 0)), timeout)
            frame = self._receive_frame(posted)
        answer = self._decode(frame, ApiVersionsResponse, posted)
        raise_if_refused(answer.error_code)
        self.offered = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
        self.features = {feature.name: feature.max_version_level for feature in answer.finalized_features}

    def _common_version(self, request: type[Request], up_to: int | None) -> int:
        name = request.__name__.removesuffix("Request")
        offered = self.offered.get(request.API_KEY)
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

    def _post(self, request: Request, version: int, timeout: float) -> Posted:
        body = bytearray()
        request.encode_into(body, version)
        return self._send(type(request), version, [body], timeout)

    def _send(self, request: type[Request], version: int, parts: list[Buffer], timeout: float) -> Posted:
        self._correlation_id += 1
        header = encode_request_header(RequestHeader(request.API_KEY, version, self._correlation_id, self._client_id))
        size = len(header) + sum(map(len, parts))
        name = request.__name__.removesuffix("Request")
        posted = Posted(name, version, self._correlation_id, timeout, self._clock() + timeout)
        with self._closing_on_failure(posted):
            self._stream.settimeout(max(timeout, _SHORTEST_WAIT_SECONDS))
            for piece in _joined([_LENGTH.pack(size), header, *parts]):
                self._stream.sendall(piece)
        self._unanswered.append(posted.correlation_id)
        return posted

    def _receive_frame(self, posted: Posted, place: Place | None = None) -> Buffer:
        """The frame that answers; its body is not decoded. Brokers answer in the order in which they are asked."""
        with self._closing_on_failure(posted):
            while posted.correlation_id not in self._unclaimed:
                answered = self._unanswered.popleft()
                wanted = place if answered == posted.correlation_id else None
                self._unclaimed[answered] = self._receive_next(posted.deadline, wanted)
        return self._unclaimed.pop(posted.correlation_id)

    def _receive_next(self, deadline: float, place: Place | None) -> Buffer:
        (length,) = _LENGTH.unpack(self._receive(_LENGTH.size, deadline))
        if length >> 16 == _TLS_ALERT:
            raise NotKafka(str(self.address), "it speaks TLS: security.protocol is SSL there, or SASL_SSL")
        if not _LENGTH.size <= length <= self._max_response_bytes:
            raise NotKafka(str(self.address), f"it announced a response of {length} bytes")
        frame = self._receive(length, deadline) if place is None else self._fill(place(length), deadline)
        self._may_want_login = False
        return frame

    @contextmanager
    def _closing_on_failure(self, posted: Posted) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            self.close()
            raise RequestTimedOut(str(self.address), posted.name, posted.timeout) from None
        except OSError as error:
            self.close()
            if is_about_certificates(error):
                raise NotTrusted(str(self.address), f"the certificate of this client: {error}") from None
            raise ConnectionLost(str(self.address), error.strerror or str(error)) from None
        except BaseException:
            self.close()
            raise

    def _receive(self, count: int, deadline: float) -> bytearray:
        """Exactly so many bytes; memory grows with what has come, not with what was announced."""
        received = bytearray()
        while len(received) < count:
            self._limit_wait(deadline)
            piece = self._stream.recv(min(count - len(received), _CHUNK))
            if not piece:
                raise self._closed()
            received += piece
        return received

    def _fill(self, room: memoryview, deadline: float) -> memoryview:
        """All of `room`, without a copy between."""
        filled = 0
        while filled < len(room):
            self._limit_wait(deadline)
            count = self._stream.recv_into(room[filled:])
            if not count:
                raise self._closed()
            filled += count
        return room

    def _closed(self) -> ConnectionLost:
        hint = "; it may want a login (security.protocol=SASL_SSL or SASL_PLAINTEXT)" if self._may_want_login else ""
        return ConnectionLost(str(self.address), f"the broker closed it{hint}")

    def _limit_wait(self, deadline: float) -> None:
        """An answer that came in time is taken also by who asks for it later: then nobody waits for what is not there."""
        self._stream.settimeout(max(deadline - self._clock(), _SHORTEST_WAIT_SECONDS))

    def _decode(self, frame: Buffer, response: type[R], posted: Posted) -> R:
        try:
            correlation_id, position = decode_response_header(frame, response.API_KEY, posted.version)
            if correlation_id != posted.correlation_id:
                raise MalformedMessage(f"correlation id {correlation_id} in place of {posted.correlation_id}")
            return response.decode(frame, position, posted.version)
        except MalformedMessage as error:
            self.close()
            raise NotKafka(str(self.address), str(error)) from None


def _joined(parts: list[Buffer]) -> Iterator[Buffer]:
    """The same bytes in few pieces: small parts are put together, large ones are left as they are."""
    small = bytearray()
    for part in parts:
        if len(part) <= _SMALL:
            small += part
            continue
        if small:
            yield small
            small = bytearray()
        yield part
    if small:
        yield small


def _error_code(api_versions_frame: Buffer) -> int:
    position = _LENGTH.size  # behind the correlation id: this response has header version 0 in every version
    if len(api_versions_frame) < position + _ERROR_CODE.size:
        return 0
    return int(_ERROR_CODE.unpack_from(api_versions_frame, position)[0])
