"""Starting programs, reading what they cost from /proc, and leaving none behind."""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
STOP_TIMEOUT_SECONDS = 20.0


class LoadFailed(Exception):
    """A program of the benchmark failed; the message says which and ends with what it printed last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """Megabytes of a process and its children: resident, proportional (shared pages divided), highest resident."""

    resident: float
    proportional: float
    highest: float


def family(pid: int) -> Iterator[int]:
    """The process and all its descendants."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            named = children.read_text().split()
        except OSError:  # that thread has just ended
            continue
        for child in named:
            yield from family(int(child))


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, its living children and those it has waited for."""
    ticks = 0
    for member in family(pid):
        fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(int(field) for field in fields[11:15])
    return ticks / CLOCK_TICKS


def memory(pid: int) -> Memory:
    resident = proportional = highest = 0
    for member in family(pid):
        status = _kilobyte_fields(Path(f"/proc/{member}/status"))
        resident += status["VmRSS"]
        highest += status["VmHWM"]
        proportional += _kilobyte_fields(Path(f"/proc/{member}/smaps_rollup"))["Pss"]
    return Memory(resident=resident / 1000, proportional=proportional / 1000, highest=highest / 1000)


def _kilobyte_fields(path: Path) -> dict[str, int]:
    fields = {}
    for line in path.read_text().splitlines():
        name, _, value = line.partition(":")
        if value.endswith(" kB"):
            fields[name] = int(value[:-3])
    return fields


def run(command: Sequence[str | Path], *, timeout: float = 180.0) -> str:
    """Run a program to its end and return what it printed.

    It has a session of its own, so that Ctrl-C reaches only this process, which then ends what it started.
    """
    with spawn(command) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            raise LoadFailed(f"{_name(command)} took more than {timeout:.0f} s") from None
    return checked(command, process, output, errors)


def checked(command: Sequence[str | Path], process: "subprocess.Popen[str]", output: str, errors: str) -> str:
    if process.returncode != 0:
        last_lines = " | ".join((errors or output).strip().splitlines()[-3:])
        raise LoadFailed(f"{_name(command)} ended with status {process.returncode}: {last_lines}")
    return output


@contextmanager
def spawn(command: Sequence[str | Path]) -> Iterator["subprocess.Popen[str]"]:
    """A program whose output is piped; it and what it started are gone when the block ends."""
    process = subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            kill_session(process.pid)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()


def stop(process: "subprocess.Popen[bytes]") -> None:
    """Ask a broker to stop, and insist if it does not."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_TIMEOUT_SECONDS)
        except BaseException:  # too slow, or Ctrl-C meanwhile: either way nothing may outlive us
            kill_session(process.pid)
            process.wait()
            raise
        finally:
            kill_session(process.pid)


def kill_session(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _name(command: Sequence[str | Path]) -> str:
    return " ".join(Path(str(part)).name for part in command[:3])
