"""What only the consumer protocol of KIP-848 has: assignors of the broker, patterns matched by the broker, and the move of a running group to it."""

import pytest

from tests.clients.client import eventually, fresh_topic
from tests.clients.groups.group import Group, Groups, assert_never_shared
from tests.clients.groups.kinds import CONSUMER_KINDS, JAVA, JAVA_CONSUMER, Kind, parameters
from tests.clients.groups.load import Load
from tests.clients.groups.members import Member, Partition

Shares = list[dict[str, list[int]]]


def shares_of(members: list[Member], topics: dict[str, str]) -> Shares:
    """What each member owns, by the letters of the topics, the largest share first: the broker orders members by ids of their own making."""
    shares = [
        {
            letter: sorted(number for name, number in member.owned if name == topic)
            for letter, topic in topics.items()
            if any(name == topic for name, _ in member.owned)
        }
        for member in members
    ]
    return sorted(shares, key=lambda share: sum(map(len, share.values())), reverse=True)


@pytest.mark.parametrize("kind", parameters(CONSUMER_KINDS))
def test_the_range_assignor_of_the_broker(kind: Kind, groups: Groups) -> None:
    """group.remote.assignor=range gives a member the same range of every topic."""
    topics = {letter: groups.new_topic(3, letter) for letter in "ab"}
    group = groups.new(kind, topic=topics["a"], group_remote_assignor="range")
    members = [group.join(topics=list(topics.values())) for _ in range(2)]
    expected: Shares = [{"a": [0, 1], "b": [0, 1]}, {"a": [2], "b": [2]}]
    assert eventually(lambda: shares_of(members, topics), expected.__eq__) == expected
    assert_never_shared(members)


@pytest.mark.parametrize("kind", parameters(CONSUMER_KINDS))
def test_the_uniform_assignor_of_the_broker(kind: Kind, groups: Groups) -> None:
    """It is the default: even shares over all topics, a third member moves only its own share, and the rest is never revoked."""
    topics = [groups.new_topic(3) for _ in range(2)]
    everything = {(topic, number) for topic in topics for number in range(3)}
    group = groups.new(kind, topic=topics[0])
    first, second = group.join(topics=topics), group.join(topics=topics)
    group.settle(first, second, partitions=everything)
    before = {member: (member.owned, len(member.events)) for member in (first, second)}
    third = group.join(topics=topics)
    group.settle(first, second, third, partitions=everything)
    revoked: list[set[Partition]] = []
    for member, (owned, told) in before.items():
        given_up = [event.partitions for event in member.events[told:] if event.kind == "revoked"]
        assert set().union(*given_up) == owned - member.owned
        revoked += given_up
    assert set().union(*revoked) == third.owned
    assert_never_shared(group.members)


@pytest.mark.parametrize("kind", parameters(CONSUMER_KINDS))
def test_the_broker_matches_the_pattern_of_a_subscription(kind: Kind, groups: Groups) -> None:
    """A regular expression (RE2) is matched against whole names by the broker; what RE2 leaves out is refused."""
    hint = fresh_topic("by-pattern")
    matched = [groups.new_topic(2, f"{hint}-{letter}") for letter in "ab"]
    groups.new_topic(2, f"{hint}-c")
    group = groups.new(kind, topic=matched[0])
    member = group.join(pattern=f"^{hint}-[ab].*")
    group.settle(member, partitions={(topic, number) for topic in matched for number in range(2)})
    refused = groups.new(kind, topic=matched[0]).join(pattern=r"^(.)\1.*")
    failure = str(refused.wait_for_event("failed").details)
    assert "INVALID_REGULAR_EXPRESSION" in failure or "regular expression is not valid" in failure


def roll(group: Group, members: list[Member], kind: Kind) -> list[Member]:
    """Restart the members one after the other as members of that kind."""
    for position, member in enumerate(members):
        member.leave()
        members[position] = group.join(kind=kind, commit="sync")
        group.settle(*members)
    return members


@pytest.mark.java
def test_a_running_group_moves_to_the_new_protocol_and_back(groups: Groups) -> None:
    """Rolled member by member from classic to consumer and back, a group keeps its offsets, loses no record and changes its type."""
    group = groups.new(JAVA, partitions=4)
    with Load(group.onlooker, group.topic, 4) as load:
        members = [group.join(commit="sync"), group.join(commit="sync")]
        group.settle(*members)
        assert group.onlooker.group_type(group.name) == "CLASSIC"
        roll(group, members, JAVA_CONSUMER)
        assert group.onlooker.group_type(group.name) == "CONSUMER"
        members[0].wait_until_read(load.written)
        roll(group, members, JAVA)
        assert group.onlooker.group_type(group.name) == "CLASSIC"
    group.wait_for_commits(load.written)
    assert_never_shared(group.members)

    def read() -> set[tuple[int, int]]:
        return {(record.partition, record.offset) for member in group.members for record in member.records}

    everything = {(partition, offset) for partition in range(4) for offset in range(load.written)}
    # The broker may tell of a commit before the member's pipe tells of the read.
    assert eventually(read, everything.__eq__) == everything
