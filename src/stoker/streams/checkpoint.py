"""What Spark's checkpoint says of an application: which micro-batches were planned, and up to where they read."""

import json
from typing import Any

from pyarrow import fs

from stoker.spark.offsets import QueryOffset
from stoker.streams.state.directory import StateDirectory


class Checkpoint:
    """Only to be read: Spark alone writes it."""

    def __init__(self, directory: StateDirectory) -> None:
        self._files = directory.files
        self._path = f"{directory}/checkpoint"

    def last_planned(self) -> int | None:
        """The last micro-batch that was planned; it may have run or not. None if there was never one."""
        found = self._files.get_file_info(fs.FileSelector(f"{self._path}/offsets", allow_not_found=True))
        return max((int(each.base_name) for each in found if each.base_name.isdecimal()), default=None)

    def offsets(self, batch: int) -> dict[str, dict[str, int]]:
        """By topic and partition, up to where that micro-batch reads; nothing if it is no longer known."""
        offsets: dict[str, dict[str, int]] = {}
        for (topic, partition), offset in QueryOffset.from_json(self.written(batch) or {}).offsets.items():
            offsets.setdefault(topic, {})[str(partition)] = offset
        return offsets

    def written(self, batch: int) -> dict[str, Any] | None:
        """The same as the source has told it to Spark; None if it is not there."""
        try:
            with self._files.open_input_stream(f"{self._path}/offsets/{batch}") as stream:
                lines = stream.read().decode().splitlines()
        except FileNotFoundError:
            return None
        found: dict[str, Any] = json.loads(lines[-1])
        return found

    def is_committed(self, batch: int) -> bool:
        """Whether Spark knows that it has run."""
        return bool(self._files.get_file_info(f"{self._path}/commits/{batch}").type != fs.FileType.NotFound)
