"""Rolling, retention and flushing of a broker whose clock the test holds."""

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from stoker.broker.config.server_properties import load_broker_config
from stoker.broker.event_loop import new_event_loop
from stoker.broker.housekeeping import Housekeeping
from stoker.broker.server import Server
from stoker.log.partition import PartitionLog
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.raw_connection import RawConnection, batch_of

NOON: Final = 1_700_000_000_000
HOUR: Final = 3_600_000
DAY: Final = 24 * HOUR
SEGMENT_BYTES: Final = 1024 * 1024
EARLIEST: Final = -2
LATEST: Final = -1


@dataclass
class HandClock:
    now: int = NOON

    def __call__(self) -> int:
        return self.now


@dataclass
class TickingBroker:
    """A broker in this process, a connection to it, and the clock both go by."""

    data_dir: Path
    clock: HandClock
    connection: RawConnection
    housekeep: Callable[[str], None]

    def produce(self, topic: str, size: int = 100) -> int:
        error, offset = self.connection.produce(topic, batch_of(b"." * size, timestamp=self.clock.now))
        assert error == ErrorCode.NONE
        return offset

    def offset_of(self, topic: str, timestamp: int) -> int:
        partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[partition])])
        offset: int = self.connection.call(request, 7).topics[0].partitions[0].offset
        return offset

    def segments(self, topic: str) -> list[Path]:
        return sorted((self.data_dir / f"{topic}-0").glob("*.log"))


@contextmanager
def ticking_broker(data_dir: Path, **settings: object) -> Iterator[TickingBroker]:
    """Its own timers never come: the test says when housekeeping is done."""
    clock = HandClock()
    never = 10 * DAY
    config = load_broker_config(
        None,
        {
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": str(data_dir),
            "log.initial.task.delay.ms": str(never),
            "log.retention.check.interval.ms": str(never),
            **{name.replace("_", "."): str(value) for name, value in settings.items()},
        },
    ).config
    loop = new_event_loop()
    server = Server(config, clock=clock)
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(loop.run_forever)

        def run(work: Awaitable[object]) -> None:
            async def awaited() -> None:
                await work

            asyncio.run_coroutine_threadsafe(awaited(), loop).result(20)

        run(server.startup())
        housekeeping = Housekeeping(server.node, server.node.log_directories, ThreadPoolExecutor(1), ())
        try:
            host, _, port = server.bootstrap_servers.rpartition(":")
            with RawConnection((host, int(port))) as connection:
                yield TickingBroker(data_dir, clock, connection, lambda task: run(getattr(housekeeping, task)()))
        finally:
            run(server.shutdown())
            loop.call_soon_threadsafe(loop.stop)
            running.result(20)
            loop.close()


@pytest.mark.acceptance("B008")
def test_a_full_segment_is_followed_by_another(tmp_path: Path) -> None:
    """The active segment rolls when log.segment.bytes are reached; nothing is lost at the seam."""
    with ticking_broker(tmp_path, log_segment_bytes=SEGMENT_BYTES) as broker:
        broker.connection.create_topic("orders")
        offsets = [broker.produce("orders", 300_000) for _ in range(7)]
        assert offsets == list(range(7))
        names = [path.name for path in broker.segments("orders")]
        assert names == [f"{offset:020d}.log" for offset in (0, 3, 6)]
        assert all(path.stat().st_size <= SEGMENT_BYTES for path in broker.segments("orders"))
        for offset in offsets:
            error, records = broker.connection.fetch("orders", offset)
            assert error == ErrorCode.NONE
            assert int.from_bytes(records[:8], "big") == offset


@pytest.mark.acceptance("B008")
def test_an_old_segment_is_followed_by_another(tmp_path: Path) -> None:
    """The active segment rolls when it is log.roll.ms old, even when nothing more is written."""
    with ticking_broker(tmp_path, log_roll_ms=HOUR) as broker:
        broker.connection.create_topic("orders")
        broker.produce("orders")
        broker.clock.now += HOUR
        broker.housekeep("retain")
        assert len(broker.segments("orders")) == 1
        broker.clock.now += 1
        broker.housekeep("retain")
        assert len(broker.segments("orders")) == 2
        assert broker.produce("orders") == 1


@pytest.mark.acceptance("B006", "B009")
def test_old_segments_go_by_time(tmp_path: Path) -> None:
    """retention.ms removes whole closed segments once all in them is old; reading records does not remove them."""
    with ticking_broker(tmp_path, log_roll_ms=HOUR) as broker:
        broker.connection.create_topic("orders", retention_ms=2 * DAY)
        broker.connection.create_topic("by-default")
        for topic in ("orders", "by-default"):
            broker.produce(topic)
        broker.clock.now += DAY
        for topic in ("orders", "by-default"):
            assert broker.produce(topic) == 1
        first_read = broker.connection.fetch("orders", 0)
        broker.housekeep("retain")
        assert broker.connection.fetch("orders", 0) == first_read, "read, and still there"

        broker.clock.now += DAY + 1
        broker.housekeep("retain")
        assert broker.offset_of("orders", EARLIEST) == 1
        assert broker.connection.fetch("orders", 0)[0] == ErrorCode.OFFSET_OUT_OF_RANGE
        assert broker.connection.fetch("orders", 1)[0] == ErrorCode.NONE
        assert broker.offset_of("by-default", EARLIEST) == 0, "7 days by default"

        broker.clock.now += 30 * DAY
        broker.housekeep("retain")
        for topic in ("orders", "by-default"):
            assert broker.offset_of(topic, EARLIEST) == broker.offset_of(topic, LATEST) == 2
            assert broker.produce(topic) == 2, "offsets are never used again"


def test_one_bad_log_does_not_keep_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk nothing can be rolled, and then it matters most that old segments go."""
    with ticking_broker(tmp_path, log_roll_ms=HOUR, log_retention_ms=DAY) as broker:
        broker.connection.create_topic("bad")
        broker.connection.create_topic("good")
        for _ in range(2):
            broker.produce("bad")
            broker.produce("good")
            broker.clock.now += 2 * HOUR
        roll_if_due = PartitionLog.roll_if_due

        def refuse_bad(log: PartitionLog, now_ms: int) -> bool:
            if log.topic == "bad":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return roll_if_due(log, now_ms)

        monkeypatch.setattr(PartitionLog, "roll_if_due", refuse_bad)
        broker.clock.now += DAY
        broker.housekeep("retain")
        assert broker.offset_of("bad", EARLIEST) == broker.offset_of("good", EARLIEST) == 2


@pytest.mark.acceptance("B010")
def test_oldest_segments_go_by_size(tmp_path: Path) -> None:
    """retention.bytes is per partition: the oldest segments go until the rest is under it plus one segment."""
    with ticking_broker(tmp_path, log_segment_bytes=SEGMENT_BYTES) as broker:
        limit = 2 * SEGMENT_BYTES
        broker.connection.create_topic("orders", retention_bytes=limit)
        broker.connection.create_topic("unlimited")
        for topic in ("orders", "unlimited"):
            for _ in range(20):
                broker.produce(topic, 300_000)
        broker.housekeep("retain")
        size = sum(path.stat().st_size for path in broker.segments("orders"))
        assert limit <= size <= limit + SEGMENT_BYTES
        start = broker.offset_of("orders", EARLIEST)
        assert start == int(broker.segments("orders")[0].stem) > 0
        assert broker.connection.fetch("orders", start - 1)[0] == ErrorCode.OFFSET_OUT_OF_RANGE
        assert broker.connection.fetch("orders", start)[0] == ErrorCode.NONE
        assert broker.offset_of("unlimited", EARLIEST) == 0, "no limit by default"


@pytest.mark.acceptance("B026")
def test_flushes_are_forced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """flush.messages has the log on the disk before the ack, flush.ms in time; by default the system decides."""
    synced: list[str] = []
    fsync = os.fsync

    def counted(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    def flushes_of(topic: str) -> int:
        return sum(path.endswith(".log") and f"/{topic}-0/" in path for path in synced)

    if not Path("/proc/self/fd").exists():
        pytest.skip("which file a descriptor is of is read from /proc")
    with ticking_broker(tmp_path) as broker:
        broker.connection.create_topic("each", flush_messages=1)
        broker.connection.create_topic("third", flush_messages=3)
        broker.connection.create_topic("timed", flush_ms=1_000)
        broker.connection.create_topic("default")
        monkeypatch.setattr(os, "fsync", counted)
        for count in range(1, 7):
            for topic in ("each", "third", "timed", "default"):
                broker.produce(topic)
            assert flushes_of("each") == count
            assert flushes_of("third") == count // 3
        assert flushes_of("timed") == 0
        broker.clock.now += 999
        broker.housekeep("flush_due")
        assert flushes_of("timed") == 0
        broker.clock.now += 1
        broker.housekeep("flush_due")
        assert flushes_of("timed") == 1
        assert flushes_of("default") == 0
        monkeypatch.undo()
