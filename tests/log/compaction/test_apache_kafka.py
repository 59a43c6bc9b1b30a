"""Apache Kafka reads what we compacted, finishes what we left half done, and we read what it compacted."""

import os
import shutil
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from stoker.log.checkpoints import CLEANER_OFFSETS, read_offsets, write_offsets
from stoker.log.config import LogConfig
from stoker.log.directory import LogDirectory
from stoker.log.files import FileCache
from stoker.log.partition import PartitionLog
from stoker.wire.record_batch import Record
from tests.apache_kafka import ApacheKafka
from tests.log.batches import NOW_MS, FakeClock, read_records
from tests.log.compaction.compacting import LIMITS, answers_to, batches_in, compact, job_for, table_of
from tests.log.compaction.test_swap import log as log_with_aborted_transaction
from tests.log.test_apache_kafka import COMPLAINTS, dump, dump_without_complaint

pytestmark = pytest.mark.java

COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=1024 * 1024)
__all__ = ["log_with_aborted_transaction"]


def test_kafkas_dump_tool_agrees_with_compacted_segments(log_with_aborted_transaction: PartitionLog) -> None:
    """DumpLogSegments finds the batches, offsets and horizons that we find, and nothing wrong with any index."""
    log = log_with_aborted_transaction
    clock = FakeClock(NOW_MS + 1)
    compact(log)
    compact(log, 0, clock())
    log.close()
    # The tool says of every compacted log, Kafka's own included, that its offsets are not consecutive.
    printed = dump(sorted(Path(log.directory).glob("*.log")), "--deep-iteration", "--print-data-log")
    for complaint in set(COMPLAINTS) - {"Non-consecutive"}:
        assert complaint not in printed, printed
    batches = [line for line in printed.splitlines() if line.startswith("baseOffset:")]
    ours = batches_in(log)
    assert [int(line.split()[1]) for line in batches] == [header.base_offset for header, _ in ours]
    assert [int(line.split("count: ")[1].split()[0]) for line in batches] == [len(records) for _, records in ours]
    assert all("isvalid: true" in line for line in batches)
    offsets = [int(line.split()[2]) for line in printed.splitlines() if line.startswith("| offset:")]
    assert offsets == [record.offset for _, records in ours for record in records]
    horizons = [header.delete_horizon_ms for header, _ in ours if header.delete_horizon_ms is not None]
    assert printed.count("deleteHorizonMs: OptionalLong[") == len(horizons)
    for option in ("--verify-index-only", "--index-sanity-check"):
        dump_without_complaint(log, (".index", ".timeindex"), option)
    indexed = dump_without_complaint(log, (".txnindex",))
    assert indexed.count("version: 0 producerId: 7 firstOffset:") == len(log.aborted_transactions(0, 100))


def produce(kafka: ApacheKafka, topic: str, numbers: range) -> None:
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 2, "batch.size": 20_000, "compression.type": "lz4"}
    )
    for number in numbers:
        value = None if number % 50 == 49 else b"%d" % number + os.urandom(300)
        producer.produce(topic, value, key=b"key-%d" % (number * 7919 % 500), partition=0)
        producer.poll(0)
    assert producer.flush(30) == 0


def consume(kafka: ApacheKafka, topic: str) -> list[Record]:
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "compare", "enable.partition.eof": True}
    )
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: list[Record] = []
        while True:
            message = consumer.poll(20)
            assert message is not None
            error = message.error()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    return found
                assert error.retriable(), error
                continue
            offset, key = message.offset(), message.key()
            assert offset is not None
            found.append(Record(offset, message.timestamp()[1], key, message.value()))
    finally:
        consumer.close()


def opened(path: Path) -> LogDirectory:
    return LogDirectory(str(path), node_id=1, files=FileCache(64), clock=lambda: time.time_ns() // 1_000_000)


def plain(records: list[Record]) -> list[Record]:
    return [record._replace(headers=()) for record in records]


def test_a_compacted_directory_goes_to_kafka_and_back(tmp_path: Path) -> None:
    """Kafka serves what we left, also when we were killed between two renames; then it cleans, and we read that."""
    kafka = ApacheKafka(directory=tmp_path / "kafka", properties={"log.cleaner.backoff.ms": "100"})
    kafka.format()
    kafka.start()
    try:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        config = {"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "1.0"}
        topics = [NewTopic(name, 1, 1, config=config) for name in ("whole", "half")]
        for future in admin.create_topics(topics).values():
            future.result(20)
        for topic in ("whole", "half"):
            produce(kafka, topic, range(10_000))
        before = {topic: consume(kafka, topic) for topic in ("whole", "half")}
    finally:
        kafka.stop()

    ours = opened(kafka.data_directory)
    logs = {topic: ours.open_log(topic, 0, COMPACTED) for topic in ("whole", "half")}
    done = compact(logs["whole"], limits=LIMITS)
    assert done is not None
    compacted = plain(read_records(logs["whole"]))
    assert len(compacted) < 5_000
    assert table_of(compacted) == table_of(before["whole"])
    job = job_for(logs["half"], None, time.time_ns() // 1_000_000)
    assert job is not None
    next(answers_to(job))
    ours.close()
    write_offsets(str(kafka.data_directory / CLEANER_OFFSETS), {("whole", 0): done.end_offset})
    half = kafka.data_directory / "half-0"
    for path in half.glob("*.cleaned"):
        path.rename(path.with_suffix(".swap"))
    first = min(half.glob("*.log"))
    first.rename(str(first) + ".deleted")
    (kafka.data_directory / ".kafka_cleanshutdown").unlink()
    shutil.copytree(half, tmp_path / "half-0")

    kafka.start()
    try:
        assert consume(kafka, "whole") == compacted
        finished = consume(kafka, "half")
        assert table_of(finished) == table_of(before["half"])
        assert len(finished) < len(before["half"])
        produce(kafka, "whole", range(10_000, 13_000))
        everything = table_of(consume(kafka, "whole"))
        kafka_configs = f"{kafka.data_directory}/{CLEANER_OFFSETS}"
        _alter(kafka, "whole", "0.01")
        deadline = time.monotonic() + 60
        while read_offsets(kafka_configs).get(("whole", 0), 0) <= done.end_offset:
            assert time.monotonic() < deadline, "Apache Kafka did not clean the topic"
            time.sleep(0.05)
        cleaned_by_kafka = consume(kafka, "whole")
    finally:
        kafka.stop()

    ours = opened(kafka.data_directory)
    log = ours.open_log("whole", 0, COMPACTED)
    assert log.was_compacted
    assert plain(read_records(log)) == cleaned_by_kafka
    assert table_of(cleaned_by_kafka) == everything
    ours.close()
    # What Apache Kafka made of the interrupted swap is what we make of it.
    ours = opened(tmp_path)
    assert plain(read_records(ours.open_log("half", 0, COMPACTED))) == finished
    ours.close(clean=False)


def _alter(kafka: ApacheKafka, topic: str, ratio: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    entry = ConfigEntry("min.cleanable.dirty.ratio", ratio, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(20)
