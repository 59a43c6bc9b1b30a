"""Spark's cores, executors and state; the registry's instances."""

from typing import Final

from stoker.capacity.figure import Figure, Unit, at_least, shown, shown_bytes, shown_rate
from stoker.capacity.load import Load
from stoker.capacity.machines import EXECUTOR_HEAP_PER_CORE, PYTHON_WORKERS_PER_TASK, Machines
from stoker.capacity.measured import (
    PYTHON_WORKER_MEMORY,
    REGISTRY_FETCHES,
    REGISTRY_MEMORY,
    core_bytes_per_second,
    core_seconds,
)
from stoker.capacity.storage import state

_SCHEMAS_OF_A_RECORD: Final = 2
"""Key and value."""
_RESTART_SECONDS: Final = 10
"""All clients start anew within this time, with nothing in their caches. That is the most a registry is asked."""
_WRITTEN_ANEW: Final = 2
"""While a store is written anew as one part, the parts that it replaces are still there."""


def spark(load: Load, machines: Machines) -> tuple[Figure, ...]:
    needed, formula = _cores(load, machines)
    cores = at_least(needed)
    executors = at_least(cores / machines.executor_cores) + load.failures
    spare = f" + {load.failures} that may fail" if load.failures else ""
    workers = machines.executor_cores * PYTHON_WORKERS_PER_TASK
    memory = machines.executor_cores * EXECUTOR_HEAP_PER_CORE + workers * PYTHON_WORKER_MEMORY.value * 1e6
    figures = (
        Figure(part="Spark", name="cores", value=cores, formula=formula),
        Figure(
            part="Spark",
            name="executors",
            value=executors,
            formula=f"{cores:,} / {machines.executor_cores} cores each{spare}",
        ),
        Figure(
            part="Spark",
            name="memory of an executor",
            value=memory,
            unit=Unit.BYTES,
            formula=f"{machines.executor_cores} cores x ({shown_bytes(EXECUTOR_HEAP_PER_CORE)} heap + "
            f"{PYTHON_WORKERS_PER_TASK} Python workers of {PYTHON_WORKER_MEMORY.value:g} MB)",
        ),
    )
    return (*figures, _state(load)) if load.state_keys else figures


def _state(load: Load) -> Figure:
    return Figure(
        part="Spark",
        name="state",
        value=state(load) * _WRITTEN_ANEW,
        unit=Unit.BYTES,
        formula=f"{load.state_keys:,} keys x {shown_bytes(load.state_bytes)} x {_WRITTEN_ANEW} while it is written anew",
    )


def registry(load: Load, machines: Machines, partitions: int) -> tuple[Figure, ...]:
    """Clients ask once for each schema and remember it, so what counts is the moment when all of them start."""
    clients = partitions * (load.consumers + 1)
    asked = clients * _SCHEMAS_OF_A_RECORD / _RESTART_SECONDS
    needed = at_least(asked * machines.headroom / REGISTRY_FETCHES.value)
    spare = f" + {load.failures} that may fail" if load.failures else ""
    return (
        Figure(
            part="registry",
            name="instances",
            value=needed + load.failures,
            formula=f"{clients:,} clients x {_SCHEMAS_OF_A_RECORD} schemas in {_RESTART_SECONDS} s x {machines.headroom:g}"
            f" / {REGISTRY_FETCHES.value:,.0f} fetches/s{spare}",
        ),
        Figure(
            part="registry",
            name="memory of an instance",
            value=REGISTRY_MEMORY.value * 1e6,
            unit=Unit.BYTES,
            formula="measured with 10,000 schemas",
        ),
    )


def _cores(load: Load, machines: Machines) -> tuple[float, str]:
    events = f"{load.events_at_peak:,.0f} events/s"
    factor = f"x {machines.headroom:g} headroom"
    if machines.core_rate is not None:
        needed = load.events_at_peak * machines.headroom / machines.core_rate
        return needed, f"{events} {factor} / {machines.core_rate:,.0f} events/s a core"
    for_events = load.events_at_peak * core_seconds(machines.work)
    for_bytes = load.processed_at_peak / core_bytes_per_second()
    formula = (
        f"({events} x {core_seconds(machines.work) * 1e6:.3g} µs of '{machines.work}' + {shown_rate(load.processed_at_peak)}"
        f" / {shown(core_bytes_per_second(), Unit.RATE)}) {factor}"
    )
    return (for_events + for_bytes) * machines.headroom, formula
