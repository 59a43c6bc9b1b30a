"""The memory of Spark's Python workers, which live on after a task and run others."""

import ctypes
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable


def give_back() -> None:
    """Return to the system what Arrow and the C library keep for later: by then the other may need it.

    It takes some milliseconds, and as many again until the memory is there again: for the end of a task that had much.
    """
    pa.default_memory_pool().release_unused()
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> "Callable[[int], int] | None":
    """That of glibc; other C libraries have none."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
