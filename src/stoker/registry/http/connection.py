"""A client's connection: uvicorn's, with the limits that it lacks.

A request line and headers are buffered until they are complete; so how large they get, and how long they take, is up to
whoever connects.
"""

import asyncio
import logging
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES: Final = 64 * 1024
"""Of a request line and headers together. What comes at once is read at once, so it may be a little more."""
HEAD_SECONDS: Final = 30.0
"""Within which they must be there; a connection on which nothing was asked before is closed then, too."""


class Connection(HttpToolsProtocol):
    """Is closed when a request does not begin properly in time."""

    max_head_bytes = MAX_HEAD_BYTES
    head_seconds = HEAD_SECONDS

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.logger = logging.getLogger("stoker.registry.http")
        self._heads = 0
        self._head_bytes = 0
        self._is_in_body = False
        self._too_late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        heads, was_in_body = self._heads, self._is_in_body
        super().data_received(data)
        if self.transport.is_closing() or (self.cycle is not None and not self.cycle.response_complete):
            return
        if not self._is_in_body:  # of a request that was answered before all of it was there
            is_all_head = heads == self._heads and not was_in_body
            self._head_bytes = self._head_bytes + len(data) if is_all_head else 0
        if self._head_bytes > self.max_head_bytes:
            self._refuse(f"Request line and headers are larger than {self.max_head_bytes} bytes.")
        else:
            self._expect_head()

    def on_headers_complete(self) -> None:
        self._heads += 1
        self._head_bytes = 0
        self._is_in_body = True
        self._expect_nothing()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_body = False
        super().on_message_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """The request is answered as if it had not asked for it."""

    def _refuse(self, why: str) -> None:
        self.logger.info("%s: %s", self.client, why)
        self.send_400_response(why)

    def _expect_head(self) -> None:
        if self._too_late is None:
            self._too_late = self.loop.call_later(self.head_seconds, self._close)

    def _expect_nothing(self) -> None:
        if self._too_late is not None:
            self._too_late.cancel()
            self._too_late = None

    def _close(self) -> None:
        self._too_late = None
        if not self.transport.is_closing():
            self.transport.close()
