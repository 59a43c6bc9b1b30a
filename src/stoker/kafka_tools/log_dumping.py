"""Segments and metadata snapshots as kafka-dump-log.sh prints them: a line a batch, a line a record."""

import mmap
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from stoker.errors import CorruptRecords, MalformedMessage, StokerError
from stoker.kafka_tools.failure import JavaError
from stoker.kafka_tools.record_json import RecordDecoder, as_json, written
from stoker.wire.quorum_records import (
    KRAFT_VERSION,
    KRAFT_VOTERS,
    LEADER_CHANGE,
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    decode_control_record,
)
from stoker.wire.record_batch import (
    HEADER_SIZE,
    MAGIC,
    NO_SEQUENCE,
    BatchHeader,
    ControlType,
    Record,
    control_type_of,
    coordinator_epoch_of,
    crc_is_valid,
    iterate_records,
    read_header,
)

BOOTSTRAP_FILE: Final = "bootstrap.checkpoint"
_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
_CONTROL_NAMES: Final = {
    LEADER_CHANGE: "LeaderChange:",
    SNAPSHOT_HEADER: "SnapshotHeader",
    SNAPSHOT_FOOTER: "SnapshotFooter",
    KRAFT_VERSION: "KRaftVersion",
    KRAFT_VOTERS: "KRaftVoters",
}
_ALL: Final = 2**31 - 1
"""The default of --max-bytes."""
_MAGIC_OFFSET: Final = 16
_SMALLEST: Final = 14
"""Of anything that Kafka takes for a record: the header of message format 0."""
MOST_DECOMPRESSED: Final = 256 * 1024 * 1024
"""Of one batch: twice what the broker takes from a producer, and little enough for the memory of most machines."""


class LogDump:
    """How logs are to be printed, and what was wrong with their offsets. (No dataclass: what makes these is long to import.)"""

    def __init__(self, *, is_deep: bool, decoder: RecordDecoder | None, with_metadata: bool, max_bytes: int) -> None:
        """Without a decoder no contents are printed."""
        self.is_deep = is_deep
        self.decoder = decoder
        self.with_metadata = with_metadata
        self.max_bytes = max_bytes
        self.jumps: dict[str, dict[int, int]] = {}
        """By file: which offset is followed by which, where it is not the next."""

    def print(self, path: Path) -> None:
        """Raises JavaError for what cannot be read."""
        print(_title(path))
        with _mapped(path) as content:
            self._print_batches(path, memoryview(content))

    def _print_batches(self, path: Path, view: memoryview) -> None:
        whole = min(len(view), self.max_bytes)
        position, last = 0, -1
        for header in batches(view[:whole]):
            batch = view[position : position + header.size]
            if header.magic != MAGIC:  # whatever seems newer is read as format 2, as by Kafka's own
                batch = memoryview(b"".join((batch[:_MAGIC_OFFSET], bytes([MAGIC]), batch[_MAGIC_OFFSET + 1 :])))
            print(_batch_line(header, position, is_valid=crc_is_valid(view, position, header)))
            if self.is_deep:
                last = self._print_records(path, header, position, batch, last)
            position += header.size
        if position < whole and self.max_bytes == _ALL:
            print(f"Found {whole - position} invalid bytes at the end of {path.name}")

    def _print_records(self, path: Path, header: BatchHeader, position: int, batch: memoryview, last: int) -> int:
        try:
            for record in iterate_records(batch, MOST_DECOMPRESSED):
                if record.offset != last + 1:
                    self.jumps.setdefault(str(path.absolute()), {})[last] = record.offset
                last = record.offset
                line = _record_line(header, record) if self.with_metadata else ""
                if self.decoder is not None and not header.is_control:
                    shown = self.decoder(record)
                    parts = [f"key: {shown.key}"] if shown.key is not None else []
                    parts += [f"payload: {shown.value}"] if shown.value is not None else []
                    if parts:
                        line = f"{line or '|'} {' '.join(parts)}"
                print(line)
        except (CorruptRecords, MalformedMessage) as error:
            sys.stdout.flush()
            raise invalid_batch(header, position, error) from None
        return last


def invalid_batch(header: BatchHeader, position: int, error: StokerError) -> JavaError:
    """What is raised for a batch whose records cannot be read."""
    return JavaError(
        "org.apache.kafka.common.InvalidRecordException",
        f"the batch with base offset {header.base_offset} at position {position}: {error}",
    )


def batches(view: memoryview) -> Iterator[BatchHeader]:
    """The headers of all whole batches. Raises JavaError for one that is none."""
    position = 0
    while position + HEADER_SIZE <= len(view):
        header = read_header(view, position)
        if header.batch_length < _SMALLEST:  # zeros of a file that was preallocated, or rubbish
            raise JavaError(
                "org.apache.kafka.common.errors.CorruptRecordException",
                f"Found record size {header.batch_length} smaller than minimum record overhead (14) at position "
                f"{position}.",
            )
        if position + header.size > len(view):
            return
        if header.size < HEADER_SIZE or 0 <= header.magic < MAGIC:
            raise JavaError(
                "org.apache.kafka.common.errors.CorruptRecordException",
                f"the batch at position {position} has magic {header.magic}: only message format 2 is read here",
            )
        yield header
        position += header.size


class _mapped:  # noqa: N801 - reads as a function in a with
    """A file's content without reading it; one without content is no map."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._content: mmap.mmap | bytes = b""

    def __enter__(self) -> "mmap.mmap | bytes":
        try:
            with self._path.open("rb") as file:
                if file.seek(0, 2):
                    self._content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise JavaError("java.nio.file.NoSuchFileException", str(self._path)) from None
        except OSError as error:
            raise JavaError("java.io.IOException", f"{self._path}: {error.strerror}") from None
        return self._content

    def __exit__(self, *_: object) -> None:
        if isinstance(self._content, mmap.mmap):
            with suppress(BufferError):  # whoever failed while it looked at a record still holds that
                self._content.close()


def open_log(path: Path) -> _mapped:
    """The bytes of a segment, in a `with`. Raises JavaError."""
    return _mapped(path)


def _title(path: Path) -> str:
    if path.suffix == ".log":
        return f"Log starting offset: {base_offset_of(path)}"
    if path.name == BOOTSTRAP_FILE:
        return "KRaft bootstrap snapshot"
    offset, _, epoch = path.stem.partition("-")
    try:
        return f"Snapshot end offset: {int(offset)}, epoch: {int(epoch)}"
    except ValueError:
        raise JavaError("java.util.NoSuchElementException", "No value present") from None


def base_offset_of(path: Path) -> int:
    """Raises JavaError for a file that is not named by an offset."""
    name = path.name.partition(".")[0]
    try:
        return int(name)
    except ValueError:
        raise JavaError("java.lang.NumberFormatException", f'For input string: "{name}"') from None


def _timestamp_type(header: BatchHeader) -> str:
    return "LogAppendTime" if header.is_log_append_time else "CreateTime"


def _batch_line(header: BatchHeader, position: int, *, is_valid: bool) -> str:
    horizon = header.delete_horizon_ms
    shown_horizon = "OptionalLong.empty" if horizon is None else f"OptionalLong[{horizon}]"
    codec = _CODECS[header.codec] if header.codec < len(_CODECS) else str(header.codec)
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.record_count} "
        f"baseSequence: {header.base_sequence} lastSequence: {header.last_sequence} producerId: {header.producer_id} "
        f"producerEpoch: {header.producer_epoch} partitionLeaderEpoch: {header.partition_leader_epoch} "
        f"isTransactional: {_java(header.is_transactional)} isControl: {_java(header.is_control)} "
        f"deleteHorizonMs: {shown_horizon} position: {position} {_timestamp_type(header)}: {header.max_timestamp} "
        f"size: {header.size} magic: {header.magic} compresscodec: {codec} crc: {header.crc} isvalid: {_java(is_valid)}"
    )


def _record_line(header: BatchHeader, record: Record) -> str:
    sequence = NO_SEQUENCE
    if header.base_sequence != NO_SEQUENCE:
        sequence = (header.base_sequence + record.offset - header.base_offset) & 0x7FFF_FFFF
    line = (
        f"| offset: {record.offset} {_timestamp_type(header)}: {record.timestamp} "
        f"keySize: {-1 if record.key is None else len(record.key)} "
        f"valueSize: {-1 if record.value is None else len(record.value)} sequence: {sequence} "
        f"headerKeys: [{','.join(name for name, _ in record.headers)}]"
    )
    return line + _control(record) if header.is_control else line


def _control(record: Record) -> str:
    marker = control_type_of(record)
    if marker in (ControlType.ABORT, ControlType.COMMIT):
        return f" endTxnMarker: {marker.name} coordinatorEpoch: {coordinator_epoch_of(record)}"
    control = decode_control_record(record)
    if control.message is None:
        return f" controlType: UNKNOWN({control.control_type})"
    version: int = control.message.version  # type: ignore[attr-defined]
    return f" {_CONTROL_NAMES[control.control_type]} {written(as_json(control.message, version))}"


def _java(truth: bool) -> str:
    return "true" if truth else "false"
