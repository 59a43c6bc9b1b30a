"""The kinds of members under test: each client with each group protocol that it speaks."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

from tests.apache_kafka import CLASS_PATH, FAST_START
from tests.clients.drivers.java import compiled
from tests.clients.drivers.kafkajs import DIRECTORY as KAFKAJS_DIRECTORY

HEARTBEAT_MS = 100
SESSION_MS = 20_000
CONSUMER_SESSION_MS = 10_000
"""The session time-out of all members that speak the consumer protocol: there it is the broker's to set."""

BROKER_SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(CONSUMER_SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": str(HEARTBEAT_MS),
    "group.consumer.assignment.interval.ms": "0",
}
"""What the tests of groups need of a broker, so that they do not wait for minutes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A client, and the group protocol it is to speak."""

    client: str
    protocol: str = "classic"
    assignors: tuple[str, ...] = ()
    """The assignors it has, as Kafka names them."""
    static_members: bool = True
    tells_of_fencing: bool = True
    """Whether the application hears that a twin of its static member has taken its place."""
    fails_without_offset: bool = True
    """Whether auto.offset.reset can be none."""
    commits_asynchronously: bool = True
    heartbeats_apart: bool = True
    """Whether it sends heartbeats, and minds max.poll.interval.ms, while the application does not poll."""

    @property
    def session_ms(self) -> int:
        """Of a member that asks for no other."""
        return SESSION_MS if self.protocol == "classic" else CONSUMER_SESSION_MS

    @property
    def name(self) -> str:
        return self.client if self.protocol == "classic" else f"{self.client}-{self.protocol}"

    def command(self, bootstrap_servers: str) -> list[str]:
        match self.client:
            case "java":
                logging = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
                class_path = f"{CLASS_PATH}:{compiled()}"
                return ["java", *FAST_START, logging, "-cp", class_path, "GroupMembers", bootstrap_servers]
            case "kafkajs":
                return ["node", str(KAFKAJS_DIRECTORY / "member.js"), bootstrap_servers]
            case python:
                module = f"tests.clients.groups.member_{python.removesuffix('-kafka').replace('-', '_')}"
                return [sys.executable, "-m", module, bootstrap_servers]

    def settings(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """The settings a member gets: quick ones, and none that belong to the protocol it does not speak."""
        every = {
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "max.poll.interval.ms": 30_000,
            **wanted,
        }
        if self.protocol == "consumer":
            every["group.protocol"] = "consumer"
            for classic in ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"):
                every.pop(classic, None)
        return every


CONFLUENT = Kind(client="confluent-kafka", assignors=("range", "roundrobin", "cooperative-sticky"))
JAVA = Kind(client="java", assignors=("range", "roundrobin", "sticky", "cooperative-sticky"))
# kafka-python 3.0 has a round robin too, but one that may go round for ever.
KAFKA_PYTHON = Kind(client="kafka-python", assignors=("range", "sticky", "cooperative-sticky"), tells_of_fencing=False)
AIOKAFKA = Kind(client="aiokafka", assignors=("range", "roundrobin", "sticky"), tells_of_fencing=False)
KAFKAJS = Kind(
    client="kafkajs",
    static_members=False,
    fails_without_offset=False,
    commits_asynchronously=False,
    heartbeats_apart=False,
)
CONFLUENT_CONSUMER = Kind(client="confluent-kafka", protocol="consumer")
JAVA_CONSUMER = Kind(client="java", protocol="consumer")

CLASSIC_KINDS = (CONFLUENT, JAVA, KAFKA_PYTHON, AIOKAFKA, KAFKAJS)
CONSUMER_KINDS = (CONFLUENT_CONSUMER, JAVA_CONSUMER)
KINDS = (*CLASSIC_KINDS, *CONSUMER_KINDS)
NEEDS = {"java": pytest.mark.java, "kafkajs": pytest.mark.node}


def parameters(kinds: Iterable[Kind]) -> list[ParameterSet]:
    return [pytest.param(kind, marks=NEEDS.get(kind.client, ()), id=kind.name) for kind in kinds]
