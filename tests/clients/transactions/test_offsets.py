"""Offsets that are committed with a transaction: read, process, write, exactly once."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest
from _pytest.mark.structures import ParameterSet
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
from confluent_kafka.admin import AdminClient

from tests.clients.client import WAIT_SECONDS, Code, Record, eventually, fresh_topic
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.transactions.confluent import ConfluentTransactions
from tests.clients.transactions.kinds import CLIENTS, KINDS, NEEDS, Kind, parameters
from tests.clients.transactions.remote import JavaTransactions
from tests.clients.transactions.transactional_client import (
    GroupMember,
    GroupProtocol,
    TransactionalClient,
    TransactionalProducer,
    TransactionFailed,
)


def with_each_protocol(kinds: Iterable[Kind]) -> list[ParameterSet]:
    return [
        pytest.param(kind, protocol, marks=NEEDS.get(kind, ()), id=f"{kind.name}-{protocol}")
        for kind in kinds
        for protocol in kind.protocols
    ]


@pytest.fixture
def output(confluent: ConfluentKafka) -> str:
    """A second topic of one partition."""
    name = fresh_topic("output")
    confluent.create_ready_topic(name)
    return name


def process(member: GroupMember, producer: TransactionalProducer, topic: str, output: str, *, up_to: int) -> None:
    """Read two records up to that offset and write what becomes of them, in a transaction that is left open."""
    values = member.poll(2)
    producer.begin()
    producer.send(output, [value.upper() for value in values])
    producer.send_offsets(member, {(topic, 0): up_to})


@pytest.mark.both_backends
@pytest.mark.acceptance("B095", "B102", "B107")
@pytest.mark.parametrize(("client", "protocol"), with_each_protocol(KINDS), indirect=["client"])
def test_offsets_move_with_the_commit(
    client: TransactionalClient, protocol: GroupProtocol, topic: str, output: str, confluent: ConfluentKafka
) -> None:
    """Output and offsets appear together or not at all; after an abort the input is read again, and each is processed once."""
    confluent.produce(topic, [Record(value=value) for value in (b"a", b"b", b"c", b"d")])
    group = fresh_topic("processors")
    member = client.member(group, topic, protocol=protocol)
    producer = client.producer(fresh_topic("processor"))

    process(member, producer, topic, output, up_to=2)
    assert confluent.committed(group) == {}
    producer.commit()
    assert eventually(lambda: confluent.committed(group), bool) == {(topic, 0): 2}

    process(member, producer, topic, output, up_to=4)
    producer.abort()
    assert confluent.committed(group) == {(topic, 0): 2}
    member.rewind()

    process(member, producer, topic, output, up_to=4)
    producer.commit()
    moved = eventually(lambda: confluent.committed(group), {(topic, 0): 4}.__eq__)
    assert moved == {(topic, 0): 4}
    assert client.read(output, isolation="read_committed", count=4) == [b"A", b"B", b"C", b"D"]
    everything = [b"A", b"B", b"C", b"D", b"C", b"D"]
    assert client.read(output, isolation="read_uncommitted", count=6) == everything


@pytest.mark.acceptance("B102")
@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_offsets_of_several_groups(client: TransactionalClient, topic: str, confluent: ConfluentKafka) -> None:
    """Groups that nobody is in move together, as often as they are named; a transaction may hold nothing but offsets."""
    groups = [fresh_topic("nobody") for _ in range(2 if client.takes_several_groups else 1)]
    producer = client.producer(fresh_topic("writer"))
    producer.begin()
    for offset in (1, 2):
        for group in groups:
            producer.send_offsets(group, {(topic, 0): offset})
    producer.abort()
    producer.begin()
    for offset in (3, 4):
        for group in groups:
            producer.send_offsets(group, {(topic, 0): offset})
    assert all(confluent.committed(group) == {} for group in groups)
    producer.commit()
    for group in groups:
        assert eventually(lambda group=group: confluent.committed(group), bool) == {(topic, 0): 4}  # type: ignore[misc]


@pytest.mark.acceptance("B102")
def test_pending_offsets_are_not_stable(topic: str, broker_address: str, confluent: ConfluentKafka) -> None:
    """Who asks for stable offsets is told to come again while a transaction holds new ones; who does not gets the old ones."""
    group = fresh_topic("nobody")
    client = ConfluentTransactions(broker_address)
    with client.opened:
        producer = client.producer(fresh_topic("writer"))
        producer.begin()
        producer.send_offsets(group, {(topic, 0): 3})
        producer.commit()
        assert eventually(lambda: stable_offset(broker_address, group), lambda found: found == 3) == 3
        producer.begin()
        producer.send_offsets(group, {(topic, 0): 5})
        assert stable_offset(broker_address, group) == Code.UNSTABLE_OFFSET_COMMIT.name
        assert confluent.committed(group) == {(topic, 0): 3}
        producer.abort()
        assert eventually(lambda: stable_offset(broker_address, group), lambda found: found == 3) == 3


def stable_offset(address: str, group: str) -> int | str:
    """The one committed offset of the group, or the name of the error that stands in its place."""
    admin = AdminClient({"bootstrap.servers": address})
    asked = [ConsumerGroupTopicPartitions(group)]
    answers = admin.list_consumer_group_offsets(asked, require_stable=True, request_timeout=WAIT_SECONDS)
    try:
        [found] = answers[group].result(WAIT_SECONDS).topic_partitions
    except KafkaException as refused:
        return str(refused.args[0].name())
    return found.error.name() if found.error else int(found.offset)


@pytest.mark.acceptance("B102")
@pytest.mark.parametrize("client", parameters([ConfluentTransactions, JavaTransactions]), indirect=True)
@pytest.mark.parametrize("end", ["commit", "abort"])
def test_a_new_member_waits_for_pending_offsets(
    client: TransactionalClient, end: str, topic: str, broker_address: str, confluent: ConfluentKafka
) -> None:
    """It begins to read only when the transaction has ended, and where its end says."""
    confluent.produce(topic, [Record(value=value) for value in (b"a", b"b", b"c")])
    group = fresh_topic("processors")
    other = ConfluentTransactions(broker_address)
    with other.opened, ThreadPoolExecutor(1) as pool:
        producer = other.producer(fresh_topic("writer"))
        producer.begin()
        producer.send_offsets(group, {(topic, 0): 2})
        first = pool.submit(lambda: client.member(group, topic).poll(1))
        assert eventually(lambda: confluent.group_state(group), "STABLE".__eq__) == "STABLE"
        getattr(producer, end)()
        assert first.result(WAIT_SECONDS) == ([b"c"] if end == "commit" else [b"a"])


REFUSED_MEMBERS = {
    "confluent-kafka-classic": "UNKNOWN_MEMBER_ID",
    "confluent-kafka-consumer": "UNKNOWN_MEMBER_ID",
    "java-classic": "CommitFailedException",
    "java-consumer": "CommitFailedException",
    "kafka-python-classic": "CommitFailedError",
}


@pytest.mark.acceptance("B101", "B102")
@pytest.mark.parametrize(
    ("client", "protocol"), with_each_protocol(kind for kind in KINDS if kind.names_the_member), indirect=["client"]
)
def test_offsets_of_a_member_that_is_gone_are_refused(
    client: TransactionalClient, protocol: GroupProtocol, topic: str, output: str, confluent: ConfluentKafka
) -> None:
    """Its transaction is to be aborted, and its producer goes on."""
    confluent.produce(topic, [Record(value=value) for value in (b"a", b"b")])
    group = fresh_topic("processors")
    member = client.member(group, topic, protocol=protocol)
    member.poll(2)
    member.close()
    producer = client.producer(fresh_topic("processor"))
    producer.begin()
    producer.send(output, [b"by a zombie"])
    with pytest.raises(TransactionFailed) as refused:
        producer.send_offsets(member, {(topic, 0): 2})
    assert refused.value.name == REFUSED_MEMBERS[f"{client.name}-{protocol}"]
    producer.abort()
    producer.begin()
    producer.send(output, [b"by another"])
    producer.send_offsets(group, {(topic, 0): 1})
    producer.commit()
    assert eventually(lambda: confluent.committed(group), bool) == {(topic, 0): 1}
    assert client.read(output, isolation="read_committed", count=1) == [b"by another"]
