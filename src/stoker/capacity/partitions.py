"""How many partitions: max(T/P, T/C), with headroom, and at least what the group and the brokers can share."""

import math
from itertools import islice
from typing import Final

from stoker.capacity.figure import Demand, Figure, at_least, deciding, shown_bytes, shown_rate
from stoker.capacity.load import Load
from stoker.capacity.machines import Machines
from stoker.capacity.storage import disk

_TRIED: Final = 10_000
"""Numbers of partitions that are looked at; after that, brokers are added instead."""


def partitions(load: Load, machines: Machines, brokers: int) -> Figure:
    """All partitions of all topics, an equal number in each.

    T/P and T/C have rates of their own, as a partition is read faster than it is written. The number of a topic is a multiple of the
    group's size, so that no consumer has more than another.
    """
    demands = _demands(load, machines, brokers)
    demands = (*demands, _even_disks(load, machines, brokers, deciding(demands).count))
    decided = deciding(demands)
    of_a_topic = per_topic(load, decided.count)
    formula = "the most of" if load.topics == load.group_size == 1 else f"{decided.count:,}"
    if load.topics > 1:
        formula += f" / {load.topics:,} topics, {of_a_topic:,} each"
    if load.group_size > 1:
        formula += f", up to a multiple of {load.group_size:,} consumers"
    return Figure(
        part="cluster",
        name="partitions",
        value=of_a_topic * load.topics,
        formula=formula,
        decided_by=decided.name,
        demands=demands,
    )


def per_topic(load: Load, total: int) -> int:
    return math.ceil(math.ceil(total / load.topics) / load.group_size) * load.group_size


def fullest_disk(load: Load, partitions: int, brokers: int) -> float:
    """What the broker with most replicas needs: replicas are whole."""
    replicas = partitions * load.replication_factor
    return math.ceil(replicas / brokers) * disk(load, partitions).value / replicas


def _even_disks(load: Load, machines: Machines, brokers: int, least: int) -> Demand:
    """Where disks are nearly full, one replica more is too many for a broker. With some more, and smaller ones, it is not."""
    step = load.topics * load.group_size
    first = per_topic(load, least) * load.topics
    fitting = (
        count
        for count in islice(range(first, 2 * max(first, brokers) + step, step), _TRIED)
        if fullest_disk(load, count, brokers) <= machines.broker_disk * (1 + 1e-9)
    )
    found = next(fitting, first)
    return Demand(
        name="even disks",
        count=least if found == first else found,  # what rounding gives anyway is not decided here
        formula=f"spread evenly, no broker has a replica too many for {shown_bytes(machines.broker_disk)}",
    )


def _demands(load: Load, machines: Machines, brokers: int) -> tuple[Demand, ...]:
    written, processed = load.written_at_peak * machines.headroom, load.processed_at_peak * machines.headroom
    factor = f"x {machines.headroom:g} headroom"
    return (
        Demand(
            name="producers",
            count=at_least(written / machines.partition_write),
            formula=f"{shown_rate(load.written_at_peak)} {factor} / {shown_rate(machines.partition_write)} a partition",
        ),
        Demand(
            name="consumers",
            count=at_least(processed / machines.partition_read),
            formula=f"{shown_rate(load.processed_at_peak)} {factor} / {shown_rate(machines.partition_read)} a partition",
        ),
        Demand(name="group", count=load.group_size, formula="one for each consumer of the largest group"),
        Demand(name="leaders", count=brokers, formula="one to lead for each broker that the load needs"),
        Demand(name="topics", count=load.topics, formula="one for each topic"),
    )
