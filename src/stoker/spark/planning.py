"""Which offsets a batch reads, and in which pieces. Nothing here asks anybody: offsets in, offsets out."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from stoker.client.fetching import PartitionRange
from stoker.client.topic_partition import TopicPartition
from stoker.spark.offsets import Offsets


class Limits(NamedTuple):
    """How a batch is cut into tasks, as by Spark's options of these names."""

    min_partitions: int | None = None
    max_records_per_partition: int | None = None


def backlog(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> int:
    """How many offsets there are between."""
    return sum(max(0, offset - start.get(partition, 0)) for partition, offset in end.items())


def limited(start: Offsets, end: Offsets, most: int) -> Offsets:
    """An earlier end with about `most` offsets before it: each partition in proportion to what it has, and at least one."""
    sizes = {partition: offset - start.get(partition, 0) for partition, offset in end.items()}
    total = sum(size for size in sizes.values() if size > 0)
    if total <= most:
        return end
    return {
        partition: start.get(partition, 0) + max(1, most * sizes[partition] // total)
        if sizes[partition] > 0
        else offset
        for partition, offset in end.items()
    }


def ranges_between(start: Offsets, end: Offsets) -> list[PartitionRange]:
    """What is to be read of each partition, without empty ones, in order."""
    return [
        PartitionRange(*partition, start[partition], end[partition])
        for partition in sorted(end)
        if start[partition] < end[partition]
    ]


def split(ranges: Iterable[PartitionRange], limits: Limits) -> list[PartitionRange]:
    """Cut into pieces of at most `max_records_per_partition` offsets, then into about `min_partitions` pieces.

    A range that is small beside the others stays whole.
    """
    pieces = list(ranges)
    if limits.max_records_per_partition is not None:
        most = limits.max_records_per_partition
        pieces = [piece for each in pieces for piece in _cut(each, -(-_size(each) // most))]
    wanted = limits.min_partitions
    if wanted is None or len(pieces) >= wanted:
        return pieces
    total = sum(map(_size, pieces))
    whole = {piece for piece in pieces if _share(_size(piece), total, wanted) == 1}
    total -= sum(map(_size, whole))
    wanted = max(1, wanted - len(whole))
    return [
        part
        for piece in pieces
        for part in ([piece] if piece in whole else _cut(piece, _share(_size(piece), total, wanted)))
    ]


def _size(wanted: PartitionRange) -> int:
    return wanted.end - wanted.start


def _share(size: int, total: int, parts: int) -> int:
    """So many of the parts, by size; half a part is one."""
    return max(1, (2 * size * parts + total) // (2 * total))


def _cut(whole: PartitionRange, parts: int) -> list[PartitionRange]:
    """Pieces of the same size as nearly as can be, none of them empty."""
    parts = min(parts, _size(whole))
    edges = [whole.start + _size(whole) * part // parts for part in range(parts + 1)]
    return [whole._replace(start=first, end=last) for first, last in pairwise(edges)]
