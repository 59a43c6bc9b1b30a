"""Kafka's way to put a compacted segment in the place of others, such that a crash at any step does no harm.

.cleaned   being written, or written: the old segments count, these files are removed when the log is opened
.swap      once none is called .cleaned any more, the new segment counts: opening the log finishes what follows
.deleted   files of the old segments, which nobody looks for any more
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from stoker.log.compaction.job import CLEANED_SUFFIX
from stoker.log.files import unlink_if_there
from stoker.log.segment import LOG_SUFFIX, Segment

SWAP_SUFFIX: Final = ".swap"


def put_in_place(segment: Segment, sources: Sequence[Segment], suffixes: Sequence[str]) -> list[str]:
    """Rename the files of the new segment and those of its sources; returns what is to be removed. Raises OSError.

    The `.log` is the last to be called `.swap`, so that the new segment counts only when it is whole, and the first to
    lose that: what has still to lose it then is finished by itself, without a look for older files of that name.
    """
    indexes = [suffix for suffix in suffixes if suffix != LOG_SUFFIX]
    for suffix in (*indexes, LOG_SUFFIX):
        path = segment.path(suffix)
        os.rename(path + CLEANED_SUFFIX, path + SWAP_SUFFIX)
    removed = [path for source in sources for path in source.set_aside()]
    for suffix in (LOG_SUFFIX, *indexes):
        path = segment.path(suffix)
        os.rename(path + SWAP_SUFFIX, path)
    return removed


def remove_cleaned_files(directory: str) -> None:
    """Remove what a cleaning that came to nothing has left, if the directory itself is still there."""
    with suppress(FileNotFoundError):
        for name in os.listdir(directory):
            if name.endswith(CLEANED_SUFFIX):
                unlink_if_there(f"{directory}/{name}")
