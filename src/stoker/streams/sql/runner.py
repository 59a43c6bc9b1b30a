"""Runs the persistent queries of a service: each is an application of its own, in the one process that holds the lock."""

import fcntl
import logging
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from stoker.errors import StokerError
from stoker.streams.application import Streams
from stoker.streams.sql import statements as s
from stoker.streams.sql.catalogue import Catalogue
from stoker.streams.sql.declarations import create_as_select, insert_into
from stoker.streams.sql.parser import parse_statement
from stoker.streams.sql.planner import Planner
from stoker.streams.sql.state import PersistentQuery, QueryState

_LOGGER: Final = logging.getLogger(__name__)

MakeApplication = Callable[[str], Streams]


class Lock:
    """Of the one process that runs the queries of a service on this machine."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    @property
    def is_held(self) -> bool:
        return self._file is not None

    def acquire(self) -> bool:
        """Whether it is held now."""
        if self._file is not None:
            return True
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return False
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())
        self._file = file
        return True

    def holder(self) -> str:
        """The process that has it."""
        try:
            return self._path.read_text() or "unknown"
        except OSError:
            return "unknown"

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


class Runner:
    """Brings what runs in line with what is wanted."""

    def __init__(self, service: str, make: MakeApplication) -> None:
        self._service = service
        self._make = make
        self._applications: dict[str, Streams] = {}
        self.failures: dict[str, str] = {}
        self._lock = threading.RLock()

    def application_name(self, query_id: str) -> str:
        made = "".join(
            each if each.isascii() and (each.isalnum() or each in "._-") else "-" for each in query_id.lower()
        )
        return f"sql-{self._service}-{made}"[:80]

    def application(self, query_id: str) -> Streams | None:
        return self._applications.get(query_id)

    def reconcile(self, queries: Mapping[str, PersistentQuery], catalogue: Catalogue) -> None:
        """Start what is to run, stop what is not. A query that cannot be started has failed, and the others go on."""
        with self._lock:
            for name in [each for each in self._applications if each not in queries]:
                self._forget(name)
            for query in queries.values():
                is_started = query.id in self._applications
                if query.state is QueryState.PAUSED and is_started:
                    self._stop(query.id)
                elif query.state is QueryState.RUNNING and not is_started and query.id not in self.failures:
                    self._start(query, catalogue)

    def stop(self) -> None:
        """All of them; each goes on where it was when it is started again."""
        with self._lock:
            for name in list(self._applications):
                self._stop(name)

    def status(self, query: PersistentQuery) -> tuple[str, str | None]:
        """Its state, and the error if it has failed."""
        if query.id in self.failures:
            return "ERROR", self.failures[query.id]
        application = self._applications.get(query.id)
        if application is None:
            return query.state.value if query.state is QueryState.PAUSED else "NOT RUNNING HERE", None
        try:
            has_ended = application.wait(0)
        except StokerError as error:
            return "ERROR", str(error)
        return ("STOPPED" if has_ended else "RUNNING"), None

    def planned(self, query: PersistentQuery, catalogue: Catalogue) -> Streams:
        """The application of a query, declared anew."""
        application = self._make(self.application_name(query.id))
        statement = parse_statement(query.statement)
        planner = Planner(application, catalogue, starting=query.starting)
        if isinstance(statement, s.InsertIntoSelect):
            insert_into(application, planner, catalogue, statement)
        else:
            assert isinstance(statement, s.CreateAsSelect)
            create_as_select(application, planner, catalogue, statement, has_registry=application.registry is not None)
        return application

    def _start(self, query: PersistentQuery, catalogue: Catalogue) -> None:
        try:
            application = self.planned(query, catalogue)
            application.start()
        except StokerError as error:
            self.failures[query.id] = str(error)
            _LOGGER.warning("query %s could not be started: %s", query.id, error)
            return
        self._applications[query.id] = application

    def _stop(self, name: str) -> None:
        application = self._applications.pop(name)
        try:
            application.stop()
        except StokerError as error:
            _LOGGER.warning("query %s: %s", name, error)

    def _forget(self, name: str) -> None:
        """Stopped for good: its state is of no more use to anybody."""
        application = self._applications[name]
        self._stop(name)
        self.failures.pop(name, None)
        try:
            application.reset()
        except (StokerError, OSError) as error:
            _LOGGER.warning("the state of query %s could not be removed: %s", name, error)
