"""What a producer does when the broker falls silent."""

import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.clients.client import ClientRefused
from tests.clients.drivers.java import JavaClients

PRODUCE = 0


@contextmanager
def deaf_to_produce(bootstrap_servers: str) -> Iterator[str]:
    """A relay before the broker that answers every request but Produce; gives its address.

    Clients learn addresses from the broker, so the relay puts its own port in the place of the broker's in all that comes back.
    """
    host, _, port = bootstrap_servers.rpartition(":")
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as open_sockets:
        own_port = listener.getsockname()[1]
        address_there, address_here = (host.encode() + struct.pack(">i", each) for each in (int(port), own_port))

        def relay(client: socket.socket, broker: socket.socket) -> None:
            while True:
                readable, _, _ = select.select([client, broker], [], [])
                frame = _frame(readable[0])
                if frame is None:
                    return
                if readable[0] is broker:
                    client.sendall(frame.replace(address_there, address_here))
                elif struct.unpack_from(">h", frame, 4)[0] != PRODUCE:
                    broker.sendall(frame)

        def accept() -> None:
            while True:
                try:
                    client = open_sockets.enter_context(listener.accept()[0])
                except OSError:
                    return
                broker = open_sockets.enter_context(socket.create_connection((host, int(port))))
                threading.Thread(target=relay, args=(client, broker), daemon=True).start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        yield f"127.0.0.1:{own_port}"
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join()


def _frame(connection: socket.socket) -> bytes | None:
    """The next frame with its length, None at the end."""
    try:
        size = connection.recv(4, socket.MSG_WAITALL)
        if len(size) < 4:
            return None
        return size + connection.recv(struct.unpack(">i", size)[0], socket.MSG_WAITALL)
    except OSError:
        return None


@pytest.mark.acceptance("B064", "S036")
@pytest.mark.java
def test_the_delivery_timeout_bounds_a_send(java: JavaClients, topic: str, broker_address: str) -> None:
    """With endless retries and a broker that does not answer, a send fails when delivery.timeout.ms is over, and not before."""
    settings = {
        "retries": "2147483647",
        "retry.backoff.ms": "200",
        "delivery.timeout.ms": "1500",
        "request.timeout.ms": "500",
        "linger.ms": "0",
    }
    with deaf_to_produce(broker_address) as deaf:
        start = time.monotonic()
        # Which of the two the client tells depends on where in a retry the time is over.
        with pytest.raises(
            ClientRefused, match=r"has passed since batch creation|Disconnected from node 1 due to timeout"
        ):
            java.call("produce_by_key", topic=topic, keys=[None], settings=settings | {"bootstrap.servers": deaf})
        assert 1.4 < time.monotonic() - start < 10
    assert java.offset_range(topic, 0) == (0, 0)


@pytest.mark.acceptance("S036")
@pytest.mark.java
def test_a_delivery_timeout_shorter_than_a_request_is_refused(java: JavaClients, topic: str) -> None:
    """The real rule: delivery.timeout.ms must be at least linger.ms + request.timeout.ms; the tutorial's numbers keep it."""
    tutorial = {
        "retries": "2147483647",
        "retry.backoff.ms": "200",
        "delivery.timeout.ms": "120000",
        "request.timeout.ms": "30000",
    }
    assert len(java.call("produce_by_key", topic=topic, keys=[None], settings=tutorial)) == 1
    with pytest.raises(ClientRefused, match=r"delivery\.timeout\.ms should be equal to or larger than"):
        java.call("produce_by_key", topic=topic, keys=[None], settings=tutorial | {"delivery.timeout.ms": "29999"})
