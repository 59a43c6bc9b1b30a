"""The same requests about transactions to Stoker and to Apache Kafka: equal errors and equal states, in every version."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stoker import Broker
from stoker.wire.messages.delete_groups import DeleteGroupsRequest
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest
from stoker.wire.messages.init_producer_id import InitProducerIdRequest
from stoker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stoker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from stoker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from tests.broker.groups_on_a_broker import TOPIC, Groups, groups_of, named
from tests.broker.transactions_on_a_broker import EVERYONE, NOWHERE, STATES, Transactions, Who

pytestmark = pytest.mark.java

Ask = tuple[Callable[..., Any], dict[str, Any]]
"""A method of Transactions, and what it is called with."""
Both = tuple[Transactions, Transactions]

_ONE_BEFORE = Who(epoch=-1)
_OTHERS = {TOPIC: [0, 9], NOWHERE: [0]}
_BETTER_THAN_KAFKA = {
    f"end, version 5, {how}, by {_ONE_BEFORE}, when it is {state}"
    for how in ("commit", "abort")
    for state in ("committed", "aborted")
}
"""Kafka takes a zombie of transactions v2 for the classic producer after it (docs/adr/0009-transactions.md)."""


@pytest.fixture(scope="module")
def both(apache_kafka_address: str) -> Iterator[Both]:
    """Stoker's transactions and Kafka's."""
    with (
        groups_of("transactions"),
        Broker(config={"group.initial.rebalance.delay.ms": 0}) as broker,
        Groups(broker.bootstrap_servers) as stokers,
        Groups(apache_kafka_address) as kafkas,
    ):
        for groups in (stokers, kafkas):
            find = FindCoordinatorRequest(coordinator_keys=["any"], key_type=1)
            while groups.connection.call(find, 6).coordinators[0].error_code:
                pass
            init = InitProducerIdRequest(transactional_id="any", transaction_timeout_ms=60_000)
            while groups.connection.call(init, 4).error_code:
                pass
        yield Transactions(stokers), Transactions(kafkas)


# -- offsets: before the others, since no member of a group says that it is alive --------------------------------------

_GROUPS = (
    "unheard-of",
    "simple",
    "stable",
    "static",
    "completing",
    "preparing",
    "strangers",
    "modern",
    "modern-static",
)


def _committers(version: int) -> Iterator[tuple[str, str | None, int | None, str | None]]:
    """A group; a member, None for its own; a generation, None for the current one; an instance id."""
    for group in _GROUPS:
        if version < 3:
            yield group, "", -1, None
            continue
        for member in ("", "stranger", None):
            for generation in (-1, 0, 77, None):
                for instance_id in (None, "here", "nobody"):
                    yield group, member, generation, instance_id


@pytest.mark.parametrize("version", range(6))
def test_who_may_commit_offsets_in_a_transaction(both: Both, version: int) -> None:
    differences: dict[str, dict[str, Any]] = {}
    for transactions in both:
        transactions.groups.say_that_members_live()
    for group, member, generation, instance_id in _committers(version):
        told = []
        for transactions in both:
            groups = transactions.groups
            transactions.begin()
            transactions.start()
            if version < 5:
                assert transactions.add_offsets(3, group=group) == "NONE"
            answer = transactions.commit_offsets(
                version,
                group=group,
                member=groups.members.get(group, "") if member is None else member,
                generation=groups.generations.get(group, 1) if generation is None else generation,
                instance_id=instance_id,
                topics={TOPIC: [0, 9, -1], NOWHERE: [0]},
            )
            told.append(answer)
            transactions.finish(commit=False, v2=False)
        if told[0] != told[1]:
            by = f"{group} {member} {generation} {instance_id}"
            differences[by] = {"Stoker": told[0], "Kafka": told[1]}
    assert not differences, _shown(differences)


# -- requests in every state ---------------------------------------------------------------------------------------------


def _questions() -> Iterator[tuple[str, Ask]]:
    for version in range(6):
        yield f"init, version {version}", (Transactions.init, {"version": version})
        yield (
            f"add partitions of which some are not there, version {version}",
            (Transactions.add, {"version": version, "topics": _OTHERS}),
        )
        for who in (*EVERYONE, Who(epoch=-2)) if version >= 3 else ():
            yield f"init, version {version}, by {who}", (Transactions.init, {"version": version, "expected": who})
        for who in EVERYONE:
            by = {"version": version, "who": who}
            for commit, how in ((True, "commit"), (False, "abort")):
                yield f"end, version {version}, {how}, by {who}", (Transactions.end, {**by, "commit": commit})
            yield f"add partitions, version {version}, by {who}", (Transactions.add, by)
            yield f"commit offsets, version {version}, by {who}", (Transactions.commit_offsets, by)
            if version < 5:
                yield f"add offsets, version {version}, by {who}", (Transactions.add_offsets, by)
            if version >= 4:
                yield f"verify, version {version}, by {who}", (Transactions.add, {**by, "verify_only": True})
        for topics in ({TOPIC: [1]}, {TOPIC: [0, 1]}, _OTHERS) if version >= 4 else ():
            asked = {"version": version, "topics": topics, "verify_only": True}
            yield f"verify, version {version}, {list(topics.values())}", (Transactions.add, asked)
    for version in (3, 9, 10, 11, 12, 13):
        for who in EVERYONE:
            yield f"produce, version {version}, by {who}", (Transactions.produce, {"version": version, "who": who})
        for what, options in _PRODUCED.items():
            yield f"produce, version {version}, {what}", (Transactions.produce, {"version": version, **options})


_PRODUCED: dict[str, dict[str, Any]] = {
    "to another partition": {"partition": 1, "sequence": 0},
    "outside of the transaction": {"transactional": False},
    "without the transactional id": {"with_id": False},
    "outside of it and without the id": {"with_id": False, "transactional": False},
    "to a topic that is not there": {"topic": NOWHERE},
    "out of sequence": {"sequence": 7},
}


@pytest.mark.parametrize("state", STATES)
def test_every_request_in_every_state_is_answered_as_by_kafka(both: Both, state: str) -> None:
    _compare(both, state, _questions())


def _unusual_questions() -> Iterator[tuple[str, Ask]]:
    asked: dict[str, Any]
    for version in range(6):
        for timeout_ms in (-1, 0, 1, 900_000, 900_001, 2**31 - 1):
            within = {"version": version, "timeout_ms": timeout_ms}
            yield f"init, version {version}, within {timeout_ms} ms", (Transactions.init, within)
        for name in ("", None):
            yield f"init, version {version}, as {name!r}", (Transactions.init_as, {"version": version, "name": name})
        for name in ("", None, "half-known") if version >= 3 else ():
            for producer_id, epoch in ((-1, 0), (5, -1), (-2, 0), (5, -2), (-2, -2), (0, 0)):
                asked = {"version": version, "name": name, "producer_id": producer_id, "epoch": epoch}
                yield (
                    f"init, version {version}, as {name!r}, who was {producer_id, epoch}",
                    (Transactions.init_as, asked),
                )
        nameless = {"version": version, "as_named": ""}
        yield f"add partitions, version {version}, as ''", (Transactions.add, nameless)
        yield f"commit offsets, version {version}, as ''", (Transactions.commit_offsets, nameless)
        yield (
            f"commit offsets, version {version}, of ''",
            (Transactions.commit_offsets, {"version": version, "group": ""}),
        )
        yield f"end, version {version}, as ''", (Transactions.end, nameless)
        if version >= 4:
            yield f"verify, version {version}, as ''", (Transactions.add, {**nameless, "verify_only": True})
        if version < 5:
            yield f"add offsets, version {version}, as ''", (Transactions.add_offsets, nameless)
            yield (
                f"add offsets, version {version}, of ''",
                (Transactions.add_offsets, {"version": version, "group": ""}),
            )
    for version in (1, 2):
        yield f"markers, version {version}", (Transactions.write_markers, {"version": version, "topics": _OTHERS})
        for who in EVERYONE:
            for coordinator_epoch in (-1, 0, 1):
                for of in (0, 1, 2) if version >= 2 else (0,):
                    asked = {"version": version, "who": who, "coordinator_epoch": coordinator_epoch, "of_version": of}
                    name = f"markers, version {version}, by {who} of {coordinator_epoch}, transactions {of}"
                    yield name, (Transactions.write_markers, asked)


@pytest.mark.parametrize("state", ["unheard of", "empty", "ongoing", "ongoing v2", "committed", "committed v2"])
def test_unusual_names_time_outs_and_markers_are_answered_as_by_kafka(both: Both, state: str) -> None:
    _compare(both, state, _unusual_questions())


def _compare(both: Both, state: str, questions: Iterator[tuple[str, Ask]]) -> None:
    differences: dict[str, dict[str, Any]] = {}
    for name, (ask, arguments) in questions:
        told = []
        for transactions in both:
            transactions.begin()
            STATES[state](transactions)
            answer = ask(transactions, **arguments)
            transactions.settle()
            told.append((answer, transactions.state()))
        question = f"{name}, when it is {state}"
        if told[0] != told[1] and question not in _BETTER_THAN_KAFKA:
            differences[question] = {"Stoker": told[0], "Kafka": told[1]}
    assert not differences, _shown(differences)


# -- what becomes of offsets --------------------------------------------------------------------------------------------


def _fetched(groups: Groups, group: str) -> list[Any]:
    """As a consumer that requires stable offsets sees them, and one that does not."""
    told: list[Any] = []
    for stable in (True, False):
        for topics in ([OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0, 1])], None):
            asked = OffsetFetchRequestGroup(group_id=named(group), topics=topics)
            [answer] = groups.connection.call(OffsetFetchRequest(groups=[asked], require_stable=stable), 9).groups
            told.append(
                sorted(
                    (partition.partition_index, partition.committed_offset, partition.error_code)
                    for topic in answer.topics
                    for partition in topic.partitions
                )
            )
    return told


def _commit_plainly(groups: Groups, group: str, offset: int) -> int:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
    topic = OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])
    reply = groups.connection.call(OffsetCommitRequest(group_id=named(group), topics=[topic]), 8)
    return int(reply.topics[0].partitions[0].error_code)


def _delete_offset(groups: Groups, group: str) -> Any:
    partitions = [OffsetDeleteRequestPartition(partition_index=0)]
    request = OffsetDeleteRequest(
        group_id=named(group), topics=[OffsetDeleteRequestTopic(name=TOPIC, partitions=partitions)]
    )
    reply = groups.connection.call(request, 0)
    return reply.error_code, [each.error_code for topic in reply.topics for each in topic.partitions]


def _delete_group(groups: Groups, group: str) -> int:
    [result] = groups.connection.call(DeleteGroupsRequest(groups_names=[named(group)]), 2).results
    return int(result.error_code)


_MEANWHILE: dict[str, Callable[[Groups, str], Any] | None] = {
    "nothing": None,
    "a plain commit": lambda groups, group: _commit_plainly(groups, group, 3),
    "the offset is deleted": _delete_offset,
    "the group is deleted": _delete_group,
}


@pytest.mark.parametrize("is_committed_before", [False, True])
@pytest.mark.parametrize("commit", [False, True])
@pytest.mark.parametrize("v2", [False, True])
@pytest.mark.parametrize("meanwhile", _MEANWHILE)
def test_offsets_are_stable_when_they_are_with_kafka(
    both: Both, meanwhile: str, v2: bool, commit: bool, is_committed_before: bool
) -> None:
    told = []
    group = f"of {meanwhile} {v2} {commit} {is_committed_before}"
    for transactions in both:
        groups = transactions.groups
        seen: list[Any] = []
        if is_committed_before:
            seen.append(_commit_plainly(groups, group, 1))
        transactions.begin()
        transactions.start()
        if not v2:
            assert transactions.add_offsets(3, group=group) == "NONE"
        seen.append(transactions.commit_offsets(5 if v2 else 3, group=group, topics={TOPIC: [0, 1]}, offset=8))
        seen.append(_fetched(groups, group))
        interruption = _MEANWHILE[meanwhile]
        if interruption is not None:
            seen += [interruption(groups, group), _fetched(groups, group)]
        transactions.finish(commit=commit, v2=v2)
        seen += [_fetched(groups, group), _delete_group(groups, group), _fetched(groups, group)]
        told.append(seen)
    assert told[0] == told[1]


def _shown(differences: dict[str, dict[str, Any]]) -> str:
    lines = [f"{len(differences)} answers differ"]
    for name, answers in differences.items():
        lines.append(name)
        lines += [f"    {whose}: {answer}" for whose, answer in answers.items()]
    return "\n".join(lines)
