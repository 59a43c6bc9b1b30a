"""Compaction on a running broker: when it begins, who does it, and that nobody waits for it."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stoker.log.checkpoints import read_offsets
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from stoker.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from stoker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from stoker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stoker.wire.record_batch import Record, build_batch, iterate_records, read_header
from tests.clients.drivers.java import JavaClients
from tests.faults.broker_process import WAIT_SECONDS, BrokerProcess
from tests.raw_connection import RawConnection

OPTIONS = {
    "log.cleaner.backoff.ms": 50,
    "log.initial.task.delay.ms": 0,
    "log.retention.check.interval.ms": 50,
    "log.segment.delete.delay.ms": 0,
}
COMPACTED = {"cleanup_policy": "compact", "segment_bytes": 1024 * 1024}
VALUE = b"." * 1000
SLOWLY = 100_000.0
"""A cleaning of some megabytes takes longer than any test."""


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def write(
    connection: RawConnection,
    topic: str,
    count: int,
    *,
    keys: int = 10,
    value: bytes | None = VALUE,
    timestamp: int | None = None,
) -> int:
    """So many records of so many keys, 100 a batch; returns the offset after the last."""
    at = now_ms() if timestamp is None else timestamp
    end = 0
    for begin in range(0, count, 100):
        numbers = range(begin, min(begin + 100, count))
        batch = build_batch([Record(timestamp=at, key=b"%d" % (number % keys), value=value) for number in numbers])
        error, offset = connection.produce(topic, batch)
        assert error == ErrorCode.NONE
        end = offset + len(numbers)
    return end


def read(connection: RawConnection, topic: str, offset: int = 0) -> list[Record]:
    records: list[Record] = []
    while True:
        error, content = connection.fetch(topic, offset)
        assert error == ErrorCode.NONE
        if not content:
            return records
        position = 0
        while position + 61 <= len(content):
            header = read_header(content, position)
            if position + header.size > len(content):
                break
            records += iterate_records(content[position : position + header.size], 1 << 20)
            offset = header.next_offset
            position += header.size


def eventually(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@contextmanager
def running(data_dir: Path, **options: object) -> Iterator[tuple[BrokerProcess, RawConnection]]:
    named = {name.replace("_", "."): value for name, value in options.items()}
    with BrokerProcess(data_dir, options=OPTIONS | named) as broker:
        with RawConnection(broker.bootstrap_servers) as connection:
            yield broker, connection


def workers_of(broker: BrokerProcess) -> list[int]:
    """The processes that compact for this broker."""
    assert broker._process is not None
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                parent = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
                command = Path(f"/proc/{name}/cmdline").read_bytes()
            except (OSError, ProcessLookupError):
                continue
            if parent == broker._process.pid and b"compaction.worker" in command:
                found.append(int(name))
    return found


def worker_of(broker: BrokerProcess) -> int:
    eventually(lambda: bool(workers_of(broker)), "no worker was started")
    return workers_of(broker)[0]


def alter(connection: RawConnection, topic: str, **settings: object) -> None:
    configs = [
        AlterableConfig(name=name.replace("_", "."), config_operation=0, value=str(value))
        for name, value in settings.items()
    ]
    resource = AlterConfigsResource(resource_type=2, resource_name=topic, configs=configs)
    response = connection.call(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False))
    assert response.responses[0].error_code == ErrorCode.NONE, response.responses[0].error_message


@pytest.mark.acceptance("B011", "C033")
def test_a_topic_starts_compacting_when_its_configs_say_so(tmp_path: Path) -> None:
    """cleanup.policy=compact on an existing topic: the newest of each key stays, sizes shrink, and the log line says how."""
    with running(tmp_path) as (broker, connection):
        connection.create_topic("profiles", segment_bytes=1024 * 1024)
        end = write(connection, "profiles", 3000)
        before = read(connection, "profiles")
        assert [record.offset for record in before] == list(range(end))
        alter(connection, "profiles", cleanup_policy="compact", min_cleanable_dirty_ratio=0.1, segment_ms=86_400_000)
        broker.wait_for_line("cleaned", "profiles-0 up to offset")
        after = read(connection, "profiles")
        checkpoint = read_offsets(str(tmp_path / "cleaner-offset-checkpoint"))
        closed = [record for record in after if record.offset < checkpoint["profiles", 0]]
        assert sorted(record.key or b"" for record in closed) == sorted(b"%d" % number for number in range(10))
        assert set(after) <= set(before)
        line = broker.line_with("cleaned", "profiles-0")
        assert "% less)" in line
        assert "10 of" in line
        files = sum(path.stat().st_size for path in (tmp_path / "profiles-0").glob("*.log"))
        described = connection.call(DescribeLogDirsRequest(topics=None), 4)
        sizes = {
            topic.name: topic.partitions[0].partition_size for result in described.results for topic in result.topics
        }
        assert sizes["profiles"] == files < 1_500_000
        assert f"up to offset {checkpoint['profiles', 0]}:" in line
        eventually(lambda: not workers_of(broker), "an idle broker has no second process")


@pytest.mark.acceptance("B012")
def test_compact_and_delete_do_both(tmp_path: Path) -> None:
    """With compact,delete duplicates go by compaction, and old keys by retention.ms too."""
    with running(tmp_path) as (broker, connection):
        connection.create_topic(
            "sessions", cleanup_policy="compact,delete", segment_bytes=1024 * 1024, retention_ms=3_600_000
        )
        long_ago = now_ms() - 7_200_000
        write(connection, "sessions", 1500, timestamp=long_ago)
        write(connection, "sessions", 1500, keys=20)
        broker.wait_for_line("cleaned", "sessions-0")
        broker.wait_for_line("sessions-0 starts at offset", "segments removed")

        def is_young_and_compacted() -> bool:
            records = read_from_start(connection, "sessions")
            return all(record.timestamp > long_ago for record in records) and len(records) < 1500

        eventually(is_young_and_compacted, "the old records are still there")


def read_from_start(connection: RawConnection, topic: str) -> list[Record]:
    partition = ListOffsetsPartition(partition_index=0, timestamp=-2)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[partition])])
    return read(connection, topic, connection.call(request, 7).topics[0].partitions[0].offset)


@pytest.mark.acceptance("B013")
def test_producers_and_readers_go_on_while_a_log_is_cleaned(tmp_path: Path) -> None:
    """With the worker stopped in the middle of its work everything is answered; duplicates are seen until it has gone on."""
    with running(tmp_path, log_cleaner_io_max_bytes_per_second=SLOWLY) as (broker, connection):
        connection.create_topic("busy", 1, **COMPACTED)
        end = write(connection, "busy", 4000)
        worker = worker_of(broker)
        eventually(lambda: os.getpriority(os.PRIO_PROCESS, worker) == 10, "the worker does not give way to others")
        os.kill(worker, signal.SIGSTOP)
        try:
            for _ in range(3):
                end = write(connection, "busy", 1000)
                assert [record.offset for record in read(connection, "busy")] == list(range(end))
        finally:
            os.kill(worker, signal.SIGCONT)
        assert not [line for line in broker.lines if "cleaned" in line]
    with running(tmp_path) as (broker, connection):
        broker.wait_for_line("cleaned", "busy-0")
        assert len(read(connection, "busy")) < end


@pytest.mark.acceptance("B017")
def test_min_cleanable_dirty_ratio_says_when_cleaning_begins(tmp_path: Path) -> None:
    """Of two logs with the same records the one with the lower ratio is cleaned; the other when its ratio is lowered."""
    with running(tmp_path) as (broker, connection):
        connection.create_topic("late", 1, min_cleanable_dirty_ratio=1.0, **COMPACTED)
        connection.create_topic("early", 1, min_cleanable_dirty_ratio=0.3, **COMPACTED)
        write(connection, "late", 2500)
        for _ in range(2):
            cleaned = len(broker.lines)
            write(connection, "early", 2500)
            # All of the other one is dirty: if it were to be cleaned, it would come first.
            eventually(lambda: any("early-0 up to" in line for line in broker.lines[cleaned:]), "not cleaned")  # noqa: B023
        assert not [line for line in broker.lines if "late-0 up to" in line]
        alter(connection, "late", min_cleanable_dirty_ratio=0.3)
        broker.wait_for_line("cleaned", "late-0 up to")


def test_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    """Nothing is lost, the broker goes on, and the cleaning is done by the next one."""
    with running(tmp_path, log_cleaner_io_max_bytes_per_second=SLOWLY) as (broker, connection):
        connection.create_topic("busy", 1, **COMPACTED)
        end = write(connection, "busy", 3000)
        os.kill(worker_of(broker), signal.SIGKILL)
        broker.wait_for_line("the worker that cleaned", "busy-0 died")
        assert [record.offset for record in read(connection, "busy")] == list(range(end))
        assert broker.stop() == 0
        assert not list(tmp_path.glob("busy-0/*.cleaned"))


def test_a_worker_ends_with_its_broker(tmp_path: Path) -> None:
    with running(tmp_path, log_cleaner_io_max_bytes_per_second=SLOWLY) as (broker, connection):
        connection.create_topic("busy", 1, **COMPACTED)
        write(connection, "busy", 3000)
        worker = worker_of(broker)
        broker.kill()
        eventually(lambda: not os.path.exists(f"/proc/{worker}") or _is_zombie(worker), "the worker goes on alone")


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_damaged_log_is_left_alone_and_others_are_cleaned(tmp_path: Path) -> None:
    """It is said once, the log is served as before, and the next start tries again."""
    with running(tmp_path, log_cleaner_enable="false") as (broker, connection):
        for topic in ("damaged", "sound"):
            connection.create_topic(topic, 1, **COMPACTED)
            write(connection, topic, 2500)
        broker.stop()
    path = tmp_path / "damaged-0" / "00000000000000000000.log"
    content = bytearray(path.read_bytes())
    content[500] ^= 1
    path.write_bytes(content)
    with running(tmp_path) as (broker, connection):
        broker.wait_for_line("damaged-0 cannot be compacted", "does not have the checksum it claims")
        broker.wait_for_line("cleaned", "sound-0")
        write(connection, "sound", 2500)
        eventually(lambda: len([line for line in broker.lines if "cleaned" in line]) > 1, "the cleaner stopped")
        assert len([line for line in broker.lines if "cannot be compacted" in line]) == 1
        assert path.read_bytes() == content


def test_a_topic_that_is_deleted_while_it_is_cleaned(tmp_path: Path) -> None:
    """Its name is free at once, and what the new one gets is not mixed with the old one's."""
    with running(tmp_path, log_cleaner_io_max_bytes_per_second=SLOWLY) as (broker, connection):
        connection.create_topic("again", 1, **COMPACTED)
        write(connection, "again", 2500)
        worker = worker_of(broker)
        gone = connection.call(DeleteTopicsRequest(topics=[DeleteTopicState(name="again")], timeout_ms=10_000))
        assert gone.responses[0].error_code == ErrorCode.NONE
        connection.create_topic("again", 1, **COMPACTED)
        end = write(connection, "again", 150, keys=7)
        eventually(lambda: worker not in workers_of(broker), "the worker goes on with what was deleted")
        assert [record.offset for record in read(connection, "again")] == list(range(end))
        assert ("again", 0) not in read_offsets(str(tmp_path / "cleaner-offset-checkpoint"))
        assert broker.stop() == 0
    with running(tmp_path) as (broker, connection):
        assert [record.offset for record in read(connection, "again")] == list(range(end))


def test_cleaning_can_be_switched_off(tmp_path: Path) -> None:
    with running(tmp_path, log_cleaner_enable="false") as (broker, connection):
        connection.create_topic("dirty", 1, **COMPACTED)
        end = write(connection, "dirty", 2500)
        assert len(read(connection, "dirty")) == end
        assert not workers_of(broker)
        assert not (tmp_path / "cleaner-offset-checkpoint").exists()


@pytest.mark.java
@pytest.mark.acceptance("B011", "B014")
def test_java_reads_the_table_from_a_compacted_topic(tmp_path: Path) -> None:
    """Java's consumer, from earliest, gets the newest value of every key and no key that was deleted."""
    with running(tmp_path) as (broker, connection):
        connection.create_topic("table", 1, min_cleanable_dirty_ratio=0.01, **COMPACTED)
        table: dict[bytes, bytes | None] = {}
        for number in range(400):
            records = [
                Record(
                    timestamp=now_ms(),
                    key=b"%d" % (each * number % 97),
                    value=None if (each + number) % 11 == 0 else os.urandom(400),
                )
                for each in range(20)
            ]
            table.update((record.key or b"", record.value) for record in records)
            assert connection.produce("table", build_batch(records, codec=number % 5))[0] == ErrorCode.NONE
        broker.wait_for_line("cleaned", "table-0")
        alter(connection, "table", min_cleanable_dirty_ratio=1.0)
        eventually(lambda: not workers_of(broker), "it is still being cleaned")
        left = read(connection, "table")
        assert len(left) < 8000
        java = JavaClients(broker.bootstrap_servers)
        try:
            found = java.read("table", 0, start="earliest", count=len(left))
        finally:
            java.close()
    assert {record.key: record.value for record in found} == {
        key: value for key, value in table.items() if value is not None or key in {record.key for record in found}
    }
    assert [record.offset for record in found] == [record.offset for record in left]
