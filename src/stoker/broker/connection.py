"""One client's connection: bytes in, whole requests to `dispatch`, replies out in order.

The socket is read and written directly (not through an asyncio transport), so that a request is received straight
into the memory it is appended from and a fetched stretch of a log goes out by sendfile (long ones from the threads of
`slice_senders`).

Bounded by construction: at most one request is being answered, at most one reply is waiting to be sent, and while
either is so only a few megabytes of further requests are taken in. Requests that came together are answered
in short turns, between which other connections have theirs.
"""

import asyncio
import contextlib
import os
import socket
from collections import deque
from collections.abc import Callable
from logging import DEBUG, WARNING, getLogger
from struct import Struct
from time import monotonic

from stoker.broker.receive_buffers import SCRATCH_BYTES, ReceiveBuffers
from stoker.broker.reply import Deferred
from stoker.broker.slice_senders import LONG_SLICE, MOST_AT_ONCE, SliceSenders
from stoker.broker.slice_senders import Outcome as Sent
from stoker.errors import ConnectionRefusedByBroker, MalformedMessage, StokerError
from stoker.log.partition import LogSlice

logger = getLogger("stoker.broker")

_FRAME_LENGTH = Struct(">i")
_SMALLEST_FRAME = 8
_SEND_CALLS_PER_TURN = 4
_ROOM_AT_ONCE = 4 * 1024 * 1024
"""Memory that a frame gets when it begins. It is only resident as far as bytes have come."""
_BUFFERS_PER_SEND = 256
_REPLIES_GATHERED = 32
_MORE_FOLLOWS: int = getattr(socket, "MSG_MORE", 0)  # not on macOS
_SHORT_REPLY = 4 * 1024
_TURN_SECONDS = 0.001

OutgoingPart = bytes | LogSlice
Outcome = list[OutgoingPart] | Deferred | None
Dispatch = Callable[["Connection", memoryview], Outcome]


class Connection:
    """Reads frames from one socket and answers them in order.

    `dispatch(connection, frame)` returns the parts of a whole response frame, None when there is to be no response,
    or a Deferred (see `answer`). The frame is a view of memory that is reused after `dispatch` returns.
    """

    __slots__ = (
        "_buffer",
        "_buffers",
        "_busy_with",
        "_dispatch",
        "_filled",
        "_handed_over",
        "_has_writer",
        "_head_sent",
        "_left",
        "_loop",
        "_max_frame",
        "_on_closed",
        "_outbox",
        "_reading",
        "_resting",
        "_senders",
        "_socket",
        "_writing",
        "client_software",
        "closed",
        "id",
        "last_active",
        "listener",
        "local_address",
        "peer_host",
        "peer_port",
    )

    def __init__(
        self,
        *,
        identifier: int,
        listener: str,
        sock: socket.socket,
        peer: tuple[str, int],
        loop: asyncio.AbstractEventLoop,
        buffers: ReceiveBuffers,
        senders: SliceSenders,
        max_frame: int,
        dispatch: Dispatch,
        on_closed: Callable[["Connection"], None],
    ) -> None:
        self.id = identifier
        self.listener = listener
        self.peer_host, self.peer_port = peer
        self.local_address: tuple[str, int] = sock.getsockname()[:2]
        self.client_software = ""
        self.closed = False
        self.last_active = loop.time()
        self._socket = sock
        self._loop = loop
        self._buffers = buffers
        self._senders = senders
        self._max_frame = max_frame
        self._dispatch = dispatch
        self._on_closed = on_closed
        # Received and not yet handled: the start of a frame, or frames behind one that is still being answered.
        self._buffer: memoryview | None = None
        self._filled = 0
        # The reply that has been promised for the request at hand.
        self._busy_with: Deferred | None = None
        # How the client left, once it has.
        self._left = ""
        # More whole requests are here, but it is for others to have theirs answered.
        self._resting = False
        # What is still to be sent, and how much of its first part has been.
        self._outbox: deque[OutgoingPart] = deque()
        self._head_sent = 0
        # Sending goes on by itself: by a writer of the loop, or by a thread that was given the first part.
        self._writing = False
        self._has_writer = False
        self._handed_over = False
        self._reading = True
        loop.add_reader(sock, self._on_readable)

    @property
    def peer(self) -> str:
        return f"{self.peer_host}:{self.peer_port}"

    @property
    def busy(self) -> bool:
        """A request is being answered, its reply waits for the client to read, or the next one for its turn."""
        return self._busy_with is not None or bool(self._outbox) or self._resting

    # -- in ---------------------------------------------------------------------------------------------------------

    def _on_readable(self) -> None:
        self.last_active = self._loop.time()
        try:
            if self._buffer is None and not self.busy:
                received = self._socket.recv_into(self._buffers.scratch)
                if received:
                    self._take_in(self._buffers.scratch, received)
                    return
            else:
                target = self._room()
                if target is None:
                    self._stop_reading()
                    return
                received = self._socket.recv_into(target)
                if received:
                    self._filled += received
                    if not self.busy:
                        self._handle_buffered()
                    return
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._client_left(f"lost: {error.strerror or error}")
            return
        self._client_left("closed by the client")

    def hung_up(self) -> None:
        """The client is gone for good, which the event loop may have kept to itself: take in all that is left.

        uvloop calls a reader once when a connection is reset, and then no more, whether it has read to the end or not.
        """
        while not self.closed and not self._left and not self.busy:
            self._on_readable()

    def fileno(self) -> int:
        return self._socket.fileno()

    def _client_left(self, how: str) -> None:
        """What came before it left is still handled: nobody would send again what was sent with acks=0."""
        self._left = how
        self._stop_reading()
        if self._busy_with is not None:
            self._busy_with.cancel()
            self._busy_with = None
        self._go_on()

    def _take_in(self, data: memoryview, end: int) -> None:
        """Handle the frames of data[:end]; what is left over moves to memory of this connection's own."""
        handled = self._handle_frames(data, end)
        left = end - handled
        if left and not self.closed:
            self._buffer = self._buffers.take(self._wanted_capacity(data[handled:end]))
            self._buffer[:left] = data[handled:end]
            self._filled = left

    def _room(self) -> memoryview | None:
        """Where to receive the rest of the frame at hand; None when enough is waiting behind a busy request."""
        if self.busy:
            if self._buffer is None:
                self._buffer = self._buffers.take(SCRATCH_BYTES)
                self._filled = 0
            return self._buffer[self._filled :] if self._filled < len(self._buffer) else None
        assert self._buffer is not None
        wanted = _FRAME_LENGTH.size
        if self._filled >= wanted:
            wanted += _FRAME_LENGTH.unpack_from(self._buffer)[0]
        if self._filled == len(self._buffer):
            larger = self._buffers.take(self._wanted_capacity(self._buffer))
            larger[: self._filled] = self._buffer
            self._buffers.give_back(self._buffer)
            self._buffer = larger
        return self._buffer[self._filled : max(wanted, self._filled + 1)]

    def _wanted_capacity(self, received: memoryview) -> int:
        """Room for the frame that begins here; a large one gets more when it has filled what it has."""
        length = _FRAME_LENGTH.unpack_from(received)[0] if len(received) >= 4 else 0
        return max(len(received) + 1, min(4 + length, max(_ROOM_AT_ONCE, 2 * len(received))))

    def _handle_buffered(self) -> None:
        buffer, filled = self._buffer, self._filled
        assert buffer is not None
        handled = self._handle_frames(buffer, filled)
        if self.closed or not handled:
            return
        left = filled - handled
        if left:
            buffer[:left] = bytes(buffer[handled:filled])
            self._filled = left
        else:
            self._buffer = None
            self._filled = 0
            self._buffers.give_back(buffer)

    def _handle_frames(self, data: memoryview, end: int) -> int:
        """Dispatch the whole frames of data[:end] until one has to wait; returns how many bytes were handled."""
        position = 0
        turn_ends = monotonic() + _TURN_SECONDS
        while end - position >= 4 and not self.closed and self._busy_with is None and not self._writing:
            (length,) = _FRAME_LENGTH.unpack_from(data, position)
            if not _SMALLEST_FRAME <= length <= self._max_frame:
                self.close(
                    f"a request of {length} bytes is outside {_SMALLEST_FRAME}..{self._max_frame} (socket.request.max.bytes)"
                    + _what_it_may_be(bytes(data[position : position + 4]))
                )
                break
            start = position + 4
            if end - start < length:
                break
            if position and monotonic() > turn_ends:
                self._resting = True
                self._loop.call_soon(self._next_turn)
                break
            position = start + length
            self._handle_frame(data[start:position])
        if self._outbox and not self._writing:
            self._write()
        return position

    def _handle_frame(self, frame: memoryview) -> None:
        """Short replies to requests that came together are gathered, and leave together."""
        try:
            outcome = self._dispatch(self, frame)
        except (MalformedMessage, ConnectionRefusedByBroker) as error:
            self.close(str(error))
        except StokerError as error:
            logger.error("request from %s failed: %s", self.peer, error)
            self.close("its request failed")
        except Exception:
            logger.exception("request from %s failed", self.peer)
            self.close("its request failed")
        else:
            if outcome is None:
                return
            if isinstance(outcome, Deferred):
                if self._left:
                    outcome.cancel()
                else:
                    self._busy_with = outcome
                return
            self._outbox.extend(outcome)
            if len(outcome) > 1 or len(outcome[0]) > _SHORT_REPLY or len(self._outbox) >= _REPLIES_GATHERED:
                self._write()

    def answer(self, parts: list[OutgoingPart] | None) -> None:
        """Send the reply that a Deferred promised (None: there is none after all), and go on with what waits behind."""
        self._busy_with = None
        if self.closed:
            return
        if parts is not None:
            self._send(parts)
        self._go_on()

    def _next_turn(self) -> None:
        self._resting = False
        self._go_on()

    def _go_on(self) -> None:
        if self.closed or self.busy:
            return
        if self._buffer is not None:
            self._handle_buffered()
        if self.closed or self.busy:
            return
        if self._left:
            self.close(self._left, quiet=True)
        elif not self._reading:
            self._loop.add_reader(self._socket, self._on_readable)
            self._reading = True

    def _stop_reading(self) -> None:
        self._loop.remove_reader(self._socket)
        self._reading = False

    # -- out --------------------------------------------------------------------------------------------------------

    def _send(self, parts: list[OutgoingPart]) -> None:
        self._outbox.extend(parts)
        self._write()

    def _write(self) -> None:
        outbox = self._outbox
        try:
            for _ in range(_SEND_CALLS_PER_TURN):
                if not outbox:
                    break
                head = outbox[0]
                if isinstance(head, bytes):
                    self._write_bytes()
                elif head.length - self._head_sent >= LONG_SLICE:
                    self._hand_over(head)
                    return
                else:
                    self._write_slice(head)
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            outbox.clear()
            self.close(f"lost: {error.strerror or error}", quiet=True)
        if self.closed:
            return
        self._writing = bool(outbox)
        if self._writing:
            self._add_writer()
        else:
            self._remove_writer()

    def _add_writer(self) -> None:
        if not self._has_writer:
            self._loop.add_writer(self._socket, self._on_writable)
            self._has_writer = True

    def _remove_writer(self) -> None:
        if self._has_writer:
            self._loop.remove_writer(self._socket)
            self._has_writer = False

    def _on_writable(self) -> None:
        self.last_active = self._loop.time()
        self._write()
        if not self._outbox:
            self._go_on()

    def _write_bytes(self) -> None:
        """Send as many leading byte parts as one call takes; MSG_MORE when a stretch of file follows them."""
        outbox = self._outbox
        buffers: list[bytes | memoryview] = []
        flags = 0
        for part in outbox:
            if not isinstance(part, bytes):
                flags = _MORE_FOLLOWS
                break
            if len(buffers) == _BUFFERS_PER_SEND:
                break
            buffers.append(part)
        if self._head_sent:
            buffers[0] = memoryview(buffers[0])[self._head_sent :]
        sent = self._socket.sendmsg(buffers, (), flags) + self._head_sent
        while outbox and isinstance(head := outbox[0], bytes) and sent >= len(head):
            sent -= len(head)
            outbox.popleft()
        self._head_sent = sent

    def _write_slice(self, part: LogSlice) -> None:
        sent = os.sendfile(
            self._socket.fileno(), part.file.descriptor, part.position + self._head_sent, part.length - self._head_sent
        )
        self._slice_was_sent(part, sent)

    def _slice_was_sent(self, part: LogSlice, sent: int) -> None:
        if not sent:
            self._outbox.clear()
            self.close(f"a log segment ended early at byte {part.position + self._head_sent}")
            return
        self._head_sent += sent
        if self._head_sent == part.length:
            self._outbox.popleft()
            self._head_sent = 0

    def _hand_over(self, part: LogSlice) -> None:
        self._remove_writer()
        self._writing = self._handed_over = True
        self._senders.send(self._socket, part, self._head_sent, self._on_handed_back)

    def _on_handed_back(self, sent: Sent) -> None:
        self._handed_over = False
        if self.closed:
            self._socket.close()
        elif isinstance(sent, (BlockingIOError, InterruptedError)):
            self._add_writer()
        elif isinstance(sent, OSError):
            self._outbox.clear()
            self.close(f"lost: {sent.strerror or sent}", quiet=True)
        else:
            part = self._outbox[0]
            assert isinstance(part, LogSlice)
            took_all = sent == min(part.length - self._head_sent, MOST_AT_ONCE)
            self._slice_was_sent(part, sent)
            if self.closed:
                return
            if took_all:
                self._on_writable()
            else:
                self._add_writer()

    # -- end --------------------------------------------------------------------------------------------------------

    def close(self, reason: str, *, quiet: bool = False) -> None:
        """End the connection; a request in progress is forgotten. Not quiet: the client broke a rule, one log line."""
        if self._outbox and not self._writing and not self.closed:
            self._write()  # replies to the requests before the one that ends the connection
        if self.closed:
            return
        self.closed = True
        logger.log(DEBUG if quiet else WARNING, "connection from %s closed: %s", self.peer, reason)
        if self._reading:
            self._loop.remove_reader(self._socket)
        self._remove_writer()
        if self._busy_with is not None:
            self._busy_with.cancel()
            self._busy_with = None
        self._outbox.clear()
        if self._buffer is not None:
            self._buffers.give_back(self._buffer)
            self._buffer = None
        if self._handed_over:
            # A thread is using it, and closes it through `_on_handed_back`; this much it and the client hear at once.
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        else:
            self._socket.close()
        self._on_closed(self)


def _what_it_may_be(start: bytes) -> str:
    """What speaks to us, if it is something that often does by mistake."""
    if start[:2] == b"\x16\x03":
        return "; it looks like TLS, which this listener does not speak"
    if start in (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI"):
        return "; it looks like HTTP"
    return ""
