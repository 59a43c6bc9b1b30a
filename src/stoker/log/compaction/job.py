"""What a broker and a worker tell each other: one JSON object a line, small whatever the size of the log."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

from stoker.log.transaction_index import AbortedTransaction

CLEANED_SUFFIX: Final = ".cleaned"


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceSegment:
    """A closed segment that is to be cleaned."""

    base_offset: int
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LastRecord:
    """The end of what a producer wrote: the batch with it stays, empty if need be, so that its sequences are known."""

    last_offset: int
    """-1 if only a marker is known of it."""
    epoch: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CleaningJob:
    """Clean the segments of one log: all of them, oldest first, up to `first_uncleanable_offset`."""

    directory: str
    segments: tuple[SourceSegment, ...]
    first_dirty_offset: int
    """Below it every key is there once already."""
    first_uncleanable_offset: int
    """Where the segment after the last of them begins."""
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    producers: dict[int, LastRecord]
    aborted_transactions: tuple[AbortedTransaction, ...] = ()
    dedupe_buffer_bytes: int = 128 * 1024 * 1024
    load_factor: float = 0.9
    read_bytes: int = 4 * 1024 * 1024
    max_bytes_per_second: float | None = None

    def encode(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> "CleaningJob":
        fields = json.loads(line)
        fields["segments"] = tuple(SourceSegment(**each) for each in fields["segments"])
        fields["producers"] = {int(each): LastRecord(**last) for each, last in fields["producers"].items()}
        fields["aborted_transactions"] = tuple(AbortedTransaction(*each) for each in fields["aborted_transactions"])
        return cls(**fields)


@dataclass(frozen=True, kw_only=True, slots=True)
class CleanedSegment:
    """The files of a segment are on the disk, with the suffix `.cleaned`: it can take the place of its sources."""

    base_offset: int
    sources: tuple[int, ...]
    """Their base offsets; the first is that of the new segment."""
    size: int
    max_timestamp: int
    suffixes: tuple[str, ...]
    """Which of its files there are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CleaningDone:
    """All segments are cleaned up to this offset: of every key below it there is one record."""

    end_offset: int
    bytes_before: int
    bytes_after: int
    records_read: int
    records_kept: int
    keyless_records: int
    map_seconds: float
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class CleaningFailed:
    """Nothing more comes of this job. What was said to be cleaned before may be used nevertheless."""

    reason: str
    is_final: bool
    """The log itself is the reason, so that another try would end alike."""


Answer = CleanedSegment | CleaningDone | CleaningFailed
_ANSWERS: Final[dict[str, type[Answer]]] = {
    each.__name__: each for each in (CleanedSegment, CleaningDone, CleaningFailed)
}


def encode_answer(answer: Answer) -> bytes:
    return json.dumps({"answer": type(answer).__name__, **asdict(answer)}).encode() + b"\n"


def decode_answer(line: bytes) -> Answer:
    fields: dict[str, Any] = json.loads(line)
    kind: Callable[..., Answer] = _ANSWERS[fields.pop("answer")]
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()})
