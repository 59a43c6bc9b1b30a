"""An honest client that goes on producing and reading while others misbehave, and notes how long it was made to wait."""

import itertools
import threading
import time
from types import TracebackType
from typing import Self

from stoker.wire.error_codes import ErrorCode
from stoker.wire.record_batch import iterate_records
from tests.hostile.broker_process import BrokerProcess
from tests.raw_connection import RawConnection, batch_of

TOPICS = "bystander"
"""How the names of their topics begin."""
_PAUSE_SECONDS = 0.002
_MAX_BATCH_BYTES = 1024 * 1024
_numbers = itertools.count(1)


class Bystander:
    """Writes numbered records and reads each back, in a thread, from entering to leaving a `with`.

    Leaving raises what went wrong: an error code, a lost connection, a record that is not what was written.
    """

    def __init__(self, broker: BrokerProcess) -> None:
        self._broker = broker
        self._topic = f"{TOPICS}-{next(_numbers)}"
        self._thread = threading.Thread(target=self._run, name="bystander")
        self._begun = threading.Event()
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self.rounds = 0
        self.longest_wait = 0.0
        """Seconds from sending a produce request to having read its record back."""

    def __enter__(self) -> Self:
        with self._broker.connect() as connection:
            connection.create_topic(self._topic)
        self._thread.start()
        self._begun.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if error is None and self._failure is not None:
            raise AssertionError(f"the bystander failed in round {self.rounds}") from self._failure

    def _run(self) -> None:
        try:
            with self._broker.connect(timeout=60) as connection:
                while not self._stop.wait(_PAUSE_SECONDS):
                    began = time.monotonic()
                    self._round(connection)
                    self.longest_wait = max(self.longest_wait, time.monotonic() - began)
                    self.rounds += 1
                    self._begun.set()
        except BaseException as failure:
            self._failure = failure
        finally:
            self._begun.set()

    def _round(self, connection: RawConnection) -> None:
        value = b"round %d" % self.rounds
        now_ms = time.time_ns() // 1_000_000  # older records would be for retention to remove
        error, offset = connection.produce(self._topic, batch_of(value, timestamp=now_ms))
        assert (error, offset) == (ErrorCode.NONE, self.rounds)
        error, records = connection.fetch(self._topic, offset, max_wait_ms=1000)
        assert error == ErrorCode.NONE
        assert [(record.offset, record.value) for record in iterate_records(records, _MAX_BATCH_BYTES)] == [
            (offset, value)
        ]
