"""Ways in which the files of a stopped broker can be damaged, and where they are."""

from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path], None]

_LENGTH_OFFSET = 8
_HEADER_BYTES = 61


def last_segment(directory: Path, suffix: str = ".log") -> Path:
    return max(directory.glob(f"*{suffix}"))


def batch_positions(path: Path) -> list[int]:
    """Where each record batch of a segment begins, by their lengths alone."""
    data = path.read_bytes()
    positions = []
    position = 0
    while position + _HEADER_BYTES <= len(data):
        positions.append(position)
        position += 12 + int.from_bytes(data[position + _LENGTH_OFFSET : position + _LENGTH_OFFSET + 4], "big")
    return positions


def cut_last_bytes(path: Path, count: int = 7) -> None:
    """The end of the last batch never reached the disk."""
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - count)


def append_zeros(path: Path, count: int = 4096) -> None:
    """The file grew, but what was written there did not reach the disk: what a power cut leaves on many file systems."""
    with path.open("ab") as file:
        file.write(bytes(count))


def append_half_a_batch(path: Path) -> None:
    """A batch was being written: its header promises more than there is."""
    data = path.read_bytes()
    start = batch_positions(path)[-1]
    with path.open("ab") as file:
        file.write(data[start : start + (len(data) - start) // 2])


def flip_bit_in_batch(path: Path, batch: int) -> None:
    """One bit in the records of a batch."""
    flip_bit(path, batch_positions(path)[batch] + _HEADER_BYTES + 2)


def flip_bit(path: Path, position: int) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        [byte] = file.read(1)
        file.seek(position)
        file.write(bytes([byte ^ 0x10]))


def overwrite(path: Path, position: int, count: int = 24) -> None:
    """Garbage where a batch's header was."""
    with path.open("r+b") as file:
        file.seek(position)
        file.write(b"\xde\xad\xbe\xef" * (count // 4))


def fill_with_garbage(path: Path) -> None:
    """As long as before, and nothing of it true."""
    size = max(path.stat().st_size, 24)
    path.write_bytes((b"\xde\xad\xbe\xef\x07" * (size // 5 + 1))[:size])
