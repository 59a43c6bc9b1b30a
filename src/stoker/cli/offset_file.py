"""The file of `stoker groups reset-offsets --from-file`."""

import csv
import io
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from stoker.cli.failure import CommandFailed
from stoker.client.topic_partition import TopicPartition

Offsets = dict[TopicPartition, int]

_STANDARD_INPUT: Final = Path("-")
_COMMENT: Final = "#"
_FORM: Final = "the form is topic,partition,offset or group,topic,partition,offset"


def write_offsets(file: TextIO, rows: Iterable[tuple[object, ...]]) -> None:
    """Rows as OffsetFile reads them."""
    plain = csv.writer(file, lineterminator="\n")
    quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        # The id of a group may begin as a comment does.
        (quoted if str(row[0]).startswith(_COMMENT) else plain).writerow(row)


@dataclass(frozen=True, kw_only=True, slots=True)
class OffsetFile:
    """What --export writes: `topic,partition,offset` for one group, `group,topic,partition,offset` for more.

    Empty lines and those that begin with # say nothing.
    """

    path: Path
    for_any_group: Offsets
    for_groups: dict[str, Offsets]

    def of_group(self, group_id: str) -> Offsets:
        return self.for_any_group | self.for_groups.get(group_id, {})

    @classmethod
    def read(cls, path: Path) -> "OffsetFile":
        """`-` is standard input. Raises CommandFailed, with the number of the line."""
        found = cls(path=path, for_any_group={}, for_groups={})
        try:
            content = sys.stdin.buffer.read() if path == _STANDARD_INPUT else path.read_bytes()
            lines = io.StringIO(content.decode("utf-8-sig"), newline="")
        except OSError as error:
            raise CommandFailed(f"--from-file {path} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise CommandFailed(f"--from-file {path} line {line} is not UTF-8: {_FORM}") from error
        # A comment becomes an empty line, so that the reader counts it.
        reader = csv.reader("\n" if line.lstrip().startswith(_COMMENT) else line for line in lines)
        try:
            for row in reader:
                if any(cell.strip() for cell in row):
                    found._take(reader.line_num, [cell.strip() for cell in row])
        except csv.Error as error:
            raise CommandFailed(f"--from-file {path} line {reader.line_num}: {error}; {_FORM}") from error
        return found

    def _take(self, line: int, row: list[str]) -> None:
        if len(row) not in (3, 4) or not all(cell.isdecimal() for cell in row[-2:]):
            raise CommandFailed(f"--from-file {self.path} line {line}: {_FORM}")
        *group, topic, partition, offset = row
        offsets = self.for_groups.setdefault(group[0], {}) if group else self.for_any_group
        offsets[TopicPartition(topic, int(partition))] = int(offset)
