"""Read, process, write: exactly once, whatever dies at whichever step."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from tests.clients.client import Record
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.transactions.confluent import ConfluentTransactions
from tests.faults.broker_process import BrokerProcess
from tests.faults.transactional_worker import BATCH, GROUP, STEPS

WAIT_SECONDS = 30.0
Victim = Literal["worker", "broker"]


class Worker:
    """The program of `transactional_worker`, step by step."""

    def __init__(self, address: str) -> None:
        command = [sys.executable, "-m", "tests.faults.transactional_worker", address, "input", "output"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def run_to(self, step: str) -> None:
        """Let it go on until it tells that step, and wait there; fail if it does not come to it in time."""
        assert self._process.stdout is not None
        watchdog = threading.Timer(WAIT_SECONDS, self._process.kill)
        watchdog.start()
        try:
            while (told := self._process.stdout.readline().strip()) != step:
                assert told, f"the worker ended, or did not come to {step!r} in {WAIT_SECONDS:.0f} s"
                self.go_on()
        finally:
            watchdog.cancel()

    def go_on(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


@contextmanager
def worker_of(broker: BrokerProcess) -> Iterator[Worker]:
    worker = Worker(broker.bootstrap_servers)
    try:
        yield worker
    finally:
        worker.kill()


@pytest.mark.acceptance("B099", "B106", "B107")
@pytest.mark.parametrize("victim", ["worker", "broker"])
def test_each_record_is_processed_once(victim: Victim, tmp_path: Path) -> None:
    """The worker, or the broker, is killed with SIGKILL at every step of a transaction: the output is the input, once, in order."""
    values = [f"order {number}".encode() for number in range(BATCH * (len(STEPS) + 1))]
    with BrokerProcess(tmp_path) as broker:
        client = ConfluentKafka(broker.bootstrap_servers)
        for topic in ("input", "output"):
            client.create_ready_topic(topic)
        client.produce("input", [Record(value=value) for value in values])
        {"worker": kill_workers, "broker": kill_brokers}[victim](broker, lambda: is_done(client, len(values)))
        output = ConfluentTransactions(broker.bootstrap_servers).read_to_end("output", isolation="read_committed")
        assert output == [value.upper() for value in values]


def kill_workers(broker: BrokerProcess, is_done: Callable[[], bool]) -> None:
    for step in STEPS:
        with worker_of(broker) as worker:
            worker.run_to(step)
    with worker_of(broker) as worker:
        finish(worker, is_done)


def kill_brokers(broker: BrokerProcess, is_done: Callable[[], bool]) -> None:
    with worker_of(broker) as worker:
        for step in STEPS:
            worker.run_to(step)
            broker.kill()
            broker.start()
            worker.go_on()
        finish(worker, is_done)


def finish(worker: Worker, is_done: Callable[[], bool]) -> None:
    while not is_done():
        worker.run_to("committed")
        worker.go_on()


def is_done(client: ConfluentKafka, count: int) -> bool:
    return client.committed(GROUP) == {("input", 0): count}
