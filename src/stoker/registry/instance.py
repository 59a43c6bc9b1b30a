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
from stoker.client.librdkafka import librdkafka_settings
from stoker.client.properties import ClientProperties
from stoker.errors import StokerError
from stoker.registry.deliberation import Patience, deliberate
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
_CATCH_UP_SECONDS: Final = 2
"""For a write that was handed on, to be known here too. It is read here as soon as it is there."""
_LAST_WORDS_SECONDS: Final = 1
"""What was written when the instance is stopped is read back within them, or not at all."""
_NOOP: Final = RegistryRecord(NoopKey(), None)


class ReadingEnded(StokerError):
    """The schemas' topic is no longer read, so that what is answered grows old."""


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
    """Is started, then answers questions; takes changes when it is the primary.

    `on_failure` is called when it can do neither any more; `failure` says why.
    """

    def __init__(self, options: InstanceOptions, *, on_failure: Callable[[], None] = lambda: None) -> None:
        self._options = options
        self._on_failure = on_failure
        self.failure: ReadingEnded | None = None
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
        self._loss: str | None = None
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
        self._properties = librdkafka_settings(options.properties.given)
        self._reader = LogReader(
            self._properties,
            options.topic,
            on_records=lambda records, last: self._in_loop(self._replay, records, last),
            on_end=lambda: self._in_loop(self._loaded.set),
            on_loss=lambda reason: self._in_loop(self._lose, reason),
            on_failure=lambda problem: self._in_loop(self._fail, problem),
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
        if self.failure is not None:
            raise self.failure

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

    def hurry(self) -> None:
        """No change waits any more; who asked for one is told how far it came."""
        self._stopping.set()
        self._decided.set()
        for future in self._waiting:
            if not future.done():
                future.set_exception(TimeoutError())

    async def shutdown(self) -> None:
        """Leaves the group, so that another instance takes over at once. A start that was broken off is undone too."""
        self._stopping.set()
        self._decided.set()
        if self._elector is not None:
            await asyncio.to_thread(self._elector.stop)
        if self._waiting:
            await asyncio.wait(self._waiting, timeout=_LAST_WORDS_SECONDS)
        self.hurry()
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
    def position(self) -> int:
        return self._replayed_offset

    async def reach(self, position: int) -> None:
        """Raises nothing: who waited in vain gets what there is."""
        try:
            async with asyncio.timeout(_CATCH_UP_SECONDS):
                await self._replayed(position)
        except TimeoutError:
            logger.warning("this instance is behind: offset %d of %s is not read yet", position, self._options.topic)

    @property
    def is_primary_known(self) -> bool:
        return self._result.standing is not Standing.UNDECIDED and self._loss is None

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
            try:
                self.registry.state.replay(record)
            except Exception:  # one of them must not stop all that come after it
                logger.exception("a record of %s is left out: %r", self._options.topic, record.key)
        self._replayed_offset = last
        for future, offset in list(self._waiting.items()):
            if offset <= last and not future.done():
                future.set_result(None)

    def _lose(self, reason: str) -> None:
        """What was read is all that is left of the schemas, so it is answered on; who would write would bury it."""
        if self._loss is None:
            topic = self._options.topic
            self._loss = (
                f"the topic {topic} was deleted or cut while this instance ran ({reason}). It takes no more writes, and "
                "answers what it had read: save that with `stoker schemas export`. Once restarted, it knows only what the "
                "topic holds then"
            )
            logger.error("%s", self._loss)

    def _fail(self, problem: Exception) -> None:
        self.failure = ReadingEnded(f"the topic {self._options.topic} cannot be read any more: {problem!r}")
        self._loaded.set()
        self._on_failure()

    async def _replayed(self, offset: int) -> None:
        if offset <= self._replayed_offset:
            return
        future = self._loop.create_future()
        self._waiting[future] = offset
        try:
            async with asyncio.timeout(_LAST_WORDS_SECONDS if self._stopping.is_set() else self._options.write_timeout):
                await future
        finally:
            del self._waiting[future]

    # -- writing ----------------------------------------------------------------------------------------------------

    async def change(self, decide: Callable[[Registry], Change[R]]) -> R:
        """One after the other, to its end even if the one who asked goes away. Raises RegistryError, such as NotPrimary."""
        return await asyncio.shield(self._change(decide))

    async def _change(self, decide: Callable[[Registry], Change[R]]) -> R:
        await self._turn()
        try:
            for attempt in range(_ATTEMPTS):
                try:
                    await self._become_writer()
                    # Nobody else writes now, so the state stays as it is; if somebody does, the log refuses what is decided.
                    patience = Patience(self._options.write_timeout, self._stopping)
                    change = await deliberate(self.registry.state, lambda: decide(self.registry), patience)
                    if change.records:
                        await self._append(change.records)
                    return change.reply
                except Fenced:
                    # Two took themselves for the primary. The election settles it; until then whoever comes last writes.
                    logger.warning(
                        "another instance has taken over the writes, or the transactional id has expired (attempt %d)",
                        attempt + 1,
                    )
            raise NotPrimary(self.primary_url)
        finally:
            self._writing.release()

    async def _turn(self) -> None:
        """Take it. When the cluster does not answer, those before may need longer than anybody waits."""
        try:
            async with asyncio.timeout(self._options.write_timeout):
                await self._writing.acquire()
        except TimeoutError:
            raise Unavailable(
                _TIMED_OUT, f"{self._options.write_timeout:g} s were spent on earlier writes; this one was not begun"
            ) from None

    async def _take_over(self) -> None:
        """Before the first write comes, so that it need not wait."""
        async with self._writing:
            try:
                await self._become_writer()
            except (Fenced, RegistryError) as problem:
                if not self._stopping.is_set():
                    logger.warning("the writes are not taken over yet: %s", problem)

    async def _become_writer(self) -> None:
        """Afterwards nobody else can write, and all that others wrote is replayed here."""
        self._refuse_the_impossible()
        try:
            async with asyncio.timeout(self._options.write_timeout):
                await self._decided.wait()
        except TimeoutError:
            raise NotPrimary(None) from None
        self._refuse_the_impossible()
        if self._result.standing is not Standing.PRIMARY:
            self._give_up_writing()
            raise NotPrimary(self.primary_url)
        if self._writer is None:
            self._writer = await self._in_writer_thread(self._new_writer)
            await self._append([_NOOP])  # when it has come back, all before it has

    def _refuse_the_impossible(self) -> None:
        if self._stopping.is_set():
            raise Unavailable(_STORE_ERROR, "This instance is being stopped; nothing was written")
        if self._loss is not None:
            self._give_up_writing()
            raise Unavailable(_STORE_ERROR, f"No write is taken: {self._loss}")

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
        before = self._replayed_offset
        offset = await self._in_writer_thread(lambda: writer.append(records))
        if offset <= before:
            self._lose(f"a record was written at offset {offset}, though {before} was read before")
            self._refuse_the_impossible()
        try:
            await self._replayed(offset)
        except TimeoutError:
            raise self._unavailable(
                _TIMED_OUT,
                "the write is done, but was not read back in time; one cause can be a transaction of somebody else that is "
                "open on the topic",
            ) from None

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
        except Exception as problem:
            reason = str(problem) if isinstance(problem, WriteError) else repr(problem)
            raise self._unavailable(_STORE_ERROR, reason) from problem

    def _unavailable(self, code: int, reason: str) -> RegistryError:
        self._give_up_writing()
        logger.error("a write to %s failed: %s", self._options.topic, reason)
        return Unavailable(code, f"Error while writing to the topic {self._options.topic}: {reason}")

    def _give_up_writing(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            self._writer_thread.submit(writer.close)
