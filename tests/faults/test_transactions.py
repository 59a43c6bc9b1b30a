"""Transactions on a full disk, over a stop of the broker, with a topic that goes away, with a damaged log of their own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from stoker.broker.coordinator_topic import java_hash
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from stoker.wire.messages.end_txn import EndTxnRequest
from stoker.wire.messages.init_producer_id import InitProducerIdRequest
from stoker.wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from stoker.wire.record_batch import ControlType
from tests.clients.client import eventually
from tests.faults.broker_process import BrokerProcess
from tests.faults.damage import batch_positions, flip_bit_in_batch
from tests.faults.raw_transactions import (
    CLASSIC,
    PROTOCOLS,
    V2,
    Answered,
    RawTransactions,
    committed_offsets,
    is_stable,
    markers_in,
    read_batches,
    state_of,
)
from tests.faults.small_disk import SmallDisk, small_disk
from tests.raw_connection import RawConnection, batch_of

_TOPIC: Final = "processed-orders"
_GROUP: Final = "eos-processor"
_PARTITIONS: Final = 3
_PAGE: Final = 4096
_OPTIONS: Final = {
    "log.segment.bytes": 1024 * 1024,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 100,
}
_OFFSETS: Final = ("__consumer_offsets", 0)
_TOUCHED: Final = [_OFFSETS, *((_TOPIC, index) for index in range(_PARTITIONS))]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", megabytes=8) as mounted:
        yield mounted


@pytest.fixture
def broker(disk: SmallDisk) -> Iterator[BrokerProcess]:
    """On a disk that can be filled."""
    with BrokerProcess(disk.path / "data", options=_OPTIONS) as running:
        yield running
        assert running.is_running, f"the broker died:\n{running.output}"
        assert "Traceback" not in running.output, running.output


@pytest.fixture
def connection(broker: BrokerProcess) -> Iterator[RawConnection]:
    with RawConnection(broker.bootstrap_servers) as connected:
        connected.create_topic(_TOPIC, partitions=_PARTITIONS)
        yield connected


def whole_page() -> bytes:
    """A value whose batch takes one page of the disk, so that what follows it needs another."""
    value = b"." * (_PAGE - len(batch_of(b"." * _PAGE)) + _PAGE)
    assert len(batch_of(value)) == _PAGE
    return value


def begin(connection: RawConnection, name: str, protocol: str, timeout_ms: int = 60_000) -> RawTransactions:
    """A record in each partition, and an offset of the group."""
    transactions = RawTransactions(connection, name, protocol)
    transactions.init(timeout_ms)
    for index in range(_PARTITIONS):
        transactions.produce(_TOPIC, index, whole_page())
    transactions.commit_offset(_GROUP, _TOPIC, 0, 7)
    return transactions


def check_committed(connection: RawConnection, producer_id: int) -> None:
    for partition in _TOUCHED:
        assert is_stable(connection, *partition)
        assert markers_in(read_batches(connection, *partition), producer_id) == [ControlType.COMMIT]
    assert committed_offsets(connection, _GROUP) == {(_TOPIC, 0): (7, ErrorCode.NONE)}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_markers_that_find_no_room(
    disk: SmallDisk, broker: BrokerProcess, connection: RawConnection, protocol: str
) -> None:
    """A full disk: the transaction is decided and not called complete, nor after a kill; with room again it is, each marker once."""
    transactions = begin(connection, "processor", protocol)
    producer_id = transactions.producer_id
    disk.fill()
    transactions.end(commit=True)  # the decision found room in its page
    assert state_of(connection, "processor") == "PrepareCommit"
    broker.wait_for_line("could not append", f"{_TOPIC}-{_PARTITIONS - 1}", "No space left on device")
    assert not any(is_stable(connection, _TOPIC, index) for index in range(_PARTITIONS))
    request = InitProducerIdRequest(transactional_id="processor", transaction_timeout_ms=60_000)
    assert connection.call(request, 4).error_code == ErrorCode.CONCURRENT_TRANSACTIONS

    broker.kill()
    broker.start()
    with RawConnection(broker.bootstrap_servers) as again:
        assert state_of(again, "processor") == "PrepareCommit"
        assert not any(is_stable(again, _TOPIC, index) for index in range(_PARTITIONS))
        disk.make_room()
        eventually(lambda: state_of(again, "processor"), lambda state: state == "CompleteCommit")
        check_committed(again, producer_id)
        following = RawTransactions(again, "processor", protocol)
        following.init()
        following.produce(_TOPIC, 0, b"next")
        following.end(commit=True)
        assert markers_in(read_batches(again, _TOPIC, 0), producer_id) == [ControlType.COMMIT] * 2
        assert all(is_stable(again, *partition) for partition in _TOUCHED)


def test_a_decision_that_finds_no_room(disk: SmallDisk, broker: BrokerProcess, connection: RawConnection) -> None:
    """Then nothing is decided: the producer is told to try again, and may still abort."""
    transactions = begin(connection, "processor", V2)
    producer_id = transactions.producer_id
    disk.fill()
    filler = InitProducerIdRequest(transactional_id="filler", transaction_timeout_ms=60_000)
    while (error := connection.call(filler, 4).error_code) == ErrorCode.NONE:
        pass
    assert error == ErrorCode.NOT_COORDINATOR
    assert connection.call(*transactions.end_request(commit=True)).error_code == ErrorCode.NOT_COORDINATOR
    assert state_of(connection, "processor") == "Ongoing"
    for partition in _TOUCHED:
        assert not markers_in(read_batches(connection, *partition), producer_id)
    disk.make_room()
    transactions.end(commit=False)
    assert state_of(connection, "processor") == "CompleteAbort"
    for partition in _TOUCHED:
        assert markers_in(read_batches(connection, *partition), producer_id) == [ControlType.ABORT]
    assert committed_offsets(connection, _GROUP) == {}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("end", ["stop", "kill"])
def test_open_transactions_go_on_after_a_restart(tmp_path: Path, protocol: str, end: str) -> None:
    """Their producers write on and commit; those that nobody comes back for are aborted when their time is over."""
    with BrokerProcess(tmp_path / "data", options=_OPTIONS) as broker:
        with RawConnection(broker.bootstrap_servers) as connection:
            connection.create_topic(_TOPIC, partitions=_PARTITIONS)
            connection.create_topic("abandoned")
            going_on = begin(connection, "going-on", protocol)
            abandoned = RawTransactions(connection, "abandoned", protocol)
            abandoned.init(timeout_ms=1_000)
            abandoned.produce("abandoned", 0, b"nobody ends this")
        if end == "stop":
            assert broker.stop() == 0
        else:
            broker.kill()
        broker.start()
        with RawConnection(broker.bootstrap_servers) as connection:
            producer_id = going_on.producer_id
            going_on.connection = abandoned.connection = connection
            assert state_of(connection, "going-on") == "Ongoing"
            assert not any(is_stable(connection, *partition) for partition in _TOUCHED)
            unstable = (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
            assert committed_offsets(connection, _GROUP, (_TOPIC, 0)) == {(_TOPIC, 0): unstable}
            going_on.produce(_TOPIC, 0, b"more")
            going_on.end(commit=True)
            check_committed(connection, producer_id)
            eventually(lambda: state_of(connection, "abandoned"), lambda state: state == "CompleteAbort")
            assert is_stable(connection, "abandoned", 0)
            with pytest.raises(Answered):
                abandoned.produce("abandoned", 0, b"too late")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_topic_that_goes_away(tmp_path: Path, protocol: str) -> None:
    """Deleted while a transaction writes to it, and the broker killed: the transaction ends in the partitions that are left."""
    with BrokerProcess(tmp_path / "data", options=_OPTIONS) as broker:
        with RawConnection(broker.bootstrap_servers) as connection:
            connection.create_topic(_TOPIC, partitions=_PARTITIONS)
            connection.create_topic("gone")
            transactions = begin(connection, "processor", protocol)
            transactions.produce("gone", 0, b"record")
            connection.call(DeleteTopicsRequest(topics=[DeleteTopicState(name="gone")], timeout_ms=10_000), 6)
        broker.kill()
        broker.start()
        with RawConnection(broker.bootstrap_servers) as connection:
            producer_id = transactions.producer_id
            transactions.connection = connection
            transactions.end(commit=True)
            assert state_of(connection, "processor") == "CompleteCommit"
            check_committed(connection, producer_id)


def test_a_damaged_log_of_transactions_leaves_the_others_served(tmp_path: Path) -> None:
    """Transactional ids whose log cannot be read have no coordinator; others go on, and what hangs can be ended by hand."""
    options = _OPTIONS | {"transaction.state.log.num.partitions": 50}
    names = {"damaged": java_hash("damaged") % 50, "sound": java_hash("sound") % 50}
    assert len(set(names.values())) == 2
    with BrokerProcess(tmp_path / "data", options=options) as broker:
        with RawConnection(broker.bootstrap_servers) as connection:
            connection.create_topic(_TOPIC, partitions=2)
            transactions = {name: RawTransactions(connection, name, CLASSIC) for name in names}
            for partition, each in enumerate(transactions.values()):
                each.init()
                each.produce(_TOPIC, partition, b"record")
        broker.stop()
        path = tmp_path / "data" / f"__transaction_state-{names['damaged']}" / f"{0:020}.log"
        assert len(batch_positions(path)) == 2
        flip_bit_in_batch(path, 0)
        broker.start()
        assert "cannot be served" in broker.output
        with RawConnection(broker.bootstrap_servers) as connection:
            damaged = transactions["damaged"]
            request = InitProducerIdRequest(transactional_id="damaged", transaction_timeout_ms=60_000)
            assert connection.call(request, 4).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
            ending = EndTxnRequest(
                transactional_id="damaged",
                producer_id=damaged.producer_id,
                producer_epoch=damaged.producer_epoch,
                committed=True,
            )
            assert connection.call(ending, 3).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
            sound = transactions["sound"]
            sound.connection = connection
            sound.produce(_TOPIC, 1, b"another")
            sound.end(commit=True)
            assert is_stable(connection, _TOPIC, 1)
            assert not is_stable(connection, _TOPIC, 0)
            marker = WritableTxnMarker(
                producer_id=damaged.producer_id,
                producer_epoch=damaged.producer_epoch,
                transaction_result=False,
                topics=[WritableTxnMarkerTopic(name=_TOPIC, partition_indexes=[0])],
                coordinator_epoch=0,
            )
            reply = connection.call(WriteTxnMarkersRequest(markers=[marker]), 1)
            assert reply.markers[0].topics[0].partitions[0].error_code == ErrorCode.NONE
            assert is_stable(connection, _TOPIC, 0)
