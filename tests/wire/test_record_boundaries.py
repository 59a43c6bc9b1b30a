"""Records that are found by guessing, and checking, are those that are found one by one."""

import random
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.errors import CorruptRecords
from stoker.wire import record_boundaries
from stoker.wire.batch_columns import BatchColumns, read_batches
from stoker.wire.record_batch import HEADER_SIZE, Record, build_batch, iterate_records
from stoker.wire.record_boundaries import Boundaries, find_boundaries
from stoker.wire.varint_columns import PADDING, pairs_of, words_of


def found_in(batches: BatchColumns) -> Boundaries:
    data = np.frombuffer(batches.data, dtype=np.uint8)
    bodies = batches.positions + HEADER_SIZE, batches.positions + batches.sizes
    return find_boundaries(batches.data, data, words_of(data), batches.column("record_count"), *bodies)


def padded(data: bytes) -> BatchColumns:
    return read_batches(memoryview(data + bytes(PADDING)), len(data))


def expected_in(batches: BatchColumns) -> list[int]:
    bodies = record_boundaries._Bodies(
        batches.column("record_count"), batches.positions + HEADER_SIZE, batches.positions + batches.sizes
    )
    return record_boundaries._walk(batches.data, bodies)


LOOKS_LIKE_RECORDS = bytes((14, 0, 0, 0, 0, 0, 0, 0)) * 40
"""Eight bytes, of which the first says that seven follow: a chain of records, as it seems."""


def an_order(draw: random.Random) -> bytes:
    """In Avro: an id, a customer, an amount, a currency, a time and a state."""
    customer = b"\x0ec-%05d" % draw.randrange(10_000)
    amount = struct.pack("<d", draw.randrange(4, 400_000) / 4)
    state = draw.choice((b"\x06new", b"\x08paid", b"\x0eshipped"))
    return b"\0\0\0\0\1\x14o-%08d" % draw.randrange(10**8) + customer + amount + b"\x06EUR" + draw.randbytes(6) + state


SHAPES = {
    "text": lambda draw: Record(key=b"key", value=draw.randbytes(draw.randrange(20, 120)).hex().encode()),
    "zeros": lambda draw: Record(value=bytes(draw.randrange(200))),
    "nothing": lambda draw: Record(),
    "random": lambda draw: Record(key=draw.randbytes(draw.randrange(9)), value=draw.randbytes(draw.randrange(90))),
    "lies": lambda draw: Record(value=LOOKS_LIKE_RECORDS),
    "few lies": lambda draw: Record(value=LOOKS_LIKE_RECORDS if draw.random() < 0.01 else b"value"),
    "few large": lambda draw: Record(value=b"x" * (40_000 if draw.random() < 0.001 else 30)),
    "endless": lambda draw: Record(value=b"\xff" * 60),
    "orders": lambda draw: Record(key=b"c-00012", value=an_order(draw)),
    "batches": lambda draw: Record(value=build_batch([Record(value=b"value")] * 5)),
}


@pytest.mark.parametrize("counts", [[5000], [3000, 1, 2, 3000], [40] * 200, [700] * 10])
@pytest.mark.parametrize("shape", SHAPES)
def test_many_records_of_a_shape(shape: str, counts: list[int]) -> None:
    draw = random.Random(shape)
    batches = padded(b"".join(build_batch(SHAPES[shape](draw) for _ in range(count)) for count in counts))
    starts, contents, ends = found_in(batches)
    assert starts.tolist() == expected_in(batches)
    assert (starts[1:] >= ends[:-1]).all()
    assert (contents > starts).all()


@settings(max_examples=40)
@given(
    st.lists(st.binary(max_size=80), min_size=1, max_size=12),
    st.lists(st.integers(1, 900), min_size=1, max_size=12),
)
def test_records_of_any_content(values: list[bytes], counts: list[int]) -> None:
    """The same few values in turn, in so many records that guessing begins."""
    batches = padded(
        b"".join(build_batch([Record(value=values[i % len(values)]) for i in range(8 * count)]) for count in counts)
    )
    assert found_in(batches).starts.tolist() == expected_in(batches)


@pytest.mark.parametrize("wrong", [0, 1, 2, 2500, 4998, 4999])
@pytest.mark.parametrize("by", [1, -1, 2, -2, 128])
def test_a_wrong_length_among_many_is_found(wrong: int, by: int) -> None:
    """It may lead to no other record, or past the end: never to something else than what is there."""
    batch = bytearray(build_batch([Record(key=b"key", value=b"value %d" % number) for number in range(5000)]))
    position = expected_in(padded(bytes(batch)))[wrong]
    batch[position] = (batch[position] + by) % 256
    with pytest.raises(CorruptRecords):
        found_in(padded(bytes(batch)))


@pytest.mark.parametrize("more", [1, -1])
def test_another_number_of_records_than_there_are(more: int) -> None:
    batch = bytearray(build_batch([Record(value=b"value")] * 5000))
    batch[57:61] = (5000 + more).to_bytes(4)
    with pytest.raises(CorruptRecords):
        found_in(padded(bytes(batch)))


def test_a_batch_of_no_record_has_no_bytes() -> None:
    empty = build_batch([], last_offset_delta=5)
    one = build_batch([Record(value=b"value")])
    assert len(found_in(padded(empty + one + empty)).starts) == 1
    longer = bytearray(one)
    longer[57:61] = (0).to_bytes(4)
    with pytest.raises(CorruptRecords):
        found_in(padded(bytes(longer)))
    assert list(iterate_records(empty, 100)) == []


@pytest.mark.parametrize("shape", ["text", "orders"])
def test_guessing_is_not_for_nothing(shape: str) -> None:
    """Where records look like records, nearly every batch is cut into as many stretches as were wanted.

    In orders the digit before an amount looks like a length, since amounts begin with a 0, and some lead to a record.
    """
    draw = random.Random(1)
    batches = padded(build_batch(SHAPES[shape](draw) for _ in range(20_000)))
    bodies = record_boundaries._Bodies(
        batches.column("record_count"), batches.positions + HEADER_SIZE, batches.positions + batches.sizes
    )
    data = np.frombuffer(batches.data, dtype=np.uint8)
    guesses = record_boundaries._guess(data, pairs_of(data), bodies)
    assert set(guesses.tolist()) <= set(expected_in(batches))
    assert len(guesses) > 0.9 * 20_000 / record_boundaries._STRETCH
