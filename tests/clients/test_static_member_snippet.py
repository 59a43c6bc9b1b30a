"""A static member of a group as a tutorial writes it, with only the address and the missing parts added."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tests.clients.client import Record, eventually, fresh_topic
from tests.clients.consumer_groups import ConsumerGroups
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.tutorials import run_python, source

STRATEGY = {
    "'session.timeout.ms': 300000,": "'session.timeout.ms': 300000, 'partition.assignment.strategy': 'cooperative-sticky',"
}
"""The setting that the snippet names at its end, where it belongs."""

COMMIT = "    consumer.commit(asynchronous=False)\n"
CAREFUL_COMMIT = """
    try:
        consumer.commit(asynchronous=False)
    except KafkaException as error:
        if error.args[0].code() != KafkaError._NO_OFFSET:
            raise
"""


Callback = Callable[[Consumer, list[TopicPartition]], None]


@dataclass(kw_only=True, slots=True)
class Member:
    """A consumer of the group, and what it has read and flushed."""

    consumer: Consumer
    on_assign: Callback | None = None
    on_revoke: Callback | None = None
    assignments: int = 0
    """How often it was told its share, be there nothing new in it."""
    flushed: list[int] = field(default_factory=list)
    records: list[tuple[int | None, int | None]] = field(default_factory=list)

    def poll(self) -> None:
        message = self.consumer.poll(0.05)
        if message is not None:
            error = message.error()
            if error is not None:
                raise KafkaException(error)
            self.records.append((message.partition(), message.offset()))

    def partitions(self) -> list[int]:
        return sorted(each.partition for each in self.consumer.assignment())


def static_member(group: str, address: str, tmp_path: Path, corrections: dict[str, str]) -> Member:
    """Run the snippet, with the address that it lacks and a quick heartbeat for the test's sake, and subscribe as it means to."""
    more = f"'bootstrap.servers': '{address}', 'heartbeat.interval.ms': 200"
    where = {"'group.id': 'order-processor',": f"'group.id': '{group}', {more},"}
    flushed: list[int] = []
    around = {
        "log": logging.getLogger("tutorial"),
        "flush_partition_state": flushed.append,
        "KafkaError": KafkaError,
        "KafkaException": KafkaException,
    }
    names = run_python(source("static_member.py.txt", address, where | corrections), tmp_path, around)
    member = Member(consumer=names["c"], on_assign=names["on_assign"], on_revoke=names["on_revoke"], flushed=flushed)

    def count(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        member.assignments += 1
        names["on_assign"](consumer, partitions)

    member.consumer.subscribe(["orders"], on_assign=count, on_revoke=member.on_revoke)
    return member


def cooperative(group: str, address: str, tmp_path: Path) -> Member:
    """The snippet with the strategy that its last line wants, and with the calls that this strategy needs."""
    calls = {"consumer.assign(partitions)": "consumer.incremental_assign(partitions)", COMMIT: CAREFUL_COMMIT}
    return static_member(group, address, tmp_path, STRATEGY | calls)


def poll_until(wanted: Callable[[], bool], *members: Member) -> None:
    def poll_all() -> bool:
        for member in members:
            member.poll()
        return wanted()

    assert eventually(poll_all, bool), [(member.partitions(), member.assignments, member.records) for member in members]


@pytest.fixture
def group(orders: str, confluent: ConfluentKafka, consumer_groups: ConsumerGroups) -> str:
    """A group at the begin of the topic, which has a record in each partition; not the snippet's, whose members stay for minutes."""
    name = fresh_topic("order-processor")
    confluent.produce(orders, [Record(value=b"", partition=partition) for partition in range(3)])
    consumer_groups.commit(name, orders, dict.fromkeys(range(3), 0))
    return name


@pytest.mark.acceptance("S042")
def test_a_static_member_commits_what_it_loses_and_comes_back_unnoticed(
    group: str, orders: str, consumer_groups: ConsumerGroups, broker_address: str, tmp_path: Path
) -> None:
    """Only one partition moves to a second member, committed before; a restart keeps the others without a rebalance; a twin is fenced."""
    first = cooperative(group, broker_address, tmp_path)
    poll_until(lambda: len(first.records) == 3, first)
    assert consumer_groups.committed(group, orders) == {0: 0, 1: 0, 2: 0}

    settings = {"group.id": group, "bootstrap.servers": broker_address}
    other = Member(consumer=Consumer(settings | {"partition.assignment.strategy": "cooperative-sticky"}))
    rebalances: list[list[int]] = []

    def count(_: Consumer, partitions: list[TopicPartition]) -> None:
        rebalances.append([each.partition for each in partitions])

    other.consumer.subscribe([orders], on_assign=count, on_revoke=count)
    # At first, after the loss, and in the second round. A librdkafka that is closed before it could tell may refuse the last commit.
    poll_until(lambda: len(other.partitions()) == 1 and first.assignments == 3, first, other)
    [moved] = other.partitions()
    kept = sorted({0, 1, 2} - {moved})
    assert (first.partitions(), first.flushed) == (kept, [moved])
    assert consumer_groups.committed(group, orders)[moved] == 1

    before = list(rebalances)
    first.consumer.close()
    again = cooperative(group, broker_address, tmp_path)
    poll_until(lambda: again.partitions() == kept, again, other)
    assert rebalances == before

    twin = cooperative(group, broker_address, tmp_path)
    with pytest.raises(KafkaException, match="Static consumer fenced by other consumer") as fenced:
        poll_until(lambda: False, again, twin, other)
    assert fenced.value.args[0].code() == KafkaError._FATAL
    poll_until(lambda: twin.partitions() == kept, twin, other)
    assert rebalances == before
    for member in (again, twin, other):
        member.consumer.close()


@pytest.mark.acceptance("S042")
def test_a_static_member_as_pasted(group: str, broker_address: str, tmp_path: Path) -> None:
    """With the default strategy assign() is right; with the cooperative one librdkafka wants incremental_assign()."""
    eager = static_member(group, broker_address, tmp_path, {})
    poll_until(lambda: len(eager.records) == 3, eager)
    eager.consumer.close()
    assert sorted(eager.flushed) == [0, 1, 2]


@pytest.mark.acceptance("S042")
def test_a_cooperative_member_that_assigns_everything(group: str, broker_address: str, tmp_path: Path) -> None:
    """With the cooperative strategy the snippet's assign() raises, and so does its commit() while nothing is read."""
    member = static_member(group, broker_address, tmp_path, STRATEGY)
    refusals: list[int] = []

    def attempt(callback: Callback | None) -> Callback:
        def called(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            assert callback is not None
            try:
                callback(consumer, partitions)
            except (
                KafkaException
            ) as error:  # confluent-kafka raises what a callback raised as something that cannot be caught
                refusals.append(error.args[0].code())

        return called

    member.consumer.subscribe(["orders"], on_assign=attempt(member.on_assign), on_revoke=attempt(member.on_revoke))
    poll_until(lambda: bool(refusals), member)
    member.consumer.close()
    assert refusals == [KafkaError._STATE, KafkaError._NO_OFFSET]
