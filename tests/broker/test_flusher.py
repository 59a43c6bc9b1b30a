"""Group commit: many that wait for the disk share a flush."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import stoker
from stoker.broker.event_loop import new_event_loop
from stoker.broker.flusher import Flusher
from stoker.log.partition import PartitionLog
from stoker.wire.error_codes import ErrorCode
from tests.log.batches import new_log
from tests.raw_connection import RawConnection, batch_of

PRODUCERS = 16
REQUESTS = 30


class SlowDisk:
    """Counts the flushes of a log and lets each begin only when told to."""

    def __init__(self, log: PartitionLog, monkeypatch: pytest.MonkeyPatch) -> None:
        self.flushes = 0
        self.may_flush = threading.Semaphore(0)
        self.error: OSError | None = None
        really_flush = log.flush

        def flush(_: PartitionLog) -> int:
            self.may_flush.acquire()
            self.flushes += 1
            if self.error is not None:
                raise self.error
            return really_flush()

        monkeypatch.setattr(PartitionLog, "flush", flush)


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    return new_log(tmp_path)


def run(test: Callable[[Flusher], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        with ThreadPoolExecutor(2) as executor:
            async with asyncio.timeout(20):
                await test(Flusher(asyncio.get_running_loop(), executor))

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(bounded())


def test_all_that_ask_during_a_flush_share_the_next(log: PartitionLog, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SlowDisk(log, monkeypatch)

    async def test(flusher: Flusher) -> None:
        first = flusher.flushed(log)
        later = [flusher.flushed(log) for _ in range(100)]
        disk.may_flush.release()
        await first
        # What was appended after the first flush began may not be on the disk yet.
        assert not any(each.done() for each in later)
        disk.may_flush.release()
        await asyncio.gather(*later)
        assert disk.flushes == 2

    run(test)


def test_a_disk_that_refuses_is_told_to_those_who_waited(log: PartitionLog, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SlowDisk(log, monkeypatch)

    async def test(flusher: Flusher) -> None:
        disk.error = OSError(5, "Input/output error")
        failing = flusher.flushed(log)
        waiting = flusher.flushed(log)
        disk.may_flush.release()
        with pytest.raises(OSError, match="Input/output error"):
            await failing
        disk.error = None
        disk.may_flush.release()
        await waiting

    run(test)


@pytest.mark.acceptance("B026")
def test_producers_share_flushes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With flush.messages=1 every ack waits for an fsync, but many producers at once need far fewer than they send."""
    flushes: list[str] = []
    really_flush = PartitionLog.flush

    def flush(log: PartitionLog) -> int:
        flushes.append(log.topic)
        return really_flush(log)

    monkeypatch.setattr(PartitionLog, "flush", flush)
    with stoker.Broker() as broker:
        with RawConnection(broker.bootstrap_servers) as connection:
            connection.create_topic("durable", flush_messages=1)
        with ThreadPoolExecutor(PRODUCERS) as producers:
            list(producers.map(_produce_some, [broker.bootstrap_servers] * PRODUCERS))
    count = flushes.count("durable")
    assert 1 <= count < PRODUCERS * REQUESTS / 2


def _produce_some(address: str) -> None:
    with RawConnection(address) as connection:
        for _ in range(REQUESTS):
            assert connection.produce("durable", batch_of(b"value"))[0] == ErrorCode.NONE
