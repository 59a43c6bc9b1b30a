"""A broker beside a plain list: whatever producers do in transactions, readers see what the list says they must.

Producers of both protocols write, commit, abort, replace and forget each other; the broker is stopped, and started again
on a copy of its files as they lie at that moment, which is what a SIGKILL leaves.
"""

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

import stoker
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from stoker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest
from stoker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stoker.wire.messages.list_transactions import ListTransactionsRequest
from stoker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stoker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from stoker.wire.record_batch import ControlType, control_type_of, iterate_records, read_header
from tests.raw_connection import RawConnection, batch_of
from tests.transactional_producer import TransactionalProducer

TOPIC, GROUP = "orders", "readers"
PARTITIONS = (0, 1)
TRANSACTIONAL_IDS = ("first", "second", "third")
NONE = ErrorCode.NONE
REFUSALS = {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE}
CONFIG = {
    "transaction.state.log.num.partitions": "3",
    "offsets.topic.num.partitions": "2",
}


@dataclass(eq=False)
class Transaction:
    """`committed` is None while it is open."""

    committed: bool | None = None
    offsets: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Of the group, by partition: the offset, and when it was written."""


Written = tuple[bytes, Transaction | None]


class BrokerBesideList(RuleBasedStateMachine):
    """Of each partition the list has every record and its transaction, in the order of the log."""

    producers: Bundle[TransactionalProducer] = Bundle("producers")

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="stoker-transactions-model-"))
        self.crashes = 0
        self.written: dict[int, list[Written]] = {partition: [] for partition in PARTITIONS}
        self.current: dict[str, TransactionalProducer] = {}
        self.open: dict[str, Transaction] = {}
        self.commits: dict[int, tuple[int, int]] = {}
        self.ticks = 0

    def tick(self) -> int:
        self.ticks += 1
        return self.ticks

    # -- the broker -------------------------------------------------------------------------------------------------

    @initialize()
    def start(self) -> None:
        self.data_dir = self.directory / "data"
        self.start_broker()
        self.connection.create_topic(TOPIC, partitions=len(PARTITIONS), segment_ms=1)
        self.connection.call(FindCoordinatorRequest(coordinator_keys=[GROUP], key_type=0), 6)

    def start_broker(self) -> None:
        self.broker = stoker.Broker(data_dir=self.data_dir, config=CONFIG)
        self.broker.start()
        self.connection = RawConnection(self.broker.bootstrap_servers)
        for producer in self.current.values():
            producer.connection = self.connection

    def teardown(self) -> None:
        self.connection.close()
        self.broker.stop()
        shutil.rmtree(self.directory)

    @rule()
    def restart(self) -> None:
        self.connection.close()
        self.broker.stop()
        self.start_broker()

    @rule()
    def crash(self) -> None:
        """The files as they are now, without the lock and without a clean shutdown."""
        self.crashes += 1
        copy = self.directory / f"after-crash-{self.crashes}"
        shutil.copytree(self.data_dir, copy)
        self.connection.close()
        self.broker.stop()
        shutil.rmtree(self.data_dir)
        self.data_dir = copy
        self.start_broker()

    # -- producers --------------------------------------------------------------------------------------------------

    @rule(target=producers, transactional_id=st.sampled_from(TRANSACTIONAL_IDS), v2=st.booleans())
    def new_producer(self, transactional_id: str, v2: bool) -> TransactionalProducer:
        producer = TransactionalProducer(self.connection, transactional_id, v2=v2)
        assert producer.init() is NONE
        self.current[transactional_id] = producer
        self.ended(transactional_id, committed=False)
        return producer

    def is_zombie(self, producer: TransactionalProducer) -> bool:
        producer.connection = self.connection
        return self.current[producer.transactional_id] is not producer

    def transaction_of(self, producer: TransactionalProducer) -> Transaction:
        return self.open.setdefault(producer.transactional_id, Transaction())

    def ended(self, transactional_id: str, *, committed: bool) -> None:
        transaction = self.open.pop(transactional_id, None)
        if transaction is None:
            return
        transaction.committed = committed
        if committed:
            for partition, (offset, when) in transaction.offsets.items():
                if self.commits.get(partition, (0, 0))[1] < when:
                    self.commits[partition] = (offset, when)

    @rule(producer=producers, partition=st.sampled_from(PARTITIONS), count=st.integers(1, 4))
    def write(self, producer: TransactionalProducer, partition: int, count: int) -> None:
        values = [b"%s %d" % (producer.transactional_id.encode(), self.tick()) for _ in range(count)]
        zombie = self.is_zombie(producer)
        error = producer.write(TOPIC, partition, *values)
        if zombie:
            assert error in REFUSALS
            return
        assert error is NONE
        transaction = self.transaction_of(producer)
        self.written[partition] += [(value, transaction) for value in values]

    @rule(producer=producers, partition=st.sampled_from(PARTITIONS))
    def produce_without_adding(self, producer: TransactionalProducer, partition: int) -> None:
        """What a classic producer sends to a partition that is not in its transaction opens none that nobody ends."""
        if producer.v2 or self.is_zombie(producer):
            return
        transaction = self.open.get(producer.transactional_id)
        if transaction is not None and any(each is transaction for _, each in self.written[partition]):
            return
        assert producer.produce(TOPIC, partition, b"stray") is not NONE

    @rule(producer=producers, partition=st.sampled_from(PARTITIONS), offset=st.integers(0, 99))
    def commit_offset(self, producer: TransactionalProducer, partition: int, offset: int) -> None:
        zombie = self.is_zombie(producer)
        error = producer.commit_offset(GROUP, TOPIC, partition, offset)
        if zombie:
            assert error in REFUSALS
            return
        assert error is NONE
        self.transaction_of(producer).offsets[partition] = (offset, self.tick())

    @rule(producer=producers, commit=st.booleans(), again=st.booleans())
    def end(self, producer: TransactionalProducer, commit: bool, again: bool) -> None:
        if self.is_zombie(producer):
            assert producer.end(commit=commit) in REFUSALS
            return
        if producer.transactional_id not in self.open:
            return
        before = (producer.producer_id, producer.producer_epoch)
        assert producer.end(commit=commit) is NONE
        self.ended(producer.transactional_id, committed=commit)
        if again:  # as one who did not hear the answer
            after = (producer.producer_id, producer.producer_epoch)
            producer.producer_id, producer.producer_epoch = before
            assert producer.end(commit=not commit) is ErrorCode.INVALID_TXN_STATE
            assert producer.end(commit=commit) is NONE
            assert (producer.producer_id, producer.producer_epoch) == after

    @rule(partition=st.sampled_from(PARTITIONS))
    def write_outside_of_transactions(self, partition: int) -> None:
        value = b"plain %d" % self.tick()
        error, _ = self.connection.produce(TOPIC, batch_of(value), partition=partition)
        assert error == NONE
        self.written[partition].append((value, None))

    @rule(partition=st.sampled_from(PARTITIONS), offset=st.integers(100, 199))
    def commit_offset_outside_of_transactions(self, partition: int, offset: int) -> None:
        wanted = OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
        request = OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=-1,
            topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=[wanted])],
        )
        response = self.connection.call(request, 9)
        assert response.topics[0].partitions[0].error_code == NONE
        self.commits[partition] = (offset, self.tick())

    # -- readers ----------------------------------------------------------------------------------------------------

    @invariant()
    def readers_see_what_the_list_says(self) -> None:
        for partition in PARTITIONS:
            everything = self.written[partition]
            stable = next(
                (place for place, (_, each) in enumerate(everything) if each is not None and each.committed is None),
                len(everything),
            )
            committed = [value for value, each in everything[:stable] if each is None or each.committed]
            assert self.read(partition, isolation_level=0) == [value for value, _ in everything]
            assert self.read(partition, isolation_level=1) == committed

    @invariant()
    def offsets_are_what_the_list_says(self) -> None:
        unstable = {partition for transaction in self.open.values() for partition in transaction.offsets}
        for partition in PARTITIONS:
            offset = self.commits.get(partition, (-1, 0))[0]
            assert self.committed_offset(partition, require_stable=False) == (offset, NONE)
            expected = (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT) if partition in unstable else (offset, NONE)
            assert self.committed_offset(partition, require_stable=True) == expected

    @invariant()
    def the_coordinator_knows_what_is_open(self) -> None:
        response = self.connection.call(ListTransactionsRequest(state_filters=["Ongoing"]), 2)
        assert {state.transactional_id for state in response.transaction_states} == self.open.keys()
        request = DescribeProducersRequest(topics=[TopicRequest(name=TOPIC, partition_indexes=list(PARTITIONS))])
        [topic] = self.connection.call(request).topics
        for described in topic.partitions:
            opened = sum(producer.current_txn_start_offset >= 0 for producer in described.active_producers)
            written = self.written[described.partition_index]
            assert opened == len({id(each) for _, each in written if each is not None and each.committed is None})

    def committed_offset(self, partition: int, *, require_stable: bool) -> tuple[int, int]:
        topic = OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[partition])
        group = OffsetFetchRequestGroup(group_id=GROUP, topics=[topic])
        response = self.connection.call(OffsetFetchRequest(groups=[group], require_stable=require_stable), 9)
        [found] = response.groups[0].topics[0].partitions
        return found.committed_offset, found.error_code

    def read(self, partition: int, *, isolation_level: int) -> list[bytes]:
        """All values, by many small fetches, leaving out what a client leaves out."""
        end = self.end_offset(partition, isolation_level)
        values: list[bytes] = []
        position = 0
        while position < end:
            wanted = FetchPartition(partition=partition, fetch_offset=position, partition_max_bytes=400)
            request = FetchRequest(
                max_bytes=400,
                session_epoch=-1,
                isolation_level=isolation_level,
                topics=[FetchTopic(topic=TOPIC, partitions=[wanted])],
            )
            [found] = self.connection.call(request, 12).responses[0].partitions
            assert found.error_code == NONE
            assert found.records, f"nothing at {position} of {end}"
            position = self.take_batches(
                memoryview(found.records),
                position,
                {(each.producer_id, each.first_offset) for each in found.aborted_transactions or ()},
                values,
            )
        assert position == end
        return values

    def take_batches(self, data: memoryview, position: int, aborted: set[tuple[int, int]], values: list[bytes]) -> int:
        aborting: set[int] = set()
        while len(data) >= 61 and (header := read_header(data)).size <= len(data):
            for producer_id, first_offset in aborted:
                if first_offset <= header.last_offset:
                    aborting.add(producer_id)
            records = [each for each in iterate_records(data, 100_000) if each.offset >= position]
            if header.is_control:
                if records and control_type_of(records[0]) is ControlType.ABORT:
                    aborting.discard(header.producer_id)
                    aborted = {
                        each for each in aborted if each[0] != header.producer_id or each[1] > header.last_offset
                    }
            elif header.producer_id not in aborting:
                values += [each.value or b"" for each in records]
            position = header.next_offset
            data = data[header.size :]
        return position

    def end_offset(self, partition: int, isolation_level: int) -> int:
        asked = ListOffsetsPartition(partition_index=partition, timestamp=-1)
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation_level,
            topics=[ListOffsetsTopic(name=TOPIC, partitions=[asked])],
        )
        [found] = self.connection.call(request, 7).topics[0].partitions
        assert found.error_code == NONE
        offset: int = found.offset
        return offset


TestTransactionsBesideAList = BrokerBesideList.TestCase
TestTransactionsBesideAList.settings = settings(max_examples=25, stateful_step_count=30)
