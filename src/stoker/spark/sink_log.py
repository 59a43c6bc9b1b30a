"""Markers that never expire: beside being an offset, each is a record of the compacted topic `_stoker_sink`.

Kafka forgets the offsets of a group that nobody uses (`offsets.retention.minutes`, 7 days). A query that is started again
after that finds here what its last batch has written. The records are read only then.
"""

from dataclasses import dataclass, field
from time import time
from typing import Final
from zlib import crc32

from stoker.client.admin.offsets import EARLIEST, LATEST, list_offsets
from stoker.client.admin.topics import create_topic, wait_until
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.fetching import Fetched, Isolation, PartitionRange, fetch_range
from stoker.client.producing import BatchProducer, BatchToSend, ProducerIdentity
from stoker.client.topic_partition import TopicPartition
from stoker.spark.errors import NotExactlyOnce
from stoker.spark.sink_markers import PARTITIONS, TOPIC, Marker, RunMarker
from stoker.wire.compression import Codec
from stoker.wire.error_codes import ErrorCode
from stoker.wire.record_batch import (
    ControlType,
    Record,
    append_record,
    control_type_of,
    iterate_records,
    read_header,
)

_RUN: Final = "run"
_SETTINGS: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": str(16 * 1024 * 1024),
    "min.cleanable.dirty.ratio": "0.1",
}
_TRANSACTIONS: Final = "__transaction_state"
"""It is there as soon as somebody asks for the coordinator of a transactional id."""
_LARGEST_BATCH: Final = 1024 * 1024


@dataclass
class Remembered:
    """What the topic holds of one sink."""

    run: RunMarker | None = None
    tasks: dict[int, Marker] = field(default_factory=dict)


def ensure_topic(cluster: Cluster) -> None:
    """Create the topic if it is not there, with as many replicas as the log of transactions has. Raises NotExactlyOnce."""
    found, transactions = cluster.metadata([TOPIC, _TRANSACTIONS]).topics
    if found.name != TOPIC:
        found, transactions = transactions, found
    if found.error_code == ErrorCode.NONE:
        if len(found.partitions) < PARTITIONS:
            raise NotExactlyOnce(
                f"topic {TOPIC} has {len(found.partitions)} partitions, and the markers of the exactly-once sink need "
                f"{PARTITIONS}: add partitions, or use delivery=at-least-once"
            )
        return
    try:
        replicas = len(transactions.partitions[0].replica_nodes) if transactions.partitions else None
        create_topic(cluster, TOPIC, partitions=PARTITIONS, replication_factor=replicas, configs=_SETTINGS)
    except KafkaRefused as refused:
        if refused.error_code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise NotExactlyOnce(
                f"topic {TOPIC}, where the exactly-once sink keeps its markers, is not there and cannot be created: "
                f"{refused}. Create it with {PARTITIONS} partitions and cleanup.policy=compact, or use "
                "delivery=at-least-once"
            ) from None
    wait_until(
        cluster, TOPIC, lambda topic: topic is not None and all(each.leader is not None for each in topic.partitions)
    )


def log_partition(sink_id: str) -> TopicPartition:
    return TopicPartition(TOPIC, crc32(sink_id.encode()) % PARTITIONS)


def log_marker(cluster: Cluster, identity: ProducerIdentity, sink_id: str, task: int, marker: Marker) -> None:
    """Write it as part of the transaction. Raises ClientError."""
    _write(cluster, identity, sink_id, str(task), f"{marker.next_batch} {marker.text()}")


def log_run(cluster: Cluster, identity: ProducerIdentity, sink_id: str, marker: RunMarker) -> None:
    """Likewise."""
    _write(cluster, identity, sink_id, _RUN, f"{marker.batch} {marker.text()}")


def _write(cluster: Cluster, identity: ProducerIdentity, sink_id: str, name: str, value: str) -> None:
    now = int(time() * 1000)
    records = bytearray()
    append_record(records, 0, 0, f"{sink_id}/{name}".encode(), value.encode())
    producer = BatchProducer(cluster, identity)
    producer.send(BatchToSend(log_partition(sink_id), 1, Codec.NONE, now, now, records))
    producer.flush()


def read_log(cluster: Cluster, sink_id: str) -> Remembered:
    """The last markers of a sink whose transactions have all ended. Raises ClientError, NotExactlyOnce."""
    partition = log_partition(sink_id)
    wanted = PartitionRange(*partition, _end(cluster, partition, EARLIEST), _end(cluster, partition, LATEST))
    reading = _Reading(f"{sink_id}/")
    # Others' transactions may be open for long: what is behind them is read too, and decided by the markers that follow.
    for fetched in fetch_range(cluster.properties, wanted, isolation=Isolation.READ_UNCOMMITTED):
        reading.take(fetched)
    if any(reading.undecided.values()):
        raise NotExactlyOnce(
            f"a transaction of sink {sink_id} is open in {partition}, and it is not known whether it was committed: look at "
            f"it with `stoker transactions find-hanging`, end it, and start the query again"
        )
    return reading.remembered


def _end(cluster: Cluster, partition: TopicPartition, which: int) -> int:
    listed = list_offsets(cluster, {partition: which}, waits_for_leaders=True)[partition]
    if isinstance(listed, KafkaRefused):
        raise listed
    return listed.offset


class _Reading:
    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.remembered = Remembered()
        self.undecided: dict[int, list[Record]] = {}

    def take(self, fetched: Fetched) -> None:
        batches = fetched.batches
        for position, size in zip(batches.positions.tolist(), batches.sizes.tolist(), strict=True):
            batch = batches.data[position : position + size]
            header = read_header(batch)
            records = list(iterate_records(batch, _LARGEST_BATCH))
            if header.is_control:
                decided = self.undecided.pop(header.producer_id, [])
                if records and control_type_of(records[0]) is ControlType.COMMIT:
                    self._apply(decided)
            elif header.is_transactional:
                ours = [record for record in records if (record.key or b"").startswith(self._prefix.encode())]
                self.undecided.setdefault(header.producer_id, []).extend(ours)

    def _apply(self, records: list[Record]) -> None:
        for record in records:
            name = (record.key or b"").decode().removeprefix(self._prefix)
            number, _, text = (record.value or b"").decode().partition(" ")
            if name == _RUN:
                self.remembered.run = RunMarker.from_text(int(number), text)
            else:
                self.remembered.tasks[int(name)] = Marker.from_text(int(number), text)
