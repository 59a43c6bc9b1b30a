"""One instance of the registry on a Kafka cluster: what it has read, what it may write, and who else there is."""

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from stoker.client.cluster import Cluster
from stoker.client.errors import CannotConnect, ConnectionLost
from stoker.client.properties import ClientProperties
from stoker.registry.election import Elector, Identity, Result, Standing
from stoker.registry.errors import RegistryError, Unavailable, Unprocessable
from stoker.registry.log_reader import LogReader
from stoker.registry.log_writer import Fenced, LogWriter, RecordTooLarge, WriteError
from stoker.registry.records import NoopKey, RegistryRecord
from stoker.registry.registry import Change, Registry
from stoker.registry.schemas_topic import prepare_topic
from stoker.registry.service import NotPrimary
from stoker.registry.settings import Level
from stoker.registry.state import RegistryState

logger = logging.getLogger("stoker.registry")

R = TypeVar("R")
_STORE_ERROR: Final = 50001
_TIMED_OUT: Final = 50002
_TOO_LARGE: Final = 42209
_ATTEMPTS: Final = 3
_PAUSE_SECONDS: Final = 0.5
_ELECTION_SECONDS: Final = 5
"""For the election itself, when the session of the one before is over."""
_NOOP: Final = RegistryRecord(NoopKey(), None)


@dataclass(frozen=True, kw_only=True)
class InstanceOptions:
    properties: ClientProperties
    identity: Identity
    topic: str = "_schemas"
    group_id: str = "schema-registry"
    session_timeout_ms: int = 10_000
    write_timeout: float = 30.0
    """Seconds until a write is given up, and the one who asked for it is told that it may or may not be there."""
    start_timeout: float = 60.0
    """Seconds for which the cluster is waited for at start."""
    default_level: Level = Level.BACKWARD


class Instance:
    """Is started, then answers questions; takes changes when it is the primary."""

    def __init__(self, options: InstanceOptions) -> None:
        self._options = options
        self.registry = Registry(RegistryState(), default_level=options.default_level)
        self.cluster_id = ""
        self._result = Result(Standing.UNDECIDED)
        self._elector: Elector | None = None
        self._decided = asyncio.Event()
        self._next_result = asyncio.Event()
        # Of the log.
        self._replayed_offset = -1
        self._reader: LogReader | None = None
        self._waiting: dict[asyncio.Future[None], int] = {}
        self._loaded = asyncio.Event()
        # Of this instance's turn as the writer.
        self._taking_over: asyncio.Task[None] | None = None
        self._writer: LogWriter | None = None
        self._writing = asyncio.Lock()
        self._stopping = threading.Event()
        self._writer_thread = ThreadPoolExecutor(1, thread_name_prefix="stoker-registry-writer")

    # -- life -------------------------------------------------------------------------------------------------------

    async def startup(self) -> None:
        """Until all that the log holds is known. Raises StokerError."""
        self._loop = asyncio.get_running_loop()
        options = self._options
        await self._find_cluster()
        self._properties = options.properties.given
        self._reader = LogReader(
            self._properties,
            options.topic,
            on_records=lambda records, last: self._in_loop(self._replay, records, last),
            on_end=lambda: self._in_loop(self._loaded.set),
        )
        self._reader.start()
        self._elector = Elector(
            options.properties,
            group_id=options.group_id,
            identity=options.identity,
            session_timeout_ms=options.session_timeout_ms,
            on_result=lambda result: self._in_loop(self._elected, result),
        )
        self._elector.start()
        await self._loaded.wait()

    async def _find_cluster(self) -> None:
        """The cluster may be starting too. Raises ClientError when it is not there in time."""
        deadline = self._loop.time() + self._options.start_timeout
        has_said = False
        while True:
            try:
                self.cluster_id = await asyncio.to_thread(self._prepare)
                return
            except (CannotConnect, ConnectionLost) as problem:
                if self._loop.time() > deadline:
                    raise
                if not has_said:
                    logger.warning("waiting for the cluster, for up to %g s: %s", self._options.start_timeout, problem)
                    has_said = True
            await asyncio.sleep(_PAUSE_SECONDS)

    def _prepare(self) -> str:
        with Cluster(self._options.properties) as cluster:
            return prepare_topic(cluster, self._options.topic)

    def _in_loop(self, function: Callable[..., None], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:  # the loop was closed while a thread had something to say
            pass

    async def shutdown(self) -> None:
        """Leaves the group, so that another instance takes over at once. A start that was broken off is undone too."""
        self._stopping.set()
        if self._elector is not None:
            await asyncio.to_thread(self._elector.stop)
        async with self._writing:
            self._give_up_writing()
        if self._reader is not None:
            await asyncio.to_thread(self._reader.stop)
        self._writer_thread.shutdown()

    # -- who writes -------------------------------------------------------------------------------------------------

    @property
    def primary_url(self) -> str | None:
        result = self._result
        return result.primary.url if result.standing is Standing.FOLLOWER and result.primary is not None else None

    @property
    def is_primary_known(self) -> bool:
        return self._result.standing is not Standing.UNDECIDED

    async def another_primary(self, than: str) -> bool:
        """Wait until the writes belong to another one than the instance at this URL; False if that takes too long."""
        try:
            async with asyncio.timeout(self._options.session_timeout_ms / 1000 + _ELECTION_SECONDS):
                while self.primary_url == than:
                    await self._next_result.wait()
        except TimeoutError:
            return False
        return True

    def _elected(self, result: Result) -> None:
        if result == self._result:
            return
        self._result = result
        self._next_result.set()
        self._next_result = asyncio.Event()
        if result.standing is Standing.PRIMARY:
            logger.info("this instance takes the writes")
            self._taking_over = self._loop.create_task(self._take_over())
        elif result.primary is not None:
            logger.info("%s takes the writes", result.primary.url)
        else:
            logger.warning("no instance of the group %s may take writes", self._options.group_id)
        if result.standing is Standing.UNDECIDED:
            self._decided.clear()
        else:
            self._decided.set()

    # -- reading ----------------------------------------------------------------------------------------------------

    def _replay(self, records: list[RegistryRecord], last: int) -> None:
        for record in records:
            self.registry.state.replay(record)
        self._replayed_offset = last
        for future, offset in list(self._waiting.items()):
            if offset <= last and not future.done():
                future.set_result(None)

    async def _replayed(self, offset: int) -> None:
        if offset <= self._replayed_offset:
            return
        future = self._loop.create_future()
        self._waiting[future] = offset
        try:
            async with asyncio.timeout(self._options.write_timeout):
                await future
        finally:
            del self._waiting[future]

    # -- writing ----------------------------------------------------------------------------------------------------

    async def change(self, decide: Callable[[Registry], Change[R]]) -> R:
        """One after the other, to its end even if the one who asked goes away. Raises RegistryError, such as NotPrimary."""
        return await asyncio.shield(self._change(decide))

    async def _change(self, decide: Callable[[Registry], Change[R]]) -> R:
        async with self._writing:
            for attempt in range(_ATTEMPTS):
                try:
                    await self._become_writer()
                    change = decide(self.registry)
                    if change.records:
                        await self._append(change.records)
                    return change.reply
                except Fenced:
                    # Two took themselves for the primary. The election settles it; until then whoever comes last writes.
                    logger.warning("another instance has taken over the writes (attempt %d)", attempt + 1)
            raise NotPrimary(self.primary_url)

    async def _take_over(self) -> None:
        """Before the first write comes, so that it need not wait."""
        async with self._writing:
            try:
                await self._become_writer()
            except (Fenced, RegistryError) as problem:
                logger.warning("the writes are not taken over yet: %s", problem)

    async def _become_writer(self) -> None:
        """Afterwards nobody else can write, and all that others wrote is replayed here."""
        try:
            async with asyncio.timeout(self._options.write_timeout):
                await self._decided.wait()
        except TimeoutError:
            raise NotPrimary(None) from None
        if self._result.standing is not Standing.PRIMARY:
            self._give_up_writing()
            raise NotPrimary(self.primary_url)
        if self._writer is None:
            self._writer = await self._in_writer_thread(self._new_writer)
            await self._append([_NOOP])  # when it has come back, all before it has

    def _new_writer(self) -> LogWriter:
        options = self._options
        return LogWriter(
            self._properties,
            options.topic,
            transactional_id=f"{options.group_id}-{options.topic}",
            timeout=options.write_timeout,
            stopping=self._stopping,
        )

    async def _append(self, records: list[RegistryRecord]) -> None:
        writer = self._writer
        assert writer is not None
        offset = await self._in_writer_thread(lambda: writer.append(records))
        try:
            await self._replayed(offset)
        except TimeoutError:
            raise self._unavailable(_TIMED_OUT, "the write is done, but was not read back in time") from None

    async def _in_writer_thread(self, work: Callable[[], R]) -> R:
        """After an error a new writer is needed: only its coming decides what became of what was written."""
        try:
            return await self._loop.run_in_executor(self._writer_thread, work)
        except RecordTooLarge as problem:
            self._give_up_writing()
            raise Unprocessable(
                _TOO_LARGE, f"Register operation failed because schema is too large: {problem}"
            ) from None
        except Fenced:
            self._give_up_writing()
            raise
        except WriteError as problem:
            raise self._unavailable(_STORE_ERROR, str(problem)) from problem

    def _unavailable(self, code: int, reason: str) -> RegistryError:
        self._give_up_writing()
        logger.error("a write to %s failed: %s", self._options.topic, reason)
        return Unavailable(code, f"Error while writing to the topic {self._options.topic}: {reason}")

    def _give_up_writing(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            self._writer_thread.submit(writer.close)
