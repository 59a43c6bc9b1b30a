"""Compressing the records of a batch, and decompressing them without trusting what they say about their size.

gzip is the standard library's; the other three are cramjam's, one wheel for all of them. Both are imported when first
needed: a broker passes compressed batches through as they are, and most never look inside one. Kafka's framing of snappy
is made here, because what cramjam makes of it Kafka's Java clients do not read.
"""

from collections.abc import Callable, Iterator
from enum import IntEnum
from struct import Struct as Layout

from stoker.errors import CorruptRecords
from stoker.wire.schema import Buffer


class Codec(IntEnum):
    """The compression types of record batches, numbered as in their attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


# Kafka's snappy is framed as the Java library by xerial does it: a magic, two version numbers, then blocks with a length.
_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + Layout(">ii").pack(1, 1)
_XERIAL_BLOCK_BYTES = 32 * 1024
_INT32 = Layout(">i")

_FIRST_GUESS_BYTES = 64 * 1024
_LARGE_BYTES = 4 * 1024 * 1024


DEFAULT_LEVELS = {Codec.GZIP: -1, Codec.LZ4: 9, Codec.ZSTD: 3}
"""Kafka's defaults of compression.gzip.level and its like. lz4's means the fast compressor, any other the thorough one."""


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """`data` as `codec` packs it, in the framing that Kafka's clients read; `level` as in compression.zstd.level."""
    match _known(codec):
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            import gzip

            return gzip.compress(data, DEFAULT_LEVELS[Codec.GZIP] if level is None else level, mtime=0)
        case Codec.SNAPPY:
            return _compress_snappy(data)
        case Codec.LZ4:
            return _compress_lz4(data, DEFAULT_LEVELS[Codec.LZ4] if level is None else level)
        case Codec.ZSTD:
            import cramjam

            return bytes(cramjam.zstd.compress(data, DEFAULT_LEVELS[Codec.ZSTD] if level is None else level))


def decompress(codec: int, data: Buffer, limit: int) -> bytes:
    """What was compressed; raises CorruptRecords if it is damaged or longer than `limit` bytes.

    No more than a small multiple of `limit` is ever allocated, whatever `data` claims.
    """
    known = _known(codec)
    match known:
        case Codec.NONE:
            if len(data) > limit:
                raise _too_long(known, limit)
            return bytes(data)
        case Codec.GZIP:
            return _decompress_gzip(data, limit)
        case Codec.SNAPPY:
            return b"".join(snappy_blocks(data, limit))
        case Codec.LZ4:
            import cramjam

            return _decompress_growing(known, cramjam.lz4.decompress_into, data, limit)
        case Codec.ZSTD:
            import cramjam

            return _decompress_growing(known, cramjam.zstd.decompress_into, data, limit)


def _known(codec: int) -> Codec:
    try:
        return Codec(codec)
    except ValueError:
        raise CorruptRecords(f"compression type {codec} does not exist; known are 0 to {max(Codec)}") from None


def _too_long(codec: Codec, limit: int) -> CorruptRecords:
    return CorruptRecords(f"{codec.name.lower()} records decompress to more than the allowed {limit} bytes")


def _damaged(codec: Codec, reason: object) -> CorruptRecords:
    return CorruptRecords(f"{codec.name.lower()} records are damaged: {reason}")


def _decompress_gzip(data: Buffer, limit: int) -> bytes:
    import zlib

    out = bytearray()
    rest: Buffer = data
    while rest:
        member = zlib.decompressobj(31)
        try:
            # One byte more than allowed tells an exact fit from an overflow.
            out += member.decompress(rest, limit - len(out) + 1)
        except zlib.error as error:
            raise _damaged(Codec.GZIP, error) from None
        if len(out) > limit:
            raise _too_long(Codec.GZIP, limit)
        if not member.eof:
            raise _damaged(Codec.GZIP, "they end too early")
        rest = member.unused_data
    return bytes(out)


def _compress_snappy(data: Buffer) -> bytes:
    import cramjam

    view = memoryview(data)
    out = bytearray(_XERIAL_HEADER)
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK_BYTES]))
        out += _INT32.pack(len(block))
        out += block
    return bytes(out)


def snappy_blocks(data: Buffer, limit: int) -> Iterator[Buffer]:
    """What was compressed, block by block, of 32 KiB mostly: not all of it has to be in memory. Without a frame it is one.

    Raises CorruptRecords at a block that is damaged, or with which there are more than `limit` bytes.
    """
    view = memoryview(data)
    if view[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        yield _decompress_snappy_block(view, limit, limit)
        return
    position = len(_XERIAL_HEADER)
    if len(view) < position:
        raise _damaged(Codec.SNAPPY, "the header ends too early")
    left = limit
    while position < len(view):
        if len(view) - position < 4:
            raise _damaged(Codec.SNAPPY, "a block length ends too early")
        (length,) = _INT32.unpack_from(view, position)
        position += 4
        if not 0 < length <= len(view) - position:
            raise _damaged(Codec.SNAPPY, f"a block of {length} bytes where {len(view) - position} are left")
        block = _decompress_snappy_block(view[position : position + length], left, limit)
        left -= len(block)
        position += length
        yield block


def _decompress_snappy_block(block: memoryview, left: int, limit: int) -> Buffer:
    import cramjam

    try:
        if cramjam.snappy.decompress_raw_len(block) > left:
            raise _too_long(Codec.SNAPPY, limit)
        return memoryview(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise _damaged(Codec.SNAPPY, error) from None


def _compress_lz4(data: Buffer, level: int) -> bytes:
    import cramjam

    # Java clients refuse blocks that depend on each other.
    fast = level == DEFAULT_LEVELS[Codec.LZ4]
    compressor = cramjam.lz4.Compressor(level=0 if fast else level, content_checksum=False, block_linked=False)
    compressor.compress(bytes(data))
    return bytes(compressor.finish())


def _decompress_growing(
    codec: Codec, decompress_into: Callable[[Buffer, bytearray], int], data: Buffer, limit: int
) -> bytes:
    """Tries ever larger outputs up to the limit, because a frame may claim any size or none."""
    import cramjam

    room = min(limit, max(_FIRST_GUESS_BYTES, 4 * len(data)))
    while True:
        out = bytearray(room)
        try:
            written = decompress_into(data, out)
        except cramjam.DecompressionError as error:
            if "write whole buffer" not in str(error):
                raise _damaged(codec, error) from None
            if room == limit:
                raise _too_long(codec, limit) from None
            # Each try begins anew, so few are made where memory is cheap; what is large takes at most twice its size.
            room = min(limit, room * (8 if room < _LARGE_BYTES else 2))
        else:
            del out[written:]
            return bytes(out)
