"""The clients that know transactions, as test parameters with the marker of what each needs."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

import pytest
from _pytest.mark.structures import ParameterSet

from tests.clients.client import Client
from tests.clients.drivers.java import JavaClients
from tests.clients.drivers.kafkajs import KafkaJs
from tests.clients.transactions.aio import AioKafkaTransactions
from tests.clients.transactions.confluent import ConfluentTransactions
from tests.clients.transactions.kafka_python import KafkaPythonTransactions
from tests.clients.transactions.remote import JavaTransactions, KafkaJsTransactions
from tests.clients.transactions.transactional_client import TransactionalClient

Driver = TypeVar("Driver", bound=Client)
Kind = type[TransactionalClient]

KINDS: tuple[Kind, ...] = (
    ConfluentTransactions,
    JavaTransactions,
    KafkaJsTransactions,
    KafkaPythonTransactions,
    AioKafkaTransactions,
)
NEEDS: dict[Kind, pytest.MarkDecorator] = {JavaTransactions: pytest.mark.java, KafkaJsTransactions: pytest.mark.node}

BROKER_SETTINGS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}
"""What the tests of transactions need of a broker, so that they do not wait for long."""


class Processes(Protocol):
    """Knows the broker, and gives the process of a client that has one."""

    @property
    def bootstrap_servers(self) -> str: ...

    def of(self, driver: type[Driver]) -> Driver: ...


def transactions_of(kind: Kind, processes: Processes) -> TransactionalClient:
    """A client of that kind, connected to the broker of the processes."""
    if kind is JavaTransactions:
        return JavaTransactions(processes.of(JavaClients))
    if kind is KafkaJsTransactions:
        return KafkaJsTransactions(processes.of(KafkaJs))
    return kind(processes.bootstrap_servers)


def parameters(kinds: Iterable[Kind]) -> list[ParameterSet]:
    return [pytest.param(kind, marks=NEEDS.get(kind, ()), id=kind.name) for kind in kinds]


CLIENTS = parameters(KINDS)
READERS_TO_THE_END = parameters(kind for kind in KINDS if kind.tells_end_by_isolation)
