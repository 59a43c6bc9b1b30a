"""One connection: versions, time-outs, and peers that are no Kafka brokers."""

import socket
import struct
import time

import pytest

from stoker.client.address import Address
from stoker.client.connection import MAX_RESPONSE_BYTES, Connection
from stoker.client.errors import CannotConnect, ConnectionLost, NotKafka, RequestTimedOut, UnsupportedByBroker
from stoker.client.security import Login, Security
from stoker.errors import UnencodableMessage
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from stoker.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from stoker.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from stoker.wire.messages.metadata import MetadataRequest, MetadataResponse
from stoker.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.client.scripted_broker import Answer, Asked, ScriptedBroker, framed, offering, scripted_broker


def opened(broker: ScriptedBroker, timeout: float = 10) -> Connection:
    return Connection.open(broker.address, client_id="test", timeout=timeout)


def metadata(asked: Asked) -> bytes:
    return framed(asked, MetadataResponse(cluster_id="here"))


def test_an_exchange() -> None:
    with scripted_broker(offering(MetadataRequest), metadata, metadata) as broker:
        connection = opened(broker)
        for _ in range(2):
            assert connection.send(MetadataRequest(), MetadataResponse, timeout=10).cluster_id == "here"
        connection.close()
    assert [each.header.client_id for each in broker.asked] == ["test", "test"]
    assert {each.header.api_version for each in broker.asked} == {MetadataRequest.MAX_VERSION}


@pytest.mark.parametrize(
    ("offered", "up_to", "spoken"),
    [((0, 13), None, 13), ((0, 20), None, 13), ((0, 5), None, 5), ((0, 13), 9, 9), ((3, 3), 9, 3)],
)
def test_the_highest_version_that_both_speak(offered: tuple[int, int], up_to: int | None, spoken: int) -> None:
    def versions(asked: Asked) -> bytes:
        api = ApiVersion(api_key=MetadataRequest.API_KEY, min_version=offered[0], max_version=offered[1])
        return framed(asked, ApiVersionsResponse(api_keys=[api]))

    with scripted_broker(versions, metadata) as broker:
        connection = opened(broker)
        connection.send(MetadataRequest(), MetadataResponse, timeout=10, up_to=up_to)
        connection.close()
    assert broker.asked[0].header.api_version == spoken


@pytest.mark.parametrize("lists_itself", [True, False])
def test_a_broker_that_is_older_than_our_api_versions(lists_itself: bool) -> None:
    """It answers in version 0 with an error, and is asked again in a version that it knows (KIP-511)."""
    asked_versions: list[int] = []

    def versions(asked: Asked) -> bytes:
        asked_versions.append(asked.header.api_version)
        itself = [ApiVersion(api_key=ApiVersionsRequest.API_KEY, min_version=0, max_version=2)] if lists_itself else []
        if asked.header.api_version > 2:
            refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=itself)
            return framed(asked, refusal, version=0)
        api = ApiVersion(api_key=MetadataRequest.API_KEY, min_version=0, max_version=1)
        return framed(asked, ApiVersionsResponse(api_keys=[*itself, api]))

    with scripted_broker(versions, metadata) as broker:
        connection = opened(broker)
        connection.send(MetadataRequest(), MetadataResponse, timeout=10)
        connection.close()
    assert asked_versions == [ApiVersionsRequest.MAX_VERSION, 2 if lists_itself else 0]


def test_an_api_that_the_broker_lacks() -> None:
    with scripted_broker(offering(MetadataRequest)) as broker:
        connection = opened(broker)
        with pytest.raises(UnsupportedByBroker, match="has no ListGroups API"):
            connection.send(ListGroupsRequest(), ListGroupsResponse, timeout=10)
        assert connection.is_open
        connection.close()


def test_versions_that_do_not_meet() -> None:
    def versions(asked: Asked) -> bytes:
        api = ApiVersion(api_key=MetadataRequest.API_KEY, min_version=90, max_version=99)
        return framed(asked, ApiVersionsResponse(api_keys=[api]))

    with scripted_broker(versions) as broker:
        connection = opened(broker)
        with pytest.raises(UnsupportedByBroker, match="speaks Metadata 90-99, this needs 0-13"):
            connection.send(MetadataRequest(), MetadataResponse, timeout=10)
        connection.close()


def test_a_field_that_the_broker_is_too_old_for() -> None:
    """What was asked for would be left out of the request, and the answer be to another question."""

    def versions(asked: Asked) -> bytes:
        api = ApiVersion(api_key=ListTransactionsRequest.API_KEY, min_version=0, max_version=1)
        return framed(asked, ApiVersionsResponse(api_keys=[api]))

    request = ListTransactionsRequest(transactional_id_pattern="payments-.*")
    with scripted_broker(versions) as broker:
        connection = opened(broker)
        with pytest.raises(UnsupportedByBroker, match=r"is too old for this request: .*transactional_id_pattern"):
            connection.send(request, ListTransactionsResponse, timeout=10)
        with pytest.raises(UnencodableMessage):  # the caller's own mistake stays one
            connection.send(request, ListTransactionsResponse, timeout=10, up_to=1)
        assert connection.is_open
        connection.close()


def closed(asked: Asked) -> None:
    return None


def http(asked: Asked) -> bytes:
    return b"HTTP/1.1 400 Bad Request\r\n\r\n"


def too_long(asked: Asked) -> bytes:
    return struct.pack(">i", MAX_RESPONSE_BYTES + 1)


def negative(asked: Asked) -> bytes:
    return struct.pack(">i", -1)


def of_another_request(asked: Asked) -> bytes:
    header = asked.header._replace(correlation_id=asked.header.correlation_id + 1)
    return framed(asked._replace(header=header), MetadataResponse())


def cut_short(asked: Asked) -> bytes:
    return struct.pack(">i", 6) + metadata(asked)[4:10]


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (closed, ConnectionLost, "the broker closed it"),
        (http, NotKafka, "1213486160 bytes"),
        (too_long, NotKafka, "104857601 bytes"),
        (negative, NotKafka, "-1 bytes"),
        (of_another_request, NotKafka, "correlation id"),
        (cut_short, NotKafka, "MetadataResponse"),
    ],
)
def test_a_peer_that_does_not_answer_as_it_should(answer: Answer, error: type[Exception], words: str) -> None:
    with scripted_broker(offering(MetadataRequest), answer) as broker:
        connection = opened(broker)
        with pytest.raises(error, match=words):
            connection.send(MetadataRequest(), MetadataResponse, timeout=10)
        assert not connection.is_open


def test_an_answer_that_came_in_time_and_is_asked_for_later() -> None:
    """As by a producer that has posted a request, and then waits for more rows."""
    with scripted_broker(offering(MetadataRequest), metadata) as broker:
        connection = opened(broker)
        posted = connection.post(MetadataRequest(), timeout=0.2)
        time.sleep(0.3)
        assert connection.collect(posted, MetadataResponse).cluster_id == "here"
        connection.close()


@pytest.mark.parametrize("answer", [b"", struct.pack(">i", 100), struct.pack(">i", 100) + b"some"])
def test_no_answer_in_time(answer: bytes) -> None:
    """However much of it has come; the connection is closed, because the rest may come when nobody expects it."""
    with scripted_broker(offering(MetadataRequest), lambda asked: answer) as broker:
        connection = opened(broker)
        with pytest.raises(RequestTimedOut, match=r"did not answer Metadata in 0\.05 s"):
            connection.send(MetadataRequest(), MetadataResponse, timeout=0.05)
        assert not connection.is_open


@pytest.mark.parametrize(
    ("host", "words"), [("127.0.0.1", "Connection refused"), ("no.such.host.invalid", "no.such.host.invalid")]
)
def test_nobody_listens(host: str, words: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(CannotConnect, match=words):
        Connection.open(Address(host, port), client_id="test", timeout=10)


def test_a_stranger_is_heard_for_a_mebibyte() -> None:
    """Until versions are agreed on and logins done: it might be anybody."""
    with scripted_broker(lambda _: struct.pack(">i", 1024 * 1024 + 1)) as broker:
        with pytest.raises(NotKafka, match="it announced a response of 1048577 bytes"):
            opened(broker)


def test_what_a_broker_closes_at_once_may_want_a_login() -> None:
    """Told of the first request alone, and not to who is logging in."""
    with scripted_broker(offering(MetadataRequest), lambda _: None, metadata, lambda _: None) as broker:
        for answers, hint in ((0, "; it may want a login (security.protocol=SASL_SSL or SASL_PLAINTEXT)"), (1, "")):
            connection = opened(broker)
            for _ in range(answers):
                connection.send(MetadataRequest(), MetadataResponse, timeout=10)
            with pytest.raises(ConnectionLost) as lost:
                connection.send(MetadataRequest(), MetadataResponse, timeout=10)
            assert str(lost.value).endswith(f"the broker closed it{hint}")
    security = Security(login=Login(mechanism="PLAIN", username="ann", password="secret"))
    with scripted_broker(offering(SaslHandshakeRequest), lambda _: None) as broker:
        with pytest.raises(ConnectionLost, match=r"the broker closed it$"):
            Connection.open(broker.address, client_id="test", timeout=10, security=security)
