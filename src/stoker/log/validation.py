"""What a batch from a producer must be to enter the log, as Kafka's LogValidator has it.

Work is per batch. Records are read only where that cannot be avoided: keys on a compacted topic, and timestamps that
the batch header makes suspicious. What is inside a batch is otherwise the producer's affair, guarded by its checksum.
"""

import struct

import crc32c

from stoker.errors import CorruptRecords
from stoker.log.config import NEVER, LogConfig
from stoker.log.errors import AppendRefused, RecordsMustBeRead
from stoker.wire.compression import Codec, compress, decompress
from stoker.wire.error_codes import ErrorCode
from stoker.wire.record_batch import (
    ATTRIBUTES_OFFSET,
    CODEC_MASK,
    CONTROL_FLAG,
    CRC_OFFSET,
    HEADER_SIZE,
    LEADER_EPOCH_OFFSET,
    LOG_APPEND_TIME_FLAG,
    MAGIC,
    BatchHeader,
    crc_is_valid,
    iterate_records,
    read_header,
)

MAX_DECOMPRESSED_BYTES = 128 * 1024 * 1024
"""Where the log has to look into a compressed batch, it unpacks no more than this."""

_CODECS = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}
_HIGHEST_CODEC = max(Codec)

MAX_RECORDS_READ = 1_000_000
"""... nor a batch of more records. No client makes such batches, and each record takes a microsecond or two."""
QUICKLY_READ_BYTES = 16 * 1024
"""Records without compression that take a few milliseconds at most to read. Compressed ones may be any number."""
_MOST_RECORD_ERRORS = 100

_MINIMUM_BATCH_LENGTH = 14
"""Of the oldest message format; a length below it is no length."""
_BYTES_UP_TO_MAGIC = 17
_MAX_TIMESTAMP_OFFSET = 35
_put_crc_and_attributes = struct.Struct(">Ih").pack_into
_put_batch_length = struct.Struct(">i").pack_into
_put_timestamp = struct.Struct(">q").pack_into
put_base_offset = struct.Struct(">q").pack_into
put_leader_epoch = struct.Struct(">i").pack_into
_length_and_magic = struct.Struct(">ixxxxb").unpack_from

_checksum = crc32c.crc32c


def validate_client_batch(
    records: memoryview, config: LogConfig, now_ms: int, *, at_once: bool = False
) -> tuple[memoryview, BatchHeader]:
    """The batch as it is to be written, and its header; raises AppendRefused.

    `records` must be writable: a timestamp may be stamped into it. With `at_once` it takes milliseconds, or raises
    RecordsMustBeRead.
    """
    length = len(records)
    if length < HEADER_SIZE:
        raise _not_one_batch(records)
    header = read_header(records, 0)
    (
        base_offset,
        batch_length,
        _leader_epoch,
        magic,
        crc,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        _producer_epoch,
        base_sequence,
        count,
    ) = header
    if batch_length + 12 != length or magic != 2:
        records = _only_batch(records)
        length = len(records)
    if base_offset != 0:
        raise _invalid(f"a producer's batch must have base offset 0, this one has {base_offset}")
    if length > config.max_message_bytes:
        raise _too_large(length, config)
    if _checksum(records[ATTRIBUTES_OFFSET:]) != crc:
        raise AppendRefused(ErrorCode.CORRUPT_MESSAGE, "the batch does not have the checksum it claims")
    if count != last_offset_delta + 1 or count <= 0:
        raise _invalid(f"the batch claims {count} records and a last offset delta of {last_offset_delta}")
    if attributes & (CONTROL_FLAG | LOG_APPEND_TIME_FLAG) or attributes & CODEC_MASK > _HIGHEST_CODEC:
        records, header = _checked_attributes(records, header, config)
    if producer_id >= 0 and base_sequence < 0:
        raise _invalid(f"producer {producer_id} sent sequence {base_sequence}")
    if config.takes_batches_as_they_are:
        if max_timestamp > now_ms + config.message_timestamp_after_max_ms or (
            config.message_timestamp_before_max_ms != NEVER
            and min(base_timestamp, max_timestamp) < now_ms - config.message_timestamp_before_max_ms
        ):
            _check_records(records, header, config, now_ms, at_once)
        return records, header
    return _rewritten(records, header, config, now_ms, at_once)


def prepare_coordinator_batches(
    records: memoryview, config: LogConfig, base_offset: int, leader_epoch: int
) -> list[tuple[int, BatchHeader]]:
    """Number the broker's own batches, in place, and give position and header of each; raises AppendRefused."""
    headers = []
    position = 0
    while position < len(records):
        if len(records) - position < HEADER_SIZE:
            raise AppendRefused(ErrorCode.CORRUPT_MESSAGE, f"no whole batch at byte {position} of the append")
        header = read_header(records, position)
        if header.magic != MAGIC or not crc_is_valid(records, position, header):
            raise AppendRefused(ErrorCode.CORRUPT_MESSAGE, f"no valid batch at byte {position} of the append")
        if header.size > config.max_message_bytes:
            raise _too_large(header.size, config)
        header = header._replace(base_offset=base_offset, partition_leader_epoch=leader_epoch)
        put_base_offset(records, position, base_offset)
        put_leader_epoch(records, position + LEADER_EPOCH_OFFSET, leader_epoch)
        headers.append((position, header))
        base_offset = header.next_offset
        position += header.size
    if not headers:
        raise _invalid("there is no record batch to append")
    return headers


def _too_large(size: int, config: LogConfig) -> AppendRefused:
    return AppendRefused(
        ErrorCode.MESSAGE_TOO_LARGE, f"the batch has {size} bytes, max.message.bytes allows {config.max_message_bytes}"
    )


def _invalid(message: str) -> AppendRefused:
    return AppendRefused(ErrorCode.INVALID_RECORD, message)


def _not_one_batch(records: memoryview) -> AppendRefused:
    """Why these bytes hold no whole batch, told apart as Kafka does."""
    if len(records) >= _BYTES_UP_TO_MAGIC:
        batch_length, magic = _length_and_magic(records, 8)
        if batch_length < _MINIMUM_BATCH_LENGTH or not 0 <= magic <= 2:
            return AppendRefused(
                ErrorCode.CORRUPT_MESSAGE, f"no record batch has {batch_length} bytes and magic {magic}"
            )
        if magic < 2 and batch_length + 12 <= len(records):
            return _invalid(f"message format {magic} is not supported, only 2 is")
    return _invalid("there must be one whole record batch per partition")


def _only_batch(records: memoryview) -> memoryview:
    """The one batch in front of what Kafka ignores too, the beginning of another; anything else is refused."""
    batch_length, magic = _length_and_magic(records, 8)
    size = batch_length + 12
    if batch_length < _MINIMUM_BATCH_LENGTH or magic != 2 or size > len(records):
        raise _not_one_batch(records)
    if size < HEADER_SIZE:
        raise AppendRefused(ErrorCode.CORRUPT_MESSAGE, f"a record batch of {size} bytes is too short to be one")
    rest = records[size:]
    if len(rest) >= _BYTES_UP_TO_MAGIC:
        next_length, _ = _length_and_magic(rest, 8)
        if next_length + 12 <= len(rest):
            raise _invalid("there must be exactly one record batch per partition")
    return records[:size]


def _checked_attributes(records: memoryview, header: BatchHeader, config: LogConfig) -> tuple[memoryview, BatchHeader]:
    if header.attributes & CONTROL_FLAG:
        raise _invalid("producers may not write control batches")
    codec = header.attributes & CODEC_MASK
    if codec > _HIGHEST_CODEC:
        raise AppendRefused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"compression codec {codec} is unknown")
    if config.message_timestamp_type != "CreateTime" or header.max_timestamp < 0:
        raise AppendRefused(
            ErrorCode.INVALID_TIMESTAMP, "producers may not set the timestamp type of a batch to LogAppendTime"
        )
    return records, _with_attributes(records, header, header.attributes & ~LOG_APPEND_TIME_FLAG)


def _with_attributes(records: memoryview, header: BatchHeader, attributes: int) -> BatchHeader:
    _put_crc_and_attributes(records, CRC_OFFSET, 0, attributes)
    crc = _checksum(records[ATTRIBUTES_OFFSET:])
    _put_crc_and_attributes(records, CRC_OFFSET, crc, attributes)
    return header._replace(crc=crc, attributes=attributes)


def _check_records(records: memoryview, header: BatchHeader, config: LogConfig, now_ms: int, at_once: bool) -> None:
    """Look at each record: its timestamp, and on a compacted topic its key. Up to a hundred that are wrong are told."""
    if at_once and (header.attributes & CODEC_MASK or len(records) > QUICKLY_READ_BYTES):
        raise RecordsMustBeRead
    if header.record_count > MAX_RECORDS_READ:
        raise _invalid(f"{header.record_count} records are more than the {MAX_RECORDS_READ} that a batch may have here")
    oldest = now_ms - config.message_timestamp_before_max_ms
    newest = now_ms + config.message_timestamp_after_max_ms
    checks_timestamps = config.message_timestamp_type == "CreateTime"
    wrong_timestamps, errors = False, []
    try:
        for batch_index, record in enumerate(iterate_records(records, MAX_DECOMPRESSED_BYTES)):
            if config.is_compacted and record.key is None:
                errors.append((batch_index, "a record of a compacted topic must have a key"))
            elif checks_timestamps and record.timestamp != -1 and not oldest <= record.timestamp <= newest:
                wrong_timestamps = True
                errors.append((batch_index, f"timestamp {record.timestamp} is outside of [{oldest}, {newest}]"))
            if len(errors) == _MOST_RECORD_ERRORS:
                break
    except CorruptRecords as problem:
        raise _invalid(str(problem)) from problem
    if wrong_timestamps:
        raise AppendRefused(
            ErrorCode.INVALID_TIMESTAMP, f"{len(errors)} records have invalid timestamps", tuple(errors)
        )
    if errors:
        raise AppendRefused(ErrorCode.INVALID_RECORD, f"{len(errors)} records are invalid", tuple(errors))


def _rewritten(
    records: memoryview, header: BatchHeader, config: LogConfig, now_ms: int, at_once: bool
) -> tuple[memoryview, BatchHeader]:
    """For topics that are compacted, stamp their own time or have their own codec."""
    creates_time = config.message_timestamp_type == "CreateTime"
    if config.is_compacted or (
        creates_time
        and (
            header.max_timestamp > now_ms + config.message_timestamp_after_max_ms
            or min(header.base_timestamp, header.max_timestamp) < now_ms - config.message_timestamp_before_max_ms
        )
    ):
        _check_records(records, header, config, now_ms, at_once)
    attributes = header.attributes
    codec = _CODECS.get(config.compression_type, attributes & CODEC_MASK)
    if codec != attributes & CODEC_MASK:
        if at_once:
            raise RecordsMustBeRead
        records = _recompressed(records, attributes & CODEC_MASK, codec, config)
        attributes = attributes & ~CODEC_MASK | codec
        if len(records) > config.max_message_bytes:
            raise _too_large(len(records), config)
    if not creates_time:
        attributes |= LOG_APPEND_TIME_FLAG
        _put_timestamp(records, _MAX_TIMESTAMP_OFFSET, now_ms)
        header = header._replace(max_timestamp=now_ms)
    if attributes != header.attributes or not creates_time:
        header = _with_attributes(records, header, attributes)
    return records, header._replace(batch_length=len(records) - 12)


def _recompressed(records: memoryview, from_codec: int, to_codec: int, config: LogConfig) -> memoryview:
    """The same records in another codec. Only the block of records is compressed, so no record is touched."""
    try:
        block = bytes(records[HEADER_SIZE:])
        if from_codec:
            block = decompress(from_codec, block, MAX_DECOMPRESSED_BYTES)
    except CorruptRecords as problem:
        raise _invalid(str(problem)) from problem
    if to_codec:
        levels = {
            Codec.GZIP: config.compression_gzip_level,
            Codec.LZ4: config.compression_lz4_level,
            Codec.ZSTD: config.compression_zstd_level,
        }
        block = compress(to_codec, block, levels.get(Codec(to_codec)))
    batch = bytearray(records[:HEADER_SIZE])
    batch += block
    _put_batch_length(batch, 8, len(batch) - 12)
    return memoryview(batch)
