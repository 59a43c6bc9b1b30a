"""What an experienced operator would say to a plan. Each remark names the number, what follows, and what can be done."""

from collections.abc import Iterator
from typing import Final

from stoker.capacity.embedded import ENOUGH
from stoker.capacity.figure import Figure, counted, shown_bytes, shown_rate
from stoker.capacity.load import Load
from stoker.capacity.machines import Machines

_USUAL_PARTITIONS: Final = (10, 100)
_MANY_PARTITIONS: Final = 1000
_LARGE_RECORD: Final = 100_000
_MUCH: Final = 0.25
_OPEN_FILES: Final = 65_536
"""The usual ulimit -n of a broker."""
_LONG_REBUILD_SECONDS: Final = 86_400
_GP3_WRITE: Final = 125e6
_UNEVEN: Final = 1.5
"""What the fullest of some tens of brokers has over the mean, as replicas are placed when topics are made."""


def remarks(load: Load, machines: Machines, figures: dict[tuple[str, str], Figure]) -> Iterator[str]:
    """`figures` are the plan's, by part and name."""
    yield from _on_the_broker(load, figures["embedded broker", "busy cores, of 1"])
    yield from _on_partitions(load, figures["cluster", "partitions"])
    yield from _on_brokers(load, machines, figures)
    yield from _on_copies(load)
    yield from _on_spark(machines, figures)
    if load.record_bytes > _LARGE_RECORD:
        yield (
            f"Records of {shown_bytes(load.record_bytes)}: keep them under 100 KB. Put blobs into object storage and send where "
            "they are; large ones need message.max.bytes, max.message.bytes and the consumers' fetch sizes to agree."
        )


def _on_the_broker(load: Load, embedded: Figure) -> Iterator[str]:
    busy = f"{embedded.shown} of its one"
    if embedded.decided_by == ENOUGH:
        yield f"The embedded broker is enough ({busy}): `stoker up`, on one machine."
    elif embedded.decided_by == "copies":
        yield (
            f"The embedded broker would carry the load ({busy}), but it keeps one copy: the {load.replication_factor} that are "
            "asked for need Apache Kafka. With --replication-factor 1 --failures 0 it is enough."
        )
    elif embedded.decided_by == "disk":
        yield "The embedded broker would carry the load, but the data does not fit one machine's disk: take Apache Kafka."
    elif embedded.decided_by in ("disk writes", "network"):
        yield (
            f"The embedded broker's processor would carry the load ({busy}), but not one machine's {embedded.decided_by}: take a "
            "larger machine (--broker-write, --broker-network), or Apache Kafka."
        )
    else:
        yield f"The embedded broker is not enough ({busy}, without headroom): take Apache Kafka."


def _on_partitions(load: Load, partitions: Figure) -> Iterator[str]:
    of_a_topic = round(partitions.value / load.topics)
    few, many = _USUAL_PARTITIONS
    if of_a_topic < few:
        yield (
            f"{counted(of_a_topic, 'partition')} a topic {'is' if of_a_topic == 1 else 'are'} few: no group has more consumers at work than that, and one hot key weighs "
            f"more; {few} to 50 are usual. More can be added later, never fewer, and then keys go to other partitions."
        )
    elif of_a_topic >= _MANY_PARTITIONS:
        yield (
            f"{of_a_topic:,} partitions in one topic: avoid thousands. Each costs files, memory of producers, an election when "
            "its broker fails, and latency. Spread the load over topics (--topics), or compress it (--compression)."
        )
    elif of_a_topic > many:
        yield (
            f"{of_a_topic} partitions a topic are more than the usual {few} to {many}: each costs files, memory of producers, an "
            "election when its broker fails, and latency."
        )


def _on_brokers(load: Load, machines: Machines, figures: dict[tuple[str, str], Figure]) -> Iterator[str]:
    brokers = figures["cluster", "brokers"]
    if brokers.decided_by in ("disk", "whole replicas"):
        yield (
            "Disk decides: a shorter --retention, --compression, a larger --broker-disk or tiered storage (remote.storage.enable) "
            "save brokers."
        )
    fullest = figures["each broker", "disk"].value
    if brokers.value > load.replication_factor and fullest * _UNEVEN > machines.broker_disk:
        yield (
            "Disks are planned as if replicas were spread evenly. Kafka places those of each topic by lot, so that some brokers get up "
            "to half as many again: when the topics are made, look (kafka-log-dirs.sh) and move replicas "
            "(kafka-reassign-partitions.sh), or take larger disks."
        )
    if brokers.decided_by == "disk writes" and machines.broker_write <= _GP3_WRITE:
        yield (
            f"Disk writes decide: {shown_rate(machines.broker_write)} is what a gp3 volume gives without extra charge (and 3,000 "
            "IOPS). Buy more of both, or take io2, NVMe, or several volumes in log.dirs."
        )
    if brokers.decided_by == "replicas":
        yield (
            f"Replicas decide: more than {machines.partitions_per_broker:,} on a broker make its failure and its start slow. The "
            "limit of 200,000 in a cluster was ZooKeeper's; KRaft has millions."
        )
    files = figures["each broker", "open files"]
    if files.value > _OPEN_FILES:
        yield (
            f"{files.shown} open files on a broker: raise its limit (ulimit -n) above the usual {_OPEN_FILES:,}, and "
            "vm.max_map_count, as indexes are mapped; or take a larger segment.bytes."
        )
    active, kept = figures["cluster", "active segments"], figures["cluster", "data"]
    if active.value > kept.value * _MUCH:
        yield (
            f"Segments that are not whole yet take {active.shown} beside {kept.shown} of data, for only whole ones are deleted: "
            "fewer partitions, or a smaller segment.ms or segment.bytes, save that."
        )
    rebuild = figures.get(("each broker", "time to fill it anew"))
    if rebuild is not None and rebuild.value > _LONG_REBUILD_SECONDS:
        yield (
            f"A broker that lost its disk takes {rebuild.shown} to be filled anew, with one copy less all the while: more and "
            "smaller brokers, or faster disks, shorten that."
        )


def _on_copies(load: Load) -> Iterator[str]:
    survived = load.replication_factor - load.min_insync_replicas
    if load.replication_factor == 1:
        yield "One copy: what a broker's disk loses is lost. For development, or for what can be had again."
    elif load.failures > survived:
        yield (
            f"With {load.failures} brokers down the data is still there, but acks=all with min.insync.replicas="
            f"{load.min_insync_replicas} is refused: writes go on with a replication factor of "
            f"{load.failures + load.min_insync_replicas}."
        )


def _on_spark(machines: Machines, figures: dict[tuple[str, str], Figure]) -> Iterator[str]:
    cores = round(figures["Spark", "cores"].value)
    if cores <= machines.executor_cores:
        yield f"Spark needs no cluster for this: local[{cores}] in one process carries it."
    else:
        executors = figures["Spark", "executors"]
        yield f"Spark needs a cluster: {executors.shown} executors with {counted(machines.executor_cores, 'core')} each."
