"""Headers of requests and responses, and what is refused as one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.errors import MalformedMessage
from stoker.wire.api_keys import ApiKey
from stoker.wire.frames import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    is_flexible,
    response_header,
)
from tests.wire.examples import MESSAGES, MessageAndVersion, name_of

HEADERS = {
    "plain": (RequestHeader(ApiKey.METADATA, 8, 7, "cli"), "0003 0008 00000007 0003 636c69"),
    "without client id": (RequestHeader(ApiKey.METADATA, 8, 7, None), "0003 0008 00000007 ffff"),
    "empty client id": (RequestHeader(ApiKey.METADATA, 8, 7, ""), "0003 0008 00000007 0000"),
    "flexible": (RequestHeader(ApiKey.METADATA, 9, -1, "cli"), "0003 0009 ffffffff 0003 636c69 00"),
    "ApiVersions of the future": (RequestHeader(ApiKey.API_VERSIONS, 99, 1, None), "0012 0063 00000001 ffff 00"),
    "unknown API": (RequestHeader(9999, 3, 1, "x"), "270f 0003 00000001 0001 78"),
}


@pytest.mark.parametrize(("header", "encoded"), HEADERS.values(), ids=HEADERS)
def test_request_headers(header: RequestHeader, encoded: str) -> None:
    data = bytes.fromhex(encoded)
    assert encode_request_header(header) == data
    assert decode_request_header(memoryview(data + b"body")) == (header, len(data))
    assert decode_request_header(memoryview(b"1234" + data), 4) == (header, len(data) + 4)


@pytest.mark.parametrize(("header", "encoded"), HEADERS.values(), ids=HEADERS)
def test_a_request_header_cut_short_is_malformed(header: RequestHeader, encoded: str) -> None:
    data = bytes.fromhex(encoded)
    for length in range(len(data)):
        with pytest.raises(MalformedMessage, match="request header"):
            decode_request_header(memoryview(data[:length]))


MALFORMED = {
    "negative length": ("0003 0008 00000007 fffe", "client id has length -2"),
    "too long": ("0003 0008 00000007 0009 61", "client id takes 9 bytes, 1 are left"),
    "not UTF-8": ("0003 0008 00000007 0002 c328", "client id is not UTF-8"),
    "tagged field past the end": ("0003 0009 00000007 0000 01 00 7f", "end after the end"),
    "endless varint": ("0003 0009 00000007 0000 ffffffffffff", "varint of more than 5 bytes"),
}


@pytest.mark.parametrize(("encoded", "reason"), MALFORMED.values(), ids=MALFORMED)
def test_what_is_wrong_with_a_request_header_is_named(encoded: str, reason: str) -> None:
    with pytest.raises(MalformedMessage, match=f"request header: .*{reason}"):
        decode_request_header(memoryview(bytes.fromhex(encoded)))


def test_tagged_fields_of_headers_are_skipped() -> None:
    request = bytes.fromhex("0003 0009 00000007 ffff 02 00 01 aa 05 00")
    assert decode_request_header(memoryview(request)) == (RequestHeader(3, 9, 7, None), len(request))
    response = bytes.fromhex("00000007 01 00 02 aaaa")
    assert decode_response_header(memoryview(response), ApiKey.METADATA, 9) == (7, len(response))


@given(st.binary(max_size=40))
def test_arbitrary_bytes_are_a_header_or_malformed(data: bytes) -> None:
    try:
        header, position = decode_request_header(memoryview(data))
    except MalformedMessage:
        return
    assert 0 < position <= len(data)
    assert data.startswith(encode_request_header(header)[:10])


RESPONSES = {
    "plain": (ApiKey.METADATA, 8, "00000007"),
    "flexible": (ApiKey.METADATA, 9, "00000007 00"),
    "ApiVersions is never flexible": (ApiKey.API_VERSIONS, 4, "00000007"),
    "unknown API": (9999, 4, "00000007"),
}


@pytest.mark.parametrize(("api_key", "version", "encoded"), RESPONSES.values(), ids=RESPONSES)
def test_response_headers(api_key: int, version: int, encoded: str) -> None:
    data = bytes.fromhex(encoded)
    assert response_header(api_key, version, 7) == data
    assert decode_response_header(memoryview(data + b"body"), api_key, version) == (7, len(data))
    for length in range(len(data)):
        with pytest.raises(MalformedMessage, match="response header: ends too early"):
            decode_response_header(memoryview(data[:length]), api_key, version)


def test_a_tagged_field_of_a_response_header_past_the_end() -> None:
    with pytest.raises(MalformedMessage, match="response header: end after the end"):
        decode_response_header(memoryview(bytes.fromhex("00000007 01 00 7f")), ApiKey.METADATA, 9)


@pytest.mark.parametrize("message_and_version", MESSAGES, ids=name_of)
def test_headers_and_bodies_agree_on_what_is_flexible(message_and_version: MessageAndVersion) -> None:
    message, version = message_and_version
    assert is_flexible(message.API_KEY, version) == message.is_flexible(version)  # type: ignore[attr-defined]
