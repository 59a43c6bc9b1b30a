import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.spark.errors import UnencodableColumn
from stoker.spark.formats.strings import StringDecoder, StringEncoder
from tests.spark.formats.byte_columns import byte_column


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


texts = st.none() | st.text().map(str.encode) | st.binary(max_size=4) | st.just("ß".encode()[:1])


@given(st.lists(texts, max_size=100))
def test_what_is_utf8_is_read_and_the_rest_is_bad(values: list[bytes | None]) -> None:
    decoded = StringDecoder().decode(byte_column(values))
    assert decoded.column.type == StringDecoder.type
    assert decoded.column.to_pylist() == [_text(value) for value in values]
    bad = [row for row, value in enumerate(values) if value is not None and _text(value) is None]
    assert decoded.bad.tolist() == bad
    assert len(decoded.reasons) == len(bad)


def test_the_reason_says_where() -> None:
    assert StringDecoder().decode(byte_column([b"ab\xff"])).reasons == ["byte 2 (0xff) is no UTF-8"]


@given(st.lists(st.none() | st.text()))
def test_text_is_written_as_utf8(values: list[str | None]) -> None:
    encoded = StringEncoder(pa.string()).encode(pa.array(values, type=pa.string()))
    assert encoded.type == pa.binary()
    assert encoded.to_pylist() == [None if value is None else value.encode() for value in values]


def test_bytes_are_written_as_they_are() -> None:
    assert StringEncoder(pa.binary()).encode(pa.array([b"\xff"])).to_pylist() == [b"\xff"]


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(UnencodableColumn, match="a column of int64 is no text"):
        StringEncoder(pa.int64())
