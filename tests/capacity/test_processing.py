"""Spark's cores, executors and state; the registry's instances."""

import pytest

from stoker.capacity import Load, Machines, planned
from stoker.capacity.measured import WORK, core_bytes_per_second, core_seconds
from stoker.capacity.measured_streams import STREAMS_CORES, STREAMS_EVENTS_PER_SECOND


def test_cores_by_a_rate_of_ones_own() -> None:
    plan = planned(Load(throughput=1e8, record_bytes=1000, failures=0), Machines(core_rate=50_000, headroom=2))
    assert plan["Spark", "cores"].value == 4
    assert plan["Spark", "cores"].formula == "100,000 events/s x 2 headroom / 50,000 events/s a core"
    assert plan["Spark", "executors"].value == 1
    assert "Spark needs no cluster for this: local[4] in one process carries it." in plan.remarks


@pytest.mark.parametrize("work", WORK)
def test_cores_by_measured_work(work: str) -> None:
    """Records cost by their number and by their bytes: ten times the number, or the size, does not cost more than ten times."""
    small = planned(Load(throughput=1e9, record_bytes=100), Machines(work=work))["Spark", "cores"].value
    large = planned(Load(throughput=1e9, record_bytes=100_000), Machines(work=work))["Spark", "cores"].value
    assert small == pytest.approx((1e7 * core_seconds(work) + 1e9 / core_bytes_per_second()) * 2, abs=1)
    assert 1e9 / core_bytes_per_second() * 2 <= large < small


def test_streams_cost_what_their_benchmark_says() -> None:
    assert core_seconds("streams") == STREAMS_CORES / STREAMS_EVENTS_PER_SECOND


def test_executors_have_whole_cores_and_one_to_spare() -> None:
    plan = planned(Load(throughput=1e9, failures=2), Machines(core_rate=100_000, executor_cores=8))
    assert plan["Spark", "cores"].value == 20
    assert plan["Spark", "executors"].value == 3 + 2
    assert plan["Spark", "memory of an executor"].value == 8 * (1e9 + 2 * 257e6)
    assert not any("Spark needs no cluster" in each for each in plan.remarks)


def test_state_is_shown_where_there_is_some() -> None:
    assert ("Spark", "state") not in {
        (each.part, each.name) for each in planned(Load(throughput=1e6), Machines()).figures
    }
    plan = planned(Load(throughput=1e6, state_keys=10**9, state_bytes=100), Machines())
    assert plan["Spark", "state"].value == 2e11


def test_registries_for_the_moment_when_all_start() -> None:
    assert planned(Load(throughput=1e6), Machines())["registry", "instances"].value == 2
    assert planned(Load(throughput=1e6, failures=0), Machines())["registry", "instances"].value == 1
    many = planned(Load(throughput=1e6, topics=100_000, consumers=4), Machines())
    assert many["registry", "instances"].value == 13 + 1  # 500,000 clients ask 100,000 times a second
