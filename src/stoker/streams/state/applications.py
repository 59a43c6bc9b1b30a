"""Which applications have state on this machine, and how far each of them is: all of it from their newest manifests."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pyarrow import fs, parquet

from stoker.streams.errors import ApplicationNotFound
from stoker.streams.state.directory import StateDirectory, default_root, directory_of
from stoker.streams.state.manifest import Manifest, StoreFiles
from stoker.streams.state.parts import PARTS, store_columns
from stoker.streams.state.snapshots import StoreSnapshot

_COUNTED_ROWS: Final = 100_000
"""So many are counted quickly."""
_OWN_SUFFIXES: Final = ("-left", "-right", "-rows")
"""Of the stores that joins and sliding windows keep for themselves."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreStatus:
    name: str
    rows: int
    is_exact: bool
    """Else there are at most so many rows: of a large store, what has changed since it was last written anew counts twice."""
    bytes: int
    """Of its files."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ApplicationStatus:
    """As of the last micro-batch that was committed; without one, `batch` and `as_of` are None."""

    name: str
    directory: str
    batch: int | None
    as_of: datetime | None
    staleness: float | None
    """Seconds since the commit."""
    progress: Mapping[str, Any]
    """`rows`, `late` and `dead_letters` and `seconds` of the last micro-batch; `total` of all."""
    offsets: Mapping[str, Mapping[int, int]]
    """By topic and partition, up to where it has read."""
    stores: tuple[StoreStatus, ...]
    bytes: int
    """Of the files of all stores, also of those that it keeps for itself."""

    @property
    def rows_per_second(self) -> float | None:
        """Of the last micro-batch: how many rows it read, by the time it took."""
        seconds = self.progress.get("seconds")
        return sum(self.progress.get("rows", {}).values()) / seconds if seconds else None


def list_applications(root: str | Path | None = None) -> list[str]:
    """Names of those that have state under `root`, or under the default directory."""
    above = StateDirectory(root or default_root())
    found = above.files.get_file_info(fs.FileSelector(str(above), allow_not_found=True))
    names = sorted(each.base_name for each in found if each.type == fs.FileType.Directory)
    return [name for name in names if directory_of(name, root).has_state()]


def existing_application(name: str, root: str | Path | None = None) -> StateDirectory:
    """Its directory. Raises ApplicationNotFound, which names those that there are."""
    known = list_applications(root)
    if name not in known:
        where = StateDirectory(root or default_root())
        raise ApplicationNotFound(
            f"no application {name!r} has state in {where}. There are: {', '.join(known) or 'none'}", known
        )
    return directory_of(name, root)


def application_status(
    name: str, state_dir: str | Path | None = None, *, clock: Callable[[], float] = time.time
) -> ApplicationStatus:
    """How far it is. Raises ApplicationNotFound."""
    directory = existing_application(name, state_dir)
    manifest = directory.newest_manifest() or Manifest()
    has_run = manifest.batch >= 0
    sizes = {store: _bytes(directory, store, files.parts) for store, files in manifest.stores.items()}
    return ApplicationStatus(
        name=name,
        directory=str(directory),
        batch=manifest.batch if has_run else None,
        as_of=datetime.fromtimestamp(manifest.committed_at, UTC) if has_run else None,
        staleness=max(0.0, clock() - manifest.committed_at) if has_run else None,
        progress=manifest.progress,
        offsets={
            topic: {int(partition): offset for partition, offset in partitions.items()}
            for topic, partitions in manifest.offsets.items()
        },
        stores=tuple(
            _store_status(directory, manifest, store, sizes[store]) for store in offered_stores(directory, manifest)
        ),
        bytes=sum(sizes.values()),
    )


def _store_status(directory: StateDirectory, manifest: Manifest, store: str, size: int) -> StoreStatus:
    files = manifest.stores[store]
    if files.total <= _COUNTED_ROWS:
        try:
            parts = PARTS.of_store(directory, store, files)
            columns = store_columns(store, parts[-1].schema, files) if parts else None
            counted = StoreSnapshot(store, manifest, parts, columns).count()
            return StoreStatus(name=store, rows=counted, is_exact=True, bytes=size)
        except FileNotFoundError:
            pass  # the files were removed just now
    return StoreStatus(name=store, rows=files.total, is_exact=False, bytes=size)


def offered_stores(directory: StateDirectory, manifest: Manifest) -> list[str]:
    """Names of the stores that can be asked: not those that the application keeps for itself."""
    return sorted(store for store, files in manifest.stores.items() if _is_offered(directory, store, files))


def _is_offered(directory: StateDirectory, store: str, files: StoreFiles) -> bool:
    """By the columns, since any name is a name that a user may give; of a store without rows the name has to do."""
    try:
        if files.parts:
            file = directory.part_files(store, files.parts[-1])[0]
            return store_columns(store, parquet.read_schema(file.path, filesystem=directory.files), files) is not None
    except (FileNotFoundError, IndexError):
        pass  # the files were removed just now
    return not store.endswith(_OWN_SUFFIXES)


def _bytes(directory: StateDirectory, store: str, parts: tuple[str, ...]) -> int:
    total = 0
    for part in parts:
        try:
            total += sum(file.size for file in directory.part_files(store, part))
        except FileNotFoundError:
            pass  # it was removed just now
    return total
