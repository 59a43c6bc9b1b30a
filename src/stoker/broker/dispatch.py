"""From a request frame to the parts of its response frame, by the one table of APIs."""

import asyncio
from collections.abc import Coroutine
from logging import getLogger
from struct import Struct
from typing import Any

from stoker.broker.apis import api_versions
from stoker.broker.apis.table import API_VERSIONS, APIS
from stoker.broker.connection import Connection, Outcome, OutgoingPart
from stoker.broker.node import Node
from stoker.broker.reply import Deferred, EncodedBody, NoReply, Reply
from stoker.broker.request import RequestContext
from stoker.errors import ConnectionRefusedByBroker
from stoker.wire.api_keys import ApiKey
from stoker.wire.frames import RequestHeader, decode_request_header, response_header
from stoker.wire.schema import Response

logger = getLogger("stoker.broker")

_FRAME_LENGTH = Struct(">i")


class Dispatcher:
    """Calls the handler of each request of one node's connections."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(self, connection: Connection, frame: memoryview) -> Outcome:
        header, position = decode_request_header(frame)
        api = APIS.get(header.api_key)
        if api is None:
            known = next((f", {key.name}," for key in ApiKey if key == header.api_key), "")
            raise ConnectionRefusedByBroker(f"the API with key {header.api_key}{known} is not served")
        version = header.api_version
        if not api.min_version <= version <= api.max_version:
            if api.key == API_VERSIONS:  # answered in version 0, so that a newer client can step down
                return _encode(header, 0, api_versions.unsupported_version())
            raise ConnectionRefusedByBroker(
                f"{api.name} version {version} is outside {api.min_version}..{api.max_version}"
            )
        handler = api.handler
        request = handler.decode(frame, position, version)
        outcome = handler.handle(self._node, RequestContext(connection, version, header.client_id), request)
        if isinstance(outcome, Deferred) and outcome.reply is not None:
            outcome = outcome.reply
        if isinstance(outcome, (EncodedBody, Response)):
            return _encode(header, version, outcome)
        if isinstance(outcome, NoReply):
            if outcome is NoReply.CLOSE:
                _close(connection)
            return None
        if not isinstance(outcome, Deferred):
            outcome = self._started(outcome, connection)
        return self._promise(outcome, connection, header)

    async def drain(self) -> None:
        """Wait for the handlers that are still at work."""
        while self._tasks:
            await asyncio.wait(tuple(self._tasks))

    def _promise(self, deferred: Deferred, connection: Connection, header: RequestHeader) -> Outcome:
        def answer(reply: Reply) -> None:
            if reply is NoReply.CLOSE:
                _close(connection)
            else:
                connection.answer(_encode(header, header.api_version, reply))

        deferred.when_resolved(answer)
        return deferred

    def _started(self, handling: Coroutine[Any, Any, Reply | Deferred], connection: Connection) -> Deferred:
        deferred = Deferred()
        task = self._node.loop.create_task(self._run(handling, deferred, connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return deferred

    async def _run(
        self, handling: Coroutine[Any, Any, Reply | Deferred], deferred: Deferred, connection: Connection
    ) -> None:
        """A handler that waits for something runs on even if its client is gone: its work may be half done.

        What it only promises in the end is not waited for: a shutdown need not.
        """
        try:
            outcome = await handling
            if isinstance(outcome, Deferred):
                outcome.when_resolved(deferred.resolve)
            else:
                deferred.resolve(outcome)
        except Exception:
            logger.exception("request from %s failed", connection.peer)
            connection.close("its request failed")


def _close(connection: Connection) -> None:
    connection.close("a request with acks=0 failed", quiet=True)


def _encode(header: RequestHeader, version: int, reply: Reply) -> list[OutgoingPart] | None:
    if isinstance(reply, NoReply):
        return None
    head = response_header(header.api_key, version, header.correlation_id)
    if isinstance(reply, EncodedBody):
        first = _FRAME_LENGTH.pack(len(head) + reply.size) + head
        if isinstance(reply.parts[0], bytes):
            return [first + reply.parts[0], *reply.parts[1:]]
        return [first, *reply.parts]
    body = reply.encode(version)
    return [_FRAME_LENGTH.pack(len(head) + len(body)) + head + body]
