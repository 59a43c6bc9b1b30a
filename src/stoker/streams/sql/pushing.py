"""Push queries: a temporary application whose rows are handed on as they come, until somebody has enough."""

import queue
import shutil
import tempfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from stoker.errors import StokerError
from stoker.streams.columns import DELETED, OFFSET, TIMESTAMP
from stoker.streams.sql.catalogue import Catalogue
from stoker.streams.sql.conversion import quoted_name
from stoker.streams.sql.planner import Planner
from stoker.streams.sql.results import Live, in_utc
from stoker.streams.sql.statements import Query
from stoker.streams.table import Table

if TYPE_CHECKING:
    from stoker.streams.application import Streams

_POLL_SECONDS: Final = 0.1

MakeTemporary = Callable[[str, str], "Streams"]
"""By name and directory."""


class PushedRows:
    """An iterator; it ends when the limit is reached, or by `close`. Raises ApplicationFailed."""

    def __init__(self, application: "Streams", directory: str, limit: int | None) -> None:
        self._application = application
        self._directory = directory
        self._left = limit
        self._rows: queue.Queue[Sequence[Any]] = queue.Queue()
        self._is_ended = False
        self._is_closed = False

    def put(self, rows: Sequence[Sequence[Any]]) -> None:
        for row in rows:
            self._rows.put(row)

    def start(self) -> None:
        try:
            self._application.start()
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> "PushedRows":
        return self

    def __next__(self) -> Sequence[Any]:
        while not self._is_ended and self._left != 0:
            try:
                row = self._rows.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                self._application.wait(0)
                continue
            if self._left is not None:
                self._left -= 1
            return row
        self.close()
        raise StopIteration

    def end(self) -> None:
        """Who iterates closes it then."""
        self._is_ended = True

    def close(self) -> None:
        self._is_ended = True
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self._application.stop()
        except StokerError:
            pass  # what it failed by was told to who iterated
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)


def push(make: MakeTemporary, name: str, catalogue: Catalogue, query: Query, *, starting: str) -> Live:
    """Raises SqlError, and what an application raises when it is started."""
    directory = tempfile.mkdtemp(prefix="stoker-sql-")
    application = make(name, directory)
    try:
        planned = Planner(application, catalogue, starting=starting).plan(query)
        output = planned.output.to_stream() if isinstance(planned.output, Table) else planned.output
        rows = PushedRows(application, directory, query.limit)
        names = [each.name for each in planned.columns]

        def hand_on(frame: Any, number: int) -> None:
            if DELETED in frame.columns:
                frame = frame.where(f"NOT {DELETED}")
            in_order = frame.orderBy(TIMESTAMP, OFFSET).select(*[quoted_name(each) for each in names])
            rows.put([tuple(in_utc(value) for value in row) for row in in_order.collect()])

        output.for_each_batch(hand_on)
        rows.start()
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return Live(columns=names, rows=rows, end=rows.end)
