"""A three-broker Apache Kafka of `stoker.clusters`, with the jars of `make kafka-jars`: what a test calls the real cluster."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from stoker.clusters import KafkaCluster
from stoker.clusters.local_cluster import ANY_PORT
from tests.apache_kafka import JARS

BROKERS: Final = 3
_FEW_PARTITIONS: Final = {"offsets.topic.num.partitions": "4", "transaction.state.log.num.partitions": "4"}
"""Of the internal topics, of which there are 50 by default: the first commit would wait for 150 replicas."""


@contextmanager
def kafka_cluster(directory: Path, config: Mapping[str, str] | None = None) -> Iterator[KafkaCluster]:
    """Up, on ports that are free. In the end its nodes are killed: nobody needs what they would still write."""
    cluster = KafkaCluster(directory)
    try:
        yield cluster.up(BROKERS, port=ANY_PORT, jars=JARS, config={**_FEW_PARTITIONS, **(config or {})})
    finally:
        if cluster.exists:
            for daemon in cluster.daemons():
                daemon.kill()
