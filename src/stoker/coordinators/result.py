"""What a coordinator's handler gives back: records that must be written, and the replies for when they are."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from stoker.wire.error_codes import ErrorCode

RecordT_co = TypeVar("RecordT_co", covariant=True)
ReplyT_co = TypeVar("ReplyT_co", covariant=True)
ReplyT = TypeVar("ReplyT")


class Waiting(Generic[ReplyT]):
    """A reply that comes later: when other members have joined, or when a time-out has passed. Resolved once."""

    __slots__ = ("_reply", "_when_resolved")

    def __init__(self) -> None:
        self._reply: ReplyT | None = None
        self._when_resolved: Callable[[ReplyT], object] | None = None

    def resolve(self, reply: ReplyT) -> None:
        """Only the driver calls this, when the records that go before the reply are written."""
        if self._when_resolved is None:
            self._reply = reply
        else:
            self._when_resolved(reply)

    def when_resolved(self, callback: Callable[[ReplyT], object]) -> None:
        """Call `callback` with the reply, at once if it is there already."""
        if self._reply is not None:
            callback(self._reply)
        else:
            self._when_resolved = callback


class Result(NamedTuple, Generic[RecordT_co, ReplyT_co]):
    """`records` are written as one batch and replayed; then `reply` is given, and the `answers` to those who waited.

    If the log refuses the records nothing is replayed, and `if_refused` makes the result that takes this one's place.
    """

    records: Sequence[RecordT_co]
    reply: ReplyT_co
    answers: "Sequence[Answer]" = ()
    if_refused: "Callable[[ErrorCode], Result[RecordT_co, ReplyT_co]] | None" = None


class Answer(NamedTuple):
    """The reply to a request that waits."""

    waiting: Waiting[Any]
    reply: Any
