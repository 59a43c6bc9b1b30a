"""How many partitions: the usual rules, and where they need more care."""

import pytest

from stoker.capacity import Load, Machines, planned
from stoker.capacity.partitions import fullest_disk, partitions

HOUR = 3600.0


@pytest.mark.acceptance("B288")
@pytest.mark.parametrize(
    ("throughput", "write", "read", "expected", "decided_by"),
    [
        (100e6, 10e6, 50e6, 10, "producers"),
        (100e6, 50e6, 10e6, 10, "consumers"),
        (101e6, 10e6, 50e6, 11, "producers"),
        (50e6, 10e6, 5e6, 10, "consumers"),
        (1e3, 10e6, 50e6, 1, "producers"),
    ],
)
def test_the_larger_of_two_quotients(
    throughput: float, write: float, read: float, expected: int, decided_by: str
) -> None:
    """Partitions are max(T/P, T/C), rounded up, and the plan says which of the two decides."""
    machines = Machines(headroom=1, partition_write=write, partition_read=read)
    figure = partitions(Load(throughput=throughput, retention_seconds=HOUR), machines, brokers=1)
    assert (figure.value, figure.decided_by) == (expected, decided_by)


@pytest.mark.acceptance("B289")
def test_the_usual_example() -> None:
    """100 MB/s at 10 MB/s written and 50 MB/s read a partition, twice as many for headroom, 4 consumers: 20, a multiple of 4."""
    load = Load(throughput=100e6, group_size=4, retention_seconds=HOUR)
    figure = partitions(load, Machines(), brokers=6)
    assert figure.value == 20
    assert {each.name: each.count for each in figure.demands} == {
        "producers": 20,
        "consumers": 4,
        "group": 4,
        "leaders": 6,
        "topics": 1,
        "even disks": 20,
    }


@pytest.mark.parametrize(
    ("load", "brokers", "expected", "decided_by"),
    [
        pytest.param(Load(throughput=1e6, group_size=7), 3, 7, "group", id="the group's size"),
        pytest.param(
            Load(throughput=100e6, group_size=8, retention_seconds=HOUR), 3, 24, "producers", id="its multiple"
        ),
        pytest.param(Load(throughput=1e6), 5, 5, "leaders", id="a leader on each broker"),
        pytest.param(Load(throughput=1e6, topics=9), 3, 9, "topics", id="one a topic"),
        pytest.param(
            Load(throughput=100e6, topics=3, retention_seconds=HOUR), 3, 21, "producers", id="as many in each topic"
        ),
        pytest.param(Load(throughput=100e6, peak=3, retention_seconds=HOUR), 3, 60, "producers", id="for the peak"),
        pytest.param(
            Load(throughput=100e6, compression=4, retention_seconds=HOUR),
            3,
            5,
            "producers",
            id="compressed when written",
        ),
        pytest.param(
            Load(throughput=100e6, compression=20, retention_seconds=HOUR), 3, 4, "consumers", id="not when processed"
        ),
    ],
)
def test_what_else_decides(load: Load, brokers: int, expected: int, decided_by: str) -> None:
    figure = partitions(load, Machines(), brokers)
    assert (figure.value, figure.decided_by) == (expected, decided_by)


def test_replicas_are_whole_and_disks_are_not_overfilled() -> None:
    """20 partitions of 9 TB each on 16 brokers leave one with 4 replicas and too small a disk; with 21 all fit."""
    load, machines = Load(throughput=100e6), Machines()
    assert fullest_disk(load, 20, 16) > machines.broker_disk
    figure = partitions(load, machines, brokers=16)
    assert (figure.value, figure.decided_by) == (21, "even disks")
    assert fullest_disk(load, 21, 16) <= machines.broker_disk


@pytest.mark.parametrize("topics", [1, 7, 40])
@pytest.mark.parametrize("group_size", [1, 3])
@pytest.mark.parametrize("throughput", [1e5, 1e6, 33e6, 1e8, 1e9, 1e10])
def test_a_plan_keeps_its_own_rules(throughput: float, topics: int, group_size: int) -> None:
    plan = planned(Load(throughput=throughput, topics=topics, group_size=group_size), Machines())
    found, brokers = plan["cluster", "partitions"], plan["cluster", "brokers"]
    assert found.value % (topics * group_size) == 0
    assert found.value >= max(each.count for each in found.demands)
    assert brokers.value == max(each.count for each in brokers.demands)
    assert plan["each broker", "disk"].value <= plan.machines.broker_disk * 1.000001
    assert plan["each broker", "network in"].value <= plan.machines.broker_network / plan.machines.headroom
    assert plan["each broker", "network out"].value <= plan.machines.broker_network / plan.machines.headroom
    assert plan["each broker", "busy cores"].value <= plan.machines.broker_cores / plan.machines.headroom
    assert plan["each broker", "memory"].value <= plan.machines.broker_memory
    assert plan["each broker", "replicas"].value <= plan.machines.partitions_per_broker
