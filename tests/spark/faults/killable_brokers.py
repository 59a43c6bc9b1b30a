"""Brokers that are killed by somebody else, and started again as soon as that is seen."""

import os
import random
import signal
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stoker.client.admin.topics import create_topic, wait_until
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.client.targets import LeaderOf
from stoker.clusters import KafkaCluster
from tests.apache_kafka import ApacheKafka
from tests.faults.broker_process import BrokerProcess
from tests.kafka_cluster import kafka_cluster


class KillableBroker(ABC):
    """One broker, or one of several: the one that is killed next."""

    def __init__(self) -> None:
        self.restarts = 0

    @property
    @abstractmethod
    def bootstrap_servers(self) -> str: ...

    @property
    @abstractmethod
    def pid(self) -> int: ...

    @property
    @abstractmethod
    def is_running(self) -> bool: ...

    @abstractmethod
    def start(self) -> None: ...

    def tend(self) -> bool:
        """Start it again if it was killed; whether it was."""
        if self.is_running:
            return False
        self.start()
        self.restarts += 1
        return True

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def create_topic(self, name: str, partitions: int) -> None:
        with Cluster(client_properties(self.bootstrap_servers)) as cluster:
            create_topic(cluster, name, partitions=partitions)
            wait_until(cluster, name, lambda topic: topic is not None)


class Stoker(KillableBroker):
    def __init__(self, broker: BrokerProcess) -> None:
        super().__init__()
        self._broker = broker

    @property
    def bootstrap_servers(self) -> str:
        return self._broker.bootstrap_servers

    @property
    def pid(self) -> int:
        assert self._broker._process is not None
        return self._broker._process.pid

    @property
    def is_running(self) -> bool:
        return self._broker.is_running

    def start(self) -> None:
        self._broker.wait()
        self._broker.start()


class Kafka(KillableBroker):
    def __init__(self, kafka: ApacheKafka) -> None:
        super().__init__()
        self._kafka = kafka

    @property
    def bootstrap_servers(self) -> str:
        return self._kafka.bootstrap_servers

    @property
    def pid(self) -> int:
        return self._kafka.pid

    @property
    def is_running(self) -> bool:
        return self._kafka.process is not None and self._kafka.process.poll() is None

    def start(self) -> None:
        self._kafka.process = None
        self._kafka.start()


class ThreeNodes(KillableBroker):
    """A cluster: who is killed is drawn anew each time."""

    def __init__(self, cluster: KafkaCluster, seed: int) -> None:
        super().__init__()
        self._cluster = cluster
        self._chance = random.Random(seed)
        self._next = cluster.nodes()[0]

    @property
    def bootstrap_servers(self) -> str:
        return self._cluster.bootstrap_servers

    @property
    def pid(self) -> int:
        pid = self._next.daemon.pid
        assert pid is not None
        return pid

    @property
    def is_running(self) -> bool:
        return all(node.is_running for node in self._cluster.nodes())

    def start(self) -> None:
        for node in self._cluster.nodes():
            if not node.is_running:
                self._cluster.restart(node.number)
        self._next = self._chance.choice(self._cluster.nodes())

    def kill_leader_of(self, topic: str) -> None:
        """Of its only partition, which then has another one."""
        with Cluster(client_properties(self.bootstrap_servers)) as cluster:
            cluster.metadata([topic])
            self._next = self._cluster.node(cluster.leader_of(LeaderOf(topic, 0)))
        self.kill()


@contextmanager
def three_nodes(directory: Path) -> Iterator[ThreeNodes]:
    """Three replicas of everything, two of them in sync."""
    with kafka_cluster(directory) as cluster:
        yield ThreeNodes(cluster, seed=0)


@contextmanager
def stoker(directory: Path) -> Iterator[KillableBroker]:
    with BrokerProcess(directory / "data") as broker:
        yield Stoker(broker)


@contextmanager
def apache_kafka(directory: Path) -> Iterator[KillableBroker]:
    internal = {"offsets.topic.num.partitions": "4", "transaction.state.log.num.partitions": "4"}
    with ApacheKafka(properties=internal) as kafka:
        yield Kafka(kafka)
