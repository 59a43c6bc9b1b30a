"""The demo's pipeline on a three-broker Apache Kafka and two Spark workers, while brokers and a worker are killed."""

import os
import random
import time
from pathlib import Path
from typing import Any, Final

import pytest

from stoker.demo.audit import late_orders
from stoker.demo.events import SPAN, Plan
from tests.faults.broker_process import BrokerProcess
from tests.faults.pipeline_on_clusters import ENDED, Clusters, Platform, clusters
from tests.registry.registry_process import RegistryProcess

SEED: Final = int(os.environ.get("STOKER_SOAK_SEED", str(random.SystemRandom().randrange(10**6))))
EVENTS: Final = 10_000
BATCHES: Final = 6
SOAK_EVENTS: Final = int(os.environ.get("STOKER_SOAK_EVENTS", "200000"))
SOAK_BATCHES: Final = max(5, SOAK_EVENTS // 3000)

pytestmark = [pytest.mark.java, pytest.mark.spark]


def on_one_machine(directory: Path, plan: Plan) -> dict[str, Any]:
    """What the same events give on the embedded broker, in one process, with nothing killed."""
    directory.mkdir()
    with BrokerProcess(directory / "data") as broker, RegistryProcess(broker.bootstrap_servers) as registry:
        platform = Platform(directory, broker.bootstrap_servers, registry, plan, batches=2, master="local[2,4]")
        try:
            platform.finish()
            return platform.results()
        finally:
            platform.end()


def check(platform: Clusters, one_machine: dict[str, Any]) -> None:
    """The balance is right to the cent, and all results are those of the undisturbed run."""
    lines = platform.balance()
    print(f"\n{platform.total:,} events, {platform.batch + 1} micro-batches, {dict(platform.counts)}")
    for line in lines:
        print(f"{line.what:38}{line.expected:>16,}{line.found:>16,}{line.twice:>8,}")
    assert [line for line in lines if not line.is_right] == []
    assert platform.late() == {"hourly-revenue-store": late_orders(platform.plan)}
    results = platform.results()
    for output, expected in one_machine.items():
        assert results[output] == expected, f"{output} differs"


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_leader_a_worker_and_the_controller_are_killed(tmp_path: Path) -> None:
    """Each with SIGKILL, in a micro-batch of its own: the pipeline goes on, and its results are those of one machine."""
    plan = Plan.of(EVENTS, round(time.time() * 1000) - SPAN)
    one_machine = on_one_machine(tmp_path / "one-machine", plan)
    with clusters(tmp_path, plan, batches=BATCHES) as platform:
        platform.wait_for_batches()
        leader = platform.leader_of("orders-enriched")
        platform.kill(leader, "leader")
        platform.wait_for_batches()
        platform.restart(leader)
        platform.kill_worker(1)
        platform.wait_for_batches()
        platform.restart_workers()
        controller = platform.controller()
        platform.kill(controller, "controller")
        platform.wait_for_batches()
        platform.restart(controller)
        platform.finish()
        check(platform, one_machine)
        assert platform.counts[ENDED] == 0, platform.log


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_everything_is_killed_again_and_again(tmp_path: Path) -> None:
    """Leaders, controllers, workers and the driver, in any order and at any moment, with rolling restarts among them."""
    plan = Plan.of(SOAK_EVENTS, round(time.time() * 1000) - SPAN)
    one_machine = on_one_machine(tmp_path / "one-machine", plan)
    chance = random.Random(SEED)
    print(f"\nseed {SEED}")
    with clusters(tmp_path, plan, batches=SOAK_BATCHES) as platform:
        platform.wait_for_batches()
        faults = [kill_leader, kill_controller, kill_worker, kill_driver, roll, kill_leader_and_worker]
        while platform.done < platform.total:
            if not faults:
                faults = [kill_leader, kill_controller, kill_worker, kill_driver, kill_leader_and_worker]
            time.sleep(chance.uniform(0, 4))  # anywhere in a micro-batch
            faults.pop(chance.randrange(len(faults)))(platform, chance)
            platform.wait_for_batches(chance.choice([0, 1, 2]))
        platform.finish()
        check(platform, one_machine)


def kill_leader(platform: Clusters, chance: random.Random) -> None:
    node = platform.leader_of(chance.choice(["orders", "orders-enriched", "hourly-revenue", "__transaction_state"]))
    platform.kill(node, "leader")
    platform.wait_for_batches(chance.choice([0, 1]))
    platform.restart(node)


def kill_controller(platform: Clusters, chance: random.Random) -> None:
    node = platform.controller()
    platform.kill(node, "controller")
    platform.wait_for_batches(chance.choice([0, 1]))
    platform.restart(node)


def kill_worker(platform: Clusters, chance: random.Random) -> None:
    platform.kill_worker(chance.choice([1, 2]))
    platform.wait_for_batches(chance.choice([0, 1]))
    platform.restart_workers()


def kill_leader_and_worker(platform: Clusters, chance: random.Random) -> None:
    platform.kill_worker(chance.choice([1, 2]))
    kill_leader(platform, chance)
    platform.restart_workers()


def kill_driver(platform: Clusters, chance: random.Random) -> None:
    platform.kill_driver()


def roll(platform: Clusters, chance: random.Random) -> None:
    platform.roll()
