"""Producers as partitions know them: who has written with a producer id, and whose transaction is open."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from stoker.client.admin.leaders import ask_each, by_replica
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused, raise_if_refused
from stoker.client.targets import Broker, LeaderOf
from stoker.client.topic_partition import TopicPartition, by_topic
from stoker.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    ProducerState,
    TopicRequest,
)

if TYPE_CHECKING:
    from stoker.wire.messages.write_txn_markers import WriteTxnMarkersResponse

_PARTITIONS_AT_ONCE: Final = 500
"""In one request, as in Kafka's own tool: a partition may have thousands of producers."""


class ActiveProducer(NamedTuple):
    """`coordinator_epoch` is None until a transaction has ended, `transaction_start_offset` while none is open."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int | None
    last_sequence: int | None
    last_timestamp: int | None
    transaction_start_offset: int | None


Producers = dict[TopicPartition, list[ActiveProducer] | KafkaRefused]
"""Of each partition the producers that it knows, or why they are not told."""


def describe_producers(
    cluster: Cluster, partitions: Iterable[TopicPartition], *, on_broker: int | None = None
) -> Producers:
    """The producers of each partition, as its leader knows them or, if given, the replica on a broker."""

    def ask(held: list[TopicPartition], node_id: int) -> Producers:
        answered: Producers = {}
        for start in range(0, len(held), _PARTITIONS_AT_ONCE):
            answered |= _ask(cluster, held[start : start + _PARTITIONS_AT_ONCE], node_id)
        return answered

    if on_broker is None:
        return ask_each(cluster, partitions, ask)
    return ask_each(cluster, partitions, ask, who=partial(by_replica, node_id=on_broker))


def abort_in_partition(cluster: Cluster, partition: TopicPartition, producer: ActiveProducer) -> None:
    """Write the marker that ends a transaction as aborted, in one partition, without asking its coordinator.

    Raises KafkaRefused as `end_in_partition` does.
    """
    end_in_partition(cluster, partition, producer, committed=False)


def end_in_partition(cluster: Cluster, partition: TopicPartition, producer: ActiveProducer, *, committed: bool) -> None:
    """Write the marker that ends a transaction, in one partition, without asking its coordinator.

    Raises KafkaRefused: INVALID_PRODUCER_EPOCH or TRANSACTION_COORDINATOR_FENCED if something has ended it by now.
    """
    from stoker.wire.messages.write_txn_markers import (
        WritableTxnMarker,
        WritableTxnMarkerTopic,
        WriteTxnMarkersRequest,
        WriteTxnMarkersResponse,
    )

    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=committed,
        topics=[WritableTxnMarkerTopic(name=partition.topic, partition_indexes=[partition.partition])],
        coordinator_epoch=producer.coordinator_epoch or 0,  # which no coordinator is older than
    )
    answer = cluster.send(
        WriteTxnMarkersRequest(markers=[marker]),
        WriteTxnMarkersResponse,
        to=LeaderOf(*partition),
        error_of=_marker_error,
    )
    raise_if_refused(_marker_error(answer))


def open_transactions(producers: Mapping[TopicPartition, object]) -> Iterator[tuple[TopicPartition, ActiveProducer]]:
    """The producers whose transaction is open, each with its partition."""
    for partition, result in producers.items():
        for producer in result if isinstance(result, list) else ():
            if producer.transaction_start_offset is not None:
                yield partition, producer


def _ask(cluster: Cluster, partitions: Sequence[TopicPartition], node_id: int) -> Producers:
    topics = [TopicRequest(name=topic, partition_indexes=indexes) for topic, indexes in by_topic(partitions).items()]
    answer = cluster.send(DescribeProducersRequest(topics=topics), DescribeProducersResponse, to=Broker(node_id))
    return {
        TopicPartition(topic.name, each.partition_index): KafkaRefused(each.error_code, each.error_message)
        if each.error_code
        else sorted(map(_active, each.active_producers), key=lambda producer: producer.producer_id)
        for topic in answer.topics
        for each in topic.partitions
    }


def _active(producer: ProducerState) -> ActiveProducer:
    return ActiveProducer(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        coordinator_epoch=_known(producer.coordinator_epoch),
        last_sequence=_known(producer.last_sequence),
        last_timestamp=_known(producer.last_timestamp),
        transaction_start_offset=_known(producer.current_txn_start_offset),
    )


def _known(number: int) -> int | None:
    return None if number < 0 else number


def _marker_error(answer: "WriteTxnMarkersResponse") -> int:
    return answer.markers[0].topics[0].partitions[0].error_code
