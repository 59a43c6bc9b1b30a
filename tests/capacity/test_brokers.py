"""How many brokers, and what each of them does."""

import pytest

from stoker.capacity import ImpossiblePlan, Load, Machines, planned
from stoker.capacity.brokers import brokers, network_in, network_out

DAY = 86_400.0
FIFTY_GB_A_DAY = 50e9 / DAY


@pytest.mark.acceptance("B297")
def test_disk_is_retention_times_ingest_times_copies() -> None:
    """7 days x 50 GB a day x 3 copies are 1.05 TB, of the cluster; each of three brokers has 350 GB of it."""
    plan = planned(Load(throughput=FIFTY_GB_A_DAY), Machines())
    assert plan["cluster", "data"].value == pytest.approx(1.05e12)
    assert plan["cluster", "data"].formula == "579 KB/s x 7 d x 3 copies"
    assert plan["cluster", "brokers"].value == 3
    active = plan["cluster", "active segments"].value
    assert plan["each broker", "disk"].value * 0.75 == pytest.approx(350e9 + active / 3)
    assert active == pytest.approx(plan["cluster", "partitions"].value * 3 * 2**30)


@pytest.mark.acceptance("S002")
def test_the_usual_three_brokers_carry_the_usual_load() -> None:
    """Three machines with 4 cores, 32 GB and a gp3 volume of 500 GB carry 50 GB a day for 7 days, with the alert at 75 % unheard."""
    machines = Machines(broker_disk=500e9, broker_write=125e6, broker_memory=32e9, broker_cores=4)
    plan = planned(Load(throughput=FIFTY_GB_A_DAY, replication_factor=3, failures=1), machines)
    assert plan["cluster", "brokers"].value == 3
    assert plan["cluster", "min.insync.replicas"].value == 2
    assert plan["cluster", "controllers"].value == 3
    assert 450e9 < plan["each broker", "disk"].value < 500e9
    twice = planned(Load(throughput=2 * FIFTY_GB_A_DAY), machines)
    assert (twice["cluster", "brokers"].value, twice["cluster", "brokers"].decided_by) == (6, "disk")


@pytest.mark.parametrize(
    ("load", "machines", "expected", "decided_by"),
    [
        pytest.param(Load(throughput=1e6), Machines(), 3, "copies", id="copies"),
        pytest.param(Load(throughput=100e6, retention_seconds=5.5 * DAY), Machines(), 12, "disk", id="disk"),
        pytest.param(Load(throughput=100e6), Machines(), 20, "whole replicas", id="three replicas of 4.03 TB on 16 TB"),
        pytest.param(
            Load(throughput=100e6, retention_seconds=3600),
            Machines(),
            6,
            "disk writes",
            id="what gp3 writes, and one spare",
        ),
        pytest.param(
            Load(throughput=100e6, retention_seconds=3600, failures=0),
            Machines(),
            5,
            "disk writes",
            id="without a spare",
        ),
        pytest.param(
            Load(throughput=100e6, retention_seconds=3600, peak=2), Machines(), 11, "disk writes", id="for the peak"
        ),
        pytest.param(
            Load(throughput=100e6, retention_seconds=3600, consumers=10),
            Machines(broker_write=1e9),
            13,
            "network out",
            id="fan-out",
        ),
        pytest.param(
            Load(throughput=100e6, retention_seconds=3600, consumers=0),
            Machines(broker_write=1e9),
            4,
            "network in",
            id="copies that come in",
        ),
        pytest.param(
            Load(throughput=100e6, retention_seconds=3600),
            Machines(broker_write=1e10, broker_network=1e10, broker_cores=1),
            5,
            "cores",
            id="cores",
        ),
        pytest.param(
            Load(throughput=1e9, retention_seconds=3600),
            Machines(broker_write=1e11, broker_network=1e11, broker_cores=96, broker_memory=16e9),
            10,
            "page cache",
            id="memory for 30 seconds",
        ),
    ],
)
def test_what_decides(load: Load, machines: Machines, expected: int, decided_by: str) -> None:
    figure = brokers(load, machines, partitions=20)
    assert (figure.value, figure.decided_by) == (expected, decided_by)


@pytest.mark.acceptance("B293")
def test_replicas_of_a_broker_are_limited() -> None:
    """Fewer than 4000 replicas on a broker: 10,000 partitions with 3 copies need 8; the limit is an option, not ZooKeeper's 200,000."""
    plan = planned(Load(throughput=1e6, topics=10_000), Machines())
    assert (plan["cluster", "brokers"].value, plan["cluster", "brokers"].decided_by) == (8, "replicas")
    assert any("more than 4,000 on a broker" in each and "ZooKeeper's" in each for each in plan.remarks)
    wider = planned(Load(throughput=1e6, topics=10_000), Machines(partitions_per_broker=10_000))
    assert (wider["cluster", "brokers"].value, wider["cluster", "brokers"].decided_by) == (3, "copies")
    assert planned(Load(throughput=1e6, topics=200_000), Machines())["cluster", "brokers"].value == 150


def test_network_is_producers_followers_and_groups() -> None:
    load = Load(throughput=100e6, compression=2, peak=3, consumers=4)
    assert network_in(load) == 100e6 / 2 * 3 * 3
    assert network_out(load) == 100e6 / 2 * 3 * (2 + 4)


@pytest.mark.acceptance("B290")
def test_a_failure_costs_an_election_for_each_partition_that_was_led() -> None:
    """The plan counts the elections when a broker fails, and what they take at 1 to 5 ms each."""
    plan = planned(Load(throughput=1e9, retention_seconds=3600, topics=2), Machines())
    elections = plan["each broker", "elections when it fails"]
    assert elections.value == 5  # 200 partitions, 49 brokers
    assert elections.formula == "200 partitions / 49 brokers, 1 to 5 ms each: 5 ms to 25 ms"


@pytest.mark.acceptance("B291")
@pytest.mark.parametrize(("cores", "network", "disk"), [(4, 8, 16), (16, 32, 64)])
def test_threads_follow_the_cores(cores: int, network: int, disk: int) -> None:
    """Network threads are twice the cores, I/O threads four times."""
    plan = planned(Load(throughput=1e6), Machines(broker_cores=cores))
    assert plan["each broker", "num.network.threads"].value == network
    assert plan["each broker", "num.io.threads"].value == disk


@pytest.mark.parametrize(
    ("replication_factor", "failures", "min_insync", "controllers"),
    [(1, 0, 1, 1), (2, 1, 1, 3), (3, 1, 2, 3), (5, 2, 2, 5)],
)
def test_majorities(replication_factor: int, failures: int, min_insync: int, controllers: int) -> None:
    plan = planned(Load(throughput=1e6, replication_factor=replication_factor, failures=failures), Machines())
    assert plan["cluster", "min.insync.replicas"].value == min_insync
    assert plan["cluster", "controllers"].value == controllers


def test_every_copy_may_not_fail() -> None:
    with pytest.raises(ImpossiblePlan, match="replication factor of at least 4, or at most 2 failures"):
        Load(throughput=1e6, replication_factor=3, failures=3)


def test_memory_is_more_than_the_heap() -> None:
    with pytest.raises(ImpossiblePlan, match="a broker with 4 GB of memory has no page cache"):
        Machines(broker_memory=4e9)
