"""The process that compacts, one job after the other: `python -m stoker.log.compaction.worker`.

A process and not a thread, because the work would hold the interpreter that answers clients. Jobs come on standard input,
answers go to standard output, a line of JSON each. It has no state: it may be killed at any moment, and it ends by itself
when the broker does.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import BinaryIO, Final

from stoker.errors import CorruptRecords
from stoker.log.compaction.cleaned_segment import SegmentTooLarge
from stoker.log.compaction.cleaner import Cleaner, LogTooDirty
from stoker.log.compaction.job import Answer, CleaningFailed, CleaningJob, encode_answer

_NICENESS: Final = 10
"""Whoever waits for the broker goes first."""


def main() -> None:
    # Ctrl-C goes to the broker too, which says when it is done with us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICENESS)
    jobs: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, jobs), daemon=True).start()
    out = sys.stdout.buffer
    while True:
        for answer in answers_to(jobs.get()):
            out.write(encode_answer(answer))
            out.flush()


def _receive(pipe: BinaryIO, jobs: SimpleQueue[bytes]) -> None:
    """When the broker is gone, another may clean the same logs at any moment: not one more file is written."""
    for line in pipe:
        jobs.put(line)
    os._exit(0)


def answers_to(line: bytes) -> Iterator[Answer]:
    """Do a job; the last answer says how it ended."""
    try:
        yield from Cleaner(CleaningJob.decode(line)).answers()
    except (CorruptRecords, LogTooDirty, SegmentTooLarge) as problem:
        yield CleaningFailed(reason=str(problem), is_final=True)
    except (OSError, MemoryError) as problem:
        yield CleaningFailed(reason=str(problem) or type(problem).__name__, is_final=False)


if __name__ == "__main__":
    main()
