"""A broker's life in order: startup, serving, shutdown.

startup    bind the listeners, lock the data directories, replay the metadata log, open and if need be recover the logs
serving    accept connections; housekeeping runs beside them
shutdown   stop accepting, close connections, bring every log to the disk, leave the mark of a clean shutdown
"""

import asyncio
import errno
import os
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from logging import getLogger
from random import Random

from stoker.broker.config.broker_config import BrokerConfig
from stoker.broker.config.listeners import Listener
from stoker.broker.connection import Connection
from stoker.broker.dispatch import Dispatcher
from stoker.broker.housekeeping import Housekeeping
from stoker.broker.log_cleaner import LogCleaner
from stoker.broker.log_directories import LogDirectories, WantedLog
from stoker.broker.metadata import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, ClusterMetadata
from stoker.broker.metadata_log import MetadataLog
from stoker.broker.node import Node
from stoker.broker.receive_buffers import ReceiveBuffers
from stoker.broker.slice_senders import SliceSenders
from stoker.coordinators.producer_ids import BLOCK_SIZE
from stoker.errors import BrokerCannotStart
from stoker.log.partition import Clock, system_clock
from stoker.wire.metadata_records import MetadataRecord, PartitionChangeRecord, ProducerIdsRecord

logger = getLogger("stoker.broker")

_ACCEPTS_PER_TURN = 64
_PAUSE_WITHOUT_DESCRIPTORS_S = 0.1


class Server:
    """One broker on the running event loop. `startup`, then `shutdown`; nothing in between blocks."""

    def __init__(self, config: BrokerConfig, *, clock: Clock = system_clock, random: Random | None = None) -> None:
        self._config = config
        self._clock = clock
        self._random = random or Random(os.urandom(16))
        self._executor = ThreadPoolExecutor(max_workers=max(2, config.background_threads), thread_name_prefix="stoker")
        self._buffers = ReceiveBuffers()
        self._listening: list[tuple[Listener, socket.socket]] = []
        self._connections: set[Connection] = set()
        self._connections_by_host: Counter[str] = Counter()
        self._connection_ids = 0
        self._accept_rate = _Rate()
        self._accepting = False
        # Set by startup
        self._loop: asyncio.AbstractEventLoop
        self._directories: LogDirectories
        self._senders: SliceSenders
        self._housekeeping: Housekeeping
        self._cleaner: LogCleaner
        self._dispatch: Dispatcher
        self.node: Node

    @property
    def bootstrap_servers(self) -> str:
        """Where clients may connect: the host that was asked for (localhost for every interface), the port that was got."""
        return ",".join(
            f"{_bracketed(listener.host) or 'localhost'}:{sock.getsockname()[1]}" for listener, sock in self._listening
        )

    @property
    def is_on_every_interface(self) -> bool:
        return any(not listener.host for listener, _ in self._listening)

    # -- startup ----------------------------------------------------------------------------------------------------

    async def startup(self) -> None:
        """Raises BrokerCannotStart, having undone what it did."""
        self._loop = asyncio.get_running_loop()
        self._start_senders()
        try:
            self._bind()
            self._directories = LogDirectories.lock(self._config, clock=self._clock, executor=self._executor)
            await self._open_logs()
        except BaseException:
            self._release()
            raise
        self._dispatch = Dispatcher(self.node)
        self._housekeeping = Housekeeping(self.node, self._directories, self._executor, self._connections)
        self._housekeeping.start()
        self._cleaner = LogCleaner(self.node, self._directories, self._executor)
        self._cleaner.start()
        self._accept_connections()

    def _start_senders(self) -> None:
        count = self._config.num_network_threads
        try:
            self._senders = SliceSenders(self._loop, count)
        except RuntimeError as error:
            raise BrokerCannotStart(f"Cannot start {count} threads (num.network.threads): {error}.") from error

    def _bind(self) -> None:
        for listener in self._config.listeners:
            try:
                self._listening.append((listener, self._bound_socket(listener)))
            except OSError as error:
                in_use = "Another broker may be running there. " if error.errno == errno.EADDRINUSE else ""
                raise BrokerCannotStart(
                    f"Cannot listen on {listener}: {error.strerror or error}. "
                    f"{in_use}Choose another address with --listen HOST:PORT."
                ) from error

    def _bound_socket(self, listener: Listener) -> socket.socket:
        host = listener.host or None
        infos = socket.getaddrinfo(host, listener.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = next((i for i in infos if i[0] == socket.AF_INET), infos[0])
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            for option, name in (
                (socket.SO_RCVBUF, "socket.receive.buffer.bytes"),
                (socket.SO_SNDBUF, "socket.send.buffer.bytes"),
            ):
                # Kafka's default of 100 KB is for its own buffers; the operating system's tuning does better here.
                if name in self._config.originals and (size := self._config.integer(name)) > 0:
                    sock.setsockopt(socket.SOL_SOCKET, option, size)
            sock.bind(address)
            sock.setblocking(False)
        except BaseException:
            sock.close()
            raise
        return sock

    async def _open_logs(self) -> None:
        began = time.monotonic()
        metadata = ClusterMetadata()
        log = self._directories.open_metadata_log()
        metadata_log = MetadataLog(log, metadata, clock=self._clock)
        metadata_log.load()
        if self._directories.metadata_torn_bytes:
            _skip_producer_ids(metadata_log, self._config.node_id)
        self.node = Node(
            config=self._config,
            metadata_log=metadata_log,
            log_directories=self._directories,
            loop=self._loop,
            executor=self._executor,
            clock=self._clock,
            random=self._random,
        )
        for message in self.node.configs.ignored:
            logger.warning("a stored config is left out: %s", message)
        clean = self._directories.had_clean_shutdown
        if not clean and metadata.topics:
            self._begin_new_leader_epochs(metadata_log)
        count = await self._open_partitions()
        if OFFSETS_TOPIC in metadata.topics:
            _ = self.node.groups  # loads them
        if TRANSACTIONS_TOPIC in metadata.topics:
            await self.node.transactions.finished()  # loaded, and those that a crash interrupted are complete
        if count:
            logger.info(
                "opened %d partitions in %.2f s%s",
                count,
                time.monotonic() - began,
                "" if clean else " after an unclean shutdown",
            )

    def _begin_new_leader_epochs(self, metadata_log: MetadataLog) -> None:
        """After a crash a log may be shorter than a reader has seen. A new epoch lets the reader find out (KIP-320)."""
        records: list[MetadataRecord] = [
            PartitionChangeRecord(partition_id=index, topic_id=topic.topic_id, leader=self._config.node_id)
            for topic in metadata_log.metadata.topics.values()
            for index in range(len(topic.partitions))
        ]
        metadata_log.append(records)

    async def _open_partitions(self) -> int:
        """Logs that need no recovery open at once; the others are recovered on worker threads, before anyone is served."""
        node = self.node
        wanted = [
            WantedLog(topic.name, index, topic.topic_id, partition.leader_epoch, config)
            for topic in node.metadata.topics.values()
            for config in (node.configs.log_config_for(topic.name),)
            for index, partition in enumerate(topic.partitions)
        ]
        for log, opened in zip(wanted, await self._directories.open_all(wanted), strict=True):
            node.serve(node.metadata.topics[log.topic], log.partition, opened)
        return len(wanted)

    # -- serving ----------------------------------------------------------------------------------------------------

    def _accept_connections(self) -> None:
        for listener, sock in self._listening:
            sock.listen(self._backlog())
            self._loop.add_reader(sock, self._accept, listener, sock)
        self._accepting = True

    def _backlog(self) -> int:
        """Kafka's default of 50 makes clients that come together wait a second and more, so it counts only if it was set."""
        if "socket.listen.backlog.size" in self._config.originals:
            return self._config.socket_listen_backlog_size
        return socket.SOMAXCONN

    def _accept(self, listener: Listener, listening: socket.socket) -> None:
        for _ in range(_ACCEPTS_PER_TURN):
            if self._accept_rate.count_in(self._loop.time()) >= self.node.config.max_connection_creation_rate:
                self._pause_accepting(listener, listening, self._accept_rate.until_next(self._loop.time()))
                return
            try:
                sock, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                # Out of descriptors or memory. The connection stays in the backlog; try again when some have closed.
                logger.error("cannot accept connections: %s", error.strerror or error)
                self._pause_accepting(listener, listening, _PAUSE_WITHOUT_DESCRIPTORS_S)
                return
            self._accept_rate.add(self._loop.time())
            self._connected(listener, sock, address)

    def _pause_accepting(self, listener: Listener, listening: socket.socket, seconds: float) -> None:
        self._loop.remove_reader(listening)
        self._loop.call_later(seconds, self._accept_again, listener, listening)

    def _accept_again(self, listener: Listener, listening: socket.socket) -> None:
        if self._accepting:
            self._loop.add_reader(listening, self._accept, listener, listening)

    def _connected(self, listener: Listener, sock: socket.socket, address: tuple[str, int]) -> None:
        host = address[0]
        refusal = self._why_not(host)
        if refusal is not None:
            logger.warning("connection from %s:%d refused: %s", host, address[1], refusal)
            sock.close()
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._connection_ids += 1
        self._connections_by_host[host] += 1
        self._connections.add(
            Connection(
                identifier=self._connection_ids,
                listener=listener.name,
                sock=sock,
                peer=(host, address[1]),
                loop=self._loop,
                buffers=self._buffers,
                senders=self._senders,
                max_frame=self._config.socket_request_max_bytes,
                dispatch=self._dispatch,
                on_closed=self._disconnected,
            )
        )

    def _why_not(self, host: str) -> str | None:
        config = self.node.config
        if len(self._connections) >= config.max_connections:
            return f"there are {config.max_connections} connections already (max.connections)"
        limit = config.max_connections_per_ip_overrides.get(host, config.max_connections_per_ip)
        if self._connections_by_host[host] >= limit:
            return f"there are {limit} connections from this address already (max.connections.per.ip)"
        return None

    def _disconnected(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._connections_by_host[connection.peer_host] -= 1
        if not self._connections_by_host[connection.peer_host]:
            del self._connections_by_host[connection.peer_host]

    # -- shutdown ---------------------------------------------------------------------------------------------------

    async def shutdown(self) -> None:
        """Everything acknowledged is on the disk when this returns, and the next start need not recover."""
        self._accepting = False
        for _, sock in self._listening:
            self._loop.remove_reader(sock)
            sock.close()
        for connection in tuple(self._connections):
            connection.close("the broker shuts down", quiet=True)
        self._senders.close()
        await self._housekeeping.stop()
        await self._cleaner.stop()
        await self._dispatch.drain()
        self.node.close()
        await self._loop.run_in_executor(self._executor, self._directories.close)
        self._executor.shutdown()

    def _release(self) -> None:
        """Let go of what startup took."""
        self._senders.close()
        for _, sock in self._listening:
            sock.close()
        self._listening.clear()
        directories = getattr(self, "_directories", None)
        if directories is not None:
            directories.release()
        self._executor.shutdown(wait=False)


def _skip_producer_ids(metadata_log: MetadataLog, node_id: int) -> None:
    """What was cut off the metadata log may have been the record of a block of ids that are in use: leave that one out."""
    next_producer_id = metadata_log.metadata.next_producer_id + BLOCK_SIZE
    metadata_log.append([ProducerIdsRecord(broker_id=node_id, next_producer_id=next_producer_id)])


class _Rate:
    """Events in the current second."""

    def __init__(self) -> None:
        self._second = 0
        self._count = 0

    def count_in(self, now: float) -> int:
        return self._count if int(now) == self._second else 0

    def until_next(self, now: float) -> float:
        return 1 - now % 1

    def add(self, now: float) -> None:
        self._count = self.count_in(now) + 1
        self._second = int(now)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
