"""Where an application keeps its state: a directory on this machine, or on any file system that Arrow and Spark both know.

topology.json                   what the state was made for
checkpoint/                     Spark's: which offsets each micro-batch reads
stores/<name>/batch-<n>/        rows that changed in micro-batch n, as Parquet; all rows of the store if it is a base
reports/<n>/                    what the tasks of micro-batch n have read
manifests/<n>.json              the state after micro-batch n, written when everything else of the batch is done
"""

import json
import os
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from pyarrow import fs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

from stoker.streams.state.manifest import Manifest

_TOPOLOGY: Final = "topology.json"
_DONE: Final = "_SUCCESS"
"""What Spark leaves when all files of a directory are complete."""


def default_root() -> str:
    """`$XDG_STATE_HOME/stoker/streams`, in which each application has a directory of its own name."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(home, "stoker", "streams")


def directory_of(application: str, root: str | Path | None = None) -> "StateDirectory":
    """The directory of its name under `root`, or under `default_root()`."""
    return StateDirectory(f"{str(root or default_root()).rstrip('/')}/{application}")


class PartFile(NamedTuple):
    """Its time and size tell it from another of the same name."""

    path: str
    written_at: int
    """In nanoseconds."""
    size: int


class StateDirectory:
    """One application's. `root` is a path, or a URI such as `hdfs://...` or `s3://...`."""

    def __init__(self, root: str | Path) -> None:
        text = str(root)
        if urlsplit(text).scheme in ("", "file"):
            path = Path(urlsplit(text).path if text.startswith("file:") else text).absolute()
            self._files: fs.FileSystem = fs.LocalFileSystem()
            self._path = str(path)
            self.uri = f"file://{path}"  # as Hadoop takes it: nothing is escaped, not even a space
        else:
            self._files, self._path = fs.FileSystem.from_uri(text)
            self.uri = text.rstrip("/")

    def __str__(self) -> str:
        return self._path

    @property
    def checkpoint(self) -> str:
        return f"{self.uri}/checkpoint"

    # -- stores

    def batch_uri(self, store: str, part: str) -> str:
        return f"{self.uri}/stores/{store}/{part}"

    def batch_path(self, store: str, part: str) -> str:
        return f"{self._path}/stores/{store}/{part}"

    def write_part(self, rows: "DataFrame", store: str, part: str) -> int:
        """Rows as a part of a store, there whole or not at all; how many they are."""
        rows.write.mode("overwrite").parquet(self.batch_uri(store, part))
        return self.count_rows(store, part)

    def read_parts(
        self,
        spark: "SparkSession",
        store: str,
        parts: Sequence[str],
        schema: "StructType | None" = None,
        place: str | None = None,
    ) -> "DataFrame":
        """The rows of some parts together, with these columns or all; `place` is a column for how many parts are before a row's."""
        from pyspark.sql import functions as F  # noqa: N812

        uris = [self.batch_uri(store, part) for part in parts]
        reader = spark.read if schema is None else spark.read.schema(schema)
        if place is None:
            return reader.parquet(*uris)
        frames = [reader.parquet(uri).withColumn(place, F.lit(number)) for number, uri in enumerate(uris)]
        return reduce(lambda one, other: one.unionByName(other), frames)

    def is_complete(self, store: str, part: str) -> bool:
        return self._exists(f"{self.batch_path(store, part)}/{_DONE}")

    def complete(self, store: str, part: str) -> None:
        """Say that all files of a part are there; Spark does so by itself."""
        with self._files.open_output_stream(f"{self.batch_path(store, part)}/{_DONE}"):
            pass

    def count_rows(self, store: str, part: str) -> int:
        """From what the files say of themselves."""
        from pyarrow import dataset

        found = dataset.dataset(self.batch_path(store, part), filesystem=self._files, format="parquet")
        return int(found.count_rows())

    def part_files(self, store: str, part: str) -> "tuple[PartFile, ...]":
        """The Parquet files of a part. Raises FileNotFoundError if it is not, or no longer, complete."""
        path = self.batch_path(store, part)
        found = self._files.get_file_info(fs.FileSelector(path))
        if all(each.base_name != _DONE for each in found):
            raise FileNotFoundError(f"{path} is not complete")
        files = [PartFile(each.path, each.mtime_ns or 0, each.size) for each in found if each.extension == "parquet"]
        return tuple(sorted(files))

    def parts(self, store: str) -> list[str]:
        return self._names(f"{self._path}/stores/{store}")

    def stores(self) -> list[str]:
        return self._names(f"{self._path}/stores")

    def remove_part(self, store: str, part: str) -> None:
        self._remove(self.batch_path(store, part))

    # -- what the tasks of a batch have read

    def report_uri(self, batch: int) -> str:
        return f"{self.uri}/reports/{batch}"

    def read_reports(self, batch: int) -> list[dict[str, Any]]:
        found = [self._read_json(f"reports/{batch}/{name}") for name in self._names(f"{self._path}/reports/{batch}")]
        return [each for each in found if each is not None]

    def remove_reports(self, before: int) -> None:
        """Of all batches before that one."""
        for name in self._names(f"{self._path}/reports"):
            if name.isdecimal() and int(name) < before:
                self._remove(f"{self._path}/reports/{name}")

    # -- manifests and the topology

    def manifests(self) -> list[int]:
        """The batches that there are manifests of, in order."""
        names = self._names(f"{self._path}/manifests")
        return sorted(int(name.removesuffix(".json")) for name in names if name.removesuffix(".json").isdecimal())

    def manifest_versions(self) -> list[tuple[int, int]]:
        """By batch, newest first; one that is written again, by a second attempt or after a reset, is another version."""
        found = self._listed(f"{self._path}/manifests")
        numbers = [(each.base_name.removesuffix(".json"), each.mtime_ns or 0) for each in found]
        return sorted(((int(batch), written) for batch, written in numbers if batch.isdecimal()), reverse=True)

    def read_manifest(self, batch: int) -> dict[str, Any] | None:
        return self._read_json(f"manifests/{batch}.json")

    def write_manifest(self, batch: int, content: Mapping[str, Any]) -> None:
        self._write_json(f"manifests/{batch}.json", content)

    def newest_manifest(self) -> Manifest | None:
        """None if no micro-batch was ever committed here."""
        for batch in reversed(self.manifests()):
            content = self.read_manifest(batch)
            if content is not None:
                return Manifest.from_json(content)
        return None

    def remove_manifest(self, batch: int) -> None:
        self._remove(f"{self._path}/manifests/{batch}.json")

    def read_topology(self) -> dict[str, Any] | None:
        return self._read_json(_TOPOLOGY)

    def write_topology(self, content: Mapping[str, Any]) -> None:
        self._write_json(_TOPOLOGY, content)

    def has_state(self) -> bool:
        """Whether an application was ever started here."""
        return self._exists(f"{self._path}/{_TOPOLOGY}") or self._exists(f"{self._path}/manifests")

    def has_checkpoint(self) -> bool:
        """Whether Spark has ever planned a micro-batch here."""
        return bool(self._names(f"{self._path}/checkpoint/offsets"))

    def remove(self) -> None:
        """Everything, so that the application begins anew."""
        self._remove(self._path)

    # -- files

    @property
    def files(self) -> fs.FileSystem:
        return self._files

    def _exists(self, path: str) -> bool:
        return bool(self._files.get_file_info(path).type != fs.FileType.NotFound)

    def _names(self, path: str) -> list[str]:
        return sorted(each.base_name for each in self._listed(path) if not each.base_name.startswith("."))

    def _listed(self, path: str) -> list[fs.FileInfo]:
        """What is in a directory; nothing, if there is none."""
        selector = fs.FileSelector(path, allow_not_found=True)
        while True:
            try:  # one that is changed while it is listed may seem to be empty
                found: list[fs.FileInfo] = self._files.get_file_info(selector) or self._files.get_file_info(selector)
            except FileNotFoundError:  # it came to be between the two looks that pyarrow takes at it
                continue
            return found

    def _remove(self, path: str) -> None:
        kind = self._files.get_file_info(path).type
        if kind == fs.FileType.Directory:
            self._files.delete_dir(path)
        elif kind == fs.FileType.File:
            self._files.delete_file(path)

    def _read_json(self, name: str) -> dict[str, Any] | None:
        try:
            with self._files.open_input_stream(f"{self._path}/{name}") as stream:
                content: dict[str, Any] = json.loads(stream.read())
                return content
        except FileNotFoundError:
            return None

    def _write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """There whole or not at all."""
        path = f"{self._path}/{name}"
        self._files.create_dir(path.rsplit("/", 1)[0], recursive=True)
        with self._files.open_output_stream(f"{path}.new") as stream:
            stream.write(json.dumps(content, indent=1, sort_keys=True).encode())
        self._files.move(f"{path}.new", path)
