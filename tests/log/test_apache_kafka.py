"""Apache Kafka reads what we write, and we read what Apache Kafka wrote."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from stoker.log.config import LogConfig
from stoker.log.directory import LogDirectory
from stoker.log.files import FileCache
from stoker.log.partition import PartitionLog
from stoker.log.producer_state import AppendOrigin
from stoker.wire.record_batch import ControlType, build_end_transaction_batch
from tests.apache_kafka import CLASS_PATH, FAST_START, ApacheKafka
from tests.log.batches import NOW_MS, FakeClock, batch, new_log, read_records

pytestmark = pytest.mark.java

JAVA = ("java", *FAST_START, "-cp", CLASS_PATH)
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
COMPLAINTS = ("Mismatches", "not found", "mismatch", "out of order", "Non-consecutive", "invalid bytes", "Exception")


def dump(files: list[Path], *options: str) -> str:
    """What Kafka's DumpLogSegments prints of these files."""
    result = subprocess.run(
        [*JAVA, "org.apache.kafka.tools.DumpLogSegments", "--files", ",".join(map(str, files)), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout
    return result.stdout


def quirk(segment: Path) -> str:
    """What DumpLogSegments 4.3 says of every segment, Kafka's own included, that does not begin with offset 0."""
    return f"Non-consecutive offsets in {segment}\n  -1 is followed by {int(segment.stem)}\n"


def dump_without_complaint(log: PartitionLog, suffixes: tuple[str, ...], *options: str) -> str:
    files = sorted(path for path in Path(log.directory).iterdir() if path.suffix in suffixes)
    printed = dump(files, *options)
    for file in files:
        printed = printed.replace(quirk(file), "")
    for complaint in COMPLAINTS:
        assert complaint not in printed, printed
    return printed


@pytest.fixture(scope="module")
def our_log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PartitionLog]:
    """Several segments with every codec, keys and none, idempotent and transactional producers, two timestamp types."""
    clock = FakeClock()
    create_time = LogConfig(segment_bytes=10_000, index_interval_bytes=500)
    append_time = LogConfig(segment_bytes=10_000, index_interval_bytes=500, message_timestamp_type="LogAppendTime")
    log = new_log(tmp_path_factory.mktemp("ours"), create_time, clock)
    for number in range(400):
        clock.advance(10)
        log.reconfigure(append_time if number % 100 > 80 else create_time)
        records = batch(
            *[b"%d-%d" % (number, each) * 10 for each in range(1 + number % 4)],
            timestamp=clock() - number % 7,
            codec=number % 5,
            key=b"key" if number % 3 else None,
            producer_id=5 if number % 2 else -1,
            producer_epoch=0 if number % 2 else -1,
            base_sequence=sum(1 + each % 4 for each in range(1, number, 2)) if number % 2 else -1,
        )
        log.append(records, leader_epoch=number // 100)
    log.reconfigure(create_time)
    for producer_id, control_type in ((8, ControlType.COMMIT), (9, ControlType.ABORT)):
        in_transaction = batch(b"t", producer_id=producer_id, producer_epoch=3, base_sequence=0, transactional=True)
        log.append(in_transaction, leader_epoch=4)
        marker = build_end_transaction_batch(
            control_type, producer_id=producer_id, producer_epoch=3, timestamp=NOW_MS, coordinator_epoch=2
        )
        log.append(memoryview(marker), leader_epoch=4, origin=AppendOrigin.COORDINATOR)
    open_transaction = batch(b"t", producer_id=8, producer_epoch=3, base_sequence=1, transactional=True)
    log.append(open_transaction, leader_epoch=4)
    log.close()
    assert len(log.segments) > 4
    yield log
    log.close()


@pytest.mark.acceptance("B007")
def test_kafka_reads_our_segments(our_log: PartitionLog) -> None:
    """DumpLogSegments goes through every record of our segments without complaint."""
    printed = dump_without_complaint(our_log, (".log",), "--deep-iteration", "--print-data-log")
    batches = [line for line in printed.splitlines() if line.startswith("baseOffset:")]
    records = [line for line in printed.splitlines() if line.startswith("| offset:")]
    assert len(batches) == 405
    assert all("isvalid: true" in line for line in batches)
    assert [int(line.split()[2]) for line in records] == list(range(our_log.log_end_offset))
    assert "endTxnMarker: COMMIT coordinatorEpoch: 2" in printed
    assert "endTxnMarker: ABORT" in printed
    assert "payload: 399-3" in printed


def test_kafka_reads_our_indexes(our_log: PartitionLog) -> None:
    for option in ("--verify-index-only", "--index-sanity-check"):
        dump_without_complaint(our_log, (".index", ".timeindex"), option)
    printed = dump_without_complaint(our_log, (".index", ".timeindex"))
    assert printed.count("position:") > 50
    assert printed.count("timestamp:") > 50


def test_kafka_complains_of_indexes_that_are_wrong(our_log: PartitionLog, tmp_path: Path) -> None:
    """So that its silence about ours means something."""
    for path in Path(our_log.directory).glob("00000000000000000000.*"):
        shutil.copy(path, tmp_path)
    for suffix, entry_bytes in ((".index", 8), (".timeindex", 12)):
        path = tmp_path / f"00000000000000000000{suffix}"
        content = bytearray(path.read_bytes())
        content[entry_bytes - 1 if suffix == ".timeindex" else 3] += 1
        path.write_bytes(content)
        printed = dump([path])
        assert any(complaint in printed for complaint in COMPLAINTS), printed


def test_kafka_reads_our_producer_snapshots(our_log: PartitionLog) -> None:
    printed = dump_without_complaint(our_log, (".snapshot",))
    last = printed.split("Dumping")[-1].splitlines()[1:]
    by_producer = {int(line.split()[1]): line for line in last if line.startswith("producerId:")}
    assert set(by_producer) == {5, 8, 9}
    assert "producerEpoch: 3" in by_producer[8]
    assert f"currentTxnFirstOffset: OptionalLong[{our_log.log_end_offset - 1}]" in by_producer[8]
    assert "currentTxnFirstOffset: OptionalLong.empty" in by_producer[9]
    assert "coordinatorEpoch: 2" in by_producer[9]


ComparableRecord = tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


def consume_all(kafka: ApacheKafka, topic: str, partitions: int) -> dict[int, list[ComparableRecord]]:
    """Every record of a topic, as Apache Kafka serves it, aborted ones included."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "compare",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_uncommitted",
        }
    )
    try:
        found: dict[int, list[ComparableRecord]] = {}
        for partition in range(partitions):
            consumer.assign([TopicPartition(topic, partition, 0)])
            found[partition] = []
            while True:
                message = consumer.poll(20)
                assert message is not None
                error = message.error()
                if error is None:
                    found[partition].append(comparable(message))
                elif error.code() == KafkaError._PARTITION_EOF:
                    break
                else:
                    assert error.retriable(), error
        return found
    finally:
        consumer.close()


def comparable(message: Message) -> ComparableRecord:
    headers = tuple(dict(message.headers() or []).items())
    return message.offset(), message.timestamp()[1], message.key(), message.value(), headers  # type: ignore[return-value]


def produce_all(kafka: ApacheKafka, topic: str) -> None:
    for codec in CODECS:
        producer = Producer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "compression.type": codec,
                "enable.idempotence": True,
                "linger.ms": 2,
                "batch.size": 4000,
            }
        )
        for number in range(400):
            value = None if number % 50 == 0 else f"{codec}-{number}-".encode() * 8
            headers: list[tuple[str, str | bytes | None]] = [("codec", codec.encode()), ("none", None)]
            producer.produce(
                topic, value, key=b"%d" % number, partition=number % 2, headers=headers if number % 3 == 0 else None
            )
            if number % 20 == 0:
                producer.flush()
        assert producer.flush(20) == 0
    transactional = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "compare"})
    transactional.init_transactions(20)
    for number in range(4):
        transactional.begin_transaction()
        transactional.produce(topic, f"transaction {number}".encode(), partition=0)
        transactional.flush(20)
        if number % 2:
            transactional.abort_transaction(20)
        else:
            transactional.commit_transaction(20)


def read_all(
    path: Path, topic: str, *, had_clean_shutdown: bool
) -> tuple[LogDirectory, dict[int, list[ComparableRecord]]]:
    directory = LogDirectory(str(path), node_id=1, files=FileCache(64))
    assert directory.had_clean_shutdown == had_clean_shutdown
    found: dict[int, list[ComparableRecord]] = {}
    for name, partition in directory.partitions():
        config = LogConfig(cleanup_policy=frozenset({"compact"})) if name.startswith("__") else LogConfig()
        log = directory.open_log(name, partition, config)
        records = read_records(log)
        assert [record.offset for record in records] == sorted(record.offset for record in records)
        assert log.log_end_offset >= len(records) > 0 or not records
        if name == topic:
            found[partition] = [
                (record.offset, record.timestamp, record.key, record.value, tuple(record.headers))
                for record in records
                if not is_control(log, record.offset)
            ]
    return directory, found


def is_control(log: PartitionLog, offset: int) -> bool:
    content = log.read(offset, 1, at_least_one_batch=True).read()
    return bool(content[22] & 0x20)


def test_a_data_directory_goes_from_kafka_to_us_and_back(tmp_path: Path) -> None:
    """We read each record that Apache Kafka wrote, after a crash and after a clean stop; it reads on where we stopped."""
    kafka = ApacheKafka(
        directory=tmp_path / "kafka",
        properties={
            "log.index.interval.bytes": "1000",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.num.partitions": "1",
        },
    )
    kafka.format()
    kafka.start()
    try:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        topic = NewTopic("orders", 2, 1, config={"segment.bytes": "1048576", "segment.ms": "300"})
        admin.create_topics([topic])["orders"].result(20)
        produce_all(kafka, "orders")
        served = consume_all(kafka, "orders", 2)
        shutil.copytree(kafka.data_directory, tmp_path / "crashed")
    finally:
        kafka.stop()
    assert {partition: len(records) for partition, records in served.items()} == {0: 1004, 1: 1000}

    second = sorted(tmp_path.glob("crashed/orders-1/*.log"))[1]
    assert dump([second], "--deep-iteration").endswith(quirk(second)), "the quirk is gone: allow for it no more"

    (tmp_path / "crashed" / ".lock").unlink()
    crashed, found = read_all(tmp_path / "crashed", "orders", had_clean_shutdown=False)
    assert found == served
    crashed.close()

    stopped, found = read_all(kafka.data_directory, "orders", had_clean_shutdown=True)
    assert found == served
    log = stopped.logs["orders", 1]
    assert len(log.segments) > 1
    assert log.active_producers(), "the snapshot of Apache Kafka has its producers"
    found_by_time = log.offset_for_timestamp(served[1][500][1])
    assert found_by_time is not None
    assert found_by_time.timestamp == served[1][500][1]
    result = log.append(batch(b"ours", timestamp=served[1][-1][1]), leader_epoch=log.leader_epoch)
    stopped.close()

    kafka.start()
    try:
        served_again = consume_all(kafka, "orders", 2)
    finally:
        kafka.stop()
    assert served_again[0] == served[0]
    assert served_again[1][:-1] == served[1]
    assert served_again[1][-1][0] == result.base_offset
    assert served_again[1][-1][3] == b"ours"


def test_kafka_sees_every_file_of_a_new_partition(tmp_path: Path) -> None:
    """A partition nobody wrote to has, once closed, the files that Kafka's tools look for."""
    directory = LogDirectory(str(tmp_path), node_id=1, files=FileCache(64))
    log = directory.create_log("empty", 0, LogConfig(), topic_id=uuid4())
    directory.close()
    dump_without_complaint(log, (".log",), "--deep-iteration")
    dump_without_complaint(log, (".index", ".timeindex"), "--index-sanity-check")
