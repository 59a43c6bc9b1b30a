"""Where `stoker consume` begins to read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from stoker.cli.failure import CommandFailed
from stoker.errors import StokerError


class Partition(NamedTuple):
    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


class Offsets(Protocol):
    """What a cluster knows of offsets."""

    def beginnings(self, partitions: Iterable[Partition]) -> dict[Partition, int]: ...
    def ends(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The offset after the last record that may be read."""
        ...

    def at_time(self, partitions: Iterable[Partition], milliseconds: int) -> dict[Partition, int]:
        """The offset of the first record that is not older; the end if there is none."""
        ...


class MalformedOffset(StokerError):
    """A text that names no offset; the message shows the forms that do."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"{text!r} is no offset; give a number, -N for N before the end, earliest, latest, or partitions with theirs "
            "such as 0:100,2:5"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Beginning:
    """The first record that is still there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """Only records that come from now on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AtOffset:
    """The same offset in every partition; a negative one counts from the end."""

    offset: int


@dataclass(frozen=True, kw_only=True, slots=True)
class AtOffsets:
    """An offset for each partition to be read."""

    by_partition: Mapping[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class AtTime:
    """The first record that is not older."""

    milliseconds: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Last:
    """The last records of all partitions together, which are read first, and then what comes."""

    count: int


StartingPoint = Beginning | End | AtOffset | AtOffsets | AtTime | Last


def parse_offset(text: str) -> StartingPoint:
    """`100`, `-100`, `earliest`, `latest` or `0:100,2:5`. Raises MalformedOffset."""
    match text:
        case "earliest" | "beginning":
            return Beginning()
        case "latest" | "end":
            return End()
    if ":" in text:
        return AtOffsets(by_partition=dict(_partition_and_offset(part, text) for part in text.split(",")))
    return AtOffset(offset=_number(text, text))


def _partition_and_offset(part: str, text: str) -> tuple[int, int]:
    partition, _, offset = part.strip().partition(":")
    if not (partition.isascii() and partition.isdigit()):
        raise MalformedOffset(text)
    return int(partition), _number(offset, text)


def _number(part: str, text: str) -> int:
    digits = part.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        raise MalformedOffset(text)
    return int(part)


def offsets_to_begin_at(
    point: StartingPoint, partitions: Iterable[Partition], offsets: Offsets
) -> dict[Partition, int]:
    """Where each partition is begun. Raises CommandFailed for an offset that is past the end.

    An offset before the beginning gives the beginning: that is where retention, not a slip, has left the reader.
    """
    partitions = list(partitions)
    match point:
        case Beginning():
            return offsets.beginnings(partitions)
        case End() | Last():
            return offsets.ends(partitions)
        case AtTime(milliseconds=milliseconds):
            return offsets.at_time(partitions, milliseconds)
        case AtOffset(offset=offset):
            wanted = dict.fromkeys(partitions, offset)
        case AtOffsets(by_partition=by_partition):
            wanted = {partition: by_partition[partition.number] for partition in partitions}
    beginnings, ends = offsets.beginnings(partitions), offsets.ends(partitions)
    for partition, offset in wanted.items():
        if offset > ends[partition]:
            raise CommandFailed(
                f"{partition} has no offset {offset}: it goes from {beginnings[partition]} to {ends[partition]}, where the "
                "next record will be"
            )
    return {
        partition: max(beginnings[partition], offset if offset >= 0 else ends[partition] + offset)
        for partition, offset in wanted.items()
    }
