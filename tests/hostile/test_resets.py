"""Clients that reset their connection instead of closing it, with data under way."""

import socket
import struct
import time

from tests.clients.client import eventually
from tests.hostile.broker_process import BrokerProcess
from tests.raw_connection import batch_of, produce_request, request_frame

_CLIENTS = 100
_FRAMES_EACH = 100
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


def test_clients_that_reset_leave_no_descriptor_behind(broker: BrokerProcess) -> None:
    """uvloop tells of a reset once and forgets the socket, so the broker must look for such connections itself."""
    records = batch_of(b"x" * 500, timestamp=int(time.time() * 1000))
    frame = request_frame(produce_request("resets", records, acks=0), 9)
    with broker.connect() as watching:
        watching.create_topic("resets")
        watching.produce("resets", records)
        before = broker.descriptors
        for _ in range(_CLIENTS):
            with socket.create_connection(broker.address) as client:
                client.sendall(frame * _FRAMES_EACH)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        assert eventually(lambda: broker.descriptors, lambda found: found <= before) <= before
        assert watching.produce("resets", records)[0] == 0
