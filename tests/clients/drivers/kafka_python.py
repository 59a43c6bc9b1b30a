"""kafka-python as it comes from PyPI, with its optional codecs."""

import gc
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import BrokerResponseError, KafkaConfigurationError, for_code

from tests.clients.client import (
    WAIT_SECONDS,
    Abilities,
    Acks,
    BrokerRefused,
    Client,
    ClientRefused,
    Codec,
    Record,
    StoredRecord,
)

WAIT_MS = int(WAIT_SECONDS * 1000)


class KafkaPython(Client):
    name: ClassVar[str] = "kafka-python"
    abilities: ClassVar[Abilities] = Abilities(null_header_values=False, null_key_with_null_value=False)

    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__(bootstrap_servers)
        self._admin = KafkaAdminClient(bootstrap_servers=bootstrap_servers)

    def close(self) -> None:
        self._admin.close()

    def producer(self, **settings: Any) -> Any:
        return KafkaProducer(bootstrap_servers=self.bootstrap_servers, linger_ms=5, **settings)

    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        codec: Codec = "none",
        acks: Acks = "all",
        idempotent: bool = False,
    ) -> list[int]:
        producer = self._producer_or_refusal(
            compression_type=None if codec == "none" else codec,
            acks=acks if acks == "all" else int(acks),
            enable_idempotence=idempotent,
        )
        if isinstance(producer, ClientRefused):
            _collect_unclosed()
            raise producer
        try:
            futures = [
                producer.send(
                    topic,
                    value=record.value,
                    key=record.key,
                    headers=list(record.headers),
                    partition=record.partition,
                    timestamp_ms=record.timestamp,
                )
                for record in records
            ]
            producer.flush(WAIT_SECONDS)
            return [future.get(WAIT_SECONDS).offset for future in futures]
        except BrokerResponseError as error:
            raise _refused(error) from error
        finally:
            producer.close(WAIT_SECONDS)

    def produce_by_key(self, topic: str, keys: Sequence[bytes | None]) -> list[int]:
        producer = self.producer()
        try:
            futures = [producer.send(topic, value=b"", key=key) for key in keys]
            producer.flush(WAIT_SECONDS)
            return [future.get(WAIT_SECONDS).partition for future in futures]
        finally:
            producer.close(WAIT_SECONDS)

    def read(
        self, topic: str, partition: int, *, start: int | Literal["earliest"] = "earliest", count: int
    ) -> list[StoredRecord]:
        assigned = TopicPartition(topic, partition)
        consumer = self._consumer()
        try:
            consumer.assign([assigned])
            if start == "earliest":
                consumer.seek_to_beginning(assigned)
            else:
                consumer.seek(assigned, start)
            stored: list[StoredRecord] = []
            while len(stored) < count:
                polled = consumer.poll(WAIT_MS, max_records=count - len(stored)).get(assigned, [])
                assert polled, f"{len(stored)} of {count} records of {topic}-{partition} after {WAIT_SECONDS} s"
                stored.extend(
                    StoredRecord(
                        offset=record.offset,
                        partition=record.partition,
                        timestamp=record.timestamp,
                        key=record.key,
                        value=record.value,
                        headers=tuple(record.headers),
                    )
                    for record in polled
                )
            return stored
        except BrokerResponseError as error:
            raise _refused(error) from error
        finally:
            consumer.close()

    def offset_for_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        asked = TopicPartition(topic, partition)
        consumer = self._consumer()
        try:
            found = consumer.offsets_for_times({asked: timestamp})[asked]
            return None if found is None else int(found.offset)
        finally:
            consumer.close()

    def offset_range(self, topic: str, partition: int) -> tuple[int, int]:
        asked = TopicPartition(topic, partition)
        consumer = self._consumer()
        try:
            return consumer.beginning_offsets([asked])[asked], consumer.end_offsets([asked])[asked]
        finally:
            consumer.close()

    def create_topic(
        self, topic: str, *, partitions: int = 1, replication_factor: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        wanted = {
            "num_partitions": partitions,
            "replication_factor": replication_factor,
            "configs": dict(configs or {}),
        }
        _raise_for(self._admin.create_topics({topic: wanted}, raise_errors=False)["topics"])

    def delete_topic(self, topic: str) -> None:
        _raise_for(self._admin.delete_topics([topic], raise_errors=False)["topics"])

    def create_partitions(self, topic: str, total: int) -> None:
        _raise_for(self._admin.create_partitions({topic: total}, raise_errors=False).to_dict()["results"])

    def set_topic_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, dict(configs))
        outcome = self._admin.alter_configs([resource], raise_on_unknown=False)["topic"][topic]
        if outcome != "OK":  # it says only "InvalidConfigurationError: [Error 40] ..."
            raise BrokerRefused(int(outcome.partition("[Error ")[2].partition("]")[0]), outcome)

    def topic_configs(self, topic: str) -> dict[str, str]:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        entries = self._admin.describe_configs([resource], config_filter="all")["topic"][topic]
        return {name: entry["value"] for name, entry in entries.items()}

    def partition_count(self, topic: str) -> int:
        [described] = self._admin.describe_topics([topic])
        _raise_for([described])
        return len(described["partitions"])

    def topics(self) -> set[str]:
        return set(self._admin.list_topics())

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        self._admin.delete_records({TopicPartition(topic, partition): before_offset})

    def _producer_or_refusal(self, **settings: Any) -> Any:
        try:
            return self.producer(**settings)
        except KafkaConfigurationError as error:
            return ClientRefused(str(error))

    def _consumer(self) -> Any:
        return KafkaConsumer(
            bootstrap_servers=self.bootstrap_servers,
            auto_offset_reset="none",
            enable_auto_commit=False,
            fetch_max_wait_ms=100,
        )


def _collect_unclosed() -> None:
    """Collect what a refused producer leaves open, now, so that its warnings do not come up in another test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def _refused(error: BrokerResponseError) -> BrokerRefused:
    return BrokerRefused(error.errno, str(error))


def _raise_for(results: Sequence[Mapping[str, Any]]) -> None:
    for result in results:
        if result["error_code"] != 0:
            message = result.get("error_message") or str(for_code(result["error_code"])())
            raise BrokerRefused(result["error_code"], message)
