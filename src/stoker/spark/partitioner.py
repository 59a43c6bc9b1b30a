"""Which partition each row goes to: Kafka's default partitioner, over whole columns."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from stoker.spark.errors import UnwritableRow
from stoker.spark.hashing import murmur2
from stoker.wire.batch_columns import Integers

_POSITIVE = np.uint32(0x7FFF_FFFF)


class Spread(NamedTuple):
    """How rows without a key are spread: a run of so many bytes goes to one partition, the next run to the next one.

    The same `start` gives the same partitions, so that a task that is run again writes what it wrote before.
    """

    start: int
    run_bytes: int


def by_key(keys: pa.BinaryArray, partition_count: int) -> Integers:
    """murmur2, made positive, modulo the number of partitions: Java's choice for every key that is not null."""
    found: Integers = (murmur2(keys) & _POSITIVE).astype(np.int64)
    found %= partition_count
    return found


def choose_partitions(
    keys: pa.BinaryArray | None,
    wanted: pa.Int32Array | None,
    sizes: Integers,
    *,
    topic: str,
    partition_count: int,
    spread: Spread,
    rows: Integers,
) -> Integers:
    """The wanted partition where there is one; else that of the key; without a key, that of the run. Raises UnwritableRow."""
    if keys is None or keys.null_count == len(keys):
        chosen = _by_run(sizes, partition_count, spread)
    else:
        chosen = by_key(keys, partition_count)
        if keys.null_count:
            without = np.flatnonzero(keys.is_null().to_numpy(zero_copy_only=False))
            chosen[without] = _by_run(sizes[without], partition_count, spread)
    if wanted is None or wanted.null_count == len(wanted):
        return chosen
    said = wanted.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    is_said = wanted.is_valid().to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(is_said & ((said < 0) | (said >= partition_count)))
    if len(wrong):
        row = int(wrong[0])
        raise UnwritableRow(
            f"row {rows[row]} asks for partition {said[row]} of topic {topic!r}, "
            f"which has the partitions 0 to {partition_count - 1}"
        )
    return np.where(is_said, said, chosen)


def _by_run(sizes: Integers, partition_count: int, spread: Spread) -> Integers:
    runs = (np.cumsum(sizes) - sizes) // spread.run_bytes
    found: Integers = (runs + spread.start) % partition_count
    return found
