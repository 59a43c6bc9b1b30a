"""One log directory: the partitions in it, and the files by which a broker knows its state and that it is its own."""

import errno
import fcntl
import logging
import os
import threading
import uuid
from collections.abc import Collection, Set
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from uuid import UUID

from stoker.errors import CorruptRecords
from stoker.log.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offsets,
    write_offsets,
)
from stoker.log.config import LogConfig
from stoker.log.errors import CorruptCheckpoint, LogDirectoryError, LogDirectoryLocked, LogError
from stoker.log.files import FileCache, RemovedFiles, replace_file, sync_directory, write_file
from stoker.log.opening import create_partition_log, open_partition_log
from stoker.log.partition import Clock, PartitionLog, system_clock
from stoker.wire.uuids import draw_uuid, uuid_text

logger = logging.getLogger("stoker.log")

LOCK_FILE = ".lock"
META_PROPERTIES_FILE = "meta.properties"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
DELETE_SUFFIX = "-delete"
_SET_ASIDE_SUFFIXES = ("-future", "-stray")
_MAX_NAME_LENGTH = 255
_CLOSING_THREADS = 8

TopicPartition = tuple[str, int]


class MetaProperties(NamedTuple):
    """Whose directory this is."""

    cluster_id: str
    node_id: int
    directory_id: str


class LogDirectory:
    """All partitions under one path, which this process alone uses while it holds the lock.

    Opening a log that was not closed cleanly may be done on worker threads, one partition each; all else belongs to the
    thread that owns the directory.
    """

    def __init__(
        self, path: str, *, node_id: int, cluster_id: str | None = None, files: FileCache, clock: Clock = system_clock
    ) -> None:
        """Lock the directory, making it if need be. Raises LogDirectoryLocked, LogDirectoryError or OSError."""
        self.path = os.path.abspath(path)
        self.files = files
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self._clock = clock
        os.makedirs(self.path, exist_ok=True)
        self._lock_descriptor = _lock(self.path)
        try:
            self.meta = self._read_or_write_meta(node_id, cluster_id)
            self.had_clean_shutdown = self._take_clean_shutdown_marker()
            self._recovery_points = self._read_offsets(RECOVERY_POINTS)
            self._log_start_offsets = self._read_offsets(LOG_START_OFFSETS)
            self._lost_cleaner_offsets = False
            self.cleaner_offsets = self._read_cleaner_offsets()
            self._cleaner_offsets_on_disk = dict(self.cleaner_offsets)
            self._checkpoint_lock = threading.Lock()
            self._checkpointed: Set[TopicPartition] = (
                self._recovery_points.keys() | self._log_start_offsets.keys() | self.cleaner_offsets.keys()
            )
            self._remove_deleted()
        except BaseException:
            os.close(self._lock_descriptor)
            raise

    def _read_or_write_meta(self, node_id: int, cluster_id: str | None) -> MetaProperties:
        path = f"{self.path}/{META_PROPERTIES_FILE}"
        try:
            with open(path, encoding="utf-8") as file:
                properties = dict(
                    line.strip().split("=", 1) for line in file if "=" in line and not line.startswith("#")
                )
        except FileNotFoundError:
            meta = MetaProperties(cluster_id or _random_id(), node_id, _random_id())
            content = (
                f"cluster.id={meta.cluster_id}\ndirectory.id={meta.directory_id}\nnode.id={meta.node_id}\nversion=1\n"
            )
            replace_file(path, content.encode())
            return meta
        if properties.get("version") != "1" or "cluster.id" not in properties or "node.id" not in properties:
            raise LogDirectoryError(f"{path} is not of version 1 or lacks cluster.id or node.id")
        if properties["node.id"] != str(node_id):
            raise LogDirectoryError(f"{path} belongs to node.id {properties['node.id']}, this broker has {node_id}")
        if cluster_id is not None and properties["cluster.id"] != cluster_id:
            raise LogDirectoryError(f"{path} belongs to cluster {properties['cluster.id']}, this is {cluster_id}")
        return MetaProperties(properties["cluster.id"], node_id, properties.get("directory.id", ""))

    def _take_clean_shutdown_marker(self) -> bool:
        """Whether it was there; it must go before anything is written."""
        try:
            os.unlink(f"{self.path}/{CLEAN_SHUTDOWN_FILE}")
        except FileNotFoundError:
            return False
        sync_directory(self.path)
        return True

    def _read_offsets(self, name: str) -> dict[TopicPartition, int]:
        try:
            return read_offsets(f"{self.path}/{name}")
        except CorruptCheckpoint as problem:
            logger.warning("%s; all logs will be recovered from their start", problem)
            self.had_clean_shutdown = False
            return {}

    def _read_cleaner_offsets(self) -> dict[TopicPartition, int]:
        """Up to where each log is compacted; one that is not here never was."""
        try:
            return read_offsets(f"{self.path}/{CLEANER_OFFSETS}")
        except CorruptCheckpoint as problem:
            logger.warning("%s; compacted logs are read from their start again", problem)
            self._lost_cleaner_offsets = True
            return {}

    def _remove_deleted(self) -> None:
        with os.scandir(self.path) as entries:
            deleted = [entry.path for entry in entries if entry.name.endswith(DELETE_SUFFIX) and entry.is_dir()]
        RemovedFiles(tuple(deleted)).remove()

    # Partitions.

    def partitions(self) -> list[TopicPartition]:
        """The partitions that have a directory here, open or not, in order."""
        found = []
        with os.scandir(self.path) as entries:
            for entry in entries:
                topic, _, partition = entry.name.rpartition("-")
                if partition.isdecimal() and topic and entry.is_dir():
                    found.append((topic, int(partition)))
                elif entry.name.endswith(_SET_ASIDE_SUFFIXES):
                    logger.warning("leaving %s alone: it was set aside", entry.path)
        return sorted(found)

    def open_log(
        self, topic: str, partition: int, config: LogConfig, *, latest_leader_epoch: int | None = None
    ) -> PartitionLog:
        """The log of a partition that has a directory here; after a crash this recovers it."""
        key = topic, partition
        log = self.logs[key] = open_partition_log(
            self._partition_path(topic, partition),
            topic=topic,
            partition=partition,
            config=config,
            files=self.files,
            clock=self._clock,
            had_clean_shutdown=self.had_clean_shutdown,
            recovery_point=self._recovery_points.get(key),
            log_start_offset=self._log_start_offsets.get(key, 0),
            latest_leader_epoch=latest_leader_epoch,
            was_compacted=self._lost_cleaner_offsets or key in self.cleaner_offsets,
        )
        return log

    def create_log(self, topic: str, partition: int, config: LogConfig, *, topic_id: UUID | None) -> PartitionLog:
        """A new, empty log."""
        key = topic, partition
        if key in self._checkpointed or key in self._cleaner_offsets_on_disk:
            # Of a partition of this name that was deleted. What is known of it must not be taken for the new one's.
            self.checkpoint()
        log = self.logs[key] = create_partition_log(
            self._partition_path(topic, partition),
            topic=topic,
            partition=partition,
            topic_id=topic_id,
            config=config,
            files=self.files,
            clock=self._clock,
        )
        return log

    def delete_log(self, topic: str, partition: int) -> RemovedFiles:
        """Take a partition out of use at once; its files are renamed, and removed when the caller says so."""
        key = topic, partition
        log = self.logs.pop(key, None)
        if log is not None:
            log.close(clean=False)
        self._recovery_points.pop(key, None)
        self._log_start_offsets.pop(key, None)
        self.cleaner_offsets.pop(key, None)
        suffix = f"-{partition}.{uuid.uuid4().hex}{DELETE_SUFFIX}"
        path = f"{self.path}/{topic[: _MAX_NAME_LENGTH - len(suffix)]}{suffix}"
        os.rename(self._partition_path(topic, partition), path)
        return RemovedFiles((path,))

    def _partition_path(self, topic: str, partition: int) -> str:
        return f"{self.path}/{topic}-{partition}"

    # Checkpoints and closing.

    def checkpoint(self) -> None:
        """Write how far each log is flushed, where it starts and what is committed; for any thread. Raises OSError.

        Partitions that are here but were never opened keep the entries they have.
        """
        with self._checkpoint_lock:
            logs = list(self.logs.items())
            recovery_points = self._recovery_points.copy()
            recovery_points.update((key, log.recovery_point) for key, log in logs)
            log_start_offsets = self._log_start_offsets.copy()
            for key, log in logs:
                if log.log_start_offset > log.segments[0].base_offset:
                    log_start_offsets[key] = log.log_start_offset
                else:
                    log_start_offsets.pop(key, None)
            self._checkpointed = recovery_points.keys() | log_start_offsets.keys() | self.cleaner_offsets.keys()
            write_offsets(f"{self.path}/{RECOVERY_POINTS}", recovery_points)
            write_offsets(f"{self.path}/{LOG_START_OFFSETS}", log_start_offsets)
            write_offsets(f"{self.path}/{HIGH_WATERMARKS}", {key: log.high_watermark for key, log in logs})
            self._write_cleaner_offsets()

    def checkpoint_cleaner(self) -> None:
        """Write up to where each log is compacted; for any thread. Raises OSError."""
        with self._checkpoint_lock:
            self._write_cleaner_offsets()

    def _write_cleaner_offsets(self) -> None:
        offsets = self.cleaner_offsets.copy()
        if offsets != self._cleaner_offsets_on_disk:
            write_offsets(f"{self.path}/{CLEANER_OFFSETS}", offsets)
            self._cleaner_offsets_on_disk = offsets

    def close(self, *, clean: bool = True) -> None:
        """Close all logs and let go of the directory. Only if all went well is it marked as cleanly shut down."""
        try:
            all_closed = self._close_logs(self.logs.values(), clean)
            if clean:
                self.checkpoint()
                if all_closed and (self.had_clean_shutdown or self.logs.keys() >= set(self.partitions())):
                    write_file(f"{self.path}/{CLEAN_SHUTDOWN_FILE}", b'{"version":0,"brokerEpoch":-1}', sync=True)
                    sync_directory(self.path)
        except OSError as problem:
            logger.error("could not close %s cleanly, it will be recovered: %s", self.path, problem)
        finally:
            os.close(self._lock_descriptor)
            self.logs = {}

    def _close_logs(self, logs: Collection[PartitionLog], clean: bool) -> bool:
        """Whether all went well. Closing waits for the disk, which serves several at once better than one by one."""

        def close(log: PartitionLog) -> bool:
            try:
                log.close(clean=clean)
            except (OSError, LogError, CorruptRecords) as problem:
                logger.error("could not close %s cleanly, it will be recovered: %s", log.directory, problem)
                return False
            return True

        with ThreadPoolExecutor(_CLOSING_THREADS) as pool:
            return all(list(pool.map(close, logs)))


def _random_id() -> str:
    return uuid_text(draw_uuid(uuid.uuid4))


def _lock(path: str) -> int:
    descriptor = os.open(f"{path}/{LOCK_FILE}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        # flock tells two brokers of one process apart, lockf is what Apache Kafka's lock looks like to us.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        os.close(descriptor)
        if problem.errno in (errno.EACCES, errno.EAGAIN):
            raise LogDirectoryLocked(f"{path} is in use by another broker, which holds {LOCK_FILE}") from None
        raise
    return descriptor
