"""Long polls through real connections: when they are answered, and what they leave behind."""

import time
from pathlib import Path
from typing import Any

import pytest

import stoker
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from stoker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from tests.raw_connection import RawConnection, batch_of, fetch_request

_LONG_MS = 20_000


def _records(response: Any) -> bytes:
    return b"".join(bytes(p.records or b"") for topic in response.responses for p in topic.partitions)


@pytest.mark.acceptance("B031")
def test_an_append_wakes_a_waiting_reader(connection: RawConnection, other: RawConnection, topic: str) -> None:
    """A record reaches a consumer that waits for it well within 100 ms of its produce request."""
    waits = []
    for offset in range(20):
        connection.send(fetch_request(topic, offset, max_wait_ms=_LONG_MS), 12)
        time.sleep(0.005)  # so that the reader waits already
        began = time.monotonic()
        other.produce(topic, batch_of(b"value"))
        _, response = connection.receive(FetchRequest, 12)
        waits.append(time.monotonic() - began)
        assert _records(response)
    assert sorted(waits)[len(waits) // 2] < 0.1


@pytest.mark.acceptance("B090")
def test_max_wait_ms_ends_the_wait(connection: RawConnection, topic: str) -> None:
    """fetch.min.bytes waits up to fetch.max.wait.ms: an empty fetch takes the wait, data returns at once."""
    began = time.monotonic()
    assert connection.fetch(topic, 0, max_wait_ms=150) == (ErrorCode.NONE, b"")
    assert 0.14 < time.monotonic() - began < 5
    connection.produce(topic, batch_of(b"value"))
    began = time.monotonic()
    assert connection.fetch(topic, 0, max_wait_ms=_LONG_MS)[1]
    assert time.monotonic() - began < 5


def test_min_bytes_are_waited_for(connection: RawConnection, other: RawConnection, topic: str) -> None:
    size = len(batch_of(b"value"))
    connection.send(fetch_request(topic, 0, min_bytes=3 * size, max_wait_ms=_LONG_MS), 12)
    for _ in range(3):
        other.produce(topic, batch_of(b"value"))
    _, response = connection.receive(FetchRequest, 12)
    assert len(_records(response)) == 3 * size


def test_no_more_is_waited_for_than_may_come(connection: RawConnection, topic: str) -> None:
    size = len(batch_of(b"value"))
    for _ in range(2):
        connection.produce(topic, batch_of(b"value"))
    _, records = connection.fetch(topic, 0, min_bytes=3 * size, max_bytes=2 * size, max_wait_ms=3_600_000)
    assert len(records) == 2 * size


def test_nothing_is_waited_for_where_more_is_in_the_next_segment(connection: RawConnection) -> None:
    connection.create_topic("long", segment_bytes=1_048_576)
    for _ in range(3):
        assert connection.produce("long", batch_of(b"v" * 600_000))[0] == ErrorCode.NONE
    error, records = connection.fetch("long", 0, min_bytes=1_500_000, max_wait_ms=3_600_000)
    assert (error, len(records) > 600_000) == (ErrorCode.NONE, True)


@pytest.mark.parametrize("offset", [-1, 1, 2**62])
def test_an_offset_outside_the_log_is_answered_at_once(connection: RawConnection, topic: str, offset: int) -> None:
    began = time.monotonic()
    assert connection.fetch(topic, offset, max_wait_ms=_LONG_MS) == (ErrorCode.OFFSET_OUT_OF_RANGE, b"")
    assert time.monotonic() - began < 5


def test_deleting_the_topic_ends_the_wait(connection: RawConnection, other: RawConnection, topic: str) -> None:
    connection.send(fetch_request(topic, 0, max_wait_ms=_LONG_MS), 12)
    time.sleep(0.01)
    other.call(DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=1000), 6)
    _, response = connection.receive(FetchRequest, 12)
    assert response.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_who_disconnects_while_waiting_leaves_no_waiter(
    broker: stoker.Broker, connection: RawConnection, topic: str
) -> None:
    for _ in range(10):
        with RawConnection(broker.bootstrap_servers) as waiting:
            waiting.send(fetch_request(topic, 0, max_wait_ms=_LONG_MS), 12)
    server = broker._server
    assert server is not None
    partition = server.node.partitions.find(topic, 0)
    assert partition is not None
    deadline = time.monotonic() + 10
    while partition.waiters:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    assert connection.produce(topic, batch_of(b"value"))[0] == ErrorCode.NONE


def test_a_session_that_forgets_a_partition_while_it_is_waited_for(
    connection: RawConnection, other: RawConnection, topic: str
) -> None:
    """A second connection that uses the same session, which no client does, cannot keep the first from its reply."""
    wanted = FetchTopic(topic=topic, partitions=[FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)])
    session_id = connection.call(FetchRequest(session_epoch=0, topics=[wanted]), 12).session_id
    assert session_id > 0
    later = {"session_id": session_id, "min_bytes": 1, "max_wait_ms": _LONG_MS}
    connection.send(FetchRequest(session_epoch=1, **later), 12)
    time.sleep(0.01)
    forgotten = [ForgottenTopic(topic=topic, partitions=[0])]
    other.call(FetchRequest(session_epoch=2, session_id=session_id, forgotten_topics_data=forgotten), 12)
    other.produce(topic, batch_of(b"value"))
    _, response = connection.receive(FetchRequest, 12)
    assert _records(response)


def test_an_incremental_reply_tells_only_what_changed(connection: RawConnection, other: RawConnection) -> None:
    connection.create_topic("changing", partitions=3)
    wanted = [FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1000) for index in range(3)]
    first = connection.call(FetchRequest(session_epoch=0, topics=[FetchTopic(topic="changing", partitions=wanted)]), 12)
    assert [p.partition_index for p in first.responses[0].partitions] == [0, 1, 2]

    second = connection.call(FetchRequest(session_id=first.session_id, session_epoch=1), 12)
    assert (second.session_id, second.responses) == (first.session_id, [])

    other.produce("changing", batch_of(b"value"), partition=1)
    third = connection.call(FetchRequest(session_id=first.session_id, session_epoch=2), 12)
    assert [p.partition_index for p in third.responses[0].partitions] == [1]

    stale = connection.call(FetchRequest(session_id=first.session_id, session_epoch=2), 12)
    assert stale.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


@pytest.mark.acceptance("B039")
def test_readers_with_another_leader_epoch_are_told(tmp_path: Path) -> None:
    """The leader epoch rises at an election, here after a crash; an older one is FENCED, a newer one UNKNOWN."""
    with stoker.Broker(data_dir=tmp_path) as broker, RawConnection(broker.bootstrap_servers) as connection:
        connection.create_topic("orders")
        assert _errors_by_epoch(connection) == {
            -1: ErrorCode.NONE,
            0: ErrorCode.NONE,
            1: ErrorCode.UNKNOWN_LEADER_EPOCH,
            2: ErrorCode.UNKNOWN_LEADER_EPOCH,
        }
    (tmp_path / ".kafka_cleanshutdown").unlink()
    with stoker.Broker(data_dir=tmp_path) as broker, RawConnection(broker.bootstrap_servers) as connection:
        assert _errors_by_epoch(connection) == {
            -1: ErrorCode.NONE,
            0: ErrorCode.FENCED_LEADER_EPOCH,
            1: ErrorCode.NONE,
            2: ErrorCode.UNKNOWN_LEADER_EPOCH,
        }


def _errors_by_epoch(connection: RawConnection) -> dict[int, int]:
    errors = {}
    for epoch in (-1, 0, 1, 2):
        wanted = FetchPartition(partition=0, partition_max_bytes=1000, current_leader_epoch=epoch)
        request = FetchRequest(session_epoch=-1, topics=[FetchTopic(topic="orders", partitions=[wanted])])
        errors[epoch] = connection.call(request, 12).responses[0].partitions[0].error_code
    return errors
