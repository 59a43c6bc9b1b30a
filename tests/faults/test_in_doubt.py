"""A kill between the record that decides a transaction and the record that calls it complete.

Every marker is there before the transaction is called complete, whatever is killed when, and each is there once.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from stoker.broker.coordinator_topic import java_hash
from stoker.coordinators.transactions.states import TransactionState
from stoker.wire.error_codes import ErrorCode
from stoker.wire.record_batch import BatchHeader, ControlType, Record
from stoker.wire.transaction_records import decode_transaction_record
from tests.faults.doomed_broker import DoomedBroker
from tests.faults.kill_points import APPENDS, KillPoint, Step, When
from tests.faults.raw_transactions import (
    CLASSIC,
    PROTOCOLS,
    V2,
    RawTransactions,
    batches_in,
    committed_offsets,
    is_stable,
    markers_in,
    read_batches,
    state_of,
)
from tests.faults.records import create_topic
from tests.raw_connection import RawConnection

_TOPIC: Final = "processed-orders"
_INPUT: Final = "raw-orders"
_GROUP: Final = "eos-processor"
_TRANSACTIONAL_ID: Final = "eos-proc-instance-1"
_PARTITIONS: Final = 3
_INTERNAL_PARTITIONS: Final = 4
_OPTIONS: Final = {
    "offsets.topic.num.partitions": _INTERNAL_PARTITIONS,
    "transaction.state.log.num.partitions": _INTERNAL_PARTITIONS,
}
_OFFSETS: Final = ("__consumer_offsets", java_hash(_GROUP) % _INTERNAL_PARTITIONS)
_STATES: Final = ("__transaction_state", java_hash(_TRANSACTIONAL_ID) % _INTERNAL_PARTITIONS)
_TOUCHED: Final = [_OFFSETS, *((_TOPIC, index) for index in range(_PARTITIONS))]

# The moment before one append is the moment after the other.
_AFTER: Final = [
    *(KillPoint(step=step, when=When.AFTER) for step in APPENDS),
    *(KillPoint(step=Step.DATA_MARKER, when=When.AFTER, count=count) for count in range(2, _PARTITIONS + 1)),
]
_POINTS: Final = [
    *((protocol, point) for protocol in PROTOCOLS for point in _AFTER),
    (CLASSIC, KillPoint(step=Step.PREPARE_RECORD, when=When.BEFORE)),
    *((V2, KillPoint(step=step, when=When.TORN)) for step in APPENDS),
]
_COMPLETE: Final = KillPoint(step=Step.COMPLETE_RECORD, when=When.AFTER)
_OUTCOMES: Final = {True: ControlType.COMMIT, False: ControlType.ABORT}

Batches = list[tuple[BatchHeader, list[Record]]]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[DoomedBroker]:
    running = DoomedBroker(tmp_path / "data", kills=tmp_path / "kills", options=_OPTIONS)
    try:
        yield running
    finally:
        if running.is_running:
            running.kill()


def on_disk(broker: DoomedBroker, topic: str, partition: int) -> Batches:
    """What the files of a dead broker hold; a batch that is torn is not there."""
    assert not broker.is_running
    assert broker.data_dir is not None
    path = broker.data_dir / f"{topic}-{partition}" / f"{0:020}.log"
    return list(batches_in(path.read_bytes()))


def states_in(batches: Batches) -> list[TransactionState]:
    found = []
    for _, records in batches:
        for record in records:
            decoded = decode_transaction_record(record.key or b"", record.value)
            if decoded is not None and decoded.value is not None:
                found.append(TransactionState(decoded.value.transaction_status))
    return found


def check_files(broker: DoomedBroker, producer_id: int, outcome: ControlType) -> tuple[bool, int]:
    """Called complete only with every marker, and no marker twice; returns whether it was decided, and their number."""
    states = states_in(on_disk(broker, *_STATES))
    markers = {partition: markers_in(on_disk(broker, *partition), producer_id) for partition in _TOUCHED}
    is_decided = any(state.is_decided for state in states)
    for partition, found in markers.items():
        assert found in ([], [outcome]), f"{partition} has the markers {found}"
        assert is_decided or not found, f"{partition} has a marker of a transaction that nobody decided"
    if {TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT} & set(states):
        missing = [partition for partition, found in markers.items() if not found]
        assert not missing, f"called complete without the markers of {missing}"
    return is_decided, sum(map(len, markers.values()))


def check_served(broker: DoomedBroker, producer_id: int, *, commit: bool) -> None:
    """The transaction is over in every partition, and whoever asks is told so."""
    with RawConnection(broker.bootstrap_servers) as connection:
        title = "CompleteCommit" if commit else "CompleteAbort"
        assert state_of(connection, _TRANSACTIONAL_ID) == title
        for partition in _TOUCHED:
            assert is_stable(connection, *partition), f"a transaction is open in {partition}"
            assert markers_in(read_batches(connection, *partition), producer_id) == [_OUTCOMES[commit]]
        expected = {(_INPUT, 0): (7, ErrorCode.NONE)} if commit else {}
        assert committed_offsets(connection, _GROUP) == expected
    assert read_committed(broker) == ({f"{index}" for index in range(_PARTITIONS)} if commit else set())


def read_committed(broker: DoomedBroker) -> set[str]:
    """What a consumer of another making sees: librdkafka's, with its default isolation level."""
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": "reader",
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 10,
    }
    consumer = Consumer(settings)
    try:
        consumer.assign([TopicPartition(_TOPIC, index, 0) for index in range(_PARTITIONS)])
        found: set[str] = set()
        ended = 0
        while ended < _PARTITIONS:
            message = consumer.poll(20)
            assert message is not None, "nothing comes, not even the end of a partition"
            error = message.error()
            if error is None:
                found.add((message.value() or b"").decode())
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended += 1
        return found
    finally:
        consumer.close()


def open_transaction(broker: DoomedBroker, protocol: str) -> RawTransactions:
    """A record in each partition and an offset of the group; nothing is decided."""
    transactions = RawTransactions(RawConnection(broker.bootstrap_servers), _TRANSACTIONAL_ID, protocol)
    transactions.connection.create_topic(_TOPIC, partitions=_PARTITIONS)
    transactions.connection.create_topic(_INPUT)
    transactions.init()
    for index in range(_PARTITIONS):
        transactions.produce(_TOPIC, index, b"%d" % index)
    transactions.commit_offset(_GROUP, _INPUT, 0, 7)
    return transactions


def end_again(broker: DoomedBroker, transactions: RawTransactions, *, commit: bool) -> None:
    """What a client does that has lost its connection."""
    transactions.connection.close()
    with RawConnection(broker.bootstrap_servers) as connection:
        transactions.connection = connection
        transactions.end(commit=commit)


@pytest.mark.acceptance("B099")
@pytest.mark.parametrize(("protocol", "point"), _POINTS, ids=str)
def test_a_kill_while_a_transaction_ends(broker: DoomedBroker, protocol: str, point: KillPoint) -> None:
    """SIGKILL at each step of an end: complete means all markers, and after the restart all of it is there, once."""
    broker.doomed([point]).start()
    transactions = open_transaction(broker, protocol)
    producer_id = transactions.producer_id
    transactions.connection.send(*transactions.end_request(commit=True))
    broker.wait()
    is_decided, written = check_files(broker, producer_id, ControlType.COMMIT)

    broker.doomed([]).start()
    if is_decided:  # then nobody needs to ask for it: the restart itself has finished it
        check_served(broker, producer_id, commit=True)
    end_again(broker, transactions, commit=True)
    check_served(broker, producer_id, commit=True)
    assert ("finishing 1 transactions" in broker.output) == (is_decided and point != _COMPLETE), broker.output
    assert written <= len(_TOUCHED)
    broker.kill()
    assert check_files(broker, producer_id, ControlType.COMMIT) == (True, len(_TOUCHED))


@pytest.mark.parametrize(("protocol", "commit"), [(CLASSIC, True), (V2, False)])
def test_kills_while_the_restart_finishes_it(broker: DoomedBroker, protocol: str, commit: bool) -> None:
    """Each start gets one marker further before it is killed too: none is lost, none is written twice."""
    after_prepare = KillPoint(step=Step.PREPARE_RECORD, when=When.AFTER)
    after_marker = [
        KillPoint(step=step, when=when)
        for step, when in [
            (Step.OFFSETS_MARKER, When.TORN),
            (Step.OFFSETS_MARKER, When.AFTER),
            (Step.DATA_MARKER, When.AFTER),
            (Step.DATA_MARKER, When.TORN),
            (Step.DATA_MARKER, When.AFTER),
            (Step.DATA_MARKER, When.AFTER),
            (Step.COMPLETE_RECORD, When.TORN),
            (Step.COMPLETE_RECORD, When.BEFORE),
        ]
    ]
    broker.doomed([after_prepare]).start()
    transactions = open_transaction(broker, protocol)
    producer_id = transactions.producer_id
    transactions.connection.send(*transactions.end_request(commit=commit))
    broker.wait()
    markers = []
    for point in after_marker:
        broker.doomed([point]).launch().wait()
        is_decided, written = check_files(broker, producer_id, _OUTCOMES[commit])
        assert is_decided
        markers.append(written)
    assert markers == [0, 1, 2, 2, 3, 4, 4, 4]
    broker.doomed([]).start()
    check_served(broker, producer_id, commit=commit)
    end_again(broker, transactions, commit=commit)
    check_served(broker, producer_id, commit=commit)
    assert len(broker.kills.read_text().splitlines()) == 1 + len(after_marker)


@pytest.mark.parametrize(
    "point",
    [
        KillPoint(step=Step.PREPARE_RECORD, when=When.AFTER),
        KillPoint(step=Step.OFFSETS_MARKER, when=When.AFTER),
        KillPoint(step=Step.DATA_MARKER, when=When.AFTER, count=2),
        KillPoint(step=Step.END, when=When.AFTER),
    ],
    ids=str,
)
def test_a_producer_that_commits_meanwhile(broker: DoomedBroker, point: KillPoint) -> None:
    """librdkafka's commit goes through a kill of the broker, and its next transaction too."""
    broker.doomed([point]).start()
    create_topic(broker.bootstrap_servers, _TOPIC, _PARTITIONS)
    create_topic(broker.bootstrap_servers, _INPUT)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": _GROUP, "log_level": 0})
    settings: Mapping[str, str | int] = {
        "bootstrap.servers": broker.bootstrap_servers,
        "transactional.id": _TRANSACTIONAL_ID,
        "reconnect.backoff.max.ms": 100,
        # Starting anew from the bootstrap servers librdkafka 2.16 forgets to commit offsets, for ever.
        "metadata.recovery.strategy": "none",
        "log_level": 0,
    }
    producer = Producer(dict(settings))
    try:
        producer.init_transactions(20)
        with ThreadPoolExecutor(1) as executor:
            for offset in (7, 8):
                producer.begin_transaction()
                for index in range(_PARTITIONS):
                    producer.produce(_TOPIC, b"%d" % index, partition=index)
                producer.send_offsets_to_transaction(
                    [TopicPartition(_INPUT, 0, offset)], consumer.consumer_group_metadata(), 20
                )
                committing = executor.submit(producer.commit_transaction, 20)
                if offset == 7:
                    broker.wait()
                    broker.doomed([]).start()
                committing.result(30)
    finally:
        consumer.close()
    with RawConnection(broker.bootstrap_servers) as connection:
        assert state_of(connection, _TRANSACTIONAL_ID) == "CompleteCommit"
        assert committed_offsets(connection, _GROUP) == {(_INPUT, 0): (8, ErrorCode.NONE)}
        for partition in _TOUCHED:
            assert is_stable(connection, *partition)
            batches = list(read_batches(connection, *partition))
            assert markers_in(batches, batches[-1][0].producer_id) == [ControlType.COMMIT] * 2


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_new_producer_while_the_old_one_is_in_doubt(broker: DoomedBroker, protocol: str) -> None:
    """It waits until the decision of the old one is done everywhere, and then is the only one."""
    broker.doomed([KillPoint(step=Step.OFFSETS_MARKER, when=When.BEFORE)]).start()
    transactions = open_transaction(broker, protocol)
    with transactions.connection as connection:
        connection.send(*transactions.end_request(commit=True))
        broker.wait()
    broker.doomed([]).start()
    with RawConnection(broker.bootstrap_servers) as connection:
        following = RawTransactions(connection, _TRANSACTIONAL_ID, V2 if protocol == CLASSIC else CLASSIC)
        following.init()
        assert following.producer_id == transactions.producer_id
        assert following.producer_epoch > transactions.producer_epoch
        following.produce(_TOPIC, 0, b"next")
        following.end(commit=True)
        assert state_of(connection, _TRANSACTIONAL_ID) == "CompleteCommit"
        assert markers_in(read_batches(connection, _TOPIC, 0), following.producer_id) == [ControlType.COMMIT] * 2
        assert markers_in(read_batches(connection, _TOPIC, 1), following.producer_id) == [ControlType.COMMIT]
        assert committed_offsets(connection, _GROUP) == {(_INPUT, 0): (7, ErrorCode.NONE)}
