"""Producers as partitions know them: who has written with a producer id, and whose transaction is open."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from stoker.client.admin.leaders import by_leader, by_replica
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
    wanted = pending = list(partitions)
    found: Producers = {}
    for attempt in cluster.attempts() if wanted else ():
        brokers = by_leader(cluster, pending) if on_broker is None else by_replica(cluster, pending, on_broker)
        found |= brokers.refused  # for good: a partition that is not there, or has no leader, may stay so for hours
        answered: Producers = {}
        for node_id, held in brokers.partitions.items():
            for start in range(0, len(held), _PARTITIONS_AT_ONCE):
                answered |= _ask(cluster, held[start : start + _PARTITIONS_AT_ONCE], node_id)
        found |= answered
        pending = [each for each, result in answered.items() if _is_worth_another_try(result)]
        if attempt.is_last or not pending:
            break
    return {partition: found[partition] for partition in wanted}


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


def _is_worth_another_try(result: list[ActiveProducer] | KafkaRefused) -> bool:
    return isinstance(result, KafkaRefused) and result.error_code.retriable
