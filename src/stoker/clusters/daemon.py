"""A process that outlives who started it, and is known again.

Its pid is in a file. A pid alone says little, as the operating system gives it to another process one day; so a daemon
has its directory in its command line, and a process without it is not ours.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from stoker.clusters.errors import CannotStart, NodeState

PID_FILE: Final = "pid"
STOPPING_FILE: Final = "stopping"
"""The pid of the one that has been sent SIGTERM."""
_MARK: Final = "-Dstoker.process="
_POLL_SECONDS: Final = 0.05
_MOMENT_SECONDS: Final = 0.001
_TAIL_LINES: Final = 20
_KILL_SECONDS: Final = 60.0
_PROC: Final = Path("/proc")
_FLAGS_FIELD: Final = 5
"""Of /proc/PID/stat, counted from behind the state: proc(5)."""
_PF_EXITING: Final = 0x4

_children: dict[int, "subprocess.Popen[bytes]"] = {}
"""Those that this process has started: it must ask for their end, or they stay as zombies."""


class Daemon:
    """One process a directory, which has its pid file and its log. `name` is for messages: node 2."""

    def __init__(self, directory: Path, name: str) -> None:
        self.directory = directory
        self.name = name

    @property
    def log_file(self) -> Path:
        return self.directory / "server.log"

    @property
    def mark(self) -> str:
        """An argument for the JVM by which the process is known again."""
        return f"{_MARK}{self.directory}"

    @property
    def pid(self) -> int | None:
        """Of the running process; None if there is none, or if its number belongs to a stranger by now."""
        pid = self._last_pid
        return pid if pid is not None and self._runs_as(pid) else None

    @property
    def is_stopping(self) -> bool:
        """Whether it runs and has been told to end, by whomever of us, who may have been interrupted since."""
        pid = self.pid
        try:
            return pid is not None and self._stopping_file.read_text() == f"{pid}\n"
        except OSError:
            return False

    @property
    def memory(self) -> int | None:
        """Resident bytes; None if it does not run."""
        pid = self.pid
        return None if pid is None else _resident_bytes(pid)

    def start(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start it, in a session of its own, so that Ctrl-C is not for it. `mark` must be in the command."""
        assert self.mark in command, "it could not be known again"
        self.directory.mkdir(parents=True, exist_ok=True)
        with self.log_file.open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
                env=None if environment is None else dict(environment),
                start_new_session=True,
            )
        _children[process.pid] = process
        try:
            self._pid_file.write_text(f"{process.pid}\n")
        except BaseException:  # nobody would find it again
            process.kill()
            raise
        # It has begun, and its command line is not there yet.
        while process.poll() is None and not self._runs_as(process.pid):
            time.sleep(_MOMENT_SECONDS)

    def raise_if_ended(self) -> None:
        """For who waits until it is ready. Raises CannotStart."""
        if self.pid is None:
            raise CannotStart(f"{self.name} ended as soon as it was started. {self.last_words()}")

    def terminate(self) -> None:
        """SIGTERM; `wait_until_gone` says when it has ended."""
        pid = self.pid
        if pid is not None:
            with suppress(OSError):  # on a full disk it is stopped all the same
                self._stopping_file.write_text(f"{pid}\n")
            self._send(os.kill, pid, signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL, to all that it has started, too, as when a machine fails; returns when it is gone.

        Another that somebody starts in its place meanwhile is left alone. Raises NodeState if it does not go.
        """
        pid = self.signal_kill()
        if pid is not None and not self._wait_until_gone(pid, _KILL_SECONDS):
            raise NodeState(
                f"{self.name}, process {pid}, was killed and does not end: it waits for a disk or a file system that does "
                "not answer"
            )

    def signal_kill(self) -> int | None:
        """SIGKILL without waiting; the pid that is to be waited for, if there is one."""
        pid = self._last_pid
        if pid is not None and self._runs_as(pid):
            self._send(os.killpg, pid, signal.SIGKILL)  # its session is its own
        return pid

    def _send(self, kill: Callable[[int, int], None], pid: int, number: signal.Signals) -> None:
        try:
            kill(pid, number)
        except ProcessLookupError:
            pass
        except PermissionError:
            raise NodeState(
                f"{self.name} is process {pid} of another user, and cannot be stopped by this one: use the account that "
                "started it"
            ) from None

    def wait_until_gone(self, seconds: float) -> bool:
        """Whether the one that runs now, if any, has ended by then."""
        pid = self._last_pid
        return pid is None or self._wait_until_gone(pid, seconds)

    def last_words(self) -> str:
        """Where its log is, and the end of it."""
        try:
            lines = self.log_file.read_text(errors="replace").splitlines()[-_TAIL_LINES:]
        except OSError:
            return f"It has no log in {self.directory}."
        return "\n".join([f"Its log, {self.log_file}, ends with:", *[f"  {line}" for line in lines]])

    def _wait_until_gone(self, pid: int, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self._runs_as(pid) or self._is_ending(pid):
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        if self._last_pid == pid:  # else it is that of one started since
            self._pid_file.unlink(missing_ok=True)
            self._stopping_file.unlink(missing_ok=True)
        return True

    def _runs_as(self, pid: int) -> bool:
        _reap(pid)
        return self.mark in _arguments(pid)

    def _is_ending(self, pid: int) -> bool:
        """Whether it is not all gone: a JVM whose threads still end has its ports, though nothing else any more."""
        child = _children.get(pid)
        if child is None:
            return _is_exiting(pid)
        return child.poll() is None and self.mark in _command(child)

    @property
    def _last_pid(self) -> int | None:
        """That of the file, whoever has it by now."""
        try:
            return int(self._pid_file.read_text())
        except (OSError, ValueError):
            return None

    @property
    def _pid_file(self) -> Path:
        return self.directory / PID_FILE

    @property
    def _stopping_file(self) -> Path:
        return self.directory / STOPPING_FILE


def _command(child: "subprocess.Popen[bytes]") -> list[str]:
    return [str(each) for each in child.args] if isinstance(child.args, list | tuple) else []


def _reap(pid: int) -> None:
    child = _children.get(pid)
    if child is not None and child.poll() is not None:
        _children.pop(pid, None)  # unless another thread was faster


def _arguments(pid: int) -> list[str]:
    """The command line; empty for a process that is not there, or has ended and is a zombie."""
    if _PROC.joinpath("self").exists():
        try:
            return os.fsdecode(_PROC.joinpath(str(pid), "cmdline").read_bytes()).split("\0")
        except OSError:
            return []
    # A mark with a space in it comes in pieces here, so what is around it is looked for in the whole.
    told = _ps(pid, "args")
    return [told, *[f"{_MARK}{piece.split(' -')[0]}" for piece in told.split(_MARK)[1:]]]


def _is_exiting(pid: int) -> bool:
    """Whether a process that was started by somebody else still has threads that end. (Without /proc nobody can tell.)"""
    process = _PROC / str(pid)
    try:
        state, *fields = process.joinpath("stat").read_text().rpartition(")")[2].split()
        threads = len(os.listdir(process / "task"))
    except OSError:
        return False
    is_zombie = state in "ZX" and threads <= 1
    return bool(int(fields[_FLAGS_FIELD]) & _PF_EXITING) and not is_zombie


def _resident_bytes(pid: int) -> int | None:
    if _PROC.joinpath("self").exists():
        try:
            pages = int(_PROC.joinpath(str(pid), "statm").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            return None
        return pages * os.sysconf("SC_PAGE_SIZE")
    told = _ps(pid, "rss").strip()
    return int(told) * 1024 if told.isdecimal() else None


def _ps(pid: int, column: str) -> str:
    """On systems without /proc."""
    asked = subprocess.run(
        ["ps", "-ww", "-o", f"{column}=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return asked.stdout
