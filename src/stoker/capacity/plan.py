"""A whole plan: every figure, and the remarks on it."""

from dataclasses import dataclass

from stoker.capacity.brokers import brokers, cluster, demands_of_load, each_broker
from stoker.capacity.embedded import embedded
from stoker.capacity.figure import Figure, deciding
from stoker.capacity.load import Load
from stoker.capacity.machines import Machines
from stoker.capacity.partitions import partitions, per_topic
from stoker.capacity.processing import registry, spark
from stoker.capacity.remarks import remarks
from stoker.capacity.storage import active_segments, data, disk


@dataclass(frozen=True, kw_only=True)
class Plan:
    load: Load
    machines: Machines
    figures: tuple[Figure, ...]
    remarks: tuple[str, ...]

    def __getitem__(self, part_and_name: tuple[str, str]) -> Figure:
        return _by_name(self.figures)[part_and_name]


def planned(load: Load, machines: Machines) -> Plan:
    """The smallest numbers that satisfy every rule.

    First the brokers that the load needs, as each should lead a partition; then the partitions; then the brokers that these need.
    """
    of_load = deciding(demands_of_load(load, machines, per_topic(load, 1) * load.topics)).count
    topics = partitions(load, machines, of_load)
    count = int(topics.value)
    machines_of_kafka = brokers(load, machines, count)
    figures = (
        topics,
        machines_of_kafka,
        data(load),
        active_segments(load, count),
        disk(load, count),
        *cluster(load),
        *each_broker(load, machines, count, int(machines_of_kafka.value)),
        embedded(load, machines, count),
        *spark(load, machines),
        *registry(load, machines, count),
    )
    return Plan(
        load=load, machines=machines, figures=figures, remarks=tuple(remarks(load, machines, _by_name(figures)))
    )


def _by_name(figures: tuple[Figure, ...]) -> dict[tuple[str, str], Figure]:
    return {(each.part, each.name): each for each in figures}
