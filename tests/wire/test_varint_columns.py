"""Varints by columns are the varints that are read one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.wire.record_batch import decode_varint, encode_varint
from stoker.wire.varint_columns import PADDING, Varints, read_varints, words_of, zigzag

numbers = st.one_of(
    st.integers(-64, 63),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([sign * (1 << shift) + add for shift in range(63) for sign in (1, -1) for add in (-1, 0)]),
)


def read_at(content: bytes, positions: list[int]) -> Varints:
    data = np.frombuffer(content + bytes(PADDING), dtype=np.uint8)
    return read_varints(data, words_of(data), np.array(positions, dtype=np.int64))


@given(st.lists(numbers, max_size=40), st.binary(max_size=3))
def test_varints_of_every_length_between_other_bytes(wanted: list[int], between: bytes) -> None:
    content, positions, ends = bytearray(between), [], []
    for number in wanted:
        positions.append(len(content))
        content += encode_varint(number)
        ends.append(len(content))
        content += between
    found = read_at(bytes(content), positions)
    assert found.ends.tolist() == ends
    assert found.endless.tolist() == []
    assert zigzag(found.values).tolist() == wanted


@given(st.lists(st.binary(min_size=1, max_size=9), min_size=1, max_size=20))
def test_varints_that_are_written_longer_than_need_be(heads: list[bytes]) -> None:
    """No client does so, and nothing forbids it."""
    written = [bytes(byte | 0x80 for byte in head[:-1]) + bytes((head[-1] & 0x7F,)) for head in heads]
    positions = np.cumsum([0, *map(len, written)])[:-1].tolist()
    content = b"".join(written)
    found = read_at(content, positions)
    assert list(zip(zigzag(found.values).tolist(), found.ends.tolist(), strict=True)) == [
        decode_varint(content, position) for position in positions
    ]


@pytest.mark.parametrize(
    ("content", "endless"),
    [
        (b"\xff" * 9 + b"\x01", []),
        (b"\xff" * 10, [0]),
        (b"\xff" * 10 + b"\x01", [0]),
        (b"\x80" * 20, [0]),
    ],
)
def test_a_varint_without_an_end(content: bytes, endless: list[int]) -> None:
    assert read_at(content, [0]).endless.tolist() == endless


def test_one_without_an_end_leaves_the_others_as_they_are() -> None:
    content = encode_varint(5) + b"\xff" * 12 + encode_varint(-(2**63)) + encode_varint(300)
    found = read_at(content, [0, 1, 13, 23])
    assert found.endless.tolist() == [1]
    good = [0, 2, 3]
    assert zigzag(found.values[good]).tolist() == [5, -(2**63), 300]
    assert found.ends[good].tolist() == [1, 23, 25]
