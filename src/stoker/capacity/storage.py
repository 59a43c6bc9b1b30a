"""Bytes that lie on disks."""

from typing import Final

from stoker.capacity.figure import Figure, Unit, counted, shown, shown_bytes, shown_rate
from stoker.capacity.load import ROLL_SECONDS, SEGMENT_BYTES, Load
from stoker.capacity.machines import DISK_FILL

_DIRTY: Final = 2
"""A compacted log is cleaned when half of it is dirty (min.cleanable.dirty.ratio=0.5), so it grows to twice what stays."""


def data(load: Load) -> Figure:
    """All copies of everything that is kept: retention x ingest x replication factor, or keys x record x 2 x replication factor."""
    copies = f"{load.replication_factor} copies"
    if load.keys is not None:
        value = load.keys * load.record_bytes / load.compression * _DIRTY * load.replication_factor
        record = shown_bytes(load.record_bytes / load.compression)
        formula = f"{load.keys:,} keys x {record} x {_DIRTY} until they are compacted x {copies}"
    else:
        assert load.retention_seconds is not None  # Load refuses a topic that keeps everything and has no keys
        value = load.written * load.retention_seconds * load.replication_factor
        retention = shown(load.retention_seconds, Unit.SECONDS)
        formula = f"{shown_rate(load.written)} x {retention} x {copies}"
    if load.state_keys:
        value += changelogs(load)
        formula += f" + {shown_bytes(changelogs(load))} of changelogs"
    return Figure(part="cluster", name="data", value=value, unit=Unit.BYTES, formula=formula)


def active_segments(load: Load, partitions: int) -> Figure:
    """What is kept longer than it has to be: only whole segments are deleted, and compacted.

    A segment is whole at segment.bytes or after segment.ms, whichever comes first.
    """
    replicas = partitions * load.replication_factor
    written = load.written / partitions * ROLL_SECONDS
    largest = (
        "the 1 GiB of segment.bytes" if written > SEGMENT_BYTES else f"{shown_bytes(written)} in 7 d of segment.ms"
    )
    return Figure(
        part="cluster",
        name="active segments",
        value=replicas * min(SEGMENT_BYTES, written),
        unit=Unit.BYTES,
        formula=f"{counted(replicas, 'replica')} x {largest}",
    )


def disk(load: Load, partitions: int) -> Figure:
    """What must be bought for it, so that nobody is woken."""
    kept, active = data(load), active_segments(load, partitions)
    formula = f"({kept.shown} + {active.shown}) / {DISK_FILL:g}, where the alert is"
    value = (kept.value + active.value) / DISK_FILL
    return Figure(part="cluster", name="disk", value=value, unit=Unit.BYTES, formula=formula)


def state(load: Load) -> float:
    """What streams applications remember, once."""
    return load.state_keys * load.state_bytes


def changelogs(load: Load) -> float:
    """The compacted topics that the state can be restored from."""
    return state(load) / load.compression * _DIRTY * load.replication_factor
