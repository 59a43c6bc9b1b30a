"""What a broker does by the clock: roll and retain segments, flush, write checkpoints, forget idle producers and clients."""

import asyncio
import select
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import Executor
from logging import getLogger

from stoker.broker.connection import Connection
from stoker.broker.log_directories import LogDirectories
from stoker.broker.metadata import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from stoker.broker.node import Node
from stoker.broker.partitions import Partition
from stoker.errors import StokerError

logger = getLogger("stoker.broker")

_IDLE_CHECK_MS = 1_000
_PARTITIONS_PER_TURN = 100
"""Logs looked at before requests get their turn."""


class Housekeeping:
    """Periodic tasks, each by its own config, each in small turns on the event loop."""

    def __init__(
        self, node: Node, directories: LogDirectories, executor: Executor, connections: Iterable[Connection]
    ) -> None:
        self._node = node
        self._directories = directories
        self._executor = executor
        self._connections = connections
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        config = self._node.config
        for name, work, interval_ms, delay_ms in (
            (
                "retention",
                self.retain,
                lambda: config.log_retention_check_interval_ms,
                config.log_initial_task_delay_ms,
            ),
            ("flushing", self.flush_due, self._flush_interval_ms, config.log_initial_task_delay_ms),
            ("checkpoints", self.checkpoint, self._checkpoint_interval_ms, None),
            ("producers", self.expire_producers, lambda: config.producer_id_expiration_check_interval_ms, None),
            (
                "offsets' retention",
                self.expire_offsets,
                lambda: config.offsets_retention_check_interval_ms,
                None,
            ),
            (
                "transactions' time-outs",
                self.abort_timed_out_transactions,
                lambda: config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
                None,
            ),
            (
                "transactional ids' expiration",
                self.expire_transactional_ids,
                lambda: config.transaction_remove_expired_transaction_cleanup_interval_ms,
                None,
            ),
            ("idle clients", self.close_idle_connections, lambda: _IDLE_CHECK_MS, None),
            ("lost clients", self.notice_lost_connections, lambda: _IDLE_CHECK_MS, None),
        ):
            self._tasks.append(self._node.loop.create_task(self._repeat(name, work, interval_ms, delay_ms)))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _repeat(
        self, name: str, work: Callable[[], object], interval_ms: Callable[[], int], delay_ms: int | None
    ) -> None:
        await asyncio.sleep((interval_ms() if delay_ms is None else delay_ms) / 1000)
        while True:
            try:
                result = work()
                if asyncio.iscoroutine(result):
                    await result
            except Exception:
                logger.exception("%s failed; it is tried again", name)
            await asyncio.sleep(interval_ms() / 1000)

    def _flush_interval_ms(self) -> int:
        """log.flush.scheduler.interval.ms is for ever by default; then only topics' own flush.ms count."""
        return min(self._node.config.log_flush_scheduler_interval_ms, 1_000)

    def _checkpoint_interval_ms(self) -> int:
        """All checkpoints are written together, as often as the most frequent of them."""
        config = self._node.config
        return min(config.log_flush_offset_checkpoint_interval_ms, config.log_flush_start_offset_checkpoint_interval_ms)

    # -- the tasks --------------------------------------------------------------------------------------------------

    async def retain(self) -> None:
        """Roll segments that are old enough and remove those that retention is done with."""
        now = self._node.clock()
        async for partition in self._in_turns():
            log = partition.log
            if log is not None and not log.is_closed:
                # One log that cannot be written must not keep the others from making room.
                try:
                    log.roll_if_due(now)
                except (OSError, StokerError) as error:
                    logger.error("could not roll %s: %s", partition, error)
                try:
                    removed = log.apply_retention(now)
                except (OSError, StokerError) as error:
                    logger.error("could not apply retention to %s: %s", partition, error)
                else:
                    self._directories.remove_later(removed, log.config.file_delete_delay_ms)

    async def flush_due(self) -> None:
        """Flush the logs whose flush.ms is over."""
        now = self._node.clock()
        async for partition in self._in_turns():
            log = partition.log
            if (
                log is not None
                and not log.is_closed
                and log.unflushed_messages
                and now - log.last_flush_ms >= log.config.flush_ms
            ):
                try:
                    await self._node.flusher.flushed(log)
                except (OSError, StokerError) as error:
                    logger.error("could not flush %s: %s", partition, error)

    async def checkpoint(self) -> None:
        """Write down how much of each log is known to be on the disk, so that recovery need not read it again."""
        await self._node.loop.run_in_executor(self._executor, self._directories.write_checkpoints)

    async def expire_producers(self) -> None:
        now = self._node.clock()
        async for partition in self._in_turns():
            if partition.log is not None and not partition.log.is_closed:
                partition.log.expire_producers(now)

    async def expire_offsets(self) -> None:
        if OFFSETS_TOPIC in self._node.metadata.topics:
            await self._node.groups.expire_offsets()

    async def abort_timed_out_transactions(self) -> None:
        if TRANSACTIONS_TOPIC in self._node.metadata.topics:
            await self._node.transactions.abort_timed_out()

    async def expire_transactional_ids(self) -> None:
        if TRANSACTIONS_TOPIC in self._node.metadata.topics:
            await self._node.transactions.expire_ids()

    def close_idle_connections(self) -> None:
        """connections.max.idle.ms, as in Kafka also for who waits for a reply: a fetch may be made to wait for weeks."""
        limit = self._node.config.connections_max_idle_ms / 1000
        if limit < 0:
            return
        now = self._node.loop.time()
        for connection in tuple(self._connections):
            if now - connection.last_active > limit:
                connection.close(f"idle for more than {limit:.0f} s (connections.max.idle.ms)", quiet=True)

    def notice_lost_connections(self) -> None:
        """Find the connections that were reset without the event loop saying so (see Connection.hung_up)."""
        poll = select.poll()
        by_descriptor = {connection.fileno(): connection for connection in self._connections}
        for descriptor in by_descriptor:
            poll.register(descriptor, 0)  # errors and hang-ups are reported always
        for descriptor, _ in poll.poll(0):
            by_descriptor[descriptor].hung_up()

    async def _in_turns(self) -> AsyncIterator[Partition]:
        for position, partition in enumerate(list(self._node.partitions)):
            if position % _PARTITIONS_PER_TURN == 0:
                await asyncio.sleep(0)
            yield partition
