"""Parts of Stoker, each a process, that start one after the other, write one log and stop together.

What happens (a line, an end, a signal) comes through one queue to the main thread, which alone decides.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from types import FrameType, TracebackType
from typing import Any, Final, NamedTuple, Self

from stoker.cli.colours import Colour, painted
from stoker.cli.failure import FAILED, INTERRUPTED

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_COLOURS: Final = (Colour.CYAN, Colour.MAGENTA, Colour.BLUE, Colour.YELLOW, Colour.GREEN)
_LONGEST_LINE: Final = 64 * 1024
_LAST_WORDS_SECONDS: Final = 1.0
"""What a part wrote before it ended is waited for, but not what a process that it left behind may write."""
_BY_SIGNAL: Final = 128
"""A shell adds the number of the signal that ended a program to it."""

Addresses = Mapping[str, str]
"""Where the parts that are ready are, by their names."""


class Part(NamedTuple):
    """`arguments` are those of `stoker`, from the addresses of the parts before it; `ready` finds its address in its log."""

    name: str
    arguments: Callable[[Addresses], Sequence[str]]
    ready: Callable[[str], str | None]
    wording: Mapping[str, str]
    """What it calls its options, and what they are called here."""
    environment: Mapping[str, str] | None = None
    """That of this process if it is not given."""


class _Line(NamedTuple):
    part: str
    text: str


class _Ended(NamedTuple):
    part: str


class _Signal(NamedTuple):
    number: signal.Signals


class Parts:
    """In a `with` of the main thread. However it is left, no part is left running."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._ended: set[str] = set()
        self._events: SimpleQueue[_Line | _Ended | _Signal] = SimpleQueue()
        self._previous: dict[int, Any] = {}
        self._tether_reader = self._tether_writer = -1
        self._width = max(len(part.name) for part in parts)
        self._complaint: dict[str, str] = {}
        """What a part said last of why it cannot go on."""

    def __enter__(self) -> Self:
        self._tether_reader, self._tether_writer = os.pipe()
        self._previous = {number: signal.signal(number, self._signalled) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for process in self._running.values():
            process.kill()
        for process in self._running.values():
            process.wait()
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        os.close(self._tether_reader)
        os.close(self._tether_writer)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        self._events.put(_Signal(signal.Signals(number)))

    # -- the story --------------------------------------------------------------------------------------------------

    def run(self, on_ready: Callable[[Addresses], None]) -> int:
        """Start all, wait for a signal or for the end of a part, stop all. Returns the exit code."""
        addresses: dict[str, str] = {}
        for part in self._parts:
            self._start(part, addresses)
            while part.name not in addresses:
                event = self._next()
                if not isinstance(event, _Line):
                    return self._stop(event)
                address = part.ready(event.text) if event.part == part.name else None
                if address is not None:
                    addresses[part.name] = address
        on_ready(addresses)
        while True:
            event = self._next()
            if not isinstance(event, _Line):
                return self._stop(event)

    def _start(self, part: Part, addresses: Addresses) -> None:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "stoker.cli.tethered",
                str(self._tether_reader),
                *part.arguments(addresses),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=part.environment,
            pass_fds=[self._tether_reader],
            process_group=0,  # so that Ctrl-C is for `up` alone, which stops the parts in their order
        )
        self._running[part.name] = process
        reader = threading.Thread(target=self._read, args=(part.name, process), daemon=True)
        watcher = threading.Thread(target=self._watch, args=(part.name, process, reader), daemon=True)
        reader.start()
        watcher.start()

    def _read(self, name: str, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout as stream:
            while line := stream.readline(_LONGEST_LINE):
                self._events.put(_Line(name, line.decode(errors="replace").rstrip("\n")))

    def _watch(self, name: str, process: subprocess.Popen[bytes], reader: threading.Thread) -> None:
        process.wait()
        reader.join(_LAST_WORDS_SECONDS)
        self._events.put(_Ended(name))

    def _next(self) -> _Line | _Ended | _Signal:
        event = self._events.get()
        if isinstance(event, _Line):
            self._print(event)
        elif isinstance(event, _Ended):
            self._ended.add(event.part)
        return event

    def _print(self, line: _Line) -> None:
        names = [part.name for part in self._parts]
        colour = _COLOURS[names.index(line.part) % len(_COLOURS)]
        if line.text.startswith(f"stoker {line.part}: "):
            self._complaint[line.part] = line.text.removeprefix(f"stoker {line.part}: ")
            return  # told of at the end
        self.say(painted(f"{line.part.ljust(self._width)} |", colour, sys.stderr) + f" {line.text}")

    @staticmethod
    def say(text: str) -> None:
        """A terminal that is gone must not keep the parts from being stopped."""
        try:
            print(text, file=sys.stderr, flush=True)
        except OSError:
            pass

    # -- the end ----------------------------------------------------------------------------------------------------

    def _stop(self, why: _Ended | _Signal) -> int:
        """The last to start is the first to go, since it needs those before it."""
        code = 0
        if isinstance(why, _Ended):
            code = self._explain(why.part)
        else:
            self.say(f"stoker up: {why.number.name} came, stopping; a second one forces it")
        for name in reversed(list(self._running)):
            process = self._running[name]
            if process.poll() is None:
                process.terminate()
            if not self._wait_for(name):
                self.say("stoker up: forced to stop")
                return INTERRUPTED
            if not code and process.returncode not in (0, -signal.SIGTERM):
                code = self._explain(name)
            del self._running[name]
        return code

    def _wait_for(self, name: str) -> bool:
        """Whether the part has ended, rather than someone lost patience."""
        while name not in self._ended:
            if isinstance(self._next(), _Signal):
                return False
        return True

    def _explain(self, name: str) -> int:
        """Says how a part ended, and returns the exit code for it."""
        process = self._running[name]
        code = process.wait()
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        reason = self._complaint.get(name)
        for theirs, ours in next(part.wording for part in self._parts if part.name == name).items():
            reason = reason and reason.replace(theirs, ours)
        self.say(f"stoker up: the {name} {how}{f': {reason}' if reason else ''}")
        return _BY_SIGNAL - code if code < 0 else code or FAILED
