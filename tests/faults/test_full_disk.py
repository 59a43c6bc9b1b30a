"""No room on the disk, or no disk to write to: producers are told, readers go on, and it ends when there is room."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Final

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)

from tests.faults.broker_process import BrokerProcess
from tests.faults.records import WAIT_SECONDS, create_topic, produce, read_all, topics_of, values_of
from tests.faults.small_disk import SmallDisk, small_disk

OPTIONS: Final = {"log.segment.bytes": 1024 * 1024, "log.flush.offset.checkpoint.interval.ms": 200}
VALUE: Final = b"." * 10_000
ONE_TRY: Final = {"retries": 0, "enable_idempotence": False, "message_timeout_ms": 10_000}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", megabytes=8) as mounted:
        yield mounted


@pytest.fixture
def broker(disk: SmallDisk) -> Iterator[BrokerProcess]:
    with BrokerProcess(disk.path / "data", options=OPTIONS) as running:
        yield running
        assert running.is_running, f"the broker died:\n{running.output}"
        assert "Traceback" not in running.output, running.output


def code_of(error: KafkaException) -> int:
    code: int = error.args[0].code()
    return code


def fill_by_producing(address: str, topic: str) -> int:
    """Until the broker refuses; returns how many records were acknowledged."""
    count = 0
    while True:
        try:
            count += len(produce(address, topic, [VALUE] * 20, batch_num_messages=1, **ONE_TRY))
        except KafkaException as refused:
            assert code_of(refused) == KafkaError.KAFKA_STORAGE_ERROR  # noqa: PT017  # the loop ends with it
            return count


def create_until_refused(address: str) -> list[str]:
    """The first few fit into the last page of the metadata log; returns those."""
    made: list[str] = []
    while True:
        try:
            create_topic(address, f"topic-{len(made)}", 3)
        except KafkaException as refused:
            assert code_of(refused) == KafkaError.KAFKA_STORAGE_ERROR  # noqa: PT017  # the loop ends with it
            return made
        made.append(f"topic-{len(made)}")


def alter_until_refused(admin: AdminClient) -> str | None:
    """Set retention.ms again and again; returns the last value that was taken."""
    taken, value = None, 60_000
    while True:
        entry = ConfigEntry("retention.ms", str(value), incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, "orders", incremental_configs=[entry])
        try:
            admin.incremental_alter_configs([resource])[resource].result(WAIT_SECONDS)
        except KafkaException as refused:
            assert code_of(refused) == KafkaError.KAFKA_STORAGE_ERROR  # noqa: PT017  # the loop ends with it
            return taken
        taken, value = str(value), value + 1


def test_producer_is_told_and_reader_goes_on(disk: SmallDisk, broker: BrokerProcess) -> None:
    """A full disk: KAFKA_STORAGE_ERROR to the producer, readers go on, writing resumes when there is room."""
    address = broker.bootstrap_servers
    create_topic(address, "orders")
    first = produce(address, "orders", [b"%d" % number for number in range(100)])
    disk.fill(leaving=2_500_000)
    fill_by_producing(address, "orders")
    before = read_all(address, "orders")
    assert [value for _, value in before[: len(first)]] == [b"%d" % number for number in range(100)]
    assert [offset for offset, _ in before] == list(range(len(before)))
    with pytest.raises(KafkaException) as refused:
        produce(address, "orders", [VALUE * 10], **ONE_TRY)
    assert code_of(refused.value) == KafkaError.KAFKA_STORAGE_ERROR
    assert read_all(address, "orders") == before, "what was refused must not be there"

    disk.make_room()
    assert produce(address, "orders", [b"after"]) == [len(before)]
    assert read_all(address, "orders") == [*before, (len(before), b"after")]
    assert broker.stop() == 0
    broker.start()
    assert not [line for line in broker.lines if "unclean" in line]
    assert read_all(address, "orders") == [*before, (len(before), b"after")]


@pytest.mark.acceptance("B059")
def test_idempotent_producer_waits_for_room(disk: SmallDisk, broker: BrokerProcess) -> None:
    """An idempotent producer that met a full disk goes on by itself when there is room, each record once, in order."""
    address = broker.bootstrap_servers
    create_topic(address, "orders")
    disk.fill(leaving=500_000)
    values = [b"%d %b" % (number, VALUE) for number in range(300)]

    def make_room_once_it_is_full() -> None:
        broker.wait_for_line("could not append", "No space left on device")
        disk.make_room()

    maker = Thread(target=make_room_once_it_is_full)
    maker.start()
    try:
        offsets = produce(
            address, "orders", values, enable_idempotence=True, batch_num_messages=3, retry_backoff_max_ms=200
        )
    finally:
        maker.join()
    assert offsets == list(range(300))
    assert values_of(address, "orders") == values


def test_changes_of_metadata_are_refused_whole(disk: SmallDisk, broker: BrokerProcess) -> None:
    """On a full disk topics and configs cannot be changed; what is refused leaves nothing behind."""
    address = broker.bootstrap_servers
    create_topic(address, "orders")
    produce(address, "orders", [b"here"])
    admin = AdminClient({"bootstrap.servers": address})
    disk.fill()
    made = create_until_refused(address)
    with pytest.raises(KafkaException) as refused:
        admin.create_partitions([NewPartitions("orders", 50)])["orders"].result(WAIT_SECONDS)
    assert code_of(refused.value) == KafkaError.KAFKA_STORAGE_ERROR
    assert topics_of(address) == {"orders", *made}
    assert len(admin.list_topics("orders", WAIT_SECONDS).topics["orders"].partitions) == 1
    assert values_of(address, "orders") == [b"here"]

    disk.make_room()
    create_topic(address, f"topic-{len(made)}", 3)
    admin.create_partitions([NewPartitions("orders", 5)])["orders"].result(WAIT_SECONDS)
    produce(address, "orders", [b"there"], partition=4)
    broker.kill()
    broker.start()
    assert topics_of(address) == {"orders", *made, f"topic-{len(made)}"}
    assert values_of(address, "orders") == [b"here"]
    assert values_of(address, "orders", 4) == [b"there"]


def test_config_and_deletion_on_a_full_disk(disk: SmallDisk, broker: BrokerProcess) -> None:
    """Whether a change of a topic is taken or refused on a full disk, the answer is the truth."""
    address = broker.bootstrap_servers
    create_topic(address, "orders")
    create_topic(address, "doomed")
    admin = AdminClient({"bootstrap.servers": address})
    disk.fill()
    taken = alter_until_refused(admin)
    try:
        admin.delete_topics(["doomed"])["doomed"].result(WAIT_SECONDS)
        is_deleted = True
    except KafkaException:
        is_deleted = False
    assert ("doomed" not in topics_of(address)) == is_deleted
    disk.make_room()
    assert broker.stop() == 0
    broker.start()
    assert ("doomed" not in topics_of(address)) == is_deleted
    asked = ConfigResource(ResourceType.TOPIC, "orders")
    described = admin.describe_configs([asked])[asked].result(WAIT_SECONDS)
    assert described["retention.ms"].value == taken


def test_stop_and_start_on_a_full_disk(disk: SmallDisk, broker: BrokerProcess) -> None:
    """A broker can be stopped, killed and started while its disk is full, and serves what it has."""
    address = broker.bootstrap_servers
    create_topic(address, "orders")
    disk.fill(leaving=1_500_000)
    count = fill_by_producing(address, "orders")
    before = read_all(address, "orders")
    assert len(before) >= count > 0
    assert broker.stop() == 0
    broker.start()
    assert read_all(address, "orders") == before
    disk.fill()
    broker.kill()
    broker.start()
    assert read_all(address, "orders") == before
    disk.make_room()
    assert produce(address, "orders", [b"after"]) == [len(before)]


@pytest.mark.acceptance("B028")
def test_one_failing_log_directory(tmp_path: Path) -> None:
    """Partitions spread over two log.dirs; when one cannot be written its partitions are refused, the others go on."""
    with small_disk(tmp_path / "first", megabytes=8) as first, small_disk(tmp_path / "second", megabytes=8) as second:
        options = OPTIONS | {"log.dirs": f"{first.path},{second.path}"}
        with BrokerProcess(None, options=options) as broker:
            address = broker.bootstrap_servers
            create_topic(address, "orders", 4)
            on_second = sorted(int(path.name.rpartition("-")[2]) for path in second.path.glob("orders-*"))
            on_first = sorted(set(range(4)) - set(on_second))
            assert len(on_first) == len(on_second) == 2
            for partition in range(4):
                produce(address, "orders", [b"before"], partition=partition)
            second.fill()
            for partition in on_first:
                produce(address, "orders", [b"meanwhile"], partition=partition)
            for partition in on_second:
                with pytest.raises(KafkaException) as refused:
                    produce(address, "orders", [VALUE], partition=partition, **ONE_TRY)
                assert code_of(refused.value) == KafkaError.KAFKA_STORAGE_ERROR
                assert values_of(address, "orders", partition) == [b"before"]
            create_topic(address, "new", 3)
            for partition in range(3):
                produce(address, "new", [b"here"], partition=partition)

            # Worse, it is read-only when the broker starts: its partitions are offline, the others are served.
            broker.kill()
            second.make_room()
            second.make_read_only()
            broker.start()
            broker.line_with(f"log directory {second.path} cannot be used, its partitions are offline", "Read-only")
            for partition in on_first:
                assert values_of(address, "orders", partition) == [b"before", b"meanwhile"]
            metadata = AdminClient({"bootstrap.servers": address}).list_topics("orders", WAIT_SECONDS).topics["orders"]
            offline = {number for number, partition in metadata.partitions.items() if partition.error is not None}
            assert offline == set(on_second)
            broker.stop()

            second.make_writable()
            broker.start()
            for partition in on_second:
                produce(address, "orders", [b"after"], partition=partition)
                assert values_of(address, "orders", partition) == [b"before", b"after"]
            broker.kill()
