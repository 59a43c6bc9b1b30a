"""The state of an application as Spark writes it, made without Spark: parts of stores, and a manifest for each micro-batch."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from pyarrow import parquet

from stoker.streams.state import parts
from stoker.streams.state.directory import StateDirectory
from stoker.streams.state.manifest import Manifest, StoreFiles

STRING_COUNTS: Final = pa.schema([("_key", pa.string()), ("count", pa.int64()), ("_deleted", pa.bool_())])
WINDOWED_SUMS: Final = pa.schema(
    [
        ("_key", pa.string()),
        ("window_start", pa.timestamp("us", "UTC")),
        ("window_end", pa.timestamp("us", "UTC")),
        ("_state", pa.struct([("sum_0", pa.float64())])),
        ("_timestamp", pa.timestamp("us", "UTC")),
        ("sum_total", pa.float64()),
        ("_deleted", pa.bool_()),
    ]
)
STRUCT_KEY: Final = pa.struct([("region", pa.string()), ("number", pa.float64())])
FIRST_COMMIT: Final = 1_767_225_600.0
"""2026-01-01T00:00:00Z."""

FILES: Final = 0
FROM_FILES_OR_MEMORY: Final = pytest.mark.parametrize(
    "small_rows", [pytest.param(FILES, id="files"), pytest.param(100_000, id="memory")]
)

Rows = Sequence[Mapping[str, Any]]


@contextmanager
def reading_from(small_rows: int) -> Iterator[None]:
    """Parts with more rows are read from their files, until they are asked often."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_SMALL_ROWS", small_rows)
        yield


def counts(**values: int | None) -> Rows:
    """Rows of STRING_COUNTS; None is a key that is deleted."""
    return [{"_key": key, "count": count, "_deleted": count is None} for key, count in values.items()]


class WrittenState:
    """Batches are committed a minute apart."""

    def __init__(self, root: str | Path, first_commit: float = FIRST_COMMIT) -> None:
        self.directory = StateDirectory(root)
        self._first_commit = first_commit
        self.manifest = Manifest()
        self._numbers = itertools.count()

    def commit(self, store: str, schema: pa.Schema, rows: Rows, *, keys: tuple[str, ...] = (), **manifest: Any) -> int:
        """A micro-batch that changes these rows of a store. Its number."""
        batch = next(self._numbers)
        files = self.manifest.stores.get(store, StoreFiles(keys=keys))
        if rows:
            self.write_part(store, f"batch-{batch}", schema, rows)
            files = files.with_part(f"batch-{batch}", len(rows))
        self._write_manifest(batch, store, files, manifest)
        return batch

    def commit_base(self, store: str, schema: pa.Schema, rows: Rows) -> int:
        """A micro-batch after which all rows of a store are one part."""
        batch = next(self._numbers)
        if rows:
            self.write_part(store, f"base-{batch}", schema, rows)
        self._write_manifest(batch, store, StoreFiles().with_part(f"base-{batch}", len(rows)), {})
        return batch

    def write_part(self, store: str, part: str, schema: pa.Schema, rows: Rows) -> None:
        """As two files, with moments as Spark writes them."""
        path = Path(self.directory.batch_path(store, part))
        path.mkdir(parents=True)
        for number, share in enumerate((rows[::2], rows[1::2])):
            table = pa.Table.from_pylist(list(share), schema)
            parquet.write_table(table, path / f"part-{number}.zstd.parquet", use_deprecated_int96_timestamps=True)
        (path / "_SUCCESS").touch()

    def forget(self, *batches: int) -> None:
        """Manifests of long ago; and the parts that no other names."""
        for batch in batches:
            self.directory.remove_manifest(batch)
        left = [Manifest.from_json(self.directory.read_manifest(each) or {}) for each in self.directory.manifests()]
        for store in self.directory.stores():
            named = {part for each in left for part in each.stores[store].parts}
            for part in set(self.directory.parts(store)) - named:
                self.directory.remove_part(store, part)

    def _write_manifest(self, batch: int, store: str, files: StoreFiles, more: Mapping[str, Any]) -> None:
        self.manifest = replace(
            self.manifest,
            batch=batch,
            committed_at=self._first_commit + 60 * batch,
            stores={**self.manifest.stores, store: files},
            **more,
        )
        self.directory.write_manifest(batch, self.manifest.to_json())
