"""Connections over real TCP sockets on a real event loop; only what answers the requests is the test's own."""

import asyncio
import logging
import os
import select
import socket
import struct
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.broker.connection import Connection, Dispatch, Outcome, OutgoingPart
from stoker.broker.event_loop import new_event_loop
from stoker.broker.receive_buffers import SCRATCH_BYTES, ReceiveBuffers
from stoker.broker.reply import Deferred, Reply
from stoker.broker.slice_senders import LONG_SLICE, SliceSenders
from stoker.broker.slice_senders import Outcome as Sent
from stoker.errors import MalformedMessage
from stoker.log.files import SegmentFile
from stoker.log.partition import LogSlice
from tests.raw_connection import framed

MAX_FRAME = 1024 * 1024


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = socket.create_connection(listening.getsockname())
        server, _ = listening.accept()
    for end in (client, server):
        end.setblocking(False)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client, server


class Conversation:
    """A client's socket, the connection at its other end, and the requests that came to `answer`."""

    def __init__(
        self,
        answer: Dispatch,
        buffers: ReceiveBuffers | None = None,
        send_buffer: int | None = None,
        senders: Callable[[asyncio.AbstractEventLoop, int], SliceSenders] = SliceSenders,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.client, server = tcp_pair()
        if send_buffer is not None:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
            self.client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, send_buffer)
        self.requests: list[bytes] = []
        self.ended = asyncio.Event()
        self._answer = answer
        self.senders = senders(self.loop, 2)
        self.connection = Connection(
            identifier=1,
            listener="PLAINTEXT",
            sock=server,
            peer=("127.0.0.1", 5),
            loop=self.loop,
            buffers=buffers or ReceiveBuffers(),
            senders=self.senders,
            max_frame=MAX_FRAME,
            dispatch=self._dispatch,
            on_closed=lambda _: self.ended.set(),
        )

    def _dispatch(self, connection: Connection, frame: memoryview) -> Outcome:
        self.requests.append(bytes(frame))
        return self._answer(connection, frame)

    async def send(self, data: bytes) -> None:
        await self.loop.sock_sendall(self.client, data)

    async def receive(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = await self.loop.sock_recv(self.client, min(65536, size - len(data)))
            if not piece:
                break
            data += piece
        return bytes(data)

    async def receive_frame(self) -> bytes:
        return await self.receive(int.from_bytes(await self.receive(4), "big"))

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():  # noqa: ASYNC110 - what is waited for has no event
                await asyncio.sleep(0.001)


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """On the event loop that a broker runs on."""

    async def bounded() -> None:
        async with asyncio.timeout(60):
            await test()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(bounded())


def converse(answer: Dispatch, talk: Callable[[Conversation], Coroutine[Any, Any, None]], **options: Any) -> None:
    async def test() -> None:
        conversation = Conversation(answer, **options)
        try:
            await talk(conversation)
        finally:
            conversation.connection.close("the test is over", quiet=True)
            conversation.senders.close()
            conversation.client.close()

    run(test)


def echo(connection: Connection, frame: memoryview) -> Outcome:
    return [framed(bytes(frame))]


# -- in -----------------------------------------------------------------------------------------------------------------


def test_pipelined_requests_are_answered_in_order() -> None:
    requests = [b"request %d" % number for number in range(1000)]

    async def talk(it: Conversation) -> None:
        await it.send(b"".join(map(framed, requests)))
        assert [await it.receive_frame() for _ in requests] == requests

    converse(echo, talk)


def test_a_frame_may_be_split_at_every_byte() -> None:
    requests = [b"12345678", b"a longer request", b"x" * 100]
    data = b"".join(map(framed, requests))

    async def talk(it: Conversation) -> None:
        for split in range(1, len(data)):
            await it.send(data[:split])
            handled = len(it.requests)
            await asyncio.sleep(0)
            await it.send(data[split:])
            assert [await it.receive_frame() for _ in requests] == requests
            assert len(it.requests) >= handled

    converse(echo, talk)


@given(
    sizes=st.lists(st.sampled_from([8, 9, 1000, SCRATCH_BYTES - 5, SCRATCH_BYTES, 200_000]), min_size=1, max_size=6),
    cuts=st.lists(st.integers(1, 100_000), max_size=8),
    seed=st.integers(0, 2**32),
)
def test_whatever_the_sizes_and_the_pieces_frames_come_whole(sizes: list[int], cuts: list[int], seed: int) -> None:
    random = Random(seed)
    requests = [random.randbytes(size) for size in sizes]
    data = b"".join(map(framed, requests))

    async def talk(it: Conversation) -> None:
        async def write() -> None:
            position = 0
            for cut in cuts:
                await it.send(data[position : position + cut])
                position += cut
                await asyncio.sleep(0)
            await it.send(data[position:])

        writing = asyncio.create_task(write())
        assert [await it.receive_frame() for _ in requests] == requests
        await writing

    converse(echo, talk)


def test_while_a_request_is_being_answered_no_other_is_begun() -> None:
    """And no more than a scratch buffer of them is taken in: the client has to wait."""
    promises: list[Deferred] = []

    def promise(connection: Connection, frame: memoryview) -> Outcome:
        content = bytes(frame)

        def answer(_: Reply) -> None:
            connection.answer([framed(content)])

        deferred = Deferred()
        deferred.when_resolved(answer)
        promises.append(deferred)
        return deferred

    requests = [bytes([number]) * 10_000 for number in range(200)]

    async def talk(it: Conversation) -> None:
        sending = asyncio.create_task(it.send(b"".join(map(framed, requests))))
        await it.until(lambda: bool(promises))
        await asyncio.sleep(0.05)
        assert len(it.requests) == 1
        for number, request in enumerate(requests):
            await it.until(lambda number=number: len(promises) > number)  # type: ignore[misc]
            assert len(it.requests) == number + 1
            promises[number].resolve(_ANY_REPLY)
            assert await it.receive_frame() == request
        await sending

    converse(promise, talk)


_ANY_REPLY: Any = object()


def test_a_request_without_an_answer_does_not_stop_the_next() -> None:
    def answer_every_second(connection: Connection, frame: memoryview) -> Outcome:
        return None if frame[0] % 2 else [framed(bytes(frame))]

    async def talk(it: Conversation) -> None:
        await it.send(b"".join(framed(bytes([number]) * 8) for number in range(10)))
        assert [(await it.receive_frame())[0] for _ in range(5)] == [0, 2, 4, 6, 8]

    converse(answer_every_second, talk)


def test_requests_that_came_together_leave_others_their_turn() -> None:
    """A connection with hundreds of whole requests at hand is interrupted for one with a single request."""
    order: list[int] = []

    def slow(connection: Connection, frame: memoryview) -> Outcome:
        order.append(frame[0])
        deadline = asyncio.get_running_loop().time() + 0.002
        while asyncio.get_running_loop().time() < deadline:
            pass
        return [framed(bytes(frame))]

    async def test() -> None:
        buffers = ReceiveBuffers()
        greedy, modest = Conversation(slow, buffers), Conversation(slow, buffers)
        await greedy.send(framed(b"\0" * 8) * 300)
        await modest.send(framed(b"\1" * 8))
        await modest.receive_frame()
        assert 1 in order[:100]
        for _ in range(300):
            await greedy.receive_frame()
        for each in (greedy, modest):
            each.connection.close("the test is over", quiet=True)
            each.client.close()

    run(test)


# -- out ----------------------------------------------------------------------------------------------------------------


def test_a_reply_larger_than_the_sockets_buffers_arrives_whole() -> None:
    reply = Random(1).randbytes(3_000_000)

    async def talk(it: Conversation) -> None:
        await it.send(framed(b"request 1") + framed(b"request 2"))
        await it.until(lambda: bool(it.requests))
        await asyncio.sleep(0.02)
        assert len(it.requests) == 1
        for _ in range(2):
            assert await it.receive_frame() == reply

    converse(lambda connection, frame: [framed(reply)], talk, send_buffer=65536)


def test_stretches_of_files_go_out_between_bytes(tmp_path: Path) -> None:
    """By sendfile, to a reader that is slower than the broker: nothing is lost, and the file is let go afterwards."""
    content = Random(2).randbytes(3_000_000)
    path = tmp_path / "segment"
    path.write_bytes(content)
    file = SegmentFile(os.open(path, os.O_RDONLY))
    parts: list[OutgoingPart] = [
        (10 + 1_000_000 + 4 + 1_999_990).to_bytes(4, "big") + b"the header",
        LogSlice(file, 0, 1_000_000),
        b"then",
        LogSlice(file, 1_000_010, 1_999_990),
    ]
    expected = b"the header" + content[:1_000_000] + b"then" + content[1_000_010:]

    async def talk(it: Conversation) -> None:
        await it.send(framed(b"request 1") + framed(b"request 2") + framed(b"request 3"))
        for _ in range(3):
            assert await it.receive_frame() == expected

    converse(lambda connection, frame: list(parts), talk, send_buffer=65536)


@pytest.mark.parametrize("length", [100, LONG_SLICE])
def test_a_file_that_ends_early_closes_the_connection(
    length: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "segment").write_bytes(b"short")
    file = SegmentFile(os.open(tmp_path / "segment", os.O_RDONLY))

    async def talk(it: Conversation) -> None:
        await it.send(framed(b"a request"))
        assert len(await it.receive(100)) <= 9
        await it.ended.wait()

    converse(lambda connection, frame: [length.to_bytes(4, "big"), LogSlice(file, 0, length)], talk)
    assert "ended early" in caplog.text


class HeldSenders(SliceSenders):
    """Threads that have not come to it yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop, count: int) -> None:
        super().__init__(loop, count)
        self.held: list[Callable[[], None]] = []

    def send(self, sock: socket.socket, part: LogSlice, sent: int, done: Callable[[Sent], None]) -> None:
        self.held.append(lambda: super(HeldSenders, self).send(sock, part, sent, done))


def long_slice(tmp_path: Path) -> LogSlice:
    (tmp_path / "segment").write_bytes(bytes(LONG_SLICE))
    return LogSlice(SegmentFile(os.open(tmp_path / "segment", os.O_RDONLY)), 0, LONG_SLICE)


def test_a_socket_that_a_thread_is_using_is_shut_down_but_keeps_its_number(tmp_path: Path) -> None:
    """Closed, its descriptor could be another connection's by the time the thread sends."""
    part = long_slice(tmp_path)

    async def talk(it: Conversation) -> None:
        assert isinstance(it.senders, HeldSenders)
        held = it.senders.held
        await it.send(framed(b"a request"))
        await it.until(lambda: bool(held))
        it.connection.close("the broker shuts down", quiet=True)
        assert it.ended.is_set()
        assert await it.receive(100) == LONG_SLICE.to_bytes(4, "big")
        assert it.connection.fileno() >= 0
        held.pop()()
        await it.until(lambda: it.connection.fileno() < 0)

    converse(lambda connection, frame: [LONG_SLICE.to_bytes(4, "big"), part], talk, senders=HeldSenders)


def test_a_client_that_leaves_while_a_thread_sends_is_let_go(tmp_path: Path) -> None:
    part = long_slice(tmp_path)

    async def talk(it: Conversation) -> None:
        assert isinstance(it.senders, HeldSenders)
        held = it.senders.held
        await it.send(framed(b"a request"))
        await it.until(lambda: bool(held))
        it.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        it.client.close()
        await it.until(lambda: is_reset(it.connection))
        held.pop()()
        await it.ended.wait()
        assert it.connection.fileno() < 0

    converse(lambda connection, frame: [LONG_SLICE.to_bytes(4, "big"), part], talk, senders=HeldSenders)


def is_reset(connection: Connection) -> bool:
    """Without taking the error from who is to meet it."""
    poller = select.poll()
    poller.register(connection.fileno(), 0)
    return any(events & select.POLLHUP for _, events in poller.poll(0))


def test_the_file_is_closed_when_all_is_sent(tmp_path: Path) -> None:
    slices = [long_slice(tmp_path)]
    descriptor = slices[0].file.descriptor

    def answer(connection: Connection, frame: memoryview) -> Outcome:
        return [LONG_SLICE.to_bytes(4, "big"), slices.pop()]

    def is_open() -> bool:
        return os.path.exists(f"/dev/fd/{descriptor}")

    async def talk(it: Conversation) -> None:
        assert is_open()
        await it.send(framed(b"a request"))
        assert len(await it.receive_frame()) == LONG_SLICE
        await it.until(lambda: not is_open())

    converse(answer, talk)


# -- end ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [-1, 0, 7, MAX_FRAME + 1, 2**31 - 1, -(2**31)])
def test_an_impossible_length_closes_with_one_log_line(length: int, caplog: pytest.LogCaptureFixture) -> None:
    async def talk(it: Conversation) -> None:
        await it.send(framed(b"a request") + length.to_bytes(4, "big", signed=True) + b"more than enough bytes")
        assert await it.receive_frame() == b"a request"
        assert await it.receive(1) == b""
        await it.ended.wait()
        assert it.requests == [b"a request"]

    caplog.set_level(logging.INFO)
    converse(echo, talk)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert f"a request of {length} bytes" in caplog.text


@pytest.mark.parametrize(
    ("error", "level"), [(MalformedMessage("not a message"), "WARNING"), (ZeroDivisionError("a bug"), "ERROR")]
)
def test_a_request_that_cannot_be_answered_closes_its_connection(
    error: Exception, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(connection: Connection, frame: memoryview) -> Outcome:
        raise error

    async def talk(it: Conversation) -> None:
        await it.send(framed(b"a request"))
        assert await it.receive(1) == b""

    converse(fail, talk)
    assert caplog.records[0].levelname == level
    assert str(error) in caplog.text


@pytest.mark.parametrize(
    ("behind", "requests"), [(b"", 1), (framed(b"x" * 50_000), 2), (framed(b"x" * 200_000)[:150_000], 1)]
)
def test_who_goes_while_a_request_is_being_answered_is_forgotten(behind: bytes, requests: int) -> None:
    cancelled: list[bool] = []
    buffers = ReceiveBuffers()

    def promise(connection: Connection, frame: memoryview) -> Outcome:
        return Deferred(on_cancel=lambda: cancelled.append(True))

    async def talk(it: Conversation) -> None:
        await it.send(framed(b"a request") + behind)
        await it.until(lambda: bool(it.requests))
        it.client.close()
        if len(behind) > SCRATCH_BYTES:
            it.connection.close("found idle", quiet=True)  # it no longer reads, so only the clock can tell
        await asyncio.wait_for(it.ended.wait(), 5)
        assert cancelled == [True] * requests

    converse(promise, talk, buffers=buffers)


def test_memory_goes_back_when_a_connection_ends() -> None:
    buffers = ReceiveBuffers()

    async def talk(it: Conversation) -> None:
        await it.send(framed(bytes(500_000))[:400_000])
        await it.until(lambda: it.connection._filled == 400_000)
        it.client.close()
        await it.ended.wait()

    converse(echo, talk, buffers=buffers)
    taken = buffers.take(500_000)
    assert bytes(taken[:4]) == (500_000).to_bytes(4, "big")
