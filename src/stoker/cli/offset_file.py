"""The file of `stoker groups reset-offsets --from-file`."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from stoker.cli.failure import CommandFailed
from stoker.client.topic_partition import TopicPartition

Offsets = dict[TopicPartition, int]


def write_offsets(file: TextIO, rows: Iterable[tuple[object, ...]]) -> None:
    """Rows as OffsetFile reads them."""
    csv.writer(file, lineterminator="\n").writerows(rows)


@dataclass(frozen=True, kw_only=True, slots=True)
class OffsetFile:
    """What --export writes: `topic,partition,offset` for one group, `group,topic,partition,offset` for more."""

    path: Path
    for_any_group: Offsets
    for_groups: dict[str, Offsets]

    def of_group(self, group_id: str) -> Offsets:
        return self.for_any_group | self.for_groups.get(group_id, {})

    @classmethod
    def read(cls, path: Path) -> "OffsetFile":
        """Raises CommandFailed, with the number of the line."""
        found = cls(path=path, for_any_group={}, for_groups={})
        try:
            with path.open(newline="") as file:
                for number, row in enumerate(csv.reader(file), 1):
                    if row:
                        found._take(number, [cell.strip() for cell in row])
        except OSError as error:
            raise CommandFailed(f"--from-file {path} cannot be read: {error.strerror}") from error
        return found

    def _take(self, line: int, row: list[str]) -> None:
        if len(row) not in (3, 4) or not all(cell.isdecimal() for cell in row[-2:]):
            raise CommandFailed(
                f"--from-file {self.path} line {line}: the form is topic,partition,offset or group,topic,partition,offset"
            )
        *group, topic, partition, offset = row
        offsets = self.for_groups.setdefault(group[0], {}) if group else self.for_any_group
        offsets[TopicPartition(topic, int(partition))] = int(offset)
