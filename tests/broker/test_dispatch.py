"""What is answered, what is not, and what ends a connection."""

import pytest

import stoker
from stoker.wire.error_codes import ErrorCode
from stoker.wire.frames import RequestHeader, encode_request_header
from stoker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from stoker.wire.messages.metadata import MetadataRequest
from tests.raw_connection import RawConnection, batch_of, framed, produce_request, request_frame


def test_a_newer_api_versions_is_answered_in_version_0(connection: RawConnection) -> None:
    """With UNSUPPORTED_VERSION and our versions, so that the client can step down on the same connection (KIP-511)."""
    connection.socket.sendall(framed(encode_request_header(RequestHeader(18, 99, 7, "new")) + b"\x01anything"))
    frame = connection.receive_frame()
    response = ApiVersionsResponse.decode(frame, 4, 0)
    assert frame[:4] == (7).to_bytes(4, "big")
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert 18 in {each.api_key for each in response.api_keys}
    assert connection.call(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE


_NOT_SERVED = {
    "an unknown API": (999, 0),
    "a negative API": (-1, 0),
    "an API between brokers": (4, 0),
    "a version too new": (3, 99),
    "a negative version": (3, -1),
    **{f"Produce {version}": (0, version) for version in range(3)},
}


@pytest.mark.parametrize(("key", "version"), _NOT_SERVED.values(), ids=list(_NOT_SERVED))
def test_what_is_not_served_closes_the_connection(connection: RawConnection, key: int, version: int) -> None:
    """Also the versions 0 to 2 of Produce, though ApiVersions names them for the sake of older librdkafka."""
    connection.socket.sendall(framed(encode_request_header(RequestHeader(key, version, 1, "old")) + bytes(30)))
    assert connection.is_closed_by_broker()


def test_the_requests_before_a_malformed_one_are_answered(connection: RawConnection) -> None:
    good = request_frame(MetadataRequest(topics=[]), 9, correlation_id=5)
    connection.socket.sendall(good + framed(good[4:20]))
    assert connection.receive_frame()[:4] == (5).to_bytes(4, "big")
    assert connection.is_closed_by_broker()


@pytest.mark.acceptance("B049")
def test_acks_0_gets_no_reply(connection: RawConnection, topic: str) -> None:
    """With acks=0 no response frame is sent, and the records are there for the next request on the connection."""
    connection.send(produce_request(topic, batch_of(b"one"), acks=0), 9)
    connection.send(produce_request(topic, batch_of(b"two"), acks=0), 9)
    error, records = connection.fetch(topic, 0)
    assert error == ErrorCode.NONE
    assert len(records) == len(batch_of(b"one")) * 2


@pytest.mark.parametrize("wrong", ["topic", "records"])
def test_acks_0_that_fails_closes_the_connection(connection: RawConnection, topic: str, wrong: str) -> None:
    """There is no other way to tell the producer, which then looks for the topic again."""
    records = batch_of(b"value")
    request = (
        produce_request("nowhere", records, acks=0) if wrong == "topic" else produce_request(topic, b"x" * 70, acks=0)
    )
    connection.send(request, 9)
    assert connection.is_closed_by_broker()


@pytest.mark.acceptance("B050", "B051")
@pytest.mark.parametrize("acks", [1, -1])
def test_acks_1_and_all_are_answered_after_the_write(
    connection: RawConnection, other: RawConnection, topic: str, acks: int
) -> None:
    """The ack of acks=1 and of acks=all (one in-sync replica here) comes when the records can be read."""
    for offset in range(50):
        assert connection.produce(topic, batch_of(b"value"), acks=acks) == (ErrorCode.NONE, offset)
        assert other.fetch(topic, offset)[1]


@pytest.mark.parametrize("acks", [2, -2, 32767])
def test_other_acks_are_refused(connection: RawConnection, topic: str, acks: int) -> None:
    assert connection.produce(topic, batch_of(b"value"), acks=acks) == (ErrorCode.INVALID_REQUIRED_ACKS, -1)


def test_a_connection_that_breaks_a_rule_leaves_others_alone(broker: stoker.Broker, connection: RawConnection) -> None:
    for _ in range(20):
        with RawConnection(broker.bootstrap_servers) as bad:
            bad.socket.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert bad.is_closed_by_broker()
    assert connection.call(MetadataRequest(topics=[]), 9).brokers
