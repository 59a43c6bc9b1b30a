"""PRINT: the records of a topic as they come, decoded as far as the registry, or the text itself, says how."""

import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from stoker.client.admin.offsets import EARLIEST, LATEST
from stoker.streams.kafka_inputs import Access
from stoker.streams.preparation import cluster_of, offsets_of, partitions_of, registered_formats
from stoker.streams.sql.catalogue import choices
from stoker.streams.sql.errors import SqlError
from stoker.streams.sql.records import Record, read_records
from stoker.streams.sql.results import Live
from stoker.streams.sql.statements import Print

_PAUSE_SECONDS: Final = 0.3
_COLUMNS: Final = ("ROWTIME", "KEY", "VALUE", "PARTITION", "OFFSET")


def print_topic(statement: Print, access: Access) -> Live:
    """Raises SqlError if there is no such topic."""
    from stoker.client.admin.topics import list_topics

    with cluster_of(access) as cluster:
        if not partitions_of(cluster, [statement.topic]):
            known = [each.name for each in list_topics(cluster)]
            hint = choices(str(statement.topic), known, "SHOW TOPICS lists those there are")
            raise SqlError(f"there is no topic {statement.topic}: {hint}", statement.topic)
        place = EARLIEST if statement.from_beginning else LATEST
        starts = {each.partition: at for each, at in offsets_of(cluster, [statement.topic], place).items()}
    ended = threading.Event()
    return Live(columns=_COLUMNS, rows=_records(statement, access, starts, ended), end=ended.set)


def _records(
    statement: Print, access: Access, starts: dict[int, int], ended: threading.Event
) -> Iterator[Sequence[Any]]:
    topic, left, seen = str(statement.topic), statement.limit, 0
    decode = _Decoding(access, topic)
    while left != 0 and not ended.is_set():
        with cluster_of(access) as cluster:
            ends = {each.partition: at for each, at in offsets_of(cluster, [topic], LATEST).items()}
        ranges = {each: (starts.get(each, 0), end) for each, end in ends.items()}
        found = sorted(read_records(access, topic, ranges), key=lambda record: (record.timestamp, record.partition))
        for record in found:
            seen += 1
            if (seen - 1) % (statement.interval or 1):
                continue
            yield decode.row(record)
            left = None if left is None else left - 1
            if left == 0 or ended.is_set():
                return
        starts = {each: max(starts.get(each, 0), end) for each, end in ends.items()}
        ended.wait(_PAUSE_SECONDS)


class _Decoding:
    """Of one topic."""

    def __init__(self, access: Access, topic: str) -> None:
        self._decoders: dict[str, Any] = {}
        options = {name.lower(): value for name, value in access.write_options().items()}
        for side, form in registered_formats(access, [topic])[topic].items():
            from stoker.spark.formats import decoder_for, reader_schema_for

            self._decoders[side] = decoder_for(reader_schema_for(form, side, [topic], options))

    def row(self, record: Record) -> Sequence[Any]:
        moment = datetime.fromtimestamp(record.timestamp / 1000, UTC).isoformat(timespec="milliseconds")
        key, value = self._decoded("key", record.key), self._decoded("value", record.value)
        return moment.replace("+00:00", "Z"), key, value, record.partition, record.offset

    def _decoded(self, side: str, content: bytes | None) -> Any:
        if content is None:
            return None
        decoder = self._decoders.get(side)
        if decoder is not None:
            import numpy as np

            from stoker.spark.columns import ByteColumn

            data = np.frombuffer(content + bytes(32), dtype=np.uint8)
            found = decoder.decode(ByteColumn(data, np.array([0]), np.array([len(content)])))
            if not len(found.bad):
                return found.column.to_pylist()[0]
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return f"0x{content.hex()}"
        return text if text.isprintable() or side == "value" else f"0x{content.hex()}"
