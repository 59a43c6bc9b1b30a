"""The log directories of a broker as one: where a partition's log is, where a new one goes, what happens to old files."""

import asyncio
import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from logging import ERROR, WARNING, getLogger
from typing import Final, NamedTuple
from uuid import UUID

from stoker.broker.config.broker_config import BrokerConfig
from stoker.broker.metadata_log import METADATA_TOPIC, count_torn_bytes
from stoker.errors import BrokerCannotStart, CorruptRecords, DataDirectoryUnusable
from stoker.log.checkpoints import HIGH_WATERMARKS, RECOVERY_POINTS, read_offsets
from stoker.log.config import LogConfig
from stoker.log.directory import META_PROPERTIES_FILE, LogDirectory, TopicPartition
from stoker.log.errors import CorruptCheckpoint, LogDirectoryError, LogDirectoryLocked, LogError
from stoker.log.files import FileCache, RemovedFiles
from stoker.log.partition import Clock, PartitionLog
from stoker.log.segment import LOG_SUFFIX
from stoker.wire.uuids import uuid_from_text

logger = getLogger("stoker.broker")

_METADATA_CONFIG: Final = LogConfig(retention_ms=-1, max_message_bytes=64 * 1024 * 1024)
_STRAY_SUFFIX: Final = "-stray"
_SNAPSHOT_SUFFIX: Final = ".checkpoint"
"""Of the metadata log, as Apache Kafka writes them."""


class WantedLog(NamedTuple):
    """A partition that the metadata log knows, whose log is to be opened."""

    topic: str
    partition: int
    topic_id: UUID
    leader_epoch: int
    config: LogConfig


class LogDirectories:
    """All of `log.dirs`. One that cannot be used takes only its own partitions offline."""

    def __init__(
        self,
        directories: Sequence[LogDirectory],
        *,
        metadata_directory: LogDirectory,
        unusable: Sequence[str],
        cordoned: Sequence[str],
        recovery_threads: int,
        executor: Executor,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._directories = directories
        self._metadata_directory = metadata_directory
        self.unusable = unusable
        self._cordoned = {os.path.abspath(path) for path in cordoned}
        self._recovery_threads = recovery_threads
        self._executor = executor
        self._loop = loop
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self.metadata_torn_bytes = 0
        """What had to be cut off the metadata log; set by `open_metadata_log`."""

    @classmethod
    def lock(cls, config: BrokerConfig, *, clock: Clock, executor: Executor) -> "LogDirectories":
        """Take possession of every directory. Raises BrokerCannotStart when the one with the metadata log is unusable."""
        files = FileCache()
        taken: dict[str, LogDirectory] = {}
        unusable: list[str] = []
        cluster_id = None
        # The metadata log's directory first: it knows the cluster id that new directories get.
        for path in dict.fromkeys((config.metadata_log_dir, *config.log_dirs)):
            has_lost_its_name = _has_lost_its_name(path)
            try:
                taken[path] = LogDirectory(
                    path, node_id=config.node_id, cluster_id=cluster_id, files=files, clock=clock
                )
            except (OSError, LogDirectoryError) as error:
                if path == config.metadata_log_dir or isinstance(error, LogDirectoryError):
                    for directory in taken.values():
                        directory.close(clean=False)
                    raise BrokerCannotStart(_why_not_usable(path, error)) from error
                logger.error("log directory %s cannot be used, its partitions are offline: %s", path, error)
                unusable.append(path)
            else:
                cluster_id = taken[path].meta.cluster_id
                if has_lost_its_name:
                    logger.warning(
                        "%s had logs but no %s: it belongs to cluster %s and node %d now",
                        path,
                        META_PROPERTIES_FILE,
                        cluster_id,
                        config.node_id,
                    )
        return cls(
            [taken[path] for path in config.log_dirs if path in taken],
            metadata_directory=taken[config.metadata_log_dir],
            unusable=unusable,
            cordoned=config.cordoned_log_dirs,
            recovery_threads=config.num_recovery_threads_per_data_dir,
            executor=executor,
            loop=asyncio.get_running_loop(),
        )

    def __iter__(self) -> Iterator[LogDirectory]:
        return iter(self._directories)

    @property
    def _all(self) -> list[LogDirectory]:
        return list(dict.fromkeys((self._metadata_directory, *self._directories)))

    @property
    def cluster_id(self) -> str:
        return self._metadata_directory.meta.cluster_id

    @property
    def directory_id(self) -> UUID:
        """Of the directory with the metadata log."""
        encoded = self._metadata_directory.meta.directory_id
        return uuid_from_text(encoded) if encoded else UUID(int=0)

    @property
    def had_clean_shutdown(self) -> bool:
        return all(directory.had_clean_shutdown for directory in self._all)

    # -- opening ----------------------------------------------------------------------------------------------------

    def open_metadata_log(self) -> PartitionLog:
        """Raises DataDirectoryUnusable if it is damaged in a way that would lose topics."""
        directory = self._metadata_directory
        path = f"{directory.path}/{METADATA_TOPIC}-0"
        is_new = not os.path.isdir(path)
        if is_new or _is_only_formatted(path):
            orphans = sum(len(each.partitions()) for each in self._directories) - (not is_new)
            if orphans > 0:
                raise DataDirectoryUnusable(
                    f"The metadata log {path} is missing, and nothing else knows the {orphans} partitions there are. "
                    "Restore it from a copy, or start on an empty data directory."
                )
            if is_new:
                return directory.create_log(METADATA_TOPIC, 0, _METADATA_CONFIG, topic_id=None)
            os.close(os.open(f"{path}/{0:020d}{LOG_SUFFIX}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))
        self.metadata_torn_bytes = count_torn_bytes(
            path, flushed_up_to=_checkpointed(directory, RECOVERY_POINTS).get((METADATA_TOPIC, 0), 0)
        )
        return directory.open_log(METADATA_TOPIC, 0, _METADATA_CONFIG)

    async def open_all(self, wanted: Sequence[WantedLog]) -> list[PartitionLog | None]:
        """The logs of `wanted`, in its order; None for one in a directory that cannot be used.

        After a clean shutdown that is quick; else each log is checked, several at a time, before anyone is served.
        """
        found = self._find_partitions()
        opened: dict[WantedLog, PartitionLog | None] = {}
        to_recover: dict[LogDirectory, list[WantedLog]] = {}
        for log in wanted:
            directory = found.pop((log.topic, log.partition), None)
            if directory is None:
                opened[log] = self._missing(log)
            elif directory.had_clean_shutdown:
                opened[log] = self._open(directory, log)
            else:
                to_recover.setdefault(directory, []).append(log)
        await asyncio.gather(*(self._recover(directory, logs, opened) for directory, logs in to_recover.items()))
        found.pop((METADATA_TOPIC, 0), None)
        for (topic, partition), directory in found.items():
            _set_aside(directory, topic, partition)
        return [opened[log] for log in wanted]

    def _find_partitions(self) -> dict[TopicPartition, LogDirectory]:
        found: dict[TopicPartition, LogDirectory] = {}
        for directory in self._directories:
            for key in directory.partitions():
                if key in found:
                    raise DataDirectoryUnusable(
                        f"{key[0]}-{key[1]} is both in {found[key].path} and in {directory.path}. Remove one of them."
                    )
                found[key] = directory
        return found

    async def _recover(
        self, directory: LogDirectory, logs: Sequence[WantedLog], opened: dict[WantedLog, PartitionLog | None]
    ) -> None:
        """num.recovery.threads.per.data.dir at a time."""
        logger.info("checking %d logs in %s after an unclean shutdown", len(logs), directory.path)
        with ThreadPoolExecutor(self._recovery_threads, thread_name_prefix="stoker-recovery") as pool:
            recovering = [self._loop.run_in_executor(pool, self._open, directory, log) for log in logs]
            opened.update(zip(logs, await asyncio.gather(*recovering), strict=True))

    def _open(self, directory: LogDirectory, wanted: WantedLog) -> PartitionLog | None:
        name = f"{wanted.topic}-{wanted.partition}"
        try:
            log = directory.open_log(
                wanted.topic, wanted.partition, wanted.config, latest_leader_epoch=wanted.leader_epoch
            )
        except (OSError, LogError, CorruptRecords) as error:
            logger.error("%s in %s cannot be opened, it is offline: %s", name, directory.path, error)
            return None
        if log.topic_id in (None, wanted.topic_id):
            return log
        # Of a topic of the same name that was deleted; its files were to go, and a crash or a full disk kept them.
        del directory.logs[wanted.topic, wanted.partition]
        log.close(clean=False)
        _set_aside(directory, wanted.topic, wanted.partition)
        return self.create(wanted.topic, wanted.partition, wanted.topic_id, wanted.config)

    def _missing(self, wanted: WantedLog) -> PartitionLog | None:
        """The directory of a partition is gone: begin an empty log where it ended, for no offset is used twice."""
        if self.unusable:
            return None
        name = f"{wanted.topic}-{wanted.partition}"
        key = wanted.topic, wanted.partition
        # Before a new log is made: that forgets what the checkpoints say of an older one.
        end = max(_checkpointed(directory, HIGH_WATERMARKS).get(key, 0) for directory in self._directories)
        try:
            log = self.create(wanted.topic, wanted.partition, wanted.topic_id, wanted.config)
        except OSError as error:
            logger.error("%s has no log on the disk and none can be made, it is offline: %s", name, error)
            return None
        log.start_anew_at(end)
        lost = "; the records before it are lost" if end else ""
        level = ERROR if end else WARNING
        logger.log(level, "%s has no log on the disk: beginning an empty one at offset %d%s", name, end, lost)
        return log

    # -- creating and removing --------------------------------------------------------------------------------------

    def create(self, topic: str, partition: int, topic_id: UUID, config: LogConfig) -> PartitionLog:
        """A new log in the directory with the fewest logs, or if that one refuses, in another. Raises OSError."""
        open_ones = [d for d in self._directories if d.path not in self._cordoned] or list(self._directories)
        by_logs = sorted(open_ones, key=lambda directory: len(directory.logs))
        for directory in by_logs:
            path = f"{directory.path}/{topic}-{partition}"
            was_there = os.path.exists(path)
            try:
                return directory.create_log(topic, partition, config, topic_id=topic_id)
            except OSError as error:
                if not was_there:
                    shutil.rmtree(path, ignore_errors=True)
                if directory is by_logs[-1]:
                    raise
                logger.error("%s-%d cannot be made in %s, trying another directory: %s", topic, partition, path, error)
        raise FileNotFoundError("no log directory can be used")

    def remove(self, log: PartitionLog) -> None:
        """Take a log out of use; its files go after file.delete.delay.ms."""
        for directory in self._directories:
            if directory.logs.get((log.topic, log.partition)) is log:
                try:
                    self.remove_later(directory.delete_log(log.topic, log.partition), log.config.file_delete_delay_ms)
                except OSError as error:
                    logger.error(
                        "could not remove %s, it will be set aside at the next start: %s", log.directory, error
                    )

    def remove_later(self, removed: RemovedFiles, delay_ms: int) -> None:
        """Remove files that are out of use, off the event loop, when nobody can be reading them any more."""
        if not removed.paths:
            return

        def remove() -> None:
            del self._timers[key]
            self._loop.run_in_executor(self._executor, removed.remove)

        timer = self._loop.call_later(delay_ms / 1000, remove)
        key = id(timer)
        self._timers[key] = timer

    # -- checkpoints and closing ------------------------------------------------------------------------------------

    def write_checkpoints(self) -> None:
        for directory in self._all:
            try:
                directory.checkpoint()
            except OSError as error:
                logger.error("could not write the checkpoints of %s: %s", directory.path, error)

    def close(self) -> None:
        """Bring every log to the disk and mark the directories as cleanly shut down."""
        for timer in self._timers.values():
            timer.cancel()
        for directory in self._all:
            directory.close()

    def release(self) -> None:
        """Let go of the directories without touching what is in them."""
        for directory in self._all:
            directory.close(clean=False)


def _has_lost_its_name(path: str) -> bool:
    """Whether a directory is in use but does not say by whom."""
    try:
        names = os.listdir(path)
    except OSError:
        return False
    return META_PROPERTIES_FILE not in names and RECOVERY_POINTS in names


def _checkpointed(directory: LogDirectory, name: str) -> dict[TopicPartition, int]:
    """What a checkpoint says; nothing, if it cannot be read."""
    try:
        return read_offsets(f"{directory.path}/{name}")
    except (CorruptCheckpoint, OSError):
        return {}


def _set_aside(directory: LogDirectory, topic: str, partition: int) -> None:
    """As Kafka: what the metadata log does not know is renamed, not removed, and no longer in the way."""
    name = f"{topic}-{partition}"
    stray = f"{directory.path}/{name[:200]}.{uuid.uuid4().hex}{_STRAY_SUFFIX}"
    os.rename(f"{directory.path}/{name}", stray)
    logger.warning("no topic has a partition %s: its directory is set aside as %s", name, stray)


def _is_only_formatted(path: str) -> bool:
    """Whether there is no log yet: `kafka-storage.sh format --standalone` leaves a snapshot with the voters of the quorum alone."""
    names = os.listdir(path)
    return any(name.endswith(_SNAPSHOT_SUFFIX) for name in names) and not any(
        name.endswith(LOG_SUFFIX) for name in names
    )


def _why_not_usable(path: str, error: Exception) -> str:
    if isinstance(error, LogDirectoryLocked):
        return f"{error}. Stop the other broker, or choose another directory with --data-dir DIR."
    if isinstance(error, LogDirectoryError):
        return (
            f"{error}. Repair the file, set node.id to what it says, or choose another directory with --data-dir DIR."
        )
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"The data directory {path} cannot be used: {reason}. Choose another one with --data-dir DIR."
