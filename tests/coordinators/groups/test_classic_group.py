"""What a classic group answers to those who ask: which protocol it would choose, who may commit, what expires."""

import pytest

from stoker.coordinators.groups.classic_group import ClassicGroup
from stoker.coordinators.groups.classic_member import ClassicMember, MemberProtocol
from stoker.coordinators.groups.classic_states import ClassicGroupState as State
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupMetadataValue
from tests.coordinators.groups.classic import GROUP, SUBSCRIPTION, group_record, member_record

NOW_MS = 1_000


def new_group(state: State = State.EMPTY, **options: str) -> ClassicGroup:
    return ClassicGroup(GROUP, lambda: NOW_MS, state=state, **options)  # type: ignore[arg-type]


def member(member_id: str, *protocols: str) -> ClassicMember:
    return ClassicMember(
        member_id=member_id,
        instance_id=None,
        client_id="client",
        client_host="/127.0.0.1",
        rebalance_timeout_ms=60_000,
        session_timeout_ms=10_000,
        protocols=tuple(MemberProtocol(name, SUBSCRIPTION) for name in protocols),
    )


def loaded(*members: str) -> ClassicGroup:
    value = group_record(*members).value
    assert isinstance(value, GroupMetadataValue)
    return ClassicGroup.from_record(GROUP, value, lambda: NOW_MS)


@pytest.mark.parametrize(
    ("preferences", "chosen"),
    [
        (["range"], "range"),
        (["range sticky", "sticky range"], "range"),
        (["range sticky", "sticky range", "sticky range"], "sticky"),
        (["range sticky", "range sticky", "sticky"], "sticky"),
        (["a b c", "b c a", "c b"], "b"),
    ],
)
def test_the_protocol_that_all_speak_and_most_prefer_is_chosen(preferences: list[str], chosen: str) -> None:
    group = new_group()
    for number, names in enumerate(preferences):
        group.add(member(f"member-{number}", *names.split()), "consumer")
    assert group.select_protocol() == chosen


@pytest.mark.parametrize(
    ("protocol_type", "names", "supported"),
    [
        ("consumer", ["range"], True),
        ("consumer", ["unknown", "sticky"], True),
        ("consumer", ["cooperative"], False),
        ("consumer", ["unknown"], False),
        ("connect", ["range"], False),
    ],
)
def test_newcomers_must_speak_what_all_speak(protocol_type: str, names: list[str], supported: bool) -> None:
    group = new_group(State.STABLE)
    group.add(member("a", "range", "sticky", "cooperative"), "consumer")
    group.add(member("b", "range", "sticky"), "consumer")
    assert group.supports(protocol_type, [MemberProtocol(name, b"") for name in names]) is supported


def test_the_protocols_of_a_member_that_left_or_changed_no_longer_count() -> None:
    group = new_group(State.STABLE)
    group.add(member("a", "range", "sticky"), "consumer")
    group.add(member("b", "range"), "consumer")
    assert not group.supports("consumer", [MemberProtocol("sticky", b"")])
    group.update(member("b", "sticky", "range"))
    assert group.supports("consumer", [MemberProtocol("sticky", b"")])
    group.update(member("b", "range"))
    group.remove("b")
    assert group.supports("consumer", [MemberProtocol("sticky", b"")])


@pytest.mark.parametrize(
    ("member_id", "instance_id", "error"),
    [
        ("a", None, ErrorCode.NONE),
        ("static", "one", ErrorCode.NONE),
        ("static", None, ErrorCode.NONE),
        ("other", "one", ErrorCode.FENCED_INSTANCE_ID),
        ("a", "one", ErrorCode.FENCED_INSTANCE_ID),
        ("static", "two", ErrorCode.UNKNOWN_MEMBER_ID),
        ("other", None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", None, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_is_a_member(member_id: str, instance_id: str | None, error: ErrorCode) -> None:
    value = group_record("a", member_record("static", instance_id="one")).value
    assert isinstance(value, GroupMetadataValue)
    group = ClassicGroup.from_record(GROUP, value, lambda: NOW_MS)
    assert group.member_error(member_id, instance_id) is error


@pytest.mark.parametrize(
    ("state", "member_id", "instance_id", "generation_id", "error"),
    [
        (State.EMPTY, "", None, -1, ErrorCode.NONE),
        (State.EMPTY, "gone", None, -1, ErrorCode.NONE),
        (State.EMPTY, "gone", None, 5, ErrorCode.UNKNOWN_MEMBER_ID),
        (State.STABLE, "", None, -1, ErrorCode.UNKNOWN_MEMBER_ID),
        (State.STABLE, "a", None, 5, ErrorCode.NONE),
        (State.STABLE, "a", None, 4, ErrorCode.ILLEGAL_GENERATION),
        (State.STABLE, "a", None, -1, ErrorCode.ILLEGAL_GENERATION),
        (State.STABLE, "b", None, 5, ErrorCode.UNKNOWN_MEMBER_ID),
        (State.STABLE, "a", "one", 5, ErrorCode.UNKNOWN_MEMBER_ID),
        (State.PREPARING_REBALANCE, "a", None, 5, ErrorCode.NONE),
        (State.COMPLETING_REBALANCE, "a", None, 5, ErrorCode.REBALANCE_IN_PROGRESS),
        (State.COMPLETING_REBALANCE, "a", None, 4, ErrorCode.ILLEGAL_GENERATION),
        (State.DEAD, "a", None, 5, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_who_may_commit(
    state: State, member_id: str, instance_id: str | None, generation_id: int, error: ErrorCode
) -> None:
    group = loaded() if state is State.EMPTY else loaded("a")
    group.state = state
    assert group.commit_error(member_id, instance_id, generation_id, version=9) is error


@pytest.mark.parametrize(
    ("state", "protocol_type", "delete", "offset_delete", "fetch"),
    [
        (State.EMPTY, "consumer", ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NONE),
        (State.EMPTY, "connect", ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NONE),
        (State.STABLE, "consumer", ErrorCode.NON_EMPTY_GROUP, ErrorCode.NONE, ErrorCode.NONE),
        (State.STABLE, "connect", ErrorCode.NON_EMPTY_GROUP, ErrorCode.NON_EMPTY_GROUP, ErrorCode.NONE),
        (State.PREPARING_REBALANCE, "connect", ErrorCode.NON_EMPTY_GROUP, ErrorCode.NON_EMPTY_GROUP, ErrorCode.NONE),
        (State.DEAD, "consumer", *[ErrorCode.GROUP_ID_NOT_FOUND] * 3),
    ],
)
def test_what_may_be_deleted_and_read(
    state: State, protocol_type: str, delete: ErrorCode, offset_delete: ErrorCode, fetch: ErrorCode
) -> None:
    group = new_group(state, protocol_type=protocol_type)
    assert group.delete_error() is delete
    assert group.offset_delete_error() is offset_delete
    assert group.fetch_error(None, -1) is fetch


COMMITTED_MS = 500
EMPTY_SINCE_MS = 700


@pytest.mark.parametrize(
    ("state", "protocol_type", "state_since_ms", "since_ms"),
    [
        (State.EMPTY, "", EMPTY_SINCE_MS, COMMITTED_MS),
        (State.EMPTY, "consumer", EMPTY_SINCE_MS, EMPTY_SINCE_MS),
        (State.EMPTY, "consumer", None, COMMITTED_MS),
        (State.STABLE, "consumer", EMPTY_SINCE_MS, COMMITTED_MS),
        (State.STABLE, "connect", EMPTY_SINCE_MS, None),
        (State.PREPARING_REBALANCE, "consumer", EMPTY_SINCE_MS, None),
    ],
)
def test_retention_counts_from_the_commit_or_from_when_the_last_member_left(
    state: State, protocol_type: str, state_since_ms: int | None, since_ms: int | None
) -> None:
    group = ClassicGroup(GROUP, lambda: NOW_MS, state=state, protocol_type=protocol_type, state_since_ms=state_since_ms)
    group.find_subscribed_topics()
    assert group.offsets_expire_since(COMMITTED_MS) == since_ms


def test_subscriptions_are_read_from_the_members() -> None:
    assert loaded("a").is_subscribed_to("orders")
    assert not loaded("a").is_subscribed_to("other")
    assert not loaded().is_subscribed_to("orders")


def test_unreadable_subscriptions_count_as_all_topics() -> None:
    record = group_record("a").value
    assert isinstance(record, GroupMetadataValue)
    record.members[0].subscription = b"\x00"
    group = ClassicGroup.from_record(GROUP, record, lambda: NOW_MS)
    assert group.is_subscribed_to("whatever")
    record.protocol_type = "connect"
    assert not ClassicGroup.from_record(GROUP, record, lambda: NOW_MS).is_subscribed_to("whatever")


def test_a_record_without_rebalance_timeout_means_the_session_timeout() -> None:
    record = group_record("a").value
    assert isinstance(record, GroupMetadataValue)
    record.members[0].rebalance_timeout = -1
    group = ClassicGroup.from_record(GROUP, record, lambda: NOW_MS)
    assert group.members["a"].rebalance_timeout_ms == group.members["a"].session_timeout_ms == 10_000


def test_what_is_written_is_what_was_read() -> None:
    record = group_record("a", member_record("static", instance_id="one"))
    assert isinstance(record.value, GroupMetadataValue)
    group = ClassicGroup.from_record(GROUP, record.value, lambda: NOW_MS)
    assert group.metadata_record(group.assignments) == record
