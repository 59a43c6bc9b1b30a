"""Ctrl-C and SIGTERM, which are not to end the console tools in the middle of what must be whole."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_NUMBERS: Final = (signal.SIGINT, signal.SIGTERM)


class Signalled(BaseException):
    """Ctrl-C or SIGTERM."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def exit_code(self) -> int:
        """As a JVM's."""
        return 128 + self.number


class Signals:
    """Raise Signalled at once, or when they are held no longer; a second one ends the process."""

    def __init__(self) -> None:
        self._is_held = False
        self._came: int | None = None

    @contextmanager
    def handled(self) -> Iterator[None]:
        previous = {number: signal.signal(number, self._handle) for number in _NUMBERS}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        for each in _NUMBERS:
            signal.signal(each, signal.SIG_DFL)
        if not self._is_held:
            raise Signalled(number)
        self._came = number

    def hold(self) -> None:
        """From now on only remember the first."""
        self._is_held = True

    def release(self) -> None:
        """Raises Signalled if one came meanwhile."""
        self._is_held = False
        if self._came is not None:
            raise Signalled(self._came)

    @contextmanager
    def held(self) -> Iterator[None]:
        self.hold()
        try:
            yield
        finally:
            self.release()
