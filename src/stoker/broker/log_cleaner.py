"""Compaction on this broker: the filthiest log first, cleaned by a worker process, swapped in on the event loop.

The loop's part is to choose a log, every log.cleaner.backoff.ms, and to rename files. Reading and writing is the worker's
part (stoker.log.compaction), and whatever waits for the disk is done on the executor's threads.
"""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Executor
from contextlib import aclosing
from logging import getLogger
from typing import Final

from stoker.broker.cleaner_process import CleanerProcess, WorkerDied
from stoker.broker.log_directories import LogDirectories
from stoker.broker.node import Node
from stoker.errors import StokerError
from stoker.log.compaction.job import Answer, CleanedSegment, CleaningDone, CleaningFailed
from stoker.log.compaction.selection import CleanerLimits, DirtyLog, dirty_part
from stoker.log.compaction.swap import remove_cleaned_files
from stoker.log.directory import LogDirectory, TopicPartition
from stoker.log.errors import LogError
from stoker.log.files import sync_directory
from stoker.log.partition import PartitionLog

logger = getLogger("stoker.broker")

_LOGS_PER_TURN: Final = 100
_SMALLEST_READ_BYTES: Final = 4 * 1024 * 1024
_LARGEST_BUFFER_BYTES: Final = 2**31 - 1
MOST_DEATHS: Final = 3
"""A log whose cleaning kills its worker so often is left alone."""
_NO_LIMIT: Final = 1e300
_CONSIDERATE_BYTES_PER_SECOND: Final = 200e6
"""What workers read and write unless log.cleaner.io.max.bytes.per.second is set: more would be felt by producers."""
_MEGABYTE: Final = 1e6


class LogCleaner:
    """Keeps the compacted logs of one broker clean. Belongs to the event loop's thread."""

    def __init__(self, node: Node, directories: LogDirectories, executor: Executor) -> None:
        self._node = node
        self._directories = directories
        self._executor = executor
        self._task: asyncio.Task[None] | None = None
        self._cleaning: dict[PartitionLog, asyncio.Task[None]] = {}
        self._idle_workers: list[CleanerProcess] = []
        self._uncleanable: set[PartitionLog] = set()
        self._not_before: dict[PartitionLog, float] = {}
        self._deaths: dict[PartitionLog, int] = {}

    def start(self) -> None:
        if self._node.config.log_cleaner_enable:
            self._task = self._node.loop.create_task(self._run())

    async def stop(self) -> None:
        """When this returns no worker runs, and no segment is replaced any more."""
        tasks = [*self._cleaning.values(), *([self._task] if self._task else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._dismiss_workers()

    async def _run(self) -> None:
        while True:
            try:
                self._stop_in_vain()
                await self._start_cleanings()
                if not self._cleaning:
                    await self._dismiss_workers()
            except Exception:
                logger.exception("compaction failed; it is tried again")
            await self._rest()

    def _stop_in_vain(self) -> None:
        """A log that was deleted needs no cleaning, and its directory may be another's by now."""
        for log, task in self._cleaning.items():
            if log.is_closed:
                task.cancel()

    async def _rest(self) -> None:
        """Until the next look: when a cleaning has ended, or after log.cleaner.backoff.ms."""
        seconds = max(self._node.config.log_cleaner_backoff_ms, 1) / 1000
        if self._cleaning:
            await asyncio.wait(self._cleaning.values(), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(seconds)

    async def _dismiss_workers(self) -> None:
        """An idle broker has no second process."""
        workers, self._idle_workers = self._idle_workers, []
        for worker in workers:
            await worker.kill()

    # -- choosing ---------------------------------------------------------------------------------------------------

    async def _start_cleanings(self) -> None:
        while len(self._cleaning) < self._node.config.log_cleaner_threads:
            dirty, directory = await self._filthiest()
            if dirty is None or directory is None:
                return
            log = dirty.log
            task = self._node.loop.create_task(self._clean(dirty, directory))
            self._cleaning[log] = task
            task.add_done_callback(lambda _, log=log: self._cleaning.pop(log))  # type: ignore[misc]

    async def _filthiest(self) -> tuple[DirtyLog | None, LogDirectory | None]:
        """The log with the largest share of dirty bytes, of those that have enough of them or waited too long."""
        filthiest: DirtyLog | None = None
        its_directory: LogDirectory | None = None
        now_ms = self._node.clock()
        self._forget_closed_logs()
        looked_at = 0
        for directory in self._directories:
            for key, log in list(directory.logs.items()):
                looked_at += 1
                if looked_at % _LOGS_PER_TURN == 0:
                    await asyncio.sleep(0)
                dirty = self._dirty_part(log, directory.cleaner_offsets.get(key), now_ms)
                if dirty is not None and (filthiest is None or dirty.dirty_ratio > filthiest.dirty_ratio):
                    filthiest, its_directory = dirty, directory
        return filthiest, its_directory

    def _dirty_part(self, log: PartitionLog, cleaned_up_to: int | None, now_ms: int) -> DirtyLog | None:
        if log.is_closed or not log.config.is_compacted or log in self._uncleanable:
            return None
        if any(log.directory == other.directory for other in self._cleaning):
            return None  # it, or one of its name that was deleted: two workers must not meet in one directory
        if self._not_before.get(log, 0.0) > self._node.loop.time():
            return None
        try:
            dirty = dirty_part(log, cleaned_up_to, now_ms)
        except (OSError, StokerError) as error:
            self._give_up(log, str(error))
            return None
        return dirty if dirty is not None and dirty.must_be_cleaned else None

    def _forget_closed_logs(self) -> None:
        self._uncleanable = {log for log in self._uncleanable if not log.is_closed}
        for by_log in (self._not_before, self._deaths):
            for log in [log for log in by_log if log.is_closed]:
                del by_log[log]

    def _limits(self) -> CleanerLimits:
        """What all workers may take, divided among them."""
        config = self._node.config
        workers = max(config.log_cleaner_threads, 1)
        rate = config.log_cleaner_io_max_bytes_per_second
        return CleanerLimits(
            dedupe_buffer_bytes=min(config.log_cleaner_dedupe_buffer_size // workers, _LARGEST_BUFFER_BYTES),
            load_factor=config.log_cleaner_io_buffer_load_factor,
            read_bytes=max(config.log_cleaner_io_buffer_size // workers, _SMALLEST_READ_BYTES),
            max_bytes_per_second=(_CONSIDERATE_BYTES_PER_SECOND if rate > _NO_LIMIT else rate) / workers,
        )

    # -- cleaning ---------------------------------------------------------------------------------------------------

    async def _clean(self, dirty: DirtyLog, directory: LogDirectory) -> None:
        """One log. Whatever happens to it meanwhile, and to the worker: what was replaced is replaced, the rest is as it was."""
        log = dirty.log
        worker: CleanerProcess | None = None
        try:
            await self._note(directory, log, directory.cleaner_offsets.get(_key(log), dirty.first_dirty_offset))
            job = dirty.job(self._node.clock(), self._limits())
            worker = self._idle_workers.pop() if self._idle_workers else await CleanerProcess.start()
            async with aclosing(worker.perform(job)) as answers:
                is_finished = await self._take(answers, dirty, directory)
            if is_finished:
                self._idle_workers.append(worker)
                worker = None
        except WorkerDied as error:
            self._worker_died(log, error)
        except (OSError, LogError) as error:
            logger.warning("could not finish cleaning %s, it is tried again: %s", log.directory, error)
            self._try_later(log)
        except Exception as error:
            logger.exception("cleaning %s failed", log.directory)
            self._give_up(log, repr(error))
        finally:
            if worker is not None:
                await worker.kill()
            await self._node.loop.run_in_executor(self._executor, remove_cleaned_files, log.directory)

    async def _take(self, answers: AsyncIterator[Answer], dirty: DirtyLog, directory: LogDirectory) -> bool:
        """Do as the worker says; whether it is through with the job. Raises LogError when the log has changed too much."""
        log = dirty.log
        async for answer in answers:
            if not self._is_to_be_cleaned(log, directory):
                logger.info("stopped cleaning %s: it was deleted, or is not compacted any more", log.directory)
                return False
            if isinstance(answer, CleanedSegment):
                if not await self._replace(log, answer):
                    return False
            elif isinstance(answer, CleaningDone):
                await self._note(directory, log, answer.end_offset)
                self._deaths.pop(log, None)
                _report(dirty, answer)
            else:
                self._failed(log, answer)
        return True

    def _is_to_be_cleaned(self, log: PartitionLog, directory: LogDirectory) -> bool:
        return not log.is_closed and directory.logs.get(_key(log)) is log and log.config.is_compacted

    async def _replace(self, log: PartitionLog, cleaned: CleanedSegment) -> bool:
        """Old files go when the new names are on the disk. Raises LogError if the old segments are not there any more."""
        try:
            removed = log.replace_segments(cleaned)
        except OSError as error:
            # Some files have their new names and some do not. The old ones are read on by either; the next start sorts it out.
            self._give_up(log, f"its segments could not be renamed: {error}")
            return False
        await self._node.loop.run_in_executor(self._executor, sync_directory, log.directory)
        self._directories.remove_later(removed, log.config.file_delete_delay_ms)
        return True

    async def _note(self, directory: LogDirectory, log: PartitionLog, offset: int) -> None:
        """Write down how far a log is clean. An entry also tells recovery that there may be gaps between its batches."""
        if directory.cleaner_offsets.get(_key(log)) != offset and directory.logs.get(_key(log)) is log:
            directory.cleaner_offsets[_key(log)] = offset
            await self._node.loop.run_in_executor(self._executor, directory.checkpoint_cleaner)

    # -- what went wrong --------------------------------------------------------------------------------------------

    def _failed(self, log: PartitionLog, failure: CleaningFailed) -> None:
        if failure.is_final:
            self._give_up(log, failure.reason)
        else:
            logger.warning("could not finish cleaning %s, it is tried again: %s", log.directory, failure.reason)
            self._try_later(log)

    def _worker_died(self, log: PartitionLog, error: WorkerDied) -> None:
        deaths = self._deaths[log] = self._deaths.get(log, 0) + 1
        if deaths >= MOST_DEATHS:
            self._give_up(log, f"its worker died {deaths} times, last {error}")
        else:
            logger.warning("the worker that cleaned %s died, it is tried again: %s", log.directory, error)
            self._try_later(log)

    def _try_later(self, log: PartitionLog) -> None:
        self._not_before[log] = self._node.loop.time() + self._node.config.log_cleaner_backoff_ms / 1000

    def _give_up(self, log: PartitionLog, reason: str) -> None:
        """Said once; the log is served as before, and left alone until the broker starts again."""
        logger.error("%s cannot be compacted and is left as it is until the next start: %s", log.directory, reason)
        self._uncleanable.add(log)


def _key(log: PartitionLog) -> TopicPartition:
    return log.topic, log.partition


def _report(dirty: DirtyLog, done: CleaningDone) -> None:
    saved = 1 - done.bytes_after / done.bytes_before if done.bytes_before else 0.0
    seconds = max(done.seconds, 1e-6)
    logger.info(
        "cleaned %s up to offset %d: %.1f MB to %.1f MB (%.0f%% less), %d of %d records kept, "
        "it was %.0f%% dirty; %.2f s, %.0f MB/s%s",
        dirty.log.directory,
        done.end_offset,
        done.bytes_before / _MEGABYTE,
        done.bytes_after / _MEGABYTE,
        100 * saved,
        done.records_kept,
        done.records_read,
        100 * dirty.dirty_ratio,
        seconds,
        done.bytes_before / _MEGABYTE / seconds,
        f"; {done.keyless_records} records had no key" if done.keyless_records else "",
    )
