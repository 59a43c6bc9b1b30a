"""Ctrl-C and SIGTERM for commands that end well: they are looked at where the work may stop, not thrown into its middle."""

import os
import select
import signal
from types import FrameType, TracebackType
from typing import Any, Final, Self

_NUMBERS: Final = (signal.SIGINT, signal.SIGTERM)
_PATIENCE: Final = 3
"""So many signals, and it is not asked any longer whether the moment is right."""


class Interruption:
    """In a `with` of the main thread: counts the signals and wakes who waits in `wait` or `wait_until_readable`."""

    def __init__(self) -> None:
        self.count = 0
        self.number: int | None = None
        """The signal that came first."""
        self._previous: dict[int, Any] = {}
        self._wake_reader = self._wake_writer = -1

    def __enter__(self) -> Self:
        self._wake_reader, self._wake_writer = os.pipe()
        self._previous = {number: signal.signal(number, self._came) for number in _NUMBERS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._restore()
        os.close(self._wake_reader)
        os.close(self._wake_writer)

    def __bool__(self) -> bool:
        return self.count > 0

    @property
    def exit_code(self) -> int:
        """What a shell reports of a program that this signal ended: 130 for Ctrl-C, 143 for SIGTERM."""
        return 0 if self.number is None else 128 + self.number

    def wait(self, seconds: float) -> None:
        """Sleep, but not past the first signal."""
        select.select([self._wake_reader], [], [], seconds)

    def wait_until_readable(self, descriptor: int, seconds: float) -> bool:
        """Whether there is something to read, or the end; no if the time was over or a signal came first."""
        ready, _, _ = select.select([descriptor, self._wake_reader], [], [], seconds)
        return ready == [descriptor]

    def _came(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.number is None:
            self.number = number
            os.write(self._wake_writer, b"!")  # it stays there, so that every later wait ends too
        if self.count == _PATIENCE - 1:
            self._restore()

    def _restore(self) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
