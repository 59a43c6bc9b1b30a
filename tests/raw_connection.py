"""A connection to a broker without a client library: any frame out, whole frames in.

What a test wants to send may be what no client would, so nothing here checks it.
"""

import importlib
import socket
from functools import cache
from struct import Struct
from types import TracebackType
from typing import Any, Self

from stoker.wire.error_codes import ErrorCode
from stoker.wire.frames import RequestHeader, decode_response_header, encode_request_header
from stoker.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from stoker.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from stoker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stoker.wire.record_batch import Record, build_batch
from stoker.wire.schema import Request, Response

_LENGTH = Struct(">i")
_CORRELATION_ID = Struct(">i")

Address = tuple[str, int]


def address_of(bootstrap_servers: str) -> Address:
    host, _, port = bootstrap_servers.rpartition(":")
    return host, int(port)


def request_frame(request: Request, version: int, correlation_id: int = 0, client_id: str | None = "test") -> bytes:
    """A whole request, its length in front."""
    header = encode_request_header(RequestHeader(request.API_KEY, version, correlation_id, client_id))
    return framed(header + request.encode(version))


def framed(content: bytes) -> bytes:
    return _LENGTH.pack(len(content)) + content


@cache
def response_type(request: type[Request]) -> type[Response]:
    """The response that is declared beside a request."""
    found: type[Response] = getattr(
        importlib.import_module(request.__module__), request.__name__.removesuffix("Request") + "Response"
    )
    return found


class RawConnection:
    """Blocking; every wait ends after `timeout` seconds with TimeoutError."""

    def __init__(self, address: Address | str, *, timeout: float = 20, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        self.socket.settimeout(timeout)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            self.socket.connect(address_of(address) if isinstance(address, str) else address)
        except OSError:
            self.socket.close()
            raise
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._correlation_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, request: Request, version: int | None = None) -> int:
        """Send a request and return its correlation id."""
        self._correlation_id += 1
        self.socket.sendall(request_frame(request, _version(request, version), self._correlation_id))
        return self._correlation_id

    def receive_frame(self) -> bytes:
        """The next frame without its length; ConnectionError when the broker closed instead."""
        (length,) = _LENGTH.unpack(self.receive_exactly(4))
        return self.receive_exactly(length)

    def receive_exactly(self, size: int) -> bytes:
        data = bytearray(size)
        view = memoryview(data)
        filled = 0
        while filled < size:
            received = self.socket.recv_into(view[filled:])
            if not received:
                raise ConnectionError(f"closed by the broker after {filled} of {size} bytes")
            filled += received
        return bytes(data)

    def receive(self, request: type[Request], version: int | None = None) -> tuple[int, Any]:
        """The correlation id and the message of the next response, which must be to such a request."""
        version = request.MAX_VERSION if version is None else version
        frame = self.receive_frame()
        correlation_id, position = decode_response_header(frame, request.API_KEY, version)
        return correlation_id, response_type(request).decode(frame, position, version)

    def call(self, request: Request, version: int | None = None) -> Any:
        """Send a request and return the response to it."""
        sent = self.send(request, version)
        answered, response = self.receive(type(request), version)
        assert answered == sent
        return response

    def is_closed_by_broker(self) -> bool:
        """Whether the broker ends the connection without another byte; waits for it."""
        try:
            return not self.socket.recv(1)
        except ConnectionResetError:
            return True

    # -- what most tests need ---------------------------------------------------------------------------------------

    def create_topic(self, name: str, partitions: int = 1, **configs: object) -> None:
        """Config names have underscores for dots here."""
        wanted = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[
                CreatableTopicConfig(name=key.replace("_", "."), value=str(value)) for key, value in configs.items()
            ],
        )
        response = self.call(CreateTopicsRequest(topics=[wanted], timeout_ms=10_000), 7)
        assert response.topics[0].error_code == ErrorCode.NONE, response.topics[0].error_message

    def produce(
        self, topic: str, records: bytes, *, partition: int = 0, acks: int = -1, version: int = 9
    ) -> tuple[int, int]:
        """The error code and the base offset of one appended batch."""
        response = self.call(produce_request(topic, records, partition=partition, acks=acks), version)
        answer = response.responses[0].partition_responses[0]
        return answer.error_code, answer.base_offset

    def fetch(self, topic: str, offset: int, **options: Any) -> tuple[int, bytes]:
        """The error code and the records of one partition."""
        response: FetchResponse = self.call(fetch_request(topic, offset, **options), 12)
        answer = response.responses[0].partitions[0]
        return answer.error_code, bytes(answer.records or b"")


def _version(request: Request, version: int | None) -> int:
    return request.MAX_VERSION if version is None else version


def batch_of(*values: bytes, timestamp: int = 1_700_000_000_000, **options: Any) -> bytes:
    return build_batch([Record(timestamp=timestamp, key=b"k", value=value) for value in values], **options)


def produce_request(topic: str, records: bytes, *, partition: int = 0, acks: int = -1) -> ProduceRequest:
    data = PartitionProduceData(index=partition, records=records)
    return ProduceRequest(
        acks=acks, timeout_ms=10_000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
    )


def fetch_request(
    topic: str,
    offset: int,
    *,
    partition: int = 0,
    min_bytes: int = 1,
    max_wait_ms: int = 0,
    max_bytes: int = 50 * 1024 * 1024,
    partition_max_bytes: int = 50 * 1024 * 1024,
) -> FetchRequest:
    """Without a session."""
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=partition_max_bytes)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )
