"""What a handler gives back: a message, bytes with stretches of files between them, nothing, or a promise of one."""

from collections.abc import Callable, Coroutine
from enum import Enum, auto
from typing import Any, NamedTuple, TypeVar

from stoker.log.partition import LogSlice
from stoker.wire.schema import Response


class NoReply(Enum):
    """Why a request gets no response frame."""

    ACKS_0 = auto()
    """The producer asked for none."""
    CLOSE = auto()
    """The producer asked for none and its request failed: closing the connection is all that can tell it (as Kafka)."""


class EncodedBody(NamedTuple):
    """A response body that is encoded already; a LogSlice in it goes from file to socket without being read."""

    parts: list[bytes | LogSlice]
    size: int


Reply = Response | EncodedBody | NoReply


ResultT = TypeVar("ResultT")
ReplyT = TypeVar("ReplyT")


def answered(
    result: ResultT | Coroutine[Any, Any, ResultT], reply: Callable[[ResultT], ReplyT]
) -> ReplyT | Coroutine[Any, Any, ReplyT]:
    """The reply made of a result, now if it is there or when it has come."""
    if isinstance(result, Coroutine):
        return _answered_later(result, reply)
    return reply(result)


async def _answered_later(result: Coroutine[Any, Any, ResultT], reply: Callable[[ResultT], ReplyT]) -> ReplyT:
    return reply(await result)


class Deferred:
    """A reply that will come later, in the same event loop.

    The handler resolves it at most once. Whoever waits may cancel it first (the connection was lost); the handler's
    `on_cancel` then forgets the request, and resolving does nothing any more.
    """

    __slots__ = ("_cancelled", "_on_cancel", "_waiter", "reply")

    def __init__(self, on_cancel: Callable[[], object] | None = None) -> None:
        self._on_cancel = on_cancel
        self._waiter: Callable[[Reply], None] | None = None
        self.reply: Reply | None = None
        """There already if it was resolved before anyone waited."""
        self._cancelled = False

    def resolve(self, reply: Reply) -> None:
        if self._cancelled:
            return
        if self._waiter is None:
            self.reply = reply
        else:
            self._waiter(reply)

    def when_resolved(self, waiter: Callable[[Reply], None]) -> None:
        """Call `waiter` with the reply, at once if it is there already."""
        if self.reply is not None:
            waiter(self.reply)
        else:
            self._waiter = waiter

    def cancel(self) -> None:
        """Whoever is to resolve it may keep it for long: who waited is let go of at once."""
        self._cancelled = True
        self._waiter = None
        if self._on_cancel is not None:
            self._on_cancel()
