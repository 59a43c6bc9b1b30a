"""Varints, uuids and tagged fields."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.wire.primitives import (
    Refused,
    decode_uvarint,
    encode_uvarint,
    skip_tagged_fields,
    uuid_from_bytes,
)
from stoker.wire.schema import ZERO_UUID

UVARINTS = {0: "00", 1: "01", 127: "7f", 128: "8001", 300: "ac02", 2**31 - 1: "ffffffff07", 2**32 - 1: "ffffffff0f"}


@pytest.mark.parametrize(("value", "encoded"), UVARINTS.items())
def test_uvarints(value: int, encoded: str) -> None:
    assert encode_uvarint(value).hex() == encoded
    assert decode_uvarint(bytes.fromhex("ff" + encoded + "ff"), 1) == (value, 1 + len(encoded) // 2)


@given(st.integers(0, 2**32 - 1))
def test_uvarints_round_trip(value: int) -> None:
    encoded = encode_uvarint(value)
    assert decode_uvarint(encoded, 0) == (value, len(encoded))


@pytest.mark.parametrize("encoded", ["ffffffffff01", "ffffffff1f"])
def test_a_uvarint_of_more_than_32_bits_is_refused(encoded: str) -> None:
    with pytest.raises(Refused, match="varint of more than"):
        decode_uvarint(bytes.fromhex(encoded), 0)


def test_a_uvarint_is_not_negative() -> None:
    with pytest.raises(Refused, match="cannot be -1"):
        encode_uvarint(-1)


@given(st.uuids())
def test_uuids(value: object) -> None:
    assert uuid_from_bytes(value.bytes) == value  # type: ignore[attr-defined]


def test_the_absent_uuid_is_one_object() -> None:
    assert uuid_from_bytes(bytes(16)) is ZERO_UUID


def test_skipping_tagged_fields() -> None:
    two = bytes.fromhex("00 02 aabb 81 01 00")
    assert skip_tagged_fields(two, 0, 2) == len(two)
    with pytest.raises(Refused, match="end after the end"):
        skip_tagged_fields(two[:3], 0, 2)
