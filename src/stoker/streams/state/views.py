"""Stores as they are read while an application runs: from any process, without Spark.

view = open_store("order-processor", "hourly-revenue-store")
view.get("customer-123")
view.staleness      # seconds since the commit of the micro-batch that this was read of
"""

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from stoker.streams.errors import StateLost, StoreNotFound
from stoker.streams.state.applications import existing_application, offered_stores
from stoker.streams.state.directory import StateDirectory
from stoker.streams.state.manifest import Manifest
from stoker.streams.state.parts import PARTS, Parts, store_columns
from stoker.streams.state.snapshots import Moment, StoreSnapshot, WindowedValue

T = TypeVar("T")


class Answer(NamedTuple, Generic[T]):
    """And of which state it is."""

    value: T
    batch: int
    as_of: datetime
    staleness: float
    """Seconds since, when it was given."""


class StoreView:
    """Each question is answered of the state after one micro-batch, the last that there is.

    Nothing is looked at before the first question: the application may be yet to come. Every question may raise StoreNotFound,
    and InvalidQuery for what the store cannot be asked for. Safe to be used by many threads.
    """

    def __init__(
        self, directory: StateDirectory, name: str, *, clock: Callable[[], float] = time.time, parts: Parts = PARTS
    ) -> None:
        self.name = name
        self._directory = directory
        self._clock = clock
        self._parts = parts
        self._known: tuple[tuple[int, int], StoreSnapshot] | None = None
        """The version of a manifest, and the store as it has it."""

    def get(self, key: Any, window_start: Moment | None = None) -> Any:
        """The value of a key, a dict of its columns, or the value itself if that is its only column; None if there is none.

        Of a store with windows: all windows of the key, or the value of the one that starts then.
        """
        return self.read(lambda store: store.get(key, window_start)).value

    def range(self, first: Any = None, last: Any = None) -> Iterator[Any]:
        """Rows with keys from `first` to `last`, both included, None for no bound; by key and window.

        Each is a KeyValue, or, of a store with windows, a WindowedValue.
        """
        return self.read(lambda store: store.range(first, last)).value

    def windows(self, key: Any, since: Moment | None = None, until: Moment | None = None) -> list[WindowedValue]:
        """The windows of a key that start from `since` to `until`, both included, in order."""
        return self.read(lambda store: store.windows(key, since, until)).value

    def all(self) -> Iterator[Any]:
        """All rows, as `range` gives them but in no order, of one state however long it takes to read them."""
        return self.read(lambda store: store.all()).value

    def count(self) -> int:
        """How many rows there are."""
        return self.read(lambda store: store.count()).value

    @property
    def batch(self) -> int:
        """The micro-batch whose state was read last."""
        return self._last.batch

    @property
    def as_of(self) -> datetime:
        """When that was committed."""
        return self._last.as_of

    @property
    def staleness(self) -> float:
        """How many seconds ago: records that came since may not be in what was read."""
        return self._seconds_since(self.as_of)

    def read(self, question: Callable[[StoreSnapshot], T]) -> Answer[T]:
        """Several questions of the same state; they may be asked a second time, if the first state was removed meanwhile."""
        tried: set[tuple[int, int]] = set()
        while True:
            snapshot = self._newest(tried)
            try:
                value = question(snapshot)
            except FileNotFoundError:
                self._known = None  # and the version stays among those that were tried
                continue
            self._parts.used(self._directory, self.name)
            return Answer(value, snapshot.batch, snapshot.as_of, self._seconds_since(snapshot.as_of))

    def _seconds_since(self, moment: datetime) -> float:
        return max(0.0, self._clock() - moment.timestamp())

    @property
    def _last(self) -> StoreSnapshot:
        known = self._known
        return self._newest(set()) if known is None else known[1]

    def _newest(self, tried: set[tuple[int, int]]) -> StoreSnapshot:
        """Of the newest manifest that was not tried: one that is being written again leaves the one before it whole."""
        while untried := [version for version in self._directory.manifest_versions() if version not in tried]:
            version = untried[0]
            tried.add(version)
            known = self._known
            if known is not None and known[0] == version:
                return known[1]
            content = self._directory.read_manifest(version[0])
            if content is None:
                continue
            try:
                snapshot = self._snapshot(Manifest.from_json(content))
            except FileNotFoundError:
                continue
            self._known = version, snapshot
            return snapshot
        if tried:
            raise StateLost(f"store {self.name!r} names files that are not in {self._directory}")
        raise StoreNotFound(
            f"there is no store {self.name!r} in {self._directory}: the application has finished no micro-batch there"
        )

    def _snapshot(self, manifest: Manifest) -> StoreSnapshot:
        files = manifest.stores.get(self.name)
        parts = () if files is None else self._parts.of_store(self._directory, self.name, files)
        columns = store_columns(self.name, parts[-1].schema, files) if files is not None and parts else None
        if files is None or (parts and columns is None):
            choices = offered_stores(self._directory, manifest)
            raise StoreNotFound(
                f"there is no store {self.name!r} in {self._directory}. There are: {', '.join(choices) or 'none'}",
                choices,
            )
        return StoreSnapshot(self.name, manifest, parts, columns)


def open_store(application: str, store: str, state_dir: str | Path | None = None) -> StoreView:
    """A store of an application that runs, or ran, on this machine. `state_dir` is what it was given; else the default.

    Raises ApplicationNotFound and StoreNotFound, which name those that there are.
    """
    view = StoreView(existing_application(application, state_dir), store)
    view.read(lambda found: None)
    return view
