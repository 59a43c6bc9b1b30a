"""The driver of the transaction coordinator: what is written in which order, what is tried again, what time brings."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import stoker
from stoker.broker.metadata_log import METADATA_TOPIC
from stoker.broker.transaction_markers import TransactionMarkers
from stoker.log.partition import PartitionLog
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from stoker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from stoker.wire.messages.delete_groups import DeleteGroupsRequest
from stoker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from stoker.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from stoker.wire.messages.describe_transactions import DescribeTransactionsRequest
from stoker.wire.messages.end_txn import EndTxnRequest
from stoker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest
from stoker.wire.messages.init_producer_id import InitProducerIdRequest
from stoker.wire.messages.list_transactions import ListTransactionsRequest
from stoker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from stoker.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from stoker.wire.record_batch import Record, build_batch, read_header
from tests.raw_connection import RawConnection
from tests.transactional_producer import TransactionalProducer

NONE = ErrorCode.NONE
BOTH = pytest.mark.parametrize("v2", [False, True], ids=["classic", "v2"])


@pytest.fixture
def broker(request: pytest.FixtureRequest) -> Iterator[stoker.Broker]:
    """With the settings that the test names as its parameter, if any."""
    config = {
        "transaction.state.log.num.partitions": "3",
        "offsets.topic.num.partitions": "3",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "20",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "20",
        **getattr(request, "param", {}),
    }
    with stoker.Broker(config=config) as broker:
        yield broker


@pytest.fixture
def connection(broker: stoker.Broker) -> Iterator[RawConnection]:
    with RawConnection(broker.bootstrap_servers) as connection:
        connection.create_topic("orders", partitions=2)
        yield connection


@pytest.fixture
def producer(request: pytest.FixtureRequest, connection: RawConnection) -> TransactionalProducer:
    v2 = "v2" in request.fixturenames and request.getfixturevalue("v2")
    producer = TransactionalProducer(connection, "order-writer", v2=v2)
    assert producer.init() is NONE
    return producer


def described(connection: RawConnection, transactional_id: str = "order-writer") -> Any:
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    return connection.call(request).transaction_states[0]


def state(connection: RawConnection) -> str:
    return str(described(connection).transaction_state)


def eventually(condition: Callable[[], bool]) -> None:
    """What the broker does by the clock is done soon."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def stable_and_end(connection: RawConnection, topic: str = "orders", partition: int = 0) -> tuple[int, int]:
    wanted = FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=1_000_000)
    request = FetchRequest(
        max_bytes=1_000_000,
        isolation_level=1,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )
    [found] = connection.call(request, 12).responses[0].partitions
    return found.last_stable_offset, found.high_watermark


def committed(connection: RawConnection, group: str = "readers", *, require_stable: bool = True) -> tuple[int, int]:
    topic = OffsetFetchRequestTopics(name="orders", partition_indexes=[0])
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group, topics=[topic])], require_stable=require_stable
    )
    [found] = connection.call(request, 9).groups[0].topics[0].partitions
    return found.committed_offset, found.error_code


def batches(data: bytes) -> Iterator[bytes]:
    while data:
        size = read_header(data).size
        yield data[:size]
        data = data[size:]


def make_group_topic(connection: RawConnection) -> None:
    connection.call(FindCoordinatorRequest(coordinator_keys=["readers"], key_type=0), 6)


# -- the way of a transaction ---------------------------------------------------------------------------------------


@BOTH
def test_a_transaction_is_complete_when_its_end_is_answered(producer: TransactionalProducer, v2: bool) -> None:
    connection = producer.connection
    assert producer.write("orders", 0, b"a", b"b") is NONE
    assert state(connection) == "Ongoing"
    assert [(topic.topic, topic.partitions) for topic in described(connection).topics] == [("orders", [0])]
    assert stable_and_end(connection) == (0, 2)

    assert producer.end(commit=True) is NONE
    assert state(connection) == "CompleteCommit"
    assert described(connection).topics == []
    assert stable_and_end(connection) == (3, 3)


@BOTH
def test_a_reader_of_committed_records_is_woken_by_the_end(
    broker: stoker.Broker, producer: TransactionalProducer, v2: bool
) -> None:
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000_000)
    request = FetchRequest(
        max_wait_ms=20_000,
        min_bytes=1,
        max_bytes=1_000_000,
        isolation_level=1,
        session_epoch=-1,
        topics=[FetchTopic(topic="orders", partitions=[wanted])],
    )
    with RawConnection(broker.bootstrap_servers) as reader:
        reader.send(request, 12)
        for value in (b"a", b"b", b"c"):
            assert producer.write("orders", 0, value) is NONE
        reader.socket.settimeout(0.1)
        with pytest.raises(TimeoutError):
            reader.socket.recv(1)  # none of it can be read yet
        reader.socket.settimeout(20)
        assert producer.end(commit=True) is NONE
        _, response = reader.receive(FetchRequest, 12)
        [found] = response.responses[0].partitions
        assert found.last_stable_offset == 4
        assert [read_header(batch).is_control for batch in batches(bytes(found.records))] == [False] * 3 + [True]


@pytest.mark.parametrize("ended_ones", [0, 3])
def test_what_was_there_before_the_reader_counts_for_its_min_bytes(
    broker: stoker.Broker, connection: RawConnection, producer: TransactionalProducer, ended_ones: int
) -> None:
    connection.create_topic("long", segment_bytes=1_048_576)
    another = TransactionalProducer(connection, "another", v2=True)
    assert another.init() is NONE
    assert producer.write("long", 0, b"a" * 400_000) is NONE
    for _ in range(ended_ones):
        assert another.write("long", 0, b"b" * 400_000) is NONE
        assert another.end(commit=True) is NONE
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000_000)
    request = FetchRequest(
        max_wait_ms=3_600_000,
        min_bytes=(1 + ended_ones) * 400_000,
        max_bytes=1_000_000,
        isolation_level=1,
        session_epoch=-1,
        topics=[FetchTopic(topic="long", partitions=[wanted])],
    )
    with RawConnection(broker.bootstrap_servers) as reader:
        reader.send(request, 12)
        assert state(connection) == "Ongoing"  # the reader waits
        assert producer.end(commit=True) is NONE
        _, response = reader.receive(FetchRequest, 12)
        assert response.responses[0].partitions[0].records


@BOTH
@pytest.mark.parametrize("broker", [{"log.flush.interval.messages": "1"}], indirect=True)
def test_with_flush_messages_each_step_is_on_the_disk_before_the_next(
    producer: TransactionalProducer, v2: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = producer.connection
    make_group_topic(connection)
    events: list[tuple[str, str]] = []
    append, flush, end = PartitionLog.append, PartitionLog.flush, PartitionLog.end_transaction

    def noted_append(log: PartitionLog, *arguments: Any, **options: Any) -> Any:
        events.append(("append", log.topic))
        return append(log, *arguments, **options)

    def noted_flush(log: PartitionLog) -> int:
        end_offset = flush(log)
        events.append(("flush", log.topic))
        return end_offset

    def noted_end(log: PartitionLog, *arguments: Any, **options: Any) -> int:
        events.append(("marker", log.topic))
        return end(log, *arguments, **options)

    monkeypatch.setattr(PartitionLog, "append", noted_append)
    monkeypatch.setattr(PartitionLog, "flush", noted_flush)
    monkeypatch.setattr(PartitionLog, "end_transaction", noted_end)
    assert producer.write("orders", 0, b"a") is NONE
    assert producer.commit_offset("readers", "orders", 0, 5) is NONE
    assert producer.end(commit=True) is NONE

    states, offsets = "__transaction_state", "__consumer_offsets"
    assert events[:4] == [("append", states), ("flush", states), ("append", "orders"), ("flush", "orders")]
    assert events[4:8] == [("append", states), ("flush", states), ("append", offsets), ("flush", offsets)]
    assert events[8:10] == [("append", states), ("flush", states)]
    assert sorted(events[10:12]) == [("marker", offsets), ("marker", "orders")]
    assert sorted(events[12:14]) == [("flush", offsets), ("flush", "orders")]
    assert events[14:] == [("append", states)]  # the marks are on the disk: should this be lost, it is found out again
    assert committed(connection) == (5, NONE)


@BOTH
def test_a_marker_that_cannot_be_written_is_tried_again(
    producer: TransactionalProducer, v2: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = producer.connection
    write = TransactionMarkers.write
    refusing = True

    def refused(markers: TransactionMarkers, partition: Any, marker: Any) -> ErrorCode:
        if refusing and partition.index == 1:
            return ErrorCode.KAFKA_STORAGE_ERROR
        return write(markers, partition, marker)

    monkeypatch.setattr(TransactionMarkers, "write", refused)
    for partition in (0, 1):
        assert producer.write("orders", partition, b"a") is NONE
    before = (producer.producer_id, producer.producer_epoch)
    assert producer.end(commit=True) is NONE  # it is decided
    assert state(connection) == "PrepareCommit"
    assert stable_and_end(connection, partition=1) == (0, 1)
    assert producer.write("orders", 0, b"b") in (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_ENOUGH_REPLICAS)
    producer.producer_id, producer.producer_epoch = before
    assert producer.end(commit=True) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert producer.end(commit=False) is ErrorCode.INVALID_TXN_STATE
    assert TransactionalProducer(connection, "order-writer", v2=v2).init() is ErrorCode.CONCURRENT_TRANSACTIONS

    refusing = False
    eventually(lambda: state(connection) == "CompleteCommit")
    assert stable_and_end(connection, partition=0) == (2, 2)  # the marker that was there was not written again
    assert stable_and_end(connection, partition=1) == (2, 2)


@contextmanager
def slow_metadata(broker: stoker.Broker, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """While this is open a new topic is not on the disk yet, and neither is a block of producer ids; the call ends that."""
    disk_is_asked, disk_is_ready = Event(), Event()
    flush = PartitionLog.flush

    def slow_flush(log: PartitionLog) -> int:
        if log.topic == METADATA_TOPIC:
            disk_is_asked.set()
            assert disk_is_ready.wait(20)
        return flush(log)

    monkeypatch.setattr(PartitionLog, "flush", slow_flush)
    with RawConnection(broker.bootstrap_servers) as other:
        topic = CreatableTopic(name="meanwhile", num_partitions=1, replication_factor=1)
        other.send(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7)
        assert disk_is_asked.wait(20)
        try:
            yield disk_is_ready.set
        finally:
            disk_is_ready.set()
        other.receive(CreateTopicsRequest, 7)


def test_two_producers_that_come_at_once_are_not_the_same(
    broker: stoker.Broker, producer: TransactionalProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = InitProducerIdRequest(transactional_id="order-writer", transaction_timeout_ms=60_000)
    with (
        RawConnection(broker.bootstrap_servers) as first,
        RawConnection(broker.bootstrap_servers) as second,
        slow_metadata(broker, monkeypatch) as go_on,
    ):
        for connection in (first, second):
            connection.send(request, 4)
            assert state(producer.connection) == "Empty"  # it has been asked, and waits
        go_on()
        answers = [connection.receive(InitProducerIdRequest, 4)[1] for connection in (first, second)]

    assert [answer.error_code for answer in answers] == [NONE, NONE]
    assert sorted(answer.producer_epoch for answer in answers) == [1, 2]


@BOTH
def test_a_transaction_that_begins_while_the_next_producer_waits_is_aborted(
    broker: stoker.Broker, producer: TransactionalProducer, v2: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = InitProducerIdRequest(transactional_id="order-writer", transaction_timeout_ms=60_000)
    with (
        RawConnection(broker.bootstrap_servers) as following,
        slow_metadata(broker, monkeypatch) as go_on,
    ):
        following.send(request, 4)
        assert state(producer.connection) == "Empty"
        assert producer.write("orders", 0, b"a") is NONE
        go_on()
        assert following.receive(InitProducerIdRequest, 4)[1].error_code == NONE

    assert stable_and_end(producer.connection) == (2, 2)
    assert producer.end(commit=True) is ErrorCode.PRODUCER_FENCED


@BOTH
def test_a_transaction_that_times_out_while_its_end_waits_is_not_committed(
    broker: stoker.Broker, connection: RawConnection, v2: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RawConnection(broker.bootstrap_servers) as own:
        producer = TransactionalProducer(own, "order-writer", v2=v2, transaction_timeout_ms=500)
        assert producer.init() is NONE
        with slow_metadata(broker, monkeypatch) as go_on:
            assert producer.write("orders", 0, b"a") is NONE
            request = EndTxnRequest(**producer.producer, committed=True)  # type: ignore[arg-type]
            own.send(request, producer.versions["end"])
            eventually(lambda: state(connection) == "CompleteAbort")
            go_on()
            _, answer = own.receive(EndTxnRequest, producer.versions["end"])

    assert answer.error_code == (ErrorCode.INVALID_TXN_STATE if v2 else ErrorCode.PRODUCER_FENCED)
    assert state(connection) == "CompleteAbort"
    assert stable_and_end(connection) == (2, 2)


# -- what is not let in ---------------------------------------------------------------------------------------------


def test_records_of_a_transaction_need_a_transactional_id(producer: TransactionalProducer) -> None:
    batch = build_batch(
        [Record(timestamp=1, value=b"a")],
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=0,
        transactional=True,
    )
    assert producer.connection.produce("orders", batch)[0] == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_records_of_no_transaction_are_not_let_in(producer: TransactionalProducer) -> None:
    assert producer.produce("orders", 0, b"a") is ErrorCode.TRANSACTION_ABORTABLE
    producer.versions = {**producer.versions, "produce": 9}
    assert producer.produce("orders", 0, b"a") is ErrorCode.INVALID_TXN_STATE
    assert producer.commit_offset("readers", "orders", 0, 1) is NONE
    assert stable_and_end(producer.connection) == (0, 0)


@pytest.mark.parametrize("v2", [True])
def test_what_comes_before_the_first_records_is_not_let_in(producer: TransactionalProducer, v2: bool) -> None:
    """The first were perhaps told to come again, and must not find the second before them."""
    producer.sequences["orders", 0] = 1
    assert producer.produce("orders", 0, b"second") is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    producer.sequences["orders", 0] = 0
    assert producer.produce("orders", 0, b"first") is NONE
    assert producer.produce("orders", 0, b"second") is NONE


@pytest.mark.parametrize("broker", [{"transaction.partition.verification.enable": "false"}], indirect=True)
def test_without_verification_they_are_and_hang(producer: TransactionalProducer) -> None:
    connection = producer.connection
    assert producer.produce("orders", 0, b"a") is NONE
    assert stable_and_end(connection) == (0, 1)
    assert state(connection) == "Empty"

    request = DescribeProducersRequest(topics=[TopicRequest(name="orders", partition_indexes=[0])])
    [found] = connection.call(request).topics[0].partitions[0].active_producers
    assert found.current_txn_start_offset == 0
    topic = WritableTxnMarkerTopic(name="orders", partition_indexes=[0, 7])
    marker = WritableTxnMarker(
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        coordinator_epoch=found.coordinator_epoch,
        transaction_result=False,
        topics=[topic],
    )
    [answer] = connection.call(WriteTxnMarkersRequest(markers=[marker]), 1).markers[0].topics
    errors = [partition.error_code for partition in answer.partitions]
    assert errors == [NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert stable_and_end(connection) == (2, 2)


def test_a_marker_of_an_older_producer_or_coordinator_is_refused(producer: TransactionalProducer) -> None:
    connection = producer.connection
    assert producer.init() is NONE  # an epoch that another comes before
    assert producer.write("orders", 0, b"a") is NONE

    def abort(*, epoch: int, coordinator_epoch: int) -> int:
        marker = WritableTxnMarker(
            producer_id=producer.producer_id,
            producer_epoch=epoch,
            coordinator_epoch=coordinator_epoch,
            topics=[WritableTxnMarkerTopic(name="orders", partition_indexes=[0])],
        )
        response = connection.call(WriteTxnMarkersRequest(markers=[marker]), 1)
        return int(response.markers[0].topics[0].partitions[0].error_code)

    assert abort(epoch=producer.producer_epoch - 1, coordinator_epoch=5) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert abort(epoch=producer.producer_epoch, coordinator_epoch=5) == NONE
    assert abort(epoch=producer.producer_epoch, coordinator_epoch=4) == ErrorCode.TRANSACTION_COORDINATOR_FENCED


# -- time -----------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.acceptance("B105")
def test_a_transaction_that_takes_too_long_is_aborted(connection: RawConnection, v2: bool) -> None:
    """The broker writes the abort marker by itself, and refuses what its producer sends and commits afterwards."""
    producer = TransactionalProducer(connection, "order-writer", v2=v2, transaction_timeout_ms=50)
    assert producer.init() is NONE
    assert producer.write("orders", 0, b"a") is NONE
    eventually(lambda: state(connection) == "CompleteAbort")

    assert stable_and_end(connection) == (2, 2)
    assert producer.produce("orders", 0, b"b") is ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.end(commit=True) is (ErrorCode.INVALID_TXN_STATE if v2 else ErrorCode.PRODUCER_FENCED)


@pytest.mark.parametrize("broker", [{"transactional.id.expiration.ms": "50"}], indirect=True)
def test_an_id_that_nobody_uses_is_forgotten(producer: TransactionalProducer) -> None:
    connection = producer.connection
    eventually(lambda: described(connection).error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)

    assert producer.write("orders", 0, b"a") is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    first = producer.producer_id
    assert producer.init() is NONE
    assert (producer.producer_id != first, producer.producer_epoch) == (True, 0)


# -- what goes away meanwhile ---------------------------------------------------------------------------------------


@BOTH
def test_a_topic_that_is_deleted_does_not_keep_a_transaction_from_ending(
    producer: TransactionalProducer, v2: bool
) -> None:
    connection = producer.connection
    connection.create_topic("gone")
    assert producer.write("gone", 0, b"a") is NONE
    assert producer.write("orders", 0, b"a") is NONE
    connection.call(DeleteTopicsRequest(topics=[DeleteTopicState(name="gone")], timeout_ms=10_000), 6)

    assert producer.end(commit=True) is NONE
    assert state(connection) == "CompleteCommit"
    assert stable_and_end(connection) == (2, 2)


def test_without_their_log_all_transactional_ids_are_forgotten(producer: TransactionalProducer) -> None:
    connection = producer.connection
    topic = DeleteTopicState(name="__transaction_state")
    connection.call(DeleteTopicsRequest(topics=[topic], timeout_ms=10_000), 6)

    assert producer.write("orders", 0, b"a") is ErrorCode.NOT_COORDINATOR
    assert described(connection).error_code == ErrorCode.NOT_COORDINATOR
    assert producer.init() is NONE
    assert producer.write("orders", 0, b"a") is NONE


def test_the_log_of_transactions_keeps_its_partitions(producer: TransactionalProducer) -> None:
    wanted = CreatePartitionsTopic(name="__transaction_state", count=10)
    [answer] = producer.connection.call(CreatePartitionsRequest(topics=[wanted], timeout_ms=10_000), 3).results
    assert answer.error_code == ErrorCode.INVALID_PARTITIONS


@BOTH
def test_a_deleted_group_stays_deleted_when_a_transaction_commits_its_offsets(
    producer: TransactionalProducer, v2: bool
) -> None:
    connection = producer.connection
    make_group_topic(connection)
    assert producer.commit_offset("readers", "orders", 0, 5) is NONE
    assert committed(connection) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert committed(connection, require_stable=False) == (-1, NONE)
    [answer] = connection.call(DeleteGroupsRequest(groups_names=["readers"]), 2).results
    assert answer.error_code == NONE
    assert producer.end(commit=True) is NONE

    assert committed(connection) == (-1, NONE)


# -- lists ----------------------------------------------------------------------------------------------------------


def listed(connection: RawConnection, **filters: Any) -> list[str]:
    response = connection.call(ListTransactionsRequest(**filters), 2)
    assert response.error_code == NONE
    return sorted(found.transactional_id for found in response.transaction_states)


def test_transactions_are_listed_by_state_producer_duration_and_name(connection: RawConnection) -> None:
    producers = {name: TransactionalProducer(connection, name, v2=False) for name in ("open-1", "open-2", "idle")}
    for producer in producers.values():
        assert producer.init() is NONE
    for name in ("open-1", "open-2"):
        assert producers[name].write("orders", 0, b"a") is NONE

    assert listed(connection) == ["idle", "open-1", "open-2"]
    assert listed(connection, state_filters=["Ongoing"]) == ["open-1", "open-2"]
    assert listed(connection, state_filters=["Empty"]) == ["idle"]
    assert listed(connection, producer_id_filters=[producers["open-2"].producer_id]) == ["open-2"]
    assert listed(connection, duration_filter=0, transactional_id_pattern="idle") == []
    assert listed(connection, duration_filter=1_000_000) == []
    assert listed(connection, transactional_id_pattern="open-.") == ["open-1", "open-2"]
    assert listed(connection, transactional_id_pattern="open") == []  # of the whole name
    response = connection.call(ListTransactionsRequest(state_filters=["Ongoing", "Asleep"]), 2)
    assert response.unknown_state_filters == ["Asleep"]
    response = connection.call(ListTransactionsRequest(transactional_id_pattern="("), 2)
    assert response.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_what_is_not_there_cannot_be_described(connection: RawConnection, producer: TransactionalProducer) -> None:
    assert described(connection, "nobody").error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert described(connection, "").error_code == ErrorCode.INVALID_REQUEST


def test_open_transactions_survive_a_stop(tmp_path: Path) -> None:
    with stoker.Broker(data_dir=tmp_path) as broker, RawConnection(broker.bootstrap_servers) as connection:
        connection.create_topic("orders")
        producer = TransactionalProducer(connection, "order-writer", v2=True)
        assert producer.init() is NONE
        assert producer.write("orders", 0, b"a") is NONE
    with stoker.Broker(data_dir=tmp_path) as broker, RawConnection(broker.bootstrap_servers) as connection:
        producer.connection = connection
        assert stable_and_end(connection) == (0, 1)
        assert producer.write("orders", 0, b"b") is NONE
        assert producer.end(commit=True) is NONE
        assert stable_and_end(connection) == (3, 3)


def test_what_was_decided_is_complete_before_the_first_client_though_logs_are_flushed(tmp_path: Path) -> None:
    config = {"log.flush.interval.messages": "1"}
    with stoker.Broker(data_dir=tmp_path / "data", config=config) as broker:
        with RawConnection(broker.bootstrap_servers) as connection:
            connection.create_topic("orders")
            producer = TransactionalProducer(connection, "order-writer", v2=False)
            assert producer.init() is NONE
            assert producer.write("orders", 0, b"a") is NONE
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(TransactionMarkers, "write", lambda *_: ErrorCode.KAFKA_STORAGE_ERROR)
                assert producer.end(commit=True) is NONE
                assert state(connection) == "PrepareCommit"
                shutil.copytree(tmp_path / "data", tmp_path / "after-a-crash")
    with stoker.Broker(data_dir=tmp_path / "after-a-crash", config=config) as broker:
        with RawConnection(broker.bootstrap_servers) as connection:
            assert state(connection) == "CompleteCommit"
            assert stable_and_end(connection) == (2, 2)
