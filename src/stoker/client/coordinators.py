"""Who coordinates a group or a transaction."""

from typing import Final, NamedTuple

from stoker.client.address import Address
from stoker.client.connection import Connection
from stoker.client.errors import raise_if_refused
from stoker.client.targets import CoordinatorOf
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

_BEFORE_BATCHES: Final = 3
"""From version 4 on one request asks for many keys (KIP-699); one that has been asked since 0.8.2 is enough here."""


class FoundCoordinator(NamedTuple):
    node_id: int
    address: Address


def find_coordinator(connection: Connection, coordinator: CoordinatorOf, timeout: float) -> FoundCoordinator:
    """Ask the broker at hand. Raises KafkaRefused: while there is no coordinator yet, with a retriable code."""
    request = FindCoordinatorRequest(key=coordinator.key, key_type=coordinator.key_type)
    answer = connection.send(request, FindCoordinatorResponse, timeout=timeout, up_to=_BEFORE_BATCHES)
    raise_if_refused(answer.error_code, answer.error_message)
    return FoundCoordinator(answer.node_id, Address(answer.host, answer.port))
