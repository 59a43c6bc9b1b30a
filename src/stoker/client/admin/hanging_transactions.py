"""Hanging transactions: open in a partition, and no coordinator will ever end them.

They hold the last stable offset, so that readers with `read_committed` get nothing behind them, and keep a compacted
topic from being compacted. Kafka before KIP-890 made them when a producer's last request came after the end of its
transaction.
"""

from collections.abc import Mapping
from typing import NamedTuple

from stoker.client.admin.producers import ActiveProducer, Producers, open_transactions
from stoker.client.admin.transactions import TransactionDescription, describe_transaction, list_transactions
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.topic_partition import TopicPartition
from stoker.wire.error_codes import ErrorCode


class OpenTransaction(NamedTuple):
    """What a partition knows of an open transaction, and its coordinator; None if no coordinator knows the producer."""

    partition: TopicPartition
    producer: ActiveProducer
    coordinated: TransactionDescription | None

    @property
    def is_hanging(self) -> bool:
        """A coordinator names the partitions that it will still write a marker to: this is not one of them."""
        return self.coordinated is None or self.partition not in self.coordinated.partitions


def find_hanging(cluster: Cluster, producers: Producers, *, silent_since: int) -> list[OpenTransaction]:
    """The hanging ones among the open transactions that have written nothing since that time, in milliseconds.

    A younger one may be one that its coordinator is just being told of. Raises KafkaRefused.
    """
    candidates = {
        (partition, producer)
        for partition, producer in open_transactions(producers)
        if producer.last_timestamp is None or producer.last_timestamp < silent_since
    }
    known = coordinated_transactions(cluster, {producer.producer_id for _, producer in candidates})
    found = [
        OpenTransaction(partition, producer, known.get(producer.producer_id)) for partition, producer in candidates
    ]
    return sorted(
        (each for each in found if each.is_hanging), key=lambda each: (each.partition, each.producer.producer_id)
    )


def coordinated_transactions(cluster: Cluster, producer_ids: set[int]) -> Mapping[int, TransactionDescription]:
    """What coordinators know, by producer id; those that none knows are left out. Raises KafkaRefused."""
    if not producer_ids:  # which would be all of them
        return {}
    known = {}
    for listed in list_transactions(cluster, producer_ids=sorted(producer_ids)):
        try:
            known[listed.producer_id] = describe_transaction(cluster, listed.transactional_id)
        except KafkaRefused as refused:
            if refused.error_code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:  # which it may be by now
                raise
    return known
