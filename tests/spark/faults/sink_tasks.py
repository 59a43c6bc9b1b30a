"""Tasks of a sink without Spark: each a process of its own that writes some numbers exactly once, or dies on the way."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from stoker.client.cluster import Cluster
from stoker.client.producing import BatchProducer, BatchToSend, ProducerIdentity
from stoker.client.properties import client_properties
from stoker.client.topic_partition import TopicPartition
from stoker.spark import exactly_once
from stoker.spark.exactly_once import TaskOutcome
from stoker.wire.record_batch import append_record

PARTITIONS: Final = 3


@dataclass(frozen=True, kw_only=True)
class SinkTask:
    """Writes `numbers` to the partitions of a topic in turn."""

    bootstrap_servers: str
    topic: str
    sink_id: str
    run: str | None
    batch: int
    task: int
    numbers: Sequence[int]
    timeout_ms: int = 60_000

    @property
    def digest(self) -> int:
        return sum(number * 0x9E37_79B9_7F4A_7C15 for number in self.numbers) & 0xFFFF_FFFF_FFFF_FFFF

    def perform(self) -> TaskOutcome:
        properties = client_properties(self.bootstrap_servers, {"default.api.timeout.ms": "60000"})
        of_task = {"sink_id": self.sink_id, "run": self.run, "batch": self.batch, "task": self.task}
        if not self.numbers:
            return exactly_once.nothing_to_write(properties, **of_task)  # type: ignore[arg-type]
        with (
            Cluster(properties, is_patient=True) as cluster,
            exactly_once.task(properties, transaction_timeout_ms=self.timeout_ms, **of_task) as task,  # type: ignore[arg-type]
        ):
            if task.committed is not None:
                task.check_replay(len(self.numbers), self.digest)
            else:
                task.commit(len(self.numbers), self.digest, self.write(cluster, task.producer))
        return task.outcome

    def write(self, cluster: Cluster, identity: ProducerIdentity) -> list[TopicPartition]:
        """Where to, when all is acknowledged."""
        producer = BatchProducer(cluster, identity)
        for partition in range(min(PARTITIONS, len(self.numbers))):
            producer.send(self._batch_for(partition))
        producer.flush()
        return producer.partitions

    def _batch_for(self, partition: int) -> BatchToSend:
        records = bytearray()
        mine = self.numbers[partition::PARTITIONS]
        for delta, number in enumerate(mine):
            append_record(records, 0, delta, None, b"%d" % number)
        now = time.time_ns() // 1_000_000  # older records would be deleted by retention
        return BatchToSend(TopicPartition(self.topic, partition), len(mine), 0, now, now, records)
