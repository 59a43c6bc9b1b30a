"""The records that every client writes and reads: each form a record can take."""

from dataclasses import replace

from tests.clients.client import Abilities, Record

PARTITIONS = 3
NOON = 1_700_000_000_000
"""A fixed time in the past (2023-11-14), within retention of nothing: topics that hold it keep records for ever."""

KEEP_FOREVER = {"retention.ms": "-1"}

SAMPLES: tuple[Record, ...] = (
    Record(key=b"key", value=b"plain", timestamp=NOON, partition=0),
    Record(key=None, value=b"a null key", timestamp=NOON + 1, partition=0),
    Record(key=b"a null value", value=None, timestamp=NOON + 2, partition=0),
    Record(key=b"", value=b"an empty key", timestamp=NOON + 3, partition=0),
    Record(key=b"an empty value", value=b"", timestamp=NOON + 4, partition=0),
    Record(key=bytes(range(256)), value=bytes(reversed(range(256))), timestamp=NOON + 5, partition=0),
    Record(key="clé".encode(), value="größer als 日本語".encode(), timestamp=NOON + 6, partition=0),
    Record(key=b"header", value=b"", headers=(("source", b"checkout"),), timestamp=NOON + 7, partition=1),
    Record(
        key=b"headers",
        value=b"several, in order",
        headers=(("z", b"first"), ("a", b"second"), ("empty", b""), ("bytes", b"\xff\xfe")),
        timestamp=NOON + 8,
        partition=1,
    ),
    Record(key=b"twice", value=b"", headers=(("same", b"1"), ("same", b"2")), timestamp=NOON + 9, partition=1),
    Record(key=b"null header", value=b"", headers=(("nothing", None),), timestamp=NOON + 10, partition=1),
    Record(key=b"long", value=b"0123456789abcdef" * 4096, timestamp=NOON + 11, partition=2),
    Record(key=b"earlier than the one before", value=b"late", timestamp=NOON - 60_000, partition=2),
    Record(key=None, value=None, timestamp=NOON + 12, partition=2),
)


def samples_for(abilities: Abilities) -> list[Record]:
    """The samples as far as a client can express them."""
    records = []
    for record in SAMPLES:
        headers = record.headers
        if not abilities.null_header_values:
            headers = tuple((name, value) for name, value in headers if value is not None)
        if not abilities.null_key_with_null_value and record.key is None and record.value is None:
            continue
        timestamp = record.timestamp if abilities.sets_timestamps else None
        records.append(replace(record, headers=headers, timestamp=timestamp))
    return records
