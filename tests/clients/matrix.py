"""The clients under test, by name, and as test parameters with the marker of what each needs."""

from collections.abc import Iterable

import pytest
from _pytest.mark.structures import ParameterSet

from tests.clients.client import Client
from tests.clients.drivers.aio import AioKafka
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.drivers.java import JavaClients
from tests.clients.drivers.kafka_python import KafkaPython
from tests.clients.drivers.kafkajs import KafkaJs
from tests.clients.drivers.kcat import Kcat

DRIVERS: tuple[type[Client], ...] = (ConfluentKafka, KafkaPython, AioKafka, KafkaJs, Kcat, JavaClients)
NEEDS = {JavaClients: pytest.mark.java, KafkaJs: pytest.mark.node, Kcat: pytest.mark.kcat}


def parameters(drivers: Iterable[type[Client]]) -> list[ParameterSet]:
    return [pytest.param(driver, marks=NEEDS.get(driver, ()), id=driver.name) for driver in drivers]


CLIENTS = parameters(DRIVERS)
READERS = parameters(driver for driver in DRIVERS if driver.abilities.reads)
ADMINISTRATORS = parameters(driver for driver in DRIVERS if driver.abilities.administers)
ASKERS = parameters(driver for driver in DRIVERS if driver.abilities.reads and driver.abilities.asks_without_creating)
RECORD_DELETERS = parameters(driver for driver in DRIVERS if driver.abilities.deletes_records)
