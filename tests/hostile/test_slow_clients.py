"""Clients that do not read, write a byte at a time, promise more than they send, or vanish."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.fetch import FetchRequest
from stoker.wire.messages.metadata import MetadataRequest
from tests.hostile.broker_process import BrokerProcess
from tests.hostile.bystander import Bystander
from tests.raw_connection import batch_of, fetch_request, produce_request, request_frame

_MEGABYTE = 1024 * 1024
_SLOW_READERS = 50


def _fill(broker: BrokerProcess, topic: str, megabytes: int) -> None:
    with broker.connect() as connection:
        connection.create_topic(topic)
        batch = batch_of(b"x" * 900_000)
        for _ in range(megabytes):
            assert connection.produce(topic, batch)[0] == ErrorCode.NONE


@pytest.mark.acceptance("B001")
def test_slow_readers_hold_up_nobody(broker: BrokerProcess) -> None:
    """Fifty readers ask for 50 MB and never read; another reads on at full rate, and the broker holds no copies."""
    _fill(broker, "large", 60)
    before = broker.resident_bytes
    stalled = [broker.connect(receive_buffer=4096) for _ in range(_SLOW_READERS)]
    try:
        for reader in stalled:
            for _ in range(3):
                reader.send(fetch_request("large", 0), 12)
        with Bystander(broker) as bystander, broker.connect() as reader:
            began = time.monotonic()
            error, records = reader.fetch("large", 0)
            seconds = time.monotonic() - began
        assert (error, len(records) > 40 * _MEGABYTE) == (ErrorCode.NONE, True)
        assert seconds < 5
        assert bystander.longest_wait < 1
        assert broker.resident_bytes - before < 30 * _MEGABYTE
    finally:
        for reader in stalled:
            reader.close()


def test_a_slow_reader_gets_all_in_the_end(broker: BrokerProcess) -> None:
    _fill(broker, "large", 20)
    with broker.connect(receive_buffer=4096) as slow, broker.connect() as quick:
        first, second = slow.send(fetch_request("large", 0), 12), slow.send(MetadataRequest(topics=[]), 9)
        expected = quick.fetch("large", 0)
        answered, response = slow.receive(FetchRequest, 12)
        partition = response.responses[0].partitions[0]
        assert (answered, (partition.error_code, bytes(partition.records))) == (first, expected)
        assert slow.receive(MetadataRequest, 9)[0] == second


def test_slow_writers_cost_what_they_send(broker: BrokerProcess) -> None:
    """Claims of 100 MB cost a few kilobytes until the bytes come; a byte at a time is answered when it is whole."""
    frame = request_frame(MetadataRequest(topics=[]), 9, correlation_id=7)
    broker_before = broker.resident_bytes
    claiming = [broker.connect() for _ in range(200)]
    try:
        with Bystander(broker) as bystander:
            for connection in claiming:
                connection.socket.sendall((100 * _MEGABYTE).to_bytes(4, "big") + frame[4:])
            with broker.connect() as dripping:
                for position in range(len(frame)):
                    dripping.socket.sendall(frame[position : position + 1])
                answered, _ = dripping.receive(MetadataRequest, 9)
                assert answered == 7
        assert bystander.longest_wait < 1
        assert broker.resident_bytes - broker_before < 20 * _MEGABYTE
    finally:
        for connection in claiming:
            connection.close()


def test_memory_of_an_abandoned_request_comes_back(broker: BrokerProcess) -> None:
    """Forty connections send 20 MB of a 100 MB request each, one after the other, and vanish."""
    before = broker.resident_bytes
    for _ in range(40):
        with broker.connect() as connection:
            connection.socket.sendall((100 * _MEGABYTE).to_bytes(4, "big") + bytes(20 * _MEGABYTE))
    with broker.connect() as connection:
        connection.call(MetadataRequest(topics=[]), 9)
    assert broker.resident_bytes - before < 70 * _MEGABYTE


def test_who_vanishes_while_waiting_leaves_nothing(broker: BrokerProcess) -> None:
    """Long polls whose clients reset or half-close the connection: waiter, timer and descriptor go at once."""
    with broker.connect() as connection:
        connection.create_topic("quiet")
    before = broker.descriptors
    for round_number in range(100):
        waiting = broker.connect()
        waiting.send(fetch_request("quiet", 0, max_wait_ms=600_000), 12)
        if round_number % 2:
            waiting.socket.shutdown(1)
            assert waiting.is_closed_by_broker()
        waiting.close()
    _wait_until(lambda: broker.descriptors <= before)


@pytest.mark.acceptance("B027")
def test_a_request_over_socket_request_max_bytes_closes_only_its_connection(tmp_path: Path) -> None:
    """A frame longer than socket.request.max.bytes closes its connection with one log line; others do not notice."""
    with BrokerProcess(tmp_path, socket_request_max_bytes=1_000_000) as broker, Bystander(broker):
        with broker.connect() as connection:
            connection.socket.sendall((1_000_001).to_bytes(4, "big"))
            assert connection.is_closed_by_broker()
        assert len(broker.wait_for_log("a request of 1000001 bytes")) == 1
        with broker.connect() as connection:
            connection.create_topic("orders", max_message_bytes=2_000_000)
            largest = 1_000_000 - len(request_frame(produce_request("orders", b""), 9)) + 4 - 200
            assert connection.produce("orders", batch_of(b"x" * largest))[0] == ErrorCode.NONE


def _wait_until(condition: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
