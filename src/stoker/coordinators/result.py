"""What a coordinator's handler gives back: records that must be written, and the reply for when they are."""

from dataclasses import dataclass
from typing import Generic, TypeVar

RecordT = TypeVar("RecordT")
ReplyT = TypeVar("ReplyT")


@dataclass(frozen=True, slots=True)
class Result(Generic[RecordT, ReplyT]):
    records: list[RecordT]
    reply: ReplyT
