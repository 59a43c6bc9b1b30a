"""Whether one process of Stoker's own broker is enough."""

from stoker.capacity.figure import Figure, Unit, shown_rate
from stoker.capacity.load import Load
from stoker.capacity.machines import Machines
from stoker.capacity.measured import STOKER_FETCHED, STOKER_PRODUCED
from stoker.capacity.storage import disk

ENOUGH = "enough"


def embedded(load: Load, machines: Machines, partitions: int) -> Figure:
    """How much of its one core the load takes, and what speaks against it, if anything does: cores, disk, disk writes, network or copies."""
    out = _out(load)
    busy = (load.written_at_peak * STOKER_PRODUCED.value + out * STOKER_FETCHED.value) / 1e9
    return Figure(
        part="embedded broker",
        name="busy cores, of 1",
        value=busy,
        unit=Unit.CORES,
        formula=f"{shown_rate(load.written_at_peak)} x {STOKER_PRODUCED.value:g} s/GB"
        f" + {shown_rate(out)} x {STOKER_FETCHED.value:g} s/GB",
        decided_by=_obstacle(load, machines, partitions, busy),
    )


def _obstacle(load: Load, machines: Machines, partitions: int, busy: float) -> str:
    if busy * machines.headroom > 1:
        return "cores"
    if disk(load, partitions).value / load.replication_factor > machines.broker_disk:
        return "disk"
    if load.written_at_peak * machines.headroom > machines.broker_write:
        return "disk writes"
    if max(load.written_at_peak, _out(load)) * machines.headroom > machines.broker_network:
        return "network"
    return ENOUGH if load.replication_factor == 1 else "copies"


def _out(load: Load) -> float:
    return load.written_at_peak * load.consumers
