"""Topics for tests of the source, and what is in them."""

import uuid
from collections.abc import Iterable
from typing import NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from pyspark.sql import DataFrame, SparkSession

from tests.known_topics import wait_for_partitions, wait_until_all_know

WAIT_SECONDS = 30.0
NOON = 1_700_000_000_000
"""The time of the first record of a test, in milliseconds; each further one comes a second later."""


class Sent(NamedTuple):
    partition: int
    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int = NOON


class Topic:
    """A topic of its own on a broker."""

    def __init__(self, bootstrap_servers: str, name: str, producer: Producer) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.name = name
        self._producer = producer

    @property
    def options(self) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self.bootstrap_servers, "subscribe": self.name}

    def send(self, records: Iterable[Sent]) -> None:
        for record in records:
            self._producer.produce(
                self.name,
                value=record.value,
                key=record.key,
                partition=record.partition,
                headers=list(record.headers),
                timestamp=record.timestamp,
            )
        assert self._producer.flush(WAIT_SECONDS) == 0

    def send_values(self, values: Iterable[object], *, partitions: int = 1) -> None:
        """In turn to the partitions."""
        self.send(
            Sent(number % partitions, str(value).encode(), timestamp=NOON + 1000 * number)
            for number, value in enumerate(values)
        )

    def read(self, spark: SparkSession, **options: object) -> DataFrame:
        return spark.read.format("stoker").options(**self.options | written(options)).load()

    def stream(self, spark: SparkSession, **options: object) -> DataFrame:
        return spark.readStream.format("stoker").options(**self.options | written(options)).load()


def written(options: dict[str, object]) -> dict[str, str]:
    """With __ for the dots in names."""
    return {name.replace("__", "."): str(value) for name, value in options.items()}


class Topics:
    """Makes topics with names of their own."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.admin = AdminClient({"bootstrap.servers": bootstrap_servers})
        self._producer = Producer(
            {"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, "linger.ms": 5, "log_level": 0}
        )  # which keeps the order, also if a new topic has no leader yet

    def create(self, name: str | None = None, *, partitions: int = 1, **configs: str) -> Topic:
        """Its records stay, however old their timestamps say they are."""
        name = name or f"topic-{uuid.uuid4().hex[:12]}"
        config = {"retention.ms": "-1"} | {key.replace("_", "."): value for key, value in configs.items()}
        for done in self.admin.create_topics([NewTopic(name, partitions, config=config)]).values():
            done.result(WAIT_SECONDS)
        wait_for_partitions(self.bootstrap_servers, name, partitions)
        return Topic(self.bootstrap_servers, name, self._producer)

    def add_partitions(self, topic: Topic, total: int) -> None:
        for done in self.admin.create_partitions([NewPartitions(topic.name, total)]).values():
            done.result(WAIT_SECONDS)
        wait_for_partitions(self.bootstrap_servers, topic.name, total)

    def delete(self, topic: Topic) -> None:
        for done in self.admin.delete_topics([topic.name]).values():
            done.result(WAIT_SECONDS)
        wait_until_all_know(self.bootstrap_servers, topic.name, lambda told: told is None)
