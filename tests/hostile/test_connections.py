"""Connections in number: what an idle one costs, and the limits that end or refuse them."""

import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from stoker.wire.messages.api_versions import ApiVersionsRequest
from tests.hostile.broker_process import BrokerProcess, allow_descriptors_here
from tests.hostile.bystander import Bystander
from tests.raw_connection import RawConnection, fetch_request

_MANY = 2_000
_BYTES_PER_IDLE_CONNECTION = 8 * 1024


def _is_served(connection: RawConnection) -> bool:
    try:
        return bool(connection.call(ApiVersionsRequest(), 0).api_keys)
    except ConnectionError:
        return False


def test_two_thousand_idle_connections(tmp_path: Path) -> None:
    """Each of 2,000 idle connections costs a few kilobytes, each is served when it asks, and none slows the others."""
    allow_descriptors_here(_MANY + 500)
    with BrokerProcess(tmp_path, descriptors=_MANY + 2_000) as broker, ExitStack() as stack:
        with broker.connect() as connection:
            assert _is_served(connection)
        resident, descriptors = broker.resident_bytes, broker.descriptors

        idle = [stack.enter_context(broker.connect()) for _ in range(_MANY)]
        assert all(_is_served(connection) for connection in idle)
        each = (broker.resident_bytes - resident) / _MANY
        print(f"{each:.0f} bytes per idle connection")
        assert each < _BYTES_PER_IDLE_CONNECTION
        with Bystander(broker) as bystander:
            assert all(_is_served(connection) for connection in idle[::20])
        assert bystander.longest_wait < 1

        stack.close()
        _wait_for_descriptors(broker, descriptors + 8)  # the log of the bystander is new


def test_connections_without_descriptors_wait_and_are_served_later(tmp_path: Path) -> None:
    """A broker that has used up its descriptors goes on serving, and takes new connections when others end."""
    with BrokerProcess(tmp_path, descriptors=256) as broker, ExitStack() as stack:
        with Bystander(broker) as bystander:
            greedy = [stack.enter_context(broker.connect(timeout=20)) for _ in range(300)]
            assert broker.wait_for_log("cannot accept connections")
            rounds = bystander.rounds
            for connection in greedy[:150]:
                connection.close()
            assert _is_served(greedy[-1])
        assert bystander.rounds > rounds
        stack.close()


def test_idle_connections_are_closed(tmp_path: Path) -> None:
    """connections.max.idle.ms ends who is silent, in the middle of a request or a long poll too, and nobody else."""
    with BrokerProcess(tmp_path, connections_max_idle_ms=1_000) as broker, Bystander(broker):
        silent, midway, unread, polling = (broker.connect() for _ in range(4))
        with silent, midway, unread, polling:
            midway.socket.sendall(b"\0\0\1\0half a request")
            with broker.connect() as connection:
                connection.create_topic("quiet")
            polling.send(fetch_request("quiet", 0, max_wait_ms=2**31 - 1), 12)
            began = time.monotonic()
            for connection in (silent, midway, polling):
                assert connection.is_closed_by_broker()
            assert 0.5 < time.monotonic() - began < 10


def test_max_connections(tmp_path: Path) -> None:
    """max.connections refuses one too many with one log line, and takes it when another has ended."""
    with BrokerProcess(tmp_path, max_connections=3) as broker, ExitStack() as stack:
        held = [stack.enter_context(broker.connect()) for _ in range(3)]
        assert all(_is_served(connection) for connection in held)
        with broker.connect() as refused:
            assert not _is_served(refused)
        assert len(broker.wait_for_log("(max.connections)")) == 1
        held[0].close()
        _wait_until_served(broker)


@pytest.mark.parametrize("overrides", ["", "127.0.0.1:1"])
def test_max_connections_per_ip(tmp_path: Path, overrides: str) -> None:
    """max.connections.per.ip and its overrides limit one address."""
    limit = 1 if overrides else 2
    with (
        BrokerProcess(tmp_path, max_connections_per_ip=2, max_connections_per_ip_overrides=overrides) as broker,
        ExitStack() as stack,
    ):
        held = [stack.enter_context(broker.connect()) for _ in range(limit)]
        assert all(_is_served(connection) for connection in held)
        with broker.connect() as refused:
            assert not _is_served(refused)
        assert len(broker.wait_for_log("(max.connections.per.ip)")) == 1
        held[0].close()
        _wait_until_served(broker)


def _wait_until_served(broker: BrokerProcess, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with broker.connect() as connection:
            if _is_served(connection):
                return
    raise AssertionError("still refused")


def _wait_for_descriptors(broker: BrokerProcess, most: int, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while broker.descriptors > most:
        assert time.monotonic() < deadline, f"{broker.descriptors} descriptors are open, {most} were"
        time.sleep(0.02)
