"""Where a query stands: an offset for each partition, in the JSON of Spark's own `kafka` source, and two marks of ours.

{"orders": {"0": 23, "1": 7}}                                     a place in the topic, as Spark's source writes it
{"orders": {"0": 23}, "@initial": true}                           where a query begins that has not logged anything yet
{"orders": {"0": 23, "1": 7}, "@from": {"orders": {"1": 0}}}      an end that says where its batch begins

No topic's name has an @. Spark does not keep the initial offset: after a crash in the first batch it asks for it again, and
"latest" is another one by then. So the end of the first batch, which Spark logs before it runs the batch, tells where
the batch begins; likewise for partitions that are new in a batch.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from stoker.client.topic_partition import TopicPartition

Offsets = dict[TopicPartition, int]

INITIAL: Final = "@initial"
FROM: Final = "@from"

_MOST_PARTITIONS: Final = 1_000_000
_LARGEST_PARTITION: Final = 2**31 - 1
_LARGEST_OFFSET: Final = 2**63 - 1


class MalformedOffsets(ValueError):
    """A text or an object that is no JSON of offsets; the message says what is wrong with it."""


class QueryOffset(NamedTuple):
    """What Spark keeps for us between two batches."""

    offsets: Offsets
    begins: Offsets = {}  # noqa: RUF012 (nobody changes it)
    """Where the batch that ends here begins, in the partitions whose beginning its start does not tell."""
    is_initial: bool = False

    def to_json(self) -> dict[str, Any]:
        """In one order, since Spark compares the texts."""
        written: dict[str, Any] = offsets_to_json(self.offsets)
        if self.begins:
            written[FROM] = offsets_to_json(self.begins)
        if self.is_initial:
            written[INITIAL] = True
        return written

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> "QueryOffset":
        """Raises MalformedOffsets."""
        topics = {name: value for name, value in written.items() if name not in (FROM, INITIAL)}
        return cls(offsets_from_json(topics), offsets_from_json(written.get(FROM, {})), bool(written.get(INITIAL)))


def offsets_to_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    written: dict[str, dict[str, int]] = {}
    for topic, partition in sorted(offsets):
        written.setdefault(topic, {})[str(partition)] = offsets[TopicPartition(topic, partition)]
    return written


def offsets_from_json(written: object, *, lowest: int = 0) -> Offsets:
    """Numbers from `lowest` on. Raises MalformedOffsets."""
    found: Offsets = {}
    for topic, partitions in _object(written).items():
        for partition, offset in _object(partitions).items():
            if not partition.isdecimal() or int(partition) > _LARGEST_PARTITION:
                raise MalformedOffsets(f"{partition!r} is no number of a partition")
            if type(offset) is not int or not lowest <= offset <= _LARGEST_OFFSET:
                raise MalformedOffsets(f"{offset!r} of {topic} {partition} is no whole number from {lowest} on")
            found[TopicPartition(topic, int(partition))] = offset
    return _bounded(found)


def parse_offsets(text: str, *, lowest: int = 0) -> Offsets:
    """`{"orders": {"0": 23, "1": 7}}`. Raises MalformedOffsets."""
    return offsets_from_json(_parse(text), lowest=lowest)


def parse_partitions(text: str) -> tuple[TopicPartition, ...]:
    """`{"orders": [0, 1]}`. Raises MalformedOffsets."""
    found: Offsets = {}
    for topic, partitions in _object(_parse(text)).items():
        if not isinstance(partitions, list):
            raise MalformedOffsets(f"the partitions of {topic} are no list of numbers")
        for partition in partitions:
            if type(partition) is not int or not 0 <= partition <= _LARGEST_PARTITION:
                raise MalformedOffsets(f"{partition!r} of {topic} is no number of a partition")
            found[TopicPartition(topic, partition)] = 0
    return tuple(sorted(_bounded(found)))


def shown(partitions: Iterable[TopicPartition], *, most: int = 10) -> str:
    """For a message: not more of them than a person reads."""
    ordered = sorted(partitions)
    text = ", ".join(map(str, ordered[:most]))
    return text if len(ordered) <= most else f"{text} and {len(ordered) - most} more"


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedOffsets(f"it is no JSON ({error})") from None


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedOffsets(f"{json.dumps(value)[:40]} stands where an object is expected")
    return value


def _bounded(found: Offsets) -> Offsets:
    if len(found) > _MOST_PARTITIONS:
        raise MalformedOffsets(f"it has more than {_MOST_PARTITIONS:,} partitions")
    return found
