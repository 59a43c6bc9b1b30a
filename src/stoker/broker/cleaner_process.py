"""A worker process of compaction, as the broker sees it."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from typing import Final

from stoker.log.compaction.job import Answer, CleanedSegment, CleaningJob, decode_answer

_LONGEST_ANSWER: Final = 1024 * 1024
_ONE_THREAD: Final = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")


class WorkerDied(Exception):
    """The process ended in the middle of a job."""


class CleanerProcess:
    """One process, for one job at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls) -> "CleanerProcess":
        """Raises OSError. `-P` keeps what lies in the working directory from being imported."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "stoker.log.compaction.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LONGEST_ANSWER,
            env=os.environ | _ONE_THREAD,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def perform(self, job: CleaningJob) -> AsyncGenerator[Answer, None]:
        """The answers to a job, as they come, up to the last. Raises WorkerDied."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(job.encode())
            await self._process.stdin.drain()
            while line := await self._process.stdout.readline():
                answer = decode_answer(line)
                yield answer
                if not isinstance(answer, CleanedSegment):
                    return
        except (ConnectionError, ValueError) as problem:
            raise WorkerDied(f"process {self.pid}: {problem}") from None
        code = await self._process.wait()
        raise WorkerDied(f"process {self.pid} ended with status {code}")

    async def kill(self) -> None:
        """End it at once, whatever it does. Killing twice is harmless."""
        if self._process.returncode is None:
            try:
                self._process.kill()
            except ProcessLookupError:
                pass
        await self._process.wait()
