"""Headers by columns are the headers that the plain parser reads; what contradicts itself is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.errors import CorruptRecords
from stoker.wire.header_columns import HeaderColumns, read_headers
from stoker.wire.record_batch import _encoded_headers, encode_varint
from stoker.wire.varint_columns import PADDING

Headers = list[tuple[str, bytes | None]]
headers = st.lists(st.tuples(st.text(max_size=20), st.one_of(st.none(), st.binary(max_size=90))), max_size=5)


def read(parts: list[bytes]) -> tuple[bytes, HeaderColumns]:
    data = b"".join(parts) + bytes(PADDING)
    sizes = np.array([len(part) for part in parts], dtype=np.int64)
    ends = np.cumsum(sizes)
    return data, read_headers(np.frombuffer(data, dtype=np.uint8), ends - sizes, ends)


@given(st.lists(headers, max_size=30))
def test_headers_of_any_number_and_content(made: list[Headers]) -> None:
    """Many records that have one more are read together, few one by one."""
    data, found = read([_encoded_headers(each) for each in made])
    rows = [
        (data[key : key + size].decode(), None if length < 0 else data[value : value + length])
        for key, size, value, length in zip(*(column.tolist() for column in found[1:]), strict=True)
    ]
    ends = np.cumsum(found.counts).tolist()
    assert [rows[end - count : end] for end, count in zip(ends, found.counts.tolist(), strict=True)] == made


GOOD = _encoded_headers([("key", b"value")])


@pytest.mark.parametrize("beside", [0, 20])
@pytest.mark.parametrize(
    "wrong",
    [
        GOOD[:-1],
        GOOD + b"\0",
        encode_varint(2) + GOOD[1:],
        encode_varint(-1),
        encode_varint(2**62),
        encode_varint(1) + encode_varint(-1) + encode_varint(0),
        encode_varint(1) + encode_varint(2**62) + b"\0",
        encode_varint(1) + encode_varint(0) + encode_varint(-2),
        encode_varint(1) + encode_varint(0) + encode_varint(2**62),
        encode_varint(1) + b"\xff" * 12,
        encode_varint(1) + encode_varint(1) + b"k",
    ],
)
def test_what_contradicts_itself_is_refused(wrong: bytes, beside: int) -> None:
    """One by one, and among others with which it is read together."""
    with pytest.raises(CorruptRecords):
        read([*[GOOD] * beside, wrong])
