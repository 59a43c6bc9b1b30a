"""How many brokers, and what each of them does."""

import math
from typing import Final

from stoker.capacity.figure import Demand, Figure, Unit, at_least, counted, deciding, shown, shown_bytes, shown_rate
from stoker.capacity.load import SEGMENT_BYTES, Load
from stoker.capacity.machines import CACHE_SECONDS, DISK_FILL, ELECTION_SECONDS, HEAP_BYTES, Machines
from stoker.capacity.measured import KAFKA_FETCHED, KAFKA_PRODUCED
from stoker.capacity.storage import active_segments, data, disk

_FILES_OF_A_SEGMENT: Final = 3
"""Its log and two indexes."""
_NETWORK_THREADS_PER_CORE: Final = 2
_IO_THREADS_PER_CORE: Final = 4


def network_in(load: Load) -> float:
    """What producers send, and each follower fetches."""
    return load.written_at_peak * load.replication_factor


def network_out(load: Load) -> float:
    return load.written_at_peak * _readers(load)


def cores(load: Load) -> float:
    """Of all brokers at the peak. A follower's append is counted as a produce: it has not been measured apart."""
    return (network_in(load) * KAFKA_PRODUCED.value + network_out(load) * KAFKA_FETCHED.value) / 1e9


def demands_of_load(load: Load, machines: Machines, partitions: int) -> tuple[Demand, ...]:
    """What hardly depends on the number of partitions. Rates must be carried while brokers are down; a disk that is down stays full."""
    written, out, factor = network_in(load), network_out(load), f"x {machines.headroom:g}"
    spare = f" + {load.failures} that may fail" if load.failures else ""
    peak = shown_rate(load.written_at_peak)
    bought = disk(load, partitions)

    def while_down(name: str, quotient: float, formula: str) -> Demand:
        return Demand(name=name, count=at_least(quotient) + load.failures, formula=formula + spare)

    return (
        Demand(name="copies", count=load.replication_factor, formula="each copy on a broker of its own"),
        Demand(
            name="disk",
            count=at_least(bought.value / machines.broker_disk),
            formula=f"{bought.shown} / {shown_bytes(machines.broker_disk)}",
        ),
        while_down(
            "disk writes",
            written * machines.headroom / machines.broker_write,
            f"{peak} x {load.replication_factor} copies {factor} / {shown_rate(machines.broker_write)}",
        ),
        while_down(
            "network in",
            written * machines.headroom / machines.broker_network,
            f"{peak} x {load.replication_factor} copies {factor} / {shown_rate(machines.broker_network)}",
        ),
        while_down(
            "network out",
            out * machines.headroom / machines.broker_network,
            f"{peak} x ({counted(load.replication_factor - 1, 'follower')} + {counted(load.consumers, 'group')}) {factor}"
            f" / {shown_rate(machines.broker_network)}",
        ),
        while_down(
            "cores",
            cores(load) * machines.headroom / machines.broker_cores,
            f"({shown_rate(written)} x {KAFKA_PRODUCED.value:g} s/GB + {shown_rate(out)} x {KAFKA_FETCHED.value:g} s/GB)"
            f" {factor} / {machines.broker_cores} cores",
        ),
        while_down(
            "page cache",
            written * CACHE_SECONDS / (machines.broker_memory - HEAP_BYTES),
            f"{shown_rate(written)} x {CACHE_SECONDS:g} s"
            f" / ({shown_bytes(machines.broker_memory)} - {shown_bytes(HEAP_BYTES)} heap)",
        ),
    )


def brokers(load: Load, machines: Machines, partitions: int) -> Figure:
    replicas = partitions * load.replication_factor
    demands = (
        *demands_of_load(load, machines, partitions),
        _whole_replicas(load, machines, partitions),
        Demand(
            name="replicas",
            count=at_least(replicas / machines.partitions_per_broker),
            formula=f"{partitions:,} partitions x {load.replication_factor} copies / {machines.partitions_per_broker:,}",
        ),
    )
    decided = deciding(demands)
    return Figure(
        part="cluster",
        name="brokers",
        value=decided.count,
        formula="the most of",
        decided_by=decided.name,
        demands=demands,
    )


def _whole_replicas(load: Load, machines: Machines, partitions: int) -> Demand:
    """A replica is on one disk, so a disk that has room for two and a half has two."""
    replicas = partitions * load.replication_factor
    of_a_replica = disk(load, partitions).value / replicas
    on_a_broker = max(1, math.floor(machines.broker_disk / of_a_replica * (1 + 1e-9)))
    return Demand(
        name="whole replicas",
        count=at_least(replicas / on_a_broker),
        formula=f"{replicas:,} replicas of {shown_bytes(of_a_replica)} / {on_a_broker:,} on a disk of "
        f"{shown_bytes(machines.broker_disk)}",
    )


def cluster(load: Load) -> tuple[Figure, ...]:
    """What belongs to no broker alone."""
    return (
        Figure(
            part="cluster",
            name="min.insync.replicas",
            value=load.min_insync_replicas,
            formula=f"acks=all is still answered with {load.replication_factor - load.min_insync_replicas} of "
            f"{load.replication_factor} copies down"
            if load.replication_factor > 1
            else "there is one copy",
        ),
        Figure(
            part="cluster",
            name="controllers",
            value=2 * load.failures + 1,
            formula=f"a majority remains with {load.failures} down: 2 x {load.failures} + 1",
        ),
    )


def each_broker(load: Load, machines: Machines, partitions: int, brokers: int) -> tuple[Figure, ...]:
    """At the peak, with as many brokers down as may be; disks with all of them up."""
    alive = max(1, brokers - load.failures)
    replicas = math.ceil(partitions * load.replication_factor / brokers)
    leaders = math.ceil(partitions / brokers)
    cache = network_in(load) / alive * CACHE_SECONDS
    copies = partitions * load.replication_factor
    of_a_replica = (data(load).value + active_segments(load, partitions).value) / copies
    kept, whole = replicas * of_a_replica, replicas * data(load).value / copies
    elections = tuple(shown(leaders * each, Unit.SECONDS) for each in ELECTION_SECONDS)
    carried = min(machines.broker_write, machines.broker_network) / machines.headroom

    def figure(name: str, value: float, unit: Unit, formula: str) -> Figure:
        return Figure(part="each broker", name=name, value=value, unit=unit, formula=formula)

    from_other_copies = (
        figure(
            "elections when it fails",
            leaders,
            Unit.COUNT,
            f"{partitions:,} partitions / {brokers:,} brokers, 1 to 5 ms each: {elections[0]} to {elections[1]}",
        ),
        figure(
            "time to fill it anew",
            kept / carried,
            Unit.SECONDS,
            f"{shown_bytes(kept)} / {shown_rate(carried)}, from the other copies",
        ),
    )
    return (
        figure(
            "disk",
            kept / DISK_FILL,
            Unit.BYTES,
            f"{counted(replicas, 'replica')} of {shown_bytes(of_a_replica)} / {DISK_FILL:g}, spread evenly",
        ),
        figure("network in", network_in(load) / alive, Unit.RATE, f"{shown_rate(network_in(load))} / {alive:,} alive"),
        figure(
            "network out", network_out(load) / alive, Unit.RATE, f"{shown_rate(network_out(load))} / {alive:,} alive"
        ),
        figure("busy cores", cores(load) / alive, Unit.CORES, f"{shown(cores(load), Unit.CORES)} / {alive:,} alive"),
        figure(
            "page cache",
            cache,
            Unit.BYTES,
            f"{shown_rate(network_in(load))} x {CACHE_SECONDS:g} s / {alive:,} alive",
        ),
        figure("memory", HEAP_BYTES + cache, Unit.BYTES, f"{shown_bytes(HEAP_BYTES)} heap + page cache"),
        figure(
            "replicas",
            replicas,
            Unit.COUNT,
            f"{partitions:,} partitions x {load.replication_factor} copies / {brokers:,} brokers",
        ),
        figure(
            "open files",
            open_files(whole, replicas),
            Unit.COUNT,
            f"({shown_bytes(whole)} / 1 GiB segments + {replicas:,} active ones) x {_FILES_OF_A_SEGMENT} files",
        ),
        *(from_other_copies if load.replication_factor > 1 else ()),
        figure(
            "num.network.threads",
            machines.broker_cores * _NETWORK_THREADS_PER_CORE,
            Unit.COUNT,
            f"{machines.broker_cores} cores x {_NETWORK_THREADS_PER_CORE}",
        ),
        figure(
            "num.io.threads",
            machines.broker_cores * _IO_THREADS_PER_CORE,
            Unit.COUNT,
            f"{machines.broker_cores} cores x {_IO_THREADS_PER_CORE}",
        ),
    )


def open_files(kept: float, replicas: int) -> int:
    return (math.floor(kept / SEGMENT_BYTES) + replicas) * _FILES_OF_A_SEGMENT


def _readers(load: Load) -> int:
    return load.replication_factor - 1 + load.consumers
