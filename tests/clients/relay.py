"""A relay between clients and the broker that may lose Produce requests or answer them itself."""

import select
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

from kafka.protocol.producer import ProduceRequest, ProduceResponse

PRODUCE, METADATA = 0, 3
FIRST_FLEXIBLE_PRODUCE = 9


@dataclass(kw_only=True, slots=True)
class Exchange:
    """One client's connection, relayed. A client gets its answers in the order of its requests, also those that the relay gives."""

    client: socket.socket
    broker: socket.socket
    _waiting: deque[bytes] = field(default_factory=deque)
    """The correlation ids of what the client has asked."""
    _answers: dict[bytes, bytes] = field(default_factory=dict)
    """What is answered and has to wait for an earlier answer, by correlation id."""

    def asked(self, request: bytes) -> None:
        self._waiting.append(request[8:12])

    def forward(self, request: bytes) -> None:
        self.broker.sendall(request)

    def answer(self, response: bytes) -> None:
        self._answers[response[4:8]] = response
        while self._waiting and self._waiting[0] in self._answers:
            self.client.sendall(self._answers.pop(self._waiting.popleft()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Relay:
    address: str
    requests: list[int] = field(default_factory=list)
    """The API keys of all that was asked, in order."""


@contextmanager
def relaying(bootstrap_servers: str, on_produce: Callable[[bytes, Exchange], None]) -> Iterator[Relay]:
    """A relay that forwards all but Produce requests, which `on_produce` gets with the length before them.

    Clients learn addresses from the broker, so the relay puts its own port in the place of the broker's in all that comes back.
    """
    host, _, port = bootstrap_servers.rpartition(":")
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as open_sockets:
        own_port = listener.getsockname()[1]
        address_there, address_here = (host.encode() + struct.pack(">i", each) for each in (int(port), own_port))
        relay = Relay(address=f"127.0.0.1:{own_port}")

        def serve(exchange: Exchange) -> None:
            with suppress(OSError):  # one of the two has left
                relay_frames(exchange)

        def relay_frames(exchange: Exchange) -> None:
            while True:
                readable, _, _ = select.select([exchange.client, exchange.broker], [], [])
                frame = _frame(readable[0])
                if frame is None:
                    return
                if readable[0] is exchange.broker:
                    exchange.answer(frame.replace(address_there, address_here))
                    continue
                exchange.asked(frame)
                [api_key] = struct.unpack_from(">h", frame, 4)
                relay.requests.append(api_key)
                if api_key == PRODUCE:
                    on_produce(frame, exchange)
                else:
                    exchange.forward(frame)

        def accept() -> None:
            while True:
                try:
                    client = open_sockets.enter_context(listener.accept()[0])
                except OSError:
                    return
                broker = open_sockets.enter_context(socket.create_connection((host, int(port))))
                exchange = Exchange(client=client, broker=broker)
                threading.Thread(target=serve, args=(exchange,), daemon=True).start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        yield relay
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join()


def refusal(request: bytes, error_code: int) -> bytes:
    """The answer to a Produce request in which every partition has the error."""
    [version] = struct.unpack_from(">h", request, 6)
    asked = ProduceRequest.decode(request[4:], version=version, header=True)
    topic_response = ProduceResponse.TopicProduceResponse
    response = ProduceResponse(
        responses=[
            topic_response(
                topic_id=topic.topic_id,
                name=topic.name,
                partition_responses=[
                    topic_response.PartitionProduceResponse(index=each.index, error_code=error_code, base_offset=-1)
                    for each in topic.partition_data
                ],
            )
            for topic in asked.topic_data
        ]
    )
    no_tagged_fields = b"\0" if version >= FIRST_FLEXIBLE_PRODUCE else b""
    body = request[8:12] + no_tagged_fields + bytes(response.encode(version=version))
    return struct.pack(">i", len(body)) + body


def _frame(connection: socket.socket) -> bytes | None:
    """The next frame with its length, None at the end."""
    size = connection.recv(4, socket.MSG_WAITALL)
    if len(size) < 4:
        return None
    return size + connection.recv(struct.unpack(">i", size)[0], socket.MSG_WAITALL)
