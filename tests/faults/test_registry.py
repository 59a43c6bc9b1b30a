"""Two registries on one log, of which the primary is killed, stopped and woken while schemas are registered."""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.faults.broker_process import BrokerProcess
from tests.registry.registry_process import RegistryProcess

SESSION_MS = 1500
WRITERS = 3
WAIT_SECONDS = 60.0
_PATIENCE_SECONDS = 3.0
"""Of a client. Longer than a session: a write that waits for an election is then done."""


def schema(name: str) -> str:
    return json.dumps({"type": "record", "name": name, "fields": []})


@dataclass
class History:
    """What clients were told, and what went wrong."""

    acknowledged: dict[str, int] = field(default_factory=dict)
    """Ids by the name of the schema."""
    refused: list[str] = field(default_factory=list)
    failed_reads: list[str] = field(default_factory=list)
    reads: int = 0


class Load:
    """Writers that register new schemas at either instance, and a reader at each."""

    def __init__(self, instances: list[RegistryProcess]) -> None:
        self.instances = instances
        self.history = History()
        self._stopping = threading.Event()
        self._down: set[RegistryProcess] = set()
        """Instances that are being killed or stopped: from them no answer is expected."""

    def write(self, number: int) -> None:
        count = 0
        with httpx2.Client(timeout=_PATIENCE_SECONDS) as client:
            while not self._stopping.is_set():
                count += 1
                self._register(client, f"W{number}N{count}", at=number + count)

    def _register(self, client: httpx2.Client, name: str, at: int) -> None:
        """Whoever is not answered asks the next instance, as clients do: perhaps it was done."""
        while not self._stopping.is_set():
            instance = self.instances[at % len(self.instances)]
            at += 1
            if instance in self._down:
                time.sleep(0.01)
                continue
            try:
                answer = client.post(f"{instance.url}/subjects/{name}/versions", json={"schema": schema(name)})
            except httpx2.HTTPError:
                continue
            if answer.status_code == 200:
                self.history.acknowledged[name] = answer.json()["id"]
                return
            self.history.refused.append(answer.text)

    def read(self, instance: RegistryProcess) -> None:
        with httpx2.Client(timeout=5) as client:
            while not self._stopping.is_set():
                was_down = instance in self._down
                try:
                    answer = client.get(f"{instance.url}/schemas/ids/1")
                    if answer.status_code == 200:
                        self.history.reads += 1
                        continue
                    problem = answer.text
                except httpx2.HTTPError as error:
                    problem = repr(error)
                if not was_down and instance not in self._down:
                    self.history.failed_reads.append(problem)
                time.sleep(0.05)

    def disturb(self, instance: RegistryProcess, how: Callable[[RegistryProcess], None]) -> None:
        self._down.add(instance)
        how(instance)
        self._down.discard(instance)

    def wait_for_writes(self, count: int = 20) -> None:
        """Until so many more were acknowledged."""
        wanted = len(self.history.acknowledged) + count
        deadline = time.monotonic() + WAIT_SECONDS
        while len(self.history.acknowledged) < wanted:
            assert time.monotonic() < deadline, "\n".join(line for each in self.instances for line in each.lines[-20:])
            time.sleep(0.02)

    def run(self, story: Callable[[], None]) -> None:
        with ThreadPoolExecutor(WRITERS + len(self.instances)) as threads:
            tasks = [threads.submit(self.write, number) for number in range(WRITERS)]
            tasks += [threads.submit(self.read, instance) for instance in self.instances]
            try:
                story()
            finally:
                self._stopping.set()
            for task in tasks:
                task.result()


def primary_of(instances: list[RegistryProcess]) -> RegistryProcess:
    """The one that said last that it takes the writes."""
    takers = [(each.lines[index], each) for each in instances if each.is_running for index in _turns(each)]
    return max(takers, key=lambda turn: turn[0])[1]


def _turns(instance: RegistryProcess) -> list[int]:
    return [index for index, line in enumerate(instance.lines) if "this instance takes the writes" in line]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    options = {"group.min.session.timeout.ms": 1000, "group.initial.rebalance.delay.ms": 0}
    with BrokerProcess(tmp_path, options=options) as broker:
        yield broker


@pytest.fixture
def instances(broker: BrokerProcess) -> Iterator[list[RegistryProcess]]:
    options = {"kafkastore.session.timeout.ms": SESSION_MS}
    with (
        RegistryProcess(broker.bootstrap_servers, options=options) as one,
        RegistryProcess(broker.bootstrap_servers, options=options) as two,
    ):
        one.register("first", schema("First"))
        yield [one, two]


def kill(instance: RegistryProcess) -> None:
    instance.kill()
    instance.start()


def stop_cleanly(instance: RegistryProcess) -> None:
    assert instance.stop() == 0
    instance.start()


def check(instances: list[RegistryProcess], history: History) -> None:
    """Nothing that was acknowledged is lost or has another id; no id is of two schemas; nobody who was there stopped reading."""
    assert history.failed_reads == []
    # Only whoever was about to be answered by the one that died is told that it is not known what became of it.
    assert all(json.loads(each)["error_code"] == 50003 for each in history.refused), history.refused
    for instance in instances:
        _wait_until_all_is_read(instance, history)
        versions = list(_all_versions(instance))
        names = {each["subject"]: each["id"] for each in versions}
        assert len(set(names.values())) == len(names), "two schemas have one id"
        assert {name: names.get(name) for name in history.acknowledged} == history.acknowledged
        assert all(
            json.loads(each["schema"])["name"] == each["subject"] for each in versions if each["subject"] != "first"
        )


def _all_versions(instance: RegistryProcess) -> Iterator[dict[str, Any]]:
    offset = 0
    while page := instance.ask("GET", f"/schemas?offset={offset}").json():
        yield from page
        offset += len(page)


def _wait_until_all_is_read(instance: RegistryProcess, history: History) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not history.acknowledged.keys() <= set(instance.ask("GET", "/subjects").json()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_primary_that_is_killed_and_stopped(instances: list[RegistryProcess]) -> None:
    """Ids stay unique, nothing acknowledged is lost, and the other one answers questions all the while."""
    load = Load(instances)

    def story() -> None:
        for how in (kill, stop_cleanly, kill):
            load.wait_for_writes()
            load.disturb(primary_of(instances), how)
        load.wait_for_writes()

    load.run(story)
    check(instances, load.history)
    assert load.history.reads > 100


def test_a_primary_that_wakes_after_it_was_replaced(instances: list[RegistryProcess]) -> None:
    """It is refused by the log, whatever it had in hand, and hands writes on from then on."""
    load = Load(instances)

    def sleep_through_an_election(sleeper: RegistryProcess) -> None:
        [other] = [each for each in instances if each is not sleeper]
        turns = len(_turns(other))
        sleeper.send_signal(signal.SIGSTOP)
        try:
            deadline = time.monotonic() + WAIT_SECONDS
            while len(_turns(other)) == turns:
                assert time.monotonic() < deadline, other.output
                time.sleep(0.02)
            load.wait_for_writes()
        finally:
            sleeper.send_signal(signal.SIGCONT)

    def story() -> None:
        for _ in range(2):
            load.wait_for_writes()
            load.disturb(primary_of(instances), sleep_through_an_election)
        load.wait_for_writes()

    load.run(story)
    check(instances, load.history)
