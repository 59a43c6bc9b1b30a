"""Each codec round-trips, reads what other libraries write, and cannot be made to take more memory than allowed."""

import gzip
import struct
import tracemalloc
from collections.abc import Callable
from random import Random

import cramjam
import kafka.codec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.errors import CorruptRecords
from stoker.wire.compression import Codec, compress, decompress

LIMIT = 1_000_000
PACKED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
TEXTS = {
    "empty": b"",
    "one byte": b"x",
    "repeated": b"orders " * 30_000,
    "block": bytes(64 * 1024),
    "numbers": b"".join(struct.pack(">q", number * 2654435761 % 2**61) for number in range(20_000)),
}


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_round_trip(codec: Codec, text: bytes) -> None:
    assert decompress(codec, compress(codec, text), len(text)) == text
    assert decompress(codec, memoryview(compress(codec, memoryview(text))), LIMIT) == text


@pytest.mark.parametrize("codec", Codec)
@settings(max_examples=30)
@given(text=st.binary(max_size=300))
def test_round_trip_of_anything(codec: Codec, text: bytes) -> None:
    assert decompress(codec, compress(codec, text), len(text)) == text


KAFKA_PYTHON: dict[Codec, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    Codec.GZIP: (kafka.codec.gzip_encode, kafka.codec.gzip_decode),
    Codec.SNAPPY: (kafka.codec.snappy_encode, kafka.codec.snappy_decode),
    Codec.LZ4: (kafka.codec.lz4_encode, kafka.codec.lz4_decode),
    Codec.ZSTD: (kafka.codec.zstd_encode, kafka.codec.zstd_decode),
}


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_kafka_python(codec: Codec, text: bytes) -> None:
    encode, decode = KAFKA_PYTHON[codec]
    assert decompress(codec, encode(text), LIMIT) == text
    if text or codec is not Codec.SNAPPY:
        # It does not take a snappy stream without blocks for one.
        assert bytes(decode(compress(codec, text))) == text


FOREIGN = {
    "raw snappy": (Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(b"orders" * 100))),
    "lz4 with blocks that depend on each other": (Codec.LZ4, bytes(cramjam.lz4.compress(b"orders" * 100))),
    "gzip of two members": (Codec.GZIP, gzip.compress(b"orders" * 40) + gzip.compress(b"orders" * 60)),
}


@pytest.mark.parametrize(("codec", "data"), FOREIGN.values(), ids=FOREIGN)
def test_other_framings(codec: Codec, data: bytes) -> None:
    assert decompress(codec, data, LIMIT) == b"orders" * 100


@pytest.mark.parametrize("codec", Codec)
def test_the_limit_is_exact(codec: Codec) -> None:
    text = bytes(100_000)
    assert decompress(codec, compress(codec, text), 100_000) == text
    with pytest.raises(CorruptRecords, match=f"{codec.name.lower()} records .* more than the allowed 99999 bytes"):
        decompress(codec, compress(codec, text), 99_999)


@pytest.mark.parametrize("codec", PACKED)
def test_a_decompression_bomb_takes_little_memory(codec: Codec) -> None:
    bomb = compress(codec, bytes(50_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(CorruptRecords, match="allowed 1000000 bytes"):
            decompress(codec, bomb, LIMIT)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * LIMIT


@pytest.mark.parametrize("codec", [Codec.LZ4, Codec.ZSTD])
def test_what_is_large_takes_a_small_multiple_of_its_size(codec: Codec) -> None:
    """However far away the limit is."""
    size = 40_000_000
    packed = compress(codec, bytes(size))
    tracemalloc.start()
    try:
        assert len(decompress(codec, packed, 2**31 - 1)) == size
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * size


def test_a_claimed_size_takes_no_memory() -> None:
    two_gigabytes = b"\xff\xff\xff\xff\x07" + b"\x00"
    framed = b"\x82SNAPPY\x00" + struct.pack(">iii", 1, 1, len(two_gigabytes)) + two_gigabytes
    for data in (two_gigabytes, framed):
        with pytest.raises(CorruptRecords, match="snappy records decompress to more than the allowed 1000000 bytes"):
            decompress(Codec.SNAPPY, data, LIMIT)


@pytest.mark.parametrize("codec", PACKED)
def test_damaged_data(codec: Codec) -> None:
    packed = compress(codec, b"orders " * 30_000)
    for length in {1, 5, 10, 17, len(packed) // 2, len(packed) - 5}:
        with pytest.raises(CorruptRecords, match=f"{codec.name.lower()} records"):
            decompress(codec, packed[:length], LIMIT)
    with pytest.raises(CorruptRecords, match=f"{codec.name.lower()} records are damaged"):
        decompress(codec, b"this is not compressed at all", LIMIT)


@pytest.mark.parametrize("codec", PACKED)
@given(data=st.data())
@settings(max_examples=60)
def test_mutated_data(codec: Codec, data: st.DataObject) -> None:
    packed = bytearray(compress(codec, b"orders " * 50 + bytes(range(256))))
    for _ in range(data.draw(st.integers(1, 4))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    try:
        text = decompress(codec, packed, 10_000)
    except CorruptRecords:
        return
    assert len(text) <= 10_000


@pytest.mark.parametrize("codec", [5, 6, 7, -1])
def test_codecs_that_do_not_exist(codec: int) -> None:
    with pytest.raises(CorruptRecords, match=f"compression type {codec} does not exist"):
        decompress(codec, b"", LIMIT)
    with pytest.raises(CorruptRecords, match=f"compression type {codec} does not exist"):
        compress(codec, b"")


@pytest.mark.parametrize(("codec", "thorough"), [(Codec.GZIP, 9), (Codec.LZ4, 12), (Codec.ZSTD, 19)])
def test_a_thorough_level_packs_tighter(codec: Codec, thorough: int) -> None:
    numbers = Random(7)
    data = " ".join(f"word-{numbers.randrange(5000)}" for _ in range(20_000)).encode()
    light = compress(codec, data, 9 if codec is Codec.LZ4 else 1)  # 9 is lz4's fast compressor
    tight = compress(codec, data, thorough)
    assert len(tight) < len(light)
    assert decompress(codec, tight, len(data)) == data
