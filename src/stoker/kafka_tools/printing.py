"""How Kafka's tools print: what nobody can read, each line at once, tables."""

import os
import sys
from collections.abc import Sequence
from io import BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def mind_no_reader() -> None:
    """`| head`, a full disk, `>&-`: from now on the tool goes on, as by Java's System.out, which swallows what cannot be written."""
    stdout, stderr = sys.stdout, sys.stderr
    if (stdout, stderr) == (sys.__stdout__, sys.__stderr__):  # those of a test are its own
        sys.stdout, sys.stderr = _minding_no_reader(stdout), _minding_no_reader(stderr)


def _minding_no_reader(stream: TextIO | None) -> TextIO:
    if stream is None:  # it was closed when Python began
        return Path(os.devnull).open("w", encoding="utf-8")
    stream.flush()
    raw = _Unread(stream.fileno(), "wb", closefd=False)
    known = cast("TextIOWrapper", stream)
    at_once = known.line_buffering or known.write_through
    return TextIOWrapper(BufferedWriter(raw), encoding=known.encoding, errors=known.errors, line_buffering=at_once)


class _Unread(FileIO):
    """A pipe with nobody at its other end, or a file for which there is no room."""

    def write(self, content: "ReadableBuffer") -> int:
        try:
            return super().write(content)
        except OSError:
            return memoryview(content).nbytes


def print_each_line_at_once() -> None:
    """As Java's System.out, for what somebody looks at while it is under way."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns of equal width, each ended by a tab."""
    widths = [max(len(row[index]) for row in (columns, *rows)) for index in range(len(columns))]
    for row in (columns, *rows):
        print("".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True)))
