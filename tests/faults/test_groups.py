"""Groups and their offsets when the broker is killed, its disk is full or its log is damaged."""

import itertools
import random
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from stoker.broker.coordinator_topic import java_hash
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest
from stoker.wire.messages.list_groups import ListGroupsRequest
from stoker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stoker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.faults.broker_process import BrokerProcess
from tests.raw_connection import RawConnection

_PARTITIONS = 4
_COMMIT_VERSION = 9
_FETCH_VERSION = 9
OPTIONS = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 1000}


class Committer(threading.Thread):
    """Commits rising offsets of one group without pause and remembers the last that was acknowledged."""

    def __init__(self, bootstrap_servers: str, group: str) -> None:
        super().__init__(name=group)
        self.group = group
        self.acknowledged = -1
        self.sent = -1
        self.must_stop = threading.Event()
        self._bootstrap_servers = bootstrap_servers

    def run(self) -> None:
        while not self.must_stop.is_set():
            try:
                with RawConnection(self._bootstrap_servers) as connection:
                    self._commit_until_lost(connection)
            except OSError:
                time.sleep(0.01)  # the broker is down; nothing tells when it is back

    def _commit_until_lost(self, connection: RawConnection) -> None:
        for offset in itertools.count(self.sent + 1):
            if self.must_stop.is_set():
                return
            self.sent = offset
            reply = connection.call(commit_of(self.group, offset), _COMMIT_VERSION)
            assert {p.error_code for p in reply.topics[0].partitions} == {ErrorCode.NONE}
            self.acknowledged = offset


def commit_of(group: str, offset: int) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=group,
        topics=[
            OffsetCommitRequestTopic(
                name="orders",
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=offset,
                        committed_leader_epoch=3,
                        committed_metadata=f"{group} at {offset}",
                    )
                    for index in range(_PARTITIONS)
                ],
            )
        ],
    )


def committed(connection: RawConnection, group: str) -> dict[int, tuple[int, int, str]]:
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
    reply = connection.call(request, _FETCH_VERSION).groups[0]
    assert reply.error_code == ErrorCode.NONE
    return {
        partition.partition_index: (partition.committed_offset, partition.committed_leader_epoch, partition.metadata)
        for topic in reply.topics
        for partition in topic.partitions
    }


@pytest.fixture
def broker(tmp_path: Path) -> BrokerProcess:
    return BrokerProcess(tmp_path / "data", options=OPTIONS)


def prepare(broker: BrokerProcess) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic("orders", num_partitions=_PARTITIONS)])["orders"].result(10)
    with RawConnection(broker.bootstrap_servers) as connection:
        connection.call(FindCoordinatorRequest(coordinator_keys=["any"]), 6)


def test_acknowledged_commits_survive_kills(broker: BrokerProcess) -> None:
    """A commit that was acknowledged is there after any kill, with its metadata and leader epoch, for all partitions or none."""
    chance = random.Random(1)
    with broker:
        prepare(broker)
        committers = [Committer(broker.bootstrap_servers, f"group-{number}") for number in range(3)]
        for committer in committers:
            committer.start()
        try:
            for _ in range(5):
                seen = [committer.acknowledged for committer in committers]
                deadline = time.monotonic() + 30
                while any(c.acknowledged < before + 20 for c, before in zip(committers, seen, strict=True)):
                    assert time.monotonic() < deadline, "no commits get through"
                    time.sleep(0.005)
                time.sleep(chance.random() * 0.05)  # the kill comes at any moment of a commit
                broker.kill()
                broker.start()
        finally:
            for committer in committers:
                committer.must_stop.set()
            for committer in committers:
                committer.join()
        broker.kill()
        broker.start()
        with RawConnection(broker.bootstrap_servers) as connection:
            for committer in committers:
                found = committed(connection, committer.group)
                offsets = {offset for offset, _, _ in found.values()}
                assert len(found) == _PARTITIONS, "a commit is one batch: all of its partitions or none"
                assert len(offsets) == 1
                offset = offsets.pop()
                assert committer.acknowledged <= offset <= committer.sent
                assert set(found.values()) == {(offset, 3, f"{committer.group} at {offset}")}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_comes_back_after_a_kill(broker: BrokerProcess, protocol: str) -> None:
    """A member reads on after its broker was killed and started: same assignment, no rebalance, nothing skipped."""
    rebalances: list[str] = []
    with broker:
        prepare(broker)
        produced = produce(broker, 0, 100)
        consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "group.id": "comes-back",
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,
            }
        )
        consumer.subscribe(
            ["orders"],
            on_assign=lambda _, given: rebalances.append(f"assigned {len(given)}"),
            on_revoke=lambda _, taken: rebalances.append(f"revoked {len(taken)}"),
        )
        try:
            read = read_values(consumer, 100)
            consumer.commit(asynchronous=False)
            before = list(rebalances)
            broker.kill()
            broker.start()
            produced |= produce(broker, 100, 200)
            read |= read_values(consumer, 100)
            assert rebalances == before == [f"assigned {_PARTITIONS}"]
            consumer.commit(asynchronous=False)
            wanted = [TopicPartition("orders", index) for index in range(_PARTITIONS)]
            assert sum(max(partition.offset, 0) for partition in consumer.committed(wanted, timeout=10)) == 200
        finally:
            consumer.close()
    assert read == produced


def produce(broker: BrokerProcess, first: int, end: int) -> set[bytes]:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    for number in range(first, end):
        producer.produce("orders", b"%d" % number, partition=number % _PARTITIONS)
    assert producer.flush(20) == 0
    return {b"%d" % number for number in range(first, end)}


def read_values(consumer: Consumer, count: int) -> set[bytes]:
    values: list[bytes] = []
    deadline = time.monotonic() + 30
    while len(values) < count:
        assert time.monotonic() < deadline, f"only {len(values)} of {count} records came"
        values += [message.value() or b"" for message in consumer.consume(count, timeout=1) if message.error() is None]
    assert len(values) == count
    return set(values)


def test_a_damaged_log_of_groups_leaves_the_others_served(broker: BrokerProcess) -> None:
    """Groups whose log cannot be read have no coordinator, and the broker's log says why; all others go on."""
    with broker:
        prepare(broker)
        with RawConnection(broker.bootstrap_servers) as connection:
            for group in ("damaged", "sound"):
                for offset in range(3):
                    connection.call(commit_of(group, offset), _COMMIT_VERSION)
        broker.stop()
        assert java_hash("damaged") % 50 != java_hash("sound") % 50
        assert broker.data_dir is not None
        path = broker.data_dir / f"__consumer_offsets-{java_hash('damaged') % 50}" / "00000000000000000000.log"
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF  # what is before it can be read
        path.write_bytes(content)
        broker.start()
        assert "cannot be served" in broker.output
        with RawConnection(broker.bootstrap_servers) as connection:
            reply = connection.call(commit_of("damaged", 9), _COMMIT_VERSION)
            assert {p.error_code for p in reply.topics[0].partitions} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
            assert committed(connection, "sound")[0][0] == 2
            assert [group.group_id for group in connection.call(ListGroupsRequest(), 5).groups] == ["sound"]
