"""A log directory: its lock, its identity, its partitions, and starting again."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from stoker.log.config import LogConfig
from stoker.log.directory import LogDirectory
from stoker.log.errors import CorruptCheckpoint, LogDirectoryError, LogDirectoryLocked
from stoker.log.files import FileCache
from stoker.log.opening import read_topic_id
from tests.log.batches import FakeClock, batch, values_of

CONFIG = LogConfig()


def directory(path: Path, *, node_id: int = 1, cluster_id: str | None = None) -> LogDirectory:
    return LogDirectory(str(path), node_id=node_id, cluster_id=cluster_id, files=FileCache(64), clock=FakeClock())


def open_all(subject: LogDirectory) -> None:
    for topic, partition in subject.partitions():
        subject.open_log(topic, partition, CONFIG)


def test_partitions_are_there_after_a_restart(tmp_path: Path) -> None:
    first = directory(tmp_path)
    ids = {name: uuid4() for name in ("orders", "a-b-3")}
    for name, topic_id in ids.items():
        for partition in (0, 11):
            log = first.create_log(name, partition, CONFIG, topic_id=topic_id)
            log.append(batch(name.encode()), leader_epoch=0)
    first.close()
    second = directory(tmp_path)
    assert second.had_clean_shutdown
    assert second.partitions() == [("a-b-3", 0), ("a-b-3", 11), ("orders", 0), ("orders", 11)]
    open_all(second)
    for (name, _), log in second.logs.items():
        assert values_of(log) == [name.encode()]
        assert log.topic_id == ids[name]
        assert log.recovery_point == 1
    second.close()


def test_a_crash_is_noticed(tmp_path: Path) -> None:
    first = directory(tmp_path)
    log = first.create_log("orders", 0, CONFIG, topic_id=None)
    log.append(batch(b"a"), leader_epoch=0)
    log.flush()
    log.append(batch(b"b"), leader_epoch=0)
    log.delete_records(1)
    first.checkpoint()
    first.close(clean=False)
    second = directory(tmp_path)
    assert not second.had_clean_shutdown
    open_all(second)
    log = second.logs["orders", 0]
    assert (log.log_start_offset, log.recovery_point, log.log_end_offset) == (1, 1, 2)
    second.close()
    third = directory(tmp_path)
    assert third.had_clean_shutdown
    third.close()
    assert (tmp_path / "log-start-offset-checkpoint").read_text() == "0\n1\norders 0 1\n"


def test_a_directory_with_unopened_partitions_after_a_crash_stays_unclean(tmp_path: Path) -> None:
    first = directory(tmp_path)
    first.create_log("orders", 0, CONFIG, topic_id=None)
    first.create_log("orders", 1, CONFIG, topic_id=None)
    first.close(clean=False)
    second = directory(tmp_path)
    second.open_log("orders", 0, CONFIG)
    second.close()
    third = directory(tmp_path)
    assert not third.had_clean_shutdown
    open_all(third)
    third.close()
    assert directory(tmp_path).had_clean_shutdown


def test_two_brokers_cannot_share_a_directory(tmp_path: Path) -> None:
    first = directory(tmp_path)
    with pytest.raises(LogDirectoryLocked, match=str(tmp_path)):
        directory(tmp_path)
    program = (
        "from stoker.log.directory import LogDirectory\n"
        "from stoker.log.files import FileCache\n"
        f"LogDirectory({str(tmp_path)!r}, node_id=1, files=FileCache(64))\n"
    )
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "LogDirectoryLocked" in other.stderr
    first.close()
    directory(tmp_path).close()


def test_the_identity_is_written_once_and_kept(tmp_path: Path) -> None:
    first = directory(tmp_path, cluster_id="lkc-1234")
    meta = first.meta
    first.close()
    properties = dict(line.split("=") for line in (tmp_path / "meta.properties").read_text().splitlines())
    assert properties == {
        "version": "1",
        "cluster.id": "lkc-1234",
        "node.id": "1",
        "directory.id": meta.directory_id,
    }
    second = directory(tmp_path)
    assert second.meta == meta
    second.close()
    for wrong in ({"node_id": 2}, {"cluster_id": "other"}):
        with pytest.raises(LogDirectoryError, match=r"meta.properties"):
            directory(tmp_path, **wrong)
    directory(tmp_path).close()


def test_a_meta_properties_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=1\n")
    with pytest.raises(LogDirectoryError, match="version 1"):
        directory(tmp_path)


def test_deleting_a_partition(tmp_path: Path) -> None:
    subject = directory(tmp_path)
    long_name = "n" * 249
    for name in ("orders", long_name):
        log = subject.create_log(name, 0, CONFIG, topic_id=None)
        log.append(batch(b"a"), leader_epoch=0)
        log_slice = log.read(0, 100, at_least_one_batch=True)
        removed = subject.delete_log(name, 0)
        assert subject.partitions() == []
        assert all(path.endswith("-delete") for path in removed.paths)
        assert b"a" in log_slice.read()
        log = subject.create_log(name, 0, CONFIG, topic_id=None)
        assert log.log_end_offset == 0
        removed.remove()
        subject.delete_log(name, 0)
    assert len(list(tmp_path.glob("*-delete"))) == 2
    subject.close()
    directory(tmp_path).close()
    assert list(tmp_path.glob("*-delete")) == []


def test_a_new_partition_is_not_taken_for_a_deleted_one_of_its_name(tmp_path: Path) -> None:
    subject = directory(tmp_path)
    old = subject.create_log("orders", 0, CONFIG, topic_id=None)
    for _ in range(10):
        old.append(batch(b"old"), leader_epoch=0)
    old.flush()
    old.delete_records(8)
    subject.checkpoint()
    subject.delete_log("orders", 0).remove()
    new = subject.create_log("orders", 0, CONFIG, topic_id=None)
    new.append(batch(b"new"), leader_epoch=0)
    subject.close(clean=False)
    again = directory(tmp_path)
    log = again.open_log("orders", 0, CONFIG)
    assert (log.log_start_offset, log.recovery_point) == (0, 0)
    assert values_of(log) == [b"new"]
    again.close()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "recovery points": lambda path: (path / "recovery-point-offset-checkpoint").write_bytes(b"0\n7\n"),
    "log starts": lambda path: (path / "log-start-offset-checkpoint").write_bytes(b"\xff\xff\n0\n"),
    "no recovery points": lambda path: (path / "recovery-point-offset-checkpoint").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_checkpoints_cost_a_recovery(tmp_path: Path, damage: str) -> None:
    first = directory(tmp_path)
    log = first.create_log("orders", 0, CONFIG, topic_id=None)
    log.append(batch(b"a", b"b"), leader_epoch=0)
    first.close()
    DAMAGE[damage](tmp_path)
    second = directory(tmp_path)
    open_all(second)
    assert second.logs["orders", 0].log_end_offset == 2
    assert values_of(second.logs["orders", 0]) == [b"a", b"b"]
    second.close()


def test_what_is_not_a_partition_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir(parents=True)
    (tmp_path / "orders-0.abc-stray").mkdir()
    (tmp_path / "notes-1").write_text("a file, no directory")
    subject = directory(tmp_path)
    assert subject.partitions() == []
    subject.close()
    assert (tmp_path / "orders-0.abc-stray").exists()


def test_partition_metadata_has_kafkas_format(tmp_path: Path) -> None:
    subject = directory(tmp_path)
    topic_id = UUID("0f3c7a52-93c1-4f0e-8a0a-6f1d2b3c4d5e")
    subject.create_log("orders", 0, CONFIG, topic_id=topic_id)
    path = tmp_path / "orders-0" / "partition.metadata"
    assert path.read_text() == "version: 0\ntopic_id: Dzx6UpPBTw6KCm8dKzxNXg"
    assert read_topic_id(str(path.parent)) == topic_id
    path.write_text("version: 0\n")
    with pytest.raises(CorruptCheckpoint):
        read_topic_id(str(path.parent))
    path.write_text("version: 1\ntopic_id: Dzx6UpPBTw6KCm8dKzxNXg")
    with pytest.raises(CorruptCheckpoint):
        read_topic_id(str(path.parent))
    path.unlink()
    assert read_topic_id(str(path.parent)) is None
    subject.close()


@pytest.mark.acceptance("B028")
def test_one_failing_directory_does_not_stop_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two log directories one cannot be written: its partitions refuse appends, the other's go on."""
    good, bad = directory(tmp_path / "good"), directory(tmp_path / "bad")
    good_log = good.create_log("orders", 0, CONFIG, topic_id=None)
    bad_log = bad.create_log("orders", 1, CONFIG, topic_id=None)
    real_pwrite = os.pwrite

    def pwrite(descriptor: int, content: memoryview, position: int) -> int:
        if "/bad/" in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(5, "Input/output error")
        return real_pwrite(descriptor, content, position)

    monkeypatch.setattr(os, "pwrite", pwrite)
    with pytest.raises(Exception, match="Input/output error"):
        bad_log.append(batch(b"a"), leader_epoch=0)
    good_log.append(batch(b"a"), leader_epoch=0)
    assert values_of(good_log) == [b"a"]
    good.close()
    bad.close()


def test_a_failed_close_leaves_no_marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = directory(tmp_path)
    log = subject.create_log("orders", 0, CONFIG, topic_id=None)
    log.append(batch(b"a"), leader_epoch=0)

    def fsync(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fsync)
    subject.close()
    monkeypatch.undo()
    again = directory(tmp_path)
    assert not again.had_clean_shutdown
    again.close(clean=False)
