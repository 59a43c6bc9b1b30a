"""The same requests about groups to Stoker and to Apache Kafka: equal errors, equal replies, in every version."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest

from stoker import Broker
from stoker.errors import StokerError
from stoker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from stoker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from stoker.wire.messages.delete_groups import DeleteGroupsRequest
from stoker.wire.messages.describe_groups import DescribeGroupsRequest
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest
from stoker.wire.messages.heartbeat import HeartbeatRequest
from stoker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stoker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from stoker.wire.messages.list_groups import ListGroupsRequest
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
from stoker.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from stoker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from stoker.wire.schema import Request
from tests.broker.groups_on_a_broker import MODERN_MEMBER, TOPIC, Groups, join_request, named

pytestmark = pytest.mark.java

Make = Callable[[Groups, int], Request]
"""A request about the groups of a broker, in a version."""
_OTHER_TOPIC_ID = UUID(int=4711)
_CLASSIC = ("stable", "static", "completing", "preparing", "strangers")
_MODERN = ("modern", "modern-static")
_WITHOUT_MEMBERS = ("unheard-of", "", "simple")


@pytest.fixture(scope="module")
def both(apache_kafka_address: str) -> Iterator[tuple[Groups, Groups]]:
    """Stoker's groups and Kafka's."""
    with (
        Broker(config={"group.initial.rebalance.delay.ms": 0}) as broker,
        Groups(broker.bootstrap_servers) as stokers,
        Groups(apache_kafka_address) as kafkas,
    ):
        yield stokers, kafkas


# -- requests -----------------------------------------------------------------------------------------------------------


def _member(groups: Groups, group: str, member: str | None) -> str:
    """ "": nobody yet; None: the group's own; else a stranger of that name."""
    return groups.members.get(group, "") if member is None else member


def _join(group: str, member: str | None = "", **changes: Any) -> Make:
    return lambda groups, version: join_request(group, member_id=_member(groups, group, member), **changes)


def _sync(group: str, member: str | None, generation: int | None = None, **changes: Any) -> Make:
    def make(groups: Groups, version: int) -> Request:
        fields: dict[str, Any] = {}
        if version >= 5:
            fields = {"protocol_type": "consumer", "protocol_name": "range"}
        return SyncGroupRequest(
            group_id=named(group),
            generation_id=groups.generations.get(group, 1) if generation is None else generation,
            member_id=_member(groups, group, member),
            **(fields | changes),
        )

    return make


def _heartbeat(group: str, member: str | None, generation: int | None = None, **changes: Any) -> Make:
    return lambda groups, version: HeartbeatRequest(
        group_id=named(group),
        generation_id=groups.generations.get(group, 1) if generation is None else generation,
        member_id=_member(groups, group, member),
        **changes,
    )


def _leave(group: str, *members: str | None, instance_id: str | None = None) -> Make:
    def make(groups: Groups, version: int) -> Request:
        ids = [_member(groups, group, member) for member in members]
        if version < 3:
            return LeaveGroupRequest(group_id=named(group), member_id=ids[0])
        identities = [MemberIdentity(member_id=each, group_instance_id=instance_id) for each in ids]
        return LeaveGroupRequest(group_id=named(group), members=identities)

    return make


def _commit(
    group: str,
    member: str | None = "",
    generation: int | None = -1,
    *,
    topic: str = TOPIC,
    partition: int = 0,
    metadata: str | None = "",
    **changes: Any,
) -> Make:
    def make(groups: Groups, version: int) -> Request:
        which: dict[str, Any] = {"name": topic}
        if version >= 10:
            which = {"topic_id": groups.topic_id if topic == TOPIC else _OTHER_TOPIC_ID}
        committed = OffsetCommitRequestPartition(
            partition_index=partition, committed_offset=5, committed_metadata=metadata
        )
        return OffsetCommitRequest(
            group_id=named(group),
            member_id=_member(groups, group, member),
            generation_id_or_member_epoch=groups.generations.get(group, 1) if generation is None else generation,
            topics=[OffsetCommitRequestTopic(**which, partitions=[committed])],
            **changes,
        )

    return make


def _fetch(
    group: str,
    *partitions: int,
    topic: str = TOPIC,
    member: str | None = None,
    epoch: int = -1,
    everything: bool = False,
) -> Make:
    def make(groups: Groups, version: int) -> Request:
        if version < 8:
            old = [OffsetFetchRequestTopic(name=topic, partition_indexes=list(partitions))]
            return OffsetFetchRequest(group_id=named(group), topics=None if everything else old)
        which: dict[str, Any] = {"name": topic}
        if version >= 10:
            which = {"topic_id": groups.topic_id if topic == TOPIC else _OTHER_TOPIC_ID}
        asked = OffsetFetchRequestGroup(
            group_id=named(group),
            member_id=member,
            member_epoch=epoch,
            topics=None if everything else [OffsetFetchRequestTopics(**which, partition_indexes=list(partitions))],
        )
        return OffsetFetchRequest(groups=[asked])

    return make


def _delete_offset(group: str, topic: str = TOPIC, partition: int = 0) -> Make:
    partitions = [OffsetDeleteRequestPartition(partition_index=partition)]
    topics = [OffsetDeleteRequestTopic(name=topic, partitions=partitions)]
    return lambda groups, version: OffsetDeleteRequest(group_id=named(group), topics=topics)


def _modern(group: str, member: str = MODERN_MEMBER, epoch: int | None = None, **changes: Any) -> Make:
    return lambda groups, version: ConsumerGroupHeartbeatRequest(
        group_id=named(group),
        member_id=member,
        member_epoch=groups.generations.get(group, 1) if epoch is None else epoch,
        **changes,
    )


def _join_modern(group: str, **changes: Any) -> Make:
    fields: dict[str, Any] = {
        "rebalance_timeout_ms": 60_000,
        "subscribed_topic_names": [TOPIC],
        "topic_partitions": [],
        "member": "Zm9vYmFyYmF6cXV4MTIzNA",
        "epoch": 0,
    }
    return _modern(group, **(fields | changes))


def _find(key: str, key_type: int = 0) -> Make:
    def make(groups: Groups, version: int) -> Request:
        if version < 4:
            return FindCoordinatorRequest(key=named(key), key_type=key_type)
        return FindCoordinatorRequest(coordinator_keys=[named(key)], key_type=key_type)

    return make


def _plain(request: Request) -> Make:
    return lambda groups, version: request


_OTHER_PROTOCOL = [JoinGroupRequestProtocol(name="roundrobin", metadata=b"")]
_EVERYWHERE = (*_WITHOUT_MEMBERS, *_CLASSIC, *_MODERN)

_QUESTIONS: dict[str, tuple[type[Request], Make]] = {
    **{f"find the coordinator of {group!r}": (FindCoordinatorRequest, _find(group)) for group in ("simple", "")},
    "find a coordinator of an unknown kind": (FindCoordinatorRequest, _find("simple", 9)),
    # JoinGroup
    **{
        f"join {group!r} as a stranger": (JoinGroupRequest, _join(group, "stranger"))
        for group in (*_WITHOUT_MEMBERS, *_CLASSIC)  # one of KIP-848 takes in classic members of any name
    },
    **{
        f"join {group!r} as a stranger with an instance id": (
            JoinGroupRequest,
            _join(group, "stranger", group_instance_id="nobody"),
        )
        for group in _EVERYWHERE
    },
    **{
        f"join {group!r} as a stranger with a member's instance id": (
            JoinGroupRequest,
            _join(group, "stranger", group_instance_id="here"),
        )
        for group in ("static", "modern-static")
    },
    **{
        f"join {group!r} with another protocol type": (JoinGroupRequest, _join(group, None, protocol_type="connect"))
        for group in ("stable", "static", "completing", "modern")
    },
    **{
        f"join {group!r} with another protocol": (JoinGroupRequest, _join(group, None, protocols=_OTHER_PROTOCOL))
        for group in ("stable", "static", "completing")
    },
    **{
        f"join {group!r} without protocols": (JoinGroupRequest, _join(group, protocols=[]))
        for group in ("unheard-of", "stable", "modern")
    },
    **{
        f"join {group!r} without a protocol type": (JoinGroupRequest, _join(group, protocol_type=""))
        for group in ("unheard-of", "stable", "modern")
    },
    **{
        f"join {group!r} with session time-out {timeout}": (JoinGroupRequest, _join(group, session_timeout_ms=timeout))
        for group in ("unheard-of", "stable", "modern")
        for timeout in (-1, 0, 5_999, 1_800_001, 2**31 - 1)
    },
    "join '' as nobody": (JoinGroupRequest, _join("")),
    # SyncGroup
    **{f"sync {group!r} as a stranger": (SyncGroupRequest, _sync(group, "stranger")) for group in _EVERYWHERE},
    **{f"sync {group!r} of another generation": (SyncGroupRequest, _sync(group, None, 77)) for group in _EVERYWHERE},
    **{f"sync {group!r} again": (SyncGroupRequest, _sync(group, None)) for group in ("stable", "preparing", *_MODERN)},
    **{
        f"sync {group!r} with another protocol type": (
            SyncGroupRequest,
            _sync(group, None, protocol_type="connect", protocol_name="range"),
        )
        for group in ("stable", "completing", "preparing")
    },
    **{
        f"sync {group!r} with another protocol": (
            SyncGroupRequest,
            _sync(group, None, protocol_type="consumer", protocol_name="other"),
        )
        for group in ("stable", "completing", "preparing")
    },
    "sync without naming the protocol": (SyncGroupRequest, _sync("stable", None, protocol_type=None)),
    "sync with a wrong instance id": (SyncGroupRequest, _sync("static", None, group_instance_id="nobody")),
    "sync a dynamic member by instance id": (SyncGroupRequest, _sync("stable", None, group_instance_id="nobody")),
    "sync as a fenced instance": (SyncGroupRequest, _sync("static", "stranger", group_instance_id="here")),
    # Heartbeat
    **{
        f"heartbeat to {group!r} as a stranger": (HeartbeatRequest, _heartbeat(group, "stranger"))
        for group in _EVERYWHERE
    },
    **{f"heartbeat to {group!r} as nobody": (HeartbeatRequest, _heartbeat(group, "")) for group in _EVERYWHERE},
    **{
        f"heartbeat to {group!r} of generation {generation}": (HeartbeatRequest, _heartbeat(group, None, generation))
        for group in _EVERYWHERE
        for generation in (-1, 77)
    },
    **{f"heartbeat to {group!r}": (HeartbeatRequest, _heartbeat(group, None)) for group in _EVERYWHERE},
    "heartbeat with a wrong instance id": (HeartbeatRequest, _heartbeat("static", None, group_instance_id="nobody")),
    "heartbeat as a fenced instance": (HeartbeatRequest, _heartbeat("static", "stranger", group_instance_id="here")),
    "heartbeat as a fenced instance of another generation": (
        HeartbeatRequest,
        _heartbeat("static", "stranger", 77, group_instance_id="here"),
    ),
    # LeaveGroup
    **{f"leave {group!r} as a stranger": (LeaveGroupRequest, _leave(group, "stranger")) for group in _EVERYWHERE},
    **{f"leave {group!r} as nobody": (LeaveGroupRequest, _leave(group, "")) for group in _EVERYWHERE},
    **{f"leave {group!r} as two strangers": (LeaveGroupRequest, _leave(group, "one", "two")) for group in _EVERYWHERE},
    **{
        f"leave {group!r} by an unknown instance id": (LeaveGroupRequest, _leave(group, "", instance_id="nobody"))
        for group in _EVERYWHERE
    },
    **{
        f"leave {group!r} as a fenced instance": (LeaveGroupRequest, _leave(group, "stranger", instance_id="here"))
        for group in ("static", "modern-static")
    },
    # OffsetCommit
    **{f"commit to {group!r} without a generation": (OffsetCommitRequest, _commit(group)) for group in _EVERYWHERE},
    **{
        f"commit to {group!r} as a stranger": (OffsetCommitRequest, _commit(group, "stranger", 1))
        for group in _EVERYWHERE
    },
    **{
        f"commit to {group!r} as a stranger without a generation": (OffsetCommitRequest, _commit(group, "stranger"))
        for group in _EVERYWHERE
    },
    **{
        f"commit to {group!r} as nobody of a generation": (OffsetCommitRequest, _commit(group, "", 1))
        for group in _EVERYWHERE
    },
    **{
        f"commit to {group!r} of another generation": (OffsetCommitRequest, _commit(group, None, 77))
        for group in _EVERYWHERE
    },
    **{
        f"commit to {group!r} as its member": (OffsetCommitRequest, _commit(group, None, None)) for group in _EVERYWHERE
    },
    "commit with a wrong instance id": (
        OffsetCommitRequest,
        _commit("static", None, None, group_instance_id="nobody"),
    ),
    "commit as a fenced instance": (OffsetCommitRequest, _commit("static", "stranger", 1, group_instance_id="here")),
    "commit to a partition that is not there": (OffsetCommitRequest, _commit("simple", partition=9)),
    "commit to partition -1": (OffsetCommitRequest, _commit("simple", partition=-1)),
    "commit to a topic that is not there": (OffsetCommitRequest, _commit("simple", topic="nowhere")),
    "commit with too much metadata": (OffsetCommitRequest, _commit("simple", metadata="x" * 4_097)),
    "commit without metadata": (OffsetCommitRequest, _commit("simple", metadata=None)),
    "commit to an unheard-of topic as a stranger": (OffsetCommitRequest, _commit("stable", "who", 1, topic="nowhere")),
    # OffsetFetch
    **{f"fetch offsets of {group!r}": (OffsetFetchRequest, _fetch(group, 0, 1, 9)) for group in _EVERYWHERE},
    **{
        f"fetch all offsets of {group!r}": (OffsetFetchRequest, _fetch(group, everything=True)) for group in _EVERYWHERE
    },
    **{f"fetch no offsets of {group!r}": (OffsetFetchRequest, _fetch(group)) for group in _EVERYWHERE},
    **{
        f"fetch offsets of {group!r} from a topic that is not there": (
            OffsetFetchRequest,
            _fetch(group, 0, topic="nowhere"),
        )
        for group in ("simple", "unheard-of")
    },
    **{
        f"fetch offsets of {group!r} as {member!r} of epoch {epoch}": (
            OffsetFetchRequest,
            _fetch(group, 0, member=member, epoch=epoch),
        )
        for group in _EVERYWHERE
        for member in (None, "", "stranger", MODERN_MEMBER)
        for epoch in (-1, 0, 1, 2, 77)
        if group not in _MODERN or member is not None or epoch < 0  # Kafka fails: UNKNOWN_SERVER_ERROR
    },
    # OffsetDelete
    **{f"delete an offset of {group!r}": (OffsetDeleteRequest, _delete_offset(group)) for group in _EVERYWHERE},
    **{
        f"delete an offset of {group!r} in a topic that is not there": (
            OffsetDeleteRequest,
            _delete_offset(group, "nowhere"),
        )
        for group in _EVERYWHERE
    },
    "delete an offset in a partition that is not there": (OffsetDeleteRequest, _delete_offset("simple", partition=9)),
    # describing, listing, deleting
    **{
        f"describe {group!r} {how}": (
            DescribeGroupsRequest,
            _plain(
                DescribeGroupsRequest(groups=[named(group)], include_authorized_operations=how == "with operations")
            ),
        )
        for group in _EVERYWHERE
        for how in ("plainly", "with operations")
    },
    **{
        f"describe the consumer group {group!r} {how}": (
            ConsumerGroupDescribeRequest,
            _plain(
                ConsumerGroupDescribeRequest(
                    group_ids=[named(group)], include_authorized_operations=how == "with operations"
                )
            ),
        )
        for group in _EVERYWHERE
        for how in ("plainly", "with operations")
    },
    **{
        f"delete {group!r}": (DeleteGroupsRequest, _plain(DeleteGroupsRequest(groups_names=[named(group)])))
        for group in ("unheard-of", "", *_CLASSIC, *_MODERN)
    },
    "delete several": (
        DeleteGroupsRequest,
        _plain(DeleteGroupsRequest(groups_names=[named("unheard-of"), named("stable"), named("unheard-of")])),
    ),
    **{
        f"list groups in states {states} of types {types}": (
            ListGroupsRequest,
            _plain(ListGroupsRequest(states_filter=states, types_filter=types)),
        )
        for states in ([], ["Stable"], ["empty", "STABLE"], ["nonsense"], ["Dead"])
        for types in ([], ["classic"], ["Consumer"], ["nonsense"], ["share"])
    },
    # ConsumerGroupHeartbeat
    **{
        f"KIP-848 heartbeat to {group!r} as {member!r} at epoch {epoch}": (
            ConsumerGroupHeartbeatRequest,
            _modern(group, member, epoch),
        )
        for group in _EVERYWHERE
        for member in ("", "stranger", MODERN_MEMBER)
        for epoch in (-3, -2, 1, 77)
        if (group, member, epoch) != ("modern", MODERN_MEMBER, -2)
    },
    **{
        f"KIP-848 leave of {group!r} as {member!r}": (ConsumerGroupHeartbeatRequest, _modern(group, member, -1))
        for group in _EVERYWHERE
        for member in ("", "stranger")
    },
    **{
        f"KIP-848 heartbeat with instance id {instance_id!r} as {member!r} at epoch {epoch}": (
            ConsumerGroupHeartbeatRequest,
            _modern("modern-static", member, epoch, instance_id=instance_id),
        )
        for member in ("stranger", MODERN_MEMBER)
        for instance_id in ("here", "nobody", "")
        for epoch in (-1, -2, 1)
        if (member, instance_id) != (MODERN_MEMBER, "here") or epoch > 0
    },
    "KIP-848 join with an instance id that is in use": (
        ConsumerGroupHeartbeatRequest,
        _join_modern("modern-static", instance_id="here"),
    ),
    **{
        f"KIP-848 join of {group!r} with {name} {value!r}": (
            ConsumerGroupHeartbeatRequest,
            _join_modern(group, **{name: value}),
        )
        for group in ("unheard-of", "modern", "")
        for name, value in (
            ("rebalance_timeout_ms", -1),
            ("topic_partitions", None),
            ("topic_partitions", [TopicPartitions(topic_id=_OTHER_TOPIC_ID, partitions=[0])]),
            ("subscribed_topic_names", None),
            ("server_assignor", "nonsense"),
            ("server_assignor", ""),
            ("rack_id", ""),
            ("instance_id", ""),
            ("instance_id", " "),
            ("member", ""),
            ("member", " "),
            ("subscribed_topic_regex", "("),
            ("subscribed_topic_regex", "(?<name"),
        )
        if (group, name, value) != ("modern", "member", "")
    },
    "KIP-848 join of a group of another protocol type": (ConsumerGroupHeartbeatRequest, _join_modern("strangers")),
}
"""Requests that change nothing, so that they can be asked in any order and version."""


def _new_group(name: str, version: int) -> str:
    return f"{name}-{version}"


def _leaves_twice(groups: Groups, version: int) -> Iterator[Request]:
    group = _new_group("leaves-twice", version)
    groups.join(group)
    groups.sync(group)
    yield _leave(group, None)(groups, version)
    yield _leave(group, None)(groups, version)
    yield _plain(DescribeGroupsRequest(groups=[named(group)]))(groups, version)


def _static_member_is_taken_out(groups: Groups, version: int) -> Iterator[Request]:
    group = _new_group("taken-out", version)
    groups.join(group, instance_id="here")
    yield _leave(group, "stranger", instance_id="here")(groups, version)
    yield _leave(group, "", instance_id="here")(groups, version)
    yield _leave(group, "", instance_id="here")(groups, version)


def _leader_syncs(groups: Groups, version: int) -> Iterator[Request]:
    group = _new_group("leader-syncs", version)
    groups.join(group)
    assignment = SyncGroupRequestAssignment(member_id=groups.members[group], assignment=b"mine")
    of_nobody = SyncGroupRequestAssignment(member_id="stranger", assignment=b"whose?")
    yield _sync(group, None, assignments=[of_nobody, assignment])(groups, version)
    yield _sync(group, None)(groups, version)


def _rejoins(groups: Groups, version: int) -> Iterator[Request]:
    group = _new_group("rejoins", version)
    groups.join(group)
    yield _join(group, None)(groups, version)
    groups.sync(group)
    yield _join(group, None)(groups, version)


def _static_member_returns(groups: Groups, version: int) -> Iterator[Request]:
    group = _new_group("returns", version)
    groups.join(group, instance_id="here")
    groups.sync(group)
    former = groups.members[group]
    reply = groups.connection.call(join_request(group, group_instance_id="here"), version)
    groups.members[group] = reply.member_id
    groups.members["former"] = former
    yield _heartbeat(group, former, group_instance_id="here")(groups, 3)
    yield _sync(group, None, group_instance_id="here")(groups, min(version, 5))
    yield _join(group, None, group_instance_id="here")(groups, version)


def _group_is_deleted(groups: Groups, version: int) -> Iterator[Request]:
    group = _new_group("deleted", version)
    groups.commit(group)
    yield DeleteGroupsRequest(groups_names=[named(group), named(group)])
    yield DeleteGroupsRequest(groups_names=[named(group)])


def _offset_is_deleted(groups: Groups, version: int) -> Iterator[Request]:
    group = _new_group("offset-deleted", version)
    groups.commit(group)
    yield _delete_offset(group)(groups, version)
    yield _delete_offset(group)(groups, version)


def _modern_life(groups: Groups, version: int) -> Iterator[Request]:
    """Joins, beats, reports, leaves, leaves again."""
    group = _new_group("modern-life", version)
    member = "bW9kZXJubGlmZTEyMzQ1Ng"
    yield _join_modern(group, member=member)(groups, version)
    yield _join_modern(group, member=member)(groups, version)
    yield _modern(group, member, 1)(groups, version)
    owned = TopicPartitions(topic_id=groups.topic_id, partitions=[0, 1])
    yield _modern(group, member, 1, topic_partitions=[owned])(groups, version)
    yield _modern(group, member, 1, subscribed_topic_names=[])(groups, version)
    yield _modern(group, member, 1, topic_partitions=[])(groups, version)
    yield _modern(group, member, 2, rebalance_timeout_ms=5, subscribed_topic_names=[TOPIC], topic_partitions=[])(
        groups, version
    )
    yield _modern(group, member, -1)(groups, version)
    yield _modern(group, member, -1)(groups, version)
    yield ConsumerGroupDescribeRequest(group_ids=[named(group)])
    yield DeleteGroupsRequest(groups_names=[named(group)])


def _modern_static_life(groups: Groups, version: int) -> Iterator[Request]:
    group = _new_group("modern-static-life", version)
    first, second = "c3RhdGljbGlmZTEyMzQ1Ng", "c3RhdGljbGlmZTY1NDMyMQ"
    yield _join_modern(group, member=first, instance_id="here")(groups, version)
    yield _modern(group, first, 1)(groups, version)
    yield _modern(group, first, -2, instance_id="here")(groups, version)
    yield _modern(group, first, 1, instance_id="here")(groups, version)
    yield _join_modern(group, member=second, instance_id="here")(groups, version)
    yield _modern(group, first, 1, instance_id="here")(groups, version)
    yield _modern(group, second, -1, instance_id="here")(groups, version)
    yield _modern(group, second, -1, instance_id="here")(groups, version)


def _empty_groups_change_over(groups: Groups, version: int) -> Iterator[Request]:
    group = _new_group("changes-over", version)
    groups.commit(group)
    yield _join_modern(group)(groups, version)
    yield DescribeGroupsRequest(groups=[named(group)])
    yield _modern(group, "Zm9vYmFyYmF6cXV4MTIzNA", -1)(groups, version)
    groups.join(group)
    yield ConsumerGroupDescribeRequest(group_ids=[named(group)])
    yield DescribeGroupsRequest(groups=[named(group)])
    yield _fetch(group, 0)(groups, 5)


def _group_goes_over_and_back(groups: Groups, version: int) -> Iterator[Request]:
    """A classic group is joined by a member of KIP-848, which then leaves."""
    group = _new_group("goes-over", version)
    newcomer = "Z29lc292ZXIxMjM0NTY3OA"
    groups.join(group)
    groups.sync(group)
    generation = groups.generations[group]
    yield _join_modern(group, member=newcomer)(groups, version)
    yield DescribeGroupsRequest(groups=[named(group)])
    yield _heartbeat(group, "stranger")(groups, 4)
    yield _heartbeat(group, None, generation + 7)(groups, 4)
    yield _heartbeat(group, newcomer, generation + 1)(groups, 4)
    yield _heartbeat(group, None)(groups, 4)
    yield _sync(group, None)(groups, 5)
    yield _sync(group, newcomer, generation + 1)(groups, 5)
    yield _commit(group, None, None)(groups, 5)
    yield _commit(group, None, generation + 7)(groups, 5)
    yield _commit(group, newcomer, generation + 1)(groups, 5)
    yield _join(group, None, protocol_type="connect")(groups, 5)
    yield _join(group, None, protocols=_OTHER_PROTOCOL)(groups, 5)
    yield _join(group, None)(groups, 5)
    yield _heartbeat(group, None, generation)(groups, 4)
    yield _heartbeat(group, None, generation + 1)(groups, 4)
    yield _sync(group, None, generation + 1)(groups, 5)
    yield _modern(group, newcomer, generation + 1)(groups, version)
    yield _modern(group, newcomer, -1)(groups, version)
    yield DescribeGroupsRequest(groups=[named(group)])
    yield ConsumerGroupDescribeRequest(group_ids=[named(group)])
    yield _heartbeat(group, None, generation + 2)(groups, 4)
    yield _leave(group, None)(groups, 5)
    yield DescribeGroupsRequest(groups=[named(group)])


def _member_is_behind(groups: Groups, version: int) -> Iterator[Request]:
    """Offsets of an epoch that is over: of partitions that the member has had since then, and of others (KIP-1251)."""
    group = _new_group("behind", version)
    first, second = "YmVoaW5kMTIzNDU2Nzg5MA", "YmVoaW5kMDk4NzY1NDMyMQ"
    first_joins = _join_modern(group, member=first)(groups, 1)
    second_joins = _join_modern(group, member=second)(groups, 1)
    owned = TopicPartitions(topic_id=groups.topic_id, partitions=[0])
    epoch = groups.connection.call(first_joins, 1).member_epoch
    yield _commit(group, first, epoch)(groups, version)
    yield _commit(group, first, epoch + 1)(groups, version)
    yield _commit(group, first, epoch - 1)(groups, version)
    while groups.connection.call(second_joins, 1).member_epoch == epoch:
        pass  # targets are a second apart
    groups.connection.call(_modern(group, first, epoch, topic_partitions=[])(groups, 1), 1)
    groups.connection.call(_modern(group, first, epoch, topic_partitions=[owned])(groups, 1), 1)
    for partition in (0, 1):
        for behind in (0, 1, 2):
            yield _commit(group, first, epoch + 1 - behind, partition=partition)(groups, version)
            yield _commit(group, second, epoch + 1 - behind, partition=partition)(groups, version)


_STORIES: dict[str, tuple[type[Request], Callable[[Groups, int], Iterator[Request]], int]] = {
    "a member leaves twice": (LeaveGroupRequest, _leaves_twice, 0),
    "a static member is taken out": (LeaveGroupRequest, _static_member_is_taken_out, 3),
    "a leader syncs": (SyncGroupRequest, _leader_syncs, 0),
    "a leader rejoins": (JoinGroupRequest, _rejoins, 0),
    "a static member returns": (JoinGroupRequest, _static_member_returns, 5),
    "a group is deleted": (DeleteGroupsRequest, _group_is_deleted, 0),
    "an offset is deleted": (OffsetDeleteRequest, _offset_is_deleted, 0),
    "a life with KIP-848": (ConsumerGroupHeartbeatRequest, _modern_life, 0),
    "a static life with KIP-848": (ConsumerGroupHeartbeatRequest, _modern_static_life, 0),
    "an empty group changes over": (ConsumerGroupHeartbeatRequest, _empty_groups_change_over, 0),
    "a group goes over and back": (ConsumerGroupHeartbeatRequest, _group_goes_over_and_back, 0),
    "a member is behind": (OffsetCommitRequest, _member_is_behind, 9),
}
"""Requests that change something, with the API of which each version is tried, and from which on."""


# -- tests --------------------------------------------------------------------------------------------------------------


def _apis() -> list[type[Request]]:
    return list(dict.fromkeys(api for api, _ in _QUESTIONS.values()))


def _encodable(request: Request, version: int) -> bool:
    try:
        request.encode(version)
    except StokerError:
        return False
    return True


@pytest.mark.parametrize("api", _apis(), ids=lambda api: api.__name__.removesuffix("Request"))
def test_wrong_and_odd_requests(both: tuple[Groups, Groups], api: type[Request]) -> None:
    """Unknown groups and members, wrong generations, epochs, instances and protocols, in every version."""
    differences = {}
    asked = 0
    for name, (of_api, make) in _QUESTIONS.items():
        for version in range(api.MIN_VERSION, api.MAX_VERSION + 1) if of_api is api else ():
            requests = [make(groups, version) for groups in both]
            if all(_encodable(request, version) for request in requests):
                ours, theirs = (
                    groups.answer_to(request, version) for groups, request in zip(both, requests, strict=True)
                )
                asked += 1
                if ours != theirs:
                    differences[f"{name}, version {version}"] = {"Stoker": ours, "Kafka": theirs}
    assert asked
    assert not differences, _shown(differences)


@pytest.mark.parametrize("story", _STORIES)
def test_stories(both: tuple[Groups, Groups], story: str) -> None:
    """Requests that change a group, each version on a group of its own."""
    api, tell, first = _STORIES[story]
    differences = {}
    for version in range(max(first, api.MIN_VERSION), api.MAX_VERSION + 1):
        ours, theirs = ([_told(groups, request, api, version) for request in tell(groups, version)] for groups in both)
        assert ours
        for step, (our, their) in enumerate(zip(ours, theirs, strict=True), 1):
            if our != their:
                differences[f"step {step}, version {version}"] = {"Stoker": our, "Kafka": their}
    assert not differences, _shown(differences)


def _told(groups: Groups, request: Request, api: type[Request], version: int) -> Any:
    return groups.answer_to(
        request, min(version, request.MAX_VERSION) if isinstance(request, api) else min(request.MAX_VERSION, 5)
    )


def _shown(differences: dict[str, dict[str, Any]]) -> str:
    lines = [f"{len(differences)} answers differ"]
    for name, answers in differences.items():
        lines.append(name)
        lines += [f"    {whose}: {answer}" for whose, answer in answers.items()]
    return "\n".join(lines)
