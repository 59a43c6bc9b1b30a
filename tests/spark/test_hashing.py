"""Hashes of columns, judged by kafka-python's murmur2 and by what a digest is for."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as murmur2_of_kafka_python

from stoker.spark.hashing import digest, murmur2

LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 12, 13, 63, 64, 65, 511, 512, 513, 4099)
"""Around each place where the way changes."""
DIGESTS = 1 << 64

values = st.lists(st.none() | st.binary(max_size=90), max_size=30)


def binary(content: Sequence[bytes | None]) -> pa.BinaryArray:
    return pa.array(content, type=pa.binary())


@given(st.lists(st.binary(max_size=40)), st.integers(0, 5))
def test_murmur2_is_kafkas(keys: list[bytes], skipped: int) -> None:
    """Also of a part of a column, whose bytes do not begin with the first."""
    expected = [murmur2_of_kafka_python(key) & 0xFFFF_FFFF for key in keys]
    assert murmur2(binary(keys)).tolist() == expected
    assert murmur2(binary(keys)[skipped:]).tolist() == expected[skipped:]


def test_murmur2_of_all_lengths_together() -> None:
    random = np.random.default_rng(7)
    keys = [random.bytes(length) for length in (*LENGTHS, *range(600), *LENGTHS)] * 14
    assert len(keys) > 8192, "more than a block of rows"
    expected = [murmur2_of_kafka_python(key) & 0xFFFF_FFFF for key in keys[: len(keys) // 14]] * 14
    assert murmur2(binary(keys)).tolist() == expected


def test_murmur2_of_null_is_that_of_no_bytes() -> None:
    assert murmur2(binary([None, b"", b"a"])).tolist()[0] == murmur2_of_kafka_python(b"") & 0xFFFF_FFFF


@given(values, st.randoms(use_true_random=False), st.integers(0, 30))
def test_a_digest_does_not_depend_on_order_or_on_how_rows_are_cut(
    content: list[bytes | None], random: Random, cut: int
) -> None:
    other = [None if value is None else value[::-1] for value in content]
    rows = list(zip(content, other, strict=True))
    whole = digest([binary(content), binary(other)])
    random.shuffle(rows)
    parts = [[binary([row[side] for row in part]) for side in (0, 1)] for part in (rows[:cut], rows[cut:])]
    assert sum(digest(part) for part in parts) % DIGESTS == whole


@pytest.mark.parametrize("length", LENGTHS)
def test_a_digest_tells_every_bit(length: int) -> None:
    original = bytes(range(256)) * 17
    others = [original[:length]]
    for place in {0, length // 2, length - 1} if length else ():
        changed = bytearray(original[:length])
        changed[place] ^= 1
        others.append(bytes(changed))
    others.append(original[:length] + b"\0")
    digests = {digest([binary([other])]) for other in [*others]}
    assert len(digests) == len(others)


def test_a_digest_tells_what_moved_from_row_to_row_and_from_column_to_column() -> None:
    a, b, c, d = b"a" * 50, b"b" * 50, b"c", b"d"
    different = [
        digest([binary([a, b]), binary([c, d])]),
        digest([binary([a, b]), binary([d, c])]),
        digest([binary([c, d]), binary([a, b])]),
        digest([binary([a[:25] + b[25:], b[:25] + a[25:]]), binary([c, d])]),
        digest([binary([a, b, b]), binary([c, d, d])]),
        digest([binary([a, None]), binary([c, d])]),
        digest([binary([a, b""]), binary([c, d])]),
        digest([binary([b"", a]), binary([c, d])]),
    ]
    assert len(set(different)) == len(different)


def test_the_digest_of_no_rows_is_zero() -> None:
    assert digest([binary([]), binary([])]) == 0
