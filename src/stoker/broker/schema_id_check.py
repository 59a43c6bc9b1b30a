"""Whether each record of a batch names a schema that it may have: in front of its key or value, or in a header.

Nothing is decoded but the id. Null keys and null values pass, as in Confluent Server: a tombstone has no schema.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from stoker.broker.schema_ids import GUID_MAGIC, GUID_SIZE, ID_MAGIC, ID_SIZE, SchemaRule, SchemaRules
from stoker.errors import CorruptRecords
from stoker.log.errors import AppendRefused
from stoker.log.validation import MAX_DECOMPRESSED_BYTES, MAX_RECORDS_READ, QUICKLY_READ_BYTES
from stoker.wire.compression import decompress
from stoker.wire.error_codes import ErrorCode
from stoker.wire.record_batch import (
    ATTRIBUTES_OFFSET,
    CODEC_MASK,
    HEADER_SIZE,
    BatchHeader,
    decode_varint,
    iterate_records,
)

_FEW_RECORDS: Final = 200
"""Up to here it is quicker to look at one record after the other."""
_LOW_ATTRIBUTES: Final = ATTRIBUTES_OFFSET + 1
_MOST_ERRORS: Final = 10_000
"""Bad records that are named by their index: as many as librdkafka puts into a batch."""
_MOST_MESSAGES: Final = 100
"""... and that have a message each. For the others, clients show the message of the batch."""
_SHOWN_BYTES: Final = 8

Headers = Sequence[tuple[str, bytes | None]]


def is_quickly_checked(batch: memoryview) -> bool:
    """Whether the records of these bytes, which may be no batch at all, take a few milliseconds at most to look at."""
    return len(batch) <= QUICKLY_READ_BYTES and (len(batch) < HEADER_SIZE or not batch[_LOW_ATTRIBUTES] & CODEC_MASK)


def check_schema_ids(batch: memoryview, header: BatchHeader, rules: SchemaRules) -> None:
    """Raises AppendRefused with INVALID_RECORD, naming the records that break a rule, for a batch that is valid otherwise."""
    count = header.record_count
    if count > MAX_RECORDS_READ:
        raise AppendRefused(
            ErrorCode.INVALID_RECORD,
            f"{count} records are more than the {MAX_RECORDS_READ} that a batch may have where schemas are validated",
        )
    try:
        problems = _problems(batch, header, rules)
        errors = tuple((index, problem) for (index, problem), _ in zip(problems, range(_MOST_ERRORS), strict=False))
    except CorruptRecords as error:
        raise AppendRefused(ErrorCode.INVALID_RECORD, str(error)) from error
    if errors:
        first, problem = errors[0]
        number = f"{len(errors)} or more" if len(errors) == _MOST_ERRORS else str(len(errors))
        told = errors[:_MOST_MESSAGES] + tuple((index, None) for index, _ in errors[_MOST_MESSAGES:])
        raise AppendRefused(
            ErrorCode.INVALID_RECORD,
            f"{number} of {count} records do not name a schema that this topic takes; record {first}: {problem}",
            told,
        )


def _problems(batch: memoryview, header: BatchHeader, rules: SchemaRules) -> Iterable[tuple[int, str]]:
    packed = batch[HEADER_SIZE:]
    body = decompress(header.codec, packed, MAX_DECOMPRESSED_BYTES) if header.codec else bytes(packed)
    if header.record_count > _FEW_RECORDS and len(body) > QUICKLY_READ_BYTES:
        from stoker.broker.schema_id_columns import problems_by_columns

        return problems_by_columns(body, header.record_count, rules)
    if _are_surely_right(body, header.record_count, rules):
        return ()
    return (
        (index, problem)
        for index, record in enumerate(iterate_records(batch, MAX_DECOMPRESSED_BYTES))
        for problem in problems_of(rules, record.key, record.value, record.headers)
    )


def _are_surely_right(body: bytes, count: int, rules: SchemaRules) -> bool:
    """Whether these records have no headers and keep the rules. They nearly always do, and this takes half the time."""
    keys = next((rule.known.by_id for rule in rules if rule.is_key), None)
    values = next((rule.known.by_id for rule in rules if not rule.is_key), None)
    position = 0
    try:
        for _ in range(count):
            length, position = decode_varint(body, position)
            end = position + length
            position += 1  # attributes, then the deltas of timestamp and offset
            while body[position] > 127:
                position += 1
            position += 1
            while body[position] > 127:
                position += 1
            position += 1
            for known in (keys, values):
                length, position = decode_varint(body, position)
                if length != -1:
                    if length < 0 or (
                        known is not None
                        and (length <= ID_SIZE or body[position : position + ID_SIZE + 1] not in known)
                    ):
                        return False
                    position += length
            if body[position] or position + 1 != end:
                return False
            position = end
    except (IndexError, CorruptRecords):
        return False
    return position == len(body)


def problems_of(rules: SchemaRules, key: bytes | None, value: bytes | None, headers: Headers) -> Sequence[str]:
    """The first thing that is wrong with a record, if there is any."""
    for rule in rules:
        content = key if rule.is_key else value
        if content is None or (not headers and rule.known.has(content)):
            continue
        # Of two headers of one name some clients read the first and some the last, so either must be right.
        written = [text for name, text in headers if name == rule.header and text is not None]
        for where, each in [("header", text) for text in written] or [("", content)]:
            if not rule.known.has(each):
                return (_problem(rule, each, f"the header {rule.header}" if where else f"the {rule.what}"),)
    return ()


def _problem(rule: SchemaRule, content: bytes, where: str) -> str:
    if content[:1] == ID_MAGIC and len(content) > ID_SIZE:
        name = f"schema id {int.from_bytes(content[1 : ID_SIZE + 1])}"
    elif content[:1] == GUID_MAGIC and len(content) > GUID_SIZE:
        name = f"schema guid {content[1 : GUID_SIZE + 1].hex()}"
    elif not content:
        return f"{where} is empty: it must begin with 00 and a schema id of {ID_SIZE} bytes"
    else:
        more = "..." if len(content) > _SHOWN_BYTES else ""
        return (
            f"{where} begins with {content[:_SHOWN_BYTES].hex(' ')}{more}, "
            f"not with 00 and a schema id of {ID_SIZE} bytes: was it written without a registry's serializer?"
        )
    return f"{name} of {where} is not registered under {rule.subjects}"
