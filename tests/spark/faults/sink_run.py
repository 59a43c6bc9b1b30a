"""A query without Spark: batches of tasks, run as Spark runs them, while its processes and its broker are killed.

As in Spark a task that fails is run again, up to four times; then the run ends, and another one begins with the batch that was
not finished. The driver is a process too.
"""

import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

from stoker.client.properties import client_properties
from stoker.spark import exactly_once
from stoker.spark.exactly_once import TaskOutcome
from tests.spark.faults.doom import Dooms, Victim, watch
from tests.spark.faults.sink_tasks import SinkTask

_FORK: Final = multiprocessing.get_context("fork")
_ATTEMPTS: Final = 4
_PATIENCE_SECONDS: Final = 400.0


class QueryWithoutSpark:
    """Writes the numbers from 0 up, some in each batch, split among tasks, and keeps in a file which batches are done."""

    def __init__(
        self,
        directory: Path,
        bootstrap_servers: str,
        topic: str,
        *,
        batches: int,
        tasks: int,
        rows: int,
        slots: int = 2,
        tend: Callable[[], None] = lambda: None,
    ) -> None:
        """`tend` is called again and again: it starts the broker."""
        self._directory = directory
        self._bootstrap_servers = bootstrap_servers
        self._topic = topic
        self._tasks = tasks
        self._rows = rows
        self._slots = slots
        self._tend = tend
        self.batches = batches
        self.sink_id = str(uuid4())
        self.dooms = Dooms(directory / "dooms")
        self.runs = 0
        self._drivers: list[int] = []
        self._done = directory / "batches"
        self._done.touch()
        self._complaints = directory / "complaints"
        self._complaints.touch()

    def __str__(self) -> str:
        return f"{len(self.dooms.done)} kills, {self.runs} runs, {self.finished_batches} batches"

    @property
    def complaints(self) -> str:
        """What went wrong, and what was mended."""
        return self._complaints.read_text()[-10_000:]

    @property
    def numbers(self) -> range:
        return range(self.batches * self._tasks * self._rows)

    @property
    def finished_batches(self) -> int:
        return len(self._done.read_text())

    def run_until_done(self) -> None:
        """Start one run after the other; when all batches are done and somebody is still to die, one with a batch more."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self.finished_batches < self.batches or self.dooms.left:
            self.batches = max(self.batches, self.finished_batches + 1)
            self.runs += 1
            driver = _FORK.Process(target=self._drive, args=(str(uuid4()),))
            driver.start()
            assert driver.pid is not None
            self._drivers.append(driver.pid)
            self.dooms.victim(Victim.DRIVER, driver.pid)
            while driver.is_alive():
                self._tend()
                driver.join(0.01)
                assert time.monotonic() < deadline, f"{self}\n{self.complaints}"
            self._tend()
            assert time.monotonic() < deadline, f"{self}\n{self.complaints}"

    def close(self) -> None:
        """Nobody who lives on after his driver's death outlives the test."""
        for driver in self._drivers:
            with suppress(ProcessLookupError):
                os.killpg(driver, signal.SIGKILL)

    def _drive(self, run: str) -> None:
        """In the driver's process. A task's process goes on when the driver is killed, as a worker of Spark may."""
        os.setsid()
        with ThreadPoolExecutor(self._slots) as executor:
            for batch in range(self.finished_batches, self.batches):
                outcomes = list(
                    executor.map(
                        lambda task, batch=batch: self._attempts(self._task(run, batch, task)), range(self._tasks)
                    )
                )
                if None in outcomes:
                    os._exit(1)
                watch(self.dooms.directory)
                try:
                    exactly_once.finish(client_properties(self._bootstrap_servers), outcomes)
                except Exception as error:
                    self._complain(f"driver, batch {batch}: {error!r}")
                    os._exit(1)
                with self._done.open("a") as file:
                    file.write(".")

    def _task(self, run: str, batch: int, task: int) -> SinkTask:
        begin = (batch * self._tasks + task) * self._rows
        return SinkTask(
            bootstrap_servers=self._bootstrap_servers,
            topic=self._topic,
            sink_id=self.sink_id,
            run=run,
            batch=batch,
            task=task,
            numbers=range(begin, begin + self._rows),
        )

    def _attempts(self, task: SinkTask) -> TaskOutcome | None:
        for _ in range(_ATTEMPTS):
            receiver, sender = _FORK.Pipe(duplex=False)
            worker = _FORK.Process(target=self._work, args=(task, sender), daemon=False)
            worker.start()
            sender.close()
            with suppress(EOFError):
                outcome = receiver.recv()
                worker.join()
                return outcome  # type: ignore[no-any-return]
            worker.join()
        return None

    def _work(self, task: SinkTask, sender: "multiprocessing.connection.Connection") -> None:
        watch(self.dooms.directory)
        logging.basicConfig(filename=self._complaints, filemode="a", force=True)
        try:
            outcome = task.perform()
        except Exception as error:
            self._complain(f"task {task.task}, batch {task.batch}: {error!r}")
            os._exit(1)
        sender.send(outcome)

    def _complain(self, text: str) -> None:
        with self._complaints.open("a") as file:
            file.write(f"{time.monotonic():.3f} {os.getpid()} {text}\n")
