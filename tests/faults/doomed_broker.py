"""A broker that dies, or kills one of its clients, at named steps of transactions: `python -m tests.faults.doomed_broker`.

The broker is the one that `stoker broker` runs. Around its dispatcher and its logs this program puts a watch that sends
SIGKILL when a step comes; the broker itself knows nothing of it, and has no say.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from stoker.broker.connection import Connection, Outcome
from stoker.broker.dispatch import Dispatcher
from stoker.broker.metadata import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from stoker.broker.reply import Deferred
from stoker.cli.broker import main as run_broker
from stoker.coordinators.transactions.states import TransactionState
from stoker.log.partition import AppendResult, PartitionLog
from stoker.log.producer_state import TransactionMarker
from stoker.log.segment import ActiveSegment
from stoker.wire.frames import decode_request_header
from stoker.wire.record_batch import iterate_records
from stoker.wire.transaction_records import decode_transaction_record
from tests.faults.broker_process import BrokerProcess
from tests.faults.kill_points import REQUESTS, KillPoint, KillPoints, Step, Victim, When, as_text

REPOSITORY: Final = Path(__file__).resolve().parents[2]
_MAX_BATCH_BYTES: Final = 1024 * 1024


class DoomedBroker(BrokerProcess):
    """`kills` names a file with a line for each kill; what is to happen is said before each start."""

    def __init__(self, data_dir: Path, *, kills: Path, **others: Any) -> None:
        super().__init__(data_dir, **others)
        self.kills = kills
        self.fate: Sequence[KillPoint] = ()

    def doomed(self, points: Iterable[KillPoint]) -> "DoomedBroker":
        """The next start is to this end."""
        self.fate = tuple(points)
        return self

    def program(self) -> Sequence[str]:
        if not self.fate:
            return super().program()
        return [sys.executable, "-m", "tests.faults.doomed_broker", str(self.kills), as_text(self.fate)]

    def environment(self) -> Mapping[str, str]:
        return os.environ | {"PYTHONPATH": str(REPOSITORY)}


class _Watch:
    """Sees every request and every append, and kills when it is time."""

    def __init__(self, points: KillPoints, kills: str) -> None:
        self._points = points
        self._kills = kills
        self._client_id = ""
        self._tearing: KillPoint | None = None

    def begin(self) -> None:
        """From here on all requests and appends of this process are watched."""
        dispatch = Dispatcher.__call__
        append = PartitionLog.append
        end_transaction = PartitionLog.end_transaction
        write = ActiveSegment.write

        def watched_dispatch(dispatcher: Dispatcher, connection: Connection, frame: memoryview) -> Outcome:
            header, _ = decode_request_header(frame)
            self._client_id = header.client_id or ""
            step = REQUESTS.get(header.api_key)
            if step is not None:
                self._reached(step, When.BEFORE)
            outcome = dispatch(dispatcher, connection, frame)
            if step is not None and not isinstance(outcome, Deferred):
                self._reached(step, When.AFTER)
            self._client_id = ""
            return outcome

        def watched_append(log: PartitionLog, records: memoryview, **options: Any) -> AppendResult:
            with self._appending(_step_of(log, records)):
                return append(log, records, **options)

        def watched_end(log: PartitionLog, marker: TransactionMarker, **options: Any) -> int:
            with self._appending(Step.OFFSETS_MARKER if log.topic == OFFSETS_TOPIC else Step.DATA_MARKER):
                return end_transaction(log, marker, **options)

        def watched_write(segment: ActiveSegment, records: memoryview) -> None:
            if self._tearing is not None:
                os.pwrite(segment.opened().descriptor, records[: len(records) // 2], segment.size)
                self._kill(self._tearing)
            write(segment, records)

        for owner, name, watched in (
            (Dispatcher, "__call__", watched_dispatch),
            (PartitionLog, "append", watched_append),
            (PartitionLog, "end_transaction", watched_end),
            (ActiveSegment, "write", watched_write),
        ):
            setattr(owner, name, watched)

    @contextmanager
    def _appending(self, step: Step | None) -> Iterator[None]:
        if step is None:
            yield
            return
        self._reached(step, When.BEFORE)
        torn = self._points.reached(step, When.TORN, self._client_id)
        self._tearing = torn[0] if torn else None
        yield
        self._reached(step, When.AFTER)

    def _reached(self, step: Step, when: When) -> None:
        for point in self._points.reached(step, when, self._client_id):
            self._kill(point)

    def _kill(self, point: KillPoint) -> None:
        victim = os.getpid() if point.victim is Victim.BROKER else _process_of(self._client_id)
        if victim is None:
            return
        line = json.dumps({"at": time.monotonic(), "kill": str(point), "client": self._client_id, "process": victim})
        with open(self._kills, "a") as file:
            file.write(line + "\n")
        os.kill(victim, signal.SIGKILL)


def _process_of(client_id: str) -> int | None:
    _, _, process = client_id.rpartition("-")
    return int(process) if process.isdecimal() else None


def _step_of(log: PartitionLog, records: memoryview) -> Step | None:
    if log.topic != TRANSACTIONS_TOPIC:
        return None
    for record in iterate_records(records, _MAX_BATCH_BYTES):
        decoded = decode_transaction_record(record.key or b"", record.value)
        if decoded is not None and decoded.value is not None:
            state = TransactionState(decoded.value.transaction_status)
            if state.is_decided:
                return Step.PREPARE_RECORD
            if state is not TransactionState.EMPTY and state.is_over:
                return Step.COMPLETE_RECORD
    return None


if __name__ == "__main__":
    kills_file, fate, command, *arguments = sys.argv[1:]
    assert command == "broker"
    _Watch(KillPoints.from_text(fate), kills_file).begin()
    sys.exit(run_broker(arguments))
