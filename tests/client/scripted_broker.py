"""A broker that answers as a test says: for what a well-behaved one never does."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from stoker.client.address import Address
from stoker.wire.frames import RequestHeader, decode_request_header, response_header
from stoker.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from stoker.wire.schema import Request, Response

API_VERSIONS = 18


class Asked(NamedTuple):
    header: RequestHeader
    body: memoryview


Answer = Callable[[Asked], bytes | None]
"""The bytes to send, the length before them too; None closes the connection."""


def framed(asked: Asked, response: Response, version: int | None = None) -> bytes:
    """A proper answer."""
    header = asked.header
    version = header.api_version if version is None else version
    content = response_header(header.api_key, version, header.correlation_id) + response.encode(version)
    return struct.pack(">i", len(content)) + content


def offering(*requests: type[Request]) -> Answer:
    """The answer to ApiVersions of a broker that has these APIs."""

    def answer(asked: Asked) -> bytes:
        apis = [
            ApiVersion(api_key=each.API_KEY, min_version=each.MIN_VERSION, max_version=each.MAX_VERSION)
            for each in requests
        ]
        return framed(asked, ApiVersionsResponse(api_keys=apis))

    return answer


class ScriptedBroker:
    """Answers to ApiVersions with `versions` and to all other requests, of whatever connection, with the next of `script`."""

    def __init__(self, listener: socket.socket, versions: Answer, script: Sequence[Answer]) -> None:
        host, port = listener.getsockname()
        self.address = Address(host, port)
        self.asked: list[Asked] = []
        self.connections = 0
        self._listener = listener
        self._versions = versions
        self._script = list(script)

    def serve(self) -> None:
        while True:
            try:
                stream, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            with stream, suppress(ConnectionError):  # a client that is not served as it should be may just leave
                self._talk(stream)

    def _talk(self, stream: socket.socket) -> None:
        with stream.makefile("rb") as incoming:
            while length := incoming.read(4):
                frame = memoryview(incoming.read(struct.unpack(">i", length)[0]))
                header, position = decode_request_header(frame)
                asked = Asked(header, frame[position:])
                if header.api_key == API_VERSIONS:
                    answer = self._versions(asked)
                else:
                    self.asked.append(asked)
                    answer = self._script.pop(0)(asked)
                if answer is None:
                    return
                stream.sendall(answer)


@contextmanager
def scripted_broker(versions: Answer, *script: Answer) -> Iterator[ScriptedBroker]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        broker = ScriptedBroker(listener, versions, script)
        thread = threading.Thread(target=broker.serve, daemon=True)
        thread.start()
        yield broker
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(10)
    assert not thread.is_alive()
