"""Members of a classic group that join, sync, heartbeat, commit, hang, leave and crash, beside a plain model of it.

The model knows only what members were told and when they were heard of. It foretells who must still be in the group,
who must be gone, who has which assignment, and what comes back after a restart.
"""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from stoker.coordinators.groups.classic_group import ClassicGroup
from stoker.coordinators.groups.classic_rebalance import NEW_MEMBER_JOIN_TIMEOUT_MS
from stoker.coordinators.groups.classic_states import ClassicGroupState as State
from stoker.coordinators.groups.context import GroupSettings
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupMetadataValue, MemberMetadata
from tests.coordinators.groups.classic import GROUP, RANGE, REBALANCE_MS, SESSION_MS, ClassicDriver
from tests.coordinators.groups.driver import Call

INSTANCES = (None, None, None, "one", "two")
"""Of the clients; the last two are static members."""
LONGEST_WAIT_MS = NEW_MEMBER_JOIN_TIMEOUT_MS + 2 * REBALANCE_MS + SESSION_MS


@dataclass(kw_only=True)
class Client:
    """A consumer as it sees itself."""

    instance_id: str | None
    member_id: str = ""
    generation_id: int = -1
    leads: bool = False
    roster: list[Any] = field(default_factory=list)
    """The members that a leader has to assign to."""
    is_member: bool = False
    has_synced: bool = False
    must_rejoin: bool = True
    joined_at_ms: int = 0
    clear_at_ms: int = 0
    """When it last knew that no rebalance was under way."""
    join: Call | None = None
    sync: Call | None = None

    @property
    def waits(self) -> bool:
        return self.join is not None or self.sync is not None


@dataclass(kw_only=True)
class Written:
    """What the log knows: a generation with its assignments, or an empty group."""

    generation_id: int = 0
    leader_id: str | None = None
    assignments: dict[str, bytes] = field(default_factory=dict)
    instances: dict[str, str] = field(default_factory=dict)


def written_members(group: ClassicGroup) -> list[MemberMetadata]:
    value = group.metadata_record(group.assignments).value
    assert isinstance(value, GroupMetadataValue)
    return value.members


class ClassicGroupBesideModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clients = [Client(instance_id=instance_id) for instance_id in INSTANCES]
        self.crashed: list[Client] = []
        self.written = Written()
        self.current_generation_id = 0
        self.leaders: dict[int, str] = {}
        self.heard_at_ms: dict[str, int] = {}
        """When a member's session last began anew."""

    @initialize(delay_ms=st.sampled_from([0, 3_000]))
    def start(self, delay_ms: int) -> None:
        self.driver = ClassicDriver(GroupSettings(initial_rebalance_delay_ms=delay_ms))

    @property
    def now_ms(self) -> int:
        return self.driver.clock.passed_ms

    # -- what members do --------------------------------------------------------------------------------------------

    @rule(index=st.integers(0, 4))
    def work(self, index: int) -> None:
        """Do what a consumer does next."""
        client = self.clients[index]
        if client.must_rejoin:
            self.join(index, RANGE)
        elif not client.has_synced:
            self.sync(index)
        else:
            self.heartbeat(index)

    @rule(indexes=st.sets(st.integers(0, 4), min_size=1), rounds=st.integers(1, 5))
    def work_together(self, indexes: set[int], rounds: int) -> None:
        """Consumers that poll, a second or three apart."""
        for _ in range(rounds):
            for index in sorted(indexes):
                self.work(index)
            self.hang(3_000)

    @rule(index=st.integers(0, 4), what=st.sampled_from(["work", "sync", "leave", "crash"]))
    def work_while_the_log_fails(self, index: int, what: str) -> None:
        self.driver.refuse_with = ErrorCode.NOT_COORDINATOR
        getattr(self, what)(index)
        self.driver.refuse_with = None

    @rule(milliseconds=st.sampled_from([3_000, SESSION_MS, REBALANCE_MS]))
    def hang_while_the_log_fails(self, milliseconds: int) -> None:
        self.driver.refuse_with = ErrorCode.NOT_COORDINATOR
        self.hang(milliseconds)
        self.driver.refuse_with = None

    @rule(index=st.integers(0, 4), metadata=st.sampled_from([RANGE, RANGE, RANGE, (("range", b"other"),)]))
    def join(self, index: int, metadata: tuple[tuple[str, bytes], ...]) -> None:
        client = self.clients[index]
        if client.waits:
            return
        client.join = self.driver.join(client.member_id, instance_id=client.instance_id, protocols=metadata)
        self.hear_replies()

    @rule(index=st.integers(0, 4))
    def sync(self, index: int) -> None:
        client = self.clients[index]
        if client.waits or not client.is_member:
            return
        assignments = {}
        if client.leads:
            assignments = {
                member.member_id: f"{member.member_id} at {self.now_ms}".encode() for member in client.roster
            }
        sync = self.driver.sync(client.member_id, client.generation_id, assignments, instance_id=client.instance_id)
        is_news = client.generation_id != self.written.generation_id
        if is_news and not sync.waits and sync.error is ErrorCode.NONE:
            self.the_leader_has_assigned(client, assignments)
        client.sync = sync
        self.hear_replies()

    def the_leader_has_assigned(self, leader: Client, assignments: dict[str, bytes]) -> None:
        assert leader.leads
        self.written = Written(
            generation_id=leader.generation_id,
            leader_id=leader.member_id,
            assignments=assignments,
            instances={
                member.group_instance_id: member.member_id for member in leader.roster if member.group_instance_id
            },
        )

    @rule(index=st.integers(0, 4))
    def heartbeat(self, index: int) -> None:
        client = self.clients[index]
        if client.waits or not client.member_id:
            return
        error = self.driver.heartbeat(client.member_id, client.generation_id, instance_id=client.instance_id)
        if error in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            assert client.generation_id == self.current_generation_id
            self.heard_at_ms[client.member_id] = self.now_ms
        if error is ErrorCode.NONE:
            client.clear_at_ms = self.now_ms
        self.believe(client, error)

    @rule(index=st.integers(0, 4))
    def commit(self, index: int) -> None:
        client = self.clients[index]
        if client.waits or not client.is_member or GROUP not in self.driver.context.groups:
            return
        group = self.driver.group
        error = group.commit_error(client.member_id, client.instance_id, client.generation_id, version=9)
        if error is ErrorCode.NONE:
            assert client.generation_id == self.current_generation_id
            self.driver.coordinator.touch(group, client.member_id)
            self.heard_at_ms[client.member_id] = self.now_ms
        self.believe(client, error)

    @rule(index=st.integers(0, 4))
    def leave(self, index: int) -> None:
        client = self.clients[index]
        if client.waits or not client.member_id:
            return
        self.driver.leave((client.member_id, client.instance_id))
        self.forget_membership(client)
        self.hear_replies()

    @rule(index=st.integers(3, 4))
    def be_removed_by_an_administrator(self, index: int) -> None:
        client = self.clients[index]
        self.driver.leave(("", client.instance_id))
        client.is_member = False
        self.hear_replies()

    @rule(index=st.integers(0, 4))
    def crash(self, index: int) -> None:
        """Its requests that wait are answered to nobody."""
        self.crashed.append(self.clients[index])
        self.clients[index] = Client(instance_id=INSTANCES[index])

    @rule(index=st.integers(3, 4))
    def bounce(self, index: int) -> None:
        """A static member is killed and started anew."""
        self.crash(index)
        self.join(index, RANGE)

    @rule(milliseconds=st.sampled_from([1, 1_000, 1_000, 3_000, 3_000, 3_000, 9_999, 10_000, 60_000, 300_000]))
    def hang(self, milliseconds: int) -> None:
        self.driver.advance(milliseconds)
        self.hear_replies()

    @rule()
    def restart_the_coordinator(self) -> None:
        self.driver.restart()
        self.current_generation_id = self.written.generation_id
        self.leaders = {} if self.written.leader_id is None else {self.written.generation_id: self.written.leader_id}
        for member_id in self.written.assignments:
            self.heard_at_ms[member_id] = self.now_ms
        for client in self.clients + self.crashed:
            client.join = client.sync = None
            client.is_member = client.member_id in self.written.assignments
            client.has_synced = True
            client.clear_at_ms = self.now_ms

    # -- what members hear ------------------------------------------------------------------------------------------

    def hear_replies(self) -> None:
        for client in self.clients + self.crashed:
            if client.join is not None and not client.join.waits:
                call, client.join = client.join, None
                self.hear_join(client, call)
            if client.sync is not None and not client.sync.waits:
                call, client.sync = client.sync, None
                self.hear_sync(client, call)
        self.note_that_an_empty_group_was_written()

    def note_that_an_empty_group_was_written(self) -> None:
        """Nobody is told of that."""
        if self.driver.log:
            value = self.driver.records()[-1].value
            assert isinstance(value, GroupMetadataValue)
            if not value.members and value.generation > self.written.generation_id:
                self.written = Written(generation_id=value.generation)

    def hear_join(self, client: Client, call: Call) -> None:
        reply = call.reply
        if call.error is ErrorCode.MEMBER_ID_REQUIRED:
            client.member_id = reply.member_id
            self.heard_at_ms[client.member_id] = self.now_ms
            return
        if call.error is not ErrorCode.NONE:
            if call.error is ErrorCode.NOT_COORDINATOR and client.instance_id in self.written.instances:
                self.heard_at_ms[self.written.instances[client.instance_id]] = self.now_ms
            self.believe(client, call.error)
            return
        is_return = not client.is_member and reply.generation_id == self.written.generation_id
        if is_return:
            self.the_static_member_is_back(client, reply.member_id)
        self.heard_at_ms[reply.member_id] = call.answered_at_ms

        assert self.leaders.setdefault(reply.generation_id, reply.leader) == reply.leader
        assert reply.generation_id >= self.current_generation_id
        is_new = reply.generation_id != client.generation_id
        self.current_generation_id = reply.generation_id
        client.member_id, client.generation_id, client.roster = reply.member_id, reply.generation_id, reply.members
        client.leads = reply.leader == reply.member_id
        client.is_member, client.must_rejoin = True, False
        if is_new:
            client.has_synced = is_return
            client.joined_at_ms = client.clear_at_ms = call.answered_at_ms

    def the_static_member_is_back(self, client: Client, member_id: str) -> None:
        """Its old id is nobody's any more."""
        assert client.instance_id is not None
        written = self.written
        former_id = written.instances[client.instance_id]
        written.assignments[member_id] = written.assignments.pop(former_id)
        written.instances[client.instance_id] = member_id
        if written.leader_id == former_id:
            written.leader_id = self.leaders[written.generation_id] = member_id

    def hear_sync(self, client: Client, call: Call) -> None:
        if call.error is ErrorCode.NONE:
            assert self.written.generation_id == client.generation_id
            assert call.reply.assignment == self.written.assignments[client.member_id]
            client.has_synced = True
            client.clear_at_ms = call.answered_at_ms
        if call.error in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.NOT_COORDINATOR):
            self.heard_at_ms[client.member_id] = call.answered_at_ms
        self.believe(client, call.error)

    def believe(self, client: Client, error: ErrorCode) -> None:
        client.must_rejoin = client.must_rejoin or error is not ErrorCode.NONE
        if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            assert not self.must_be_member(client), f"{client.member_id} was sent away with {error.name}"
            self.forget_membership(client)

    def forget_membership(self, client: Client) -> None:
        client.member_id, client.generation_id, client.is_member, client.must_rejoin = "", -1, False, True

    def must_be_member(self, client: Client) -> bool:
        """It has done all that it has to do, and in time."""
        if not client.is_member or client in self.crashed:
            return False
        if client.waits:
            return True
        has_time_to_sync = client.has_synced or self.now_ms < client.joined_at_ms + REBALANCE_MS
        has_time_to_rejoin = self.now_ms < client.clear_at_ms + REBALANCE_MS
        is_alive = self.now_ms < self.heard_at_ms[client.member_id] + SESSION_MS
        return is_alive and has_time_to_sync and has_time_to_rejoin

    # -- what always holds ------------------------------------------------------------------------------------------

    @invariant()
    def diligent_members_are_in_the_group(self) -> None:
        for client in self.clients:
            if self.must_be_member(client):
                assert client.member_id in self.driver.group.members

    @invariant()
    def silent_members_are_not(self) -> None:
        if GROUP not in self.driver.context.groups:
            return
        group = self.driver.group
        waiting = {*group.joining, *group.syncing}
        for member_id in [*group.members, *group.pending_members]:
            assert member_id in waiting or self.now_ms < self.heard_at_ms[member_id] + SESSION_MS

    @invariant()
    def a_stable_group_has_what_its_leader_assigned(self) -> None:
        if GROUP not in self.driver.context.groups:
            return
        group = self.driver.group
        if group.state is State.STABLE:
            assert group.generation_id == self.written.generation_id
            assert group.leader_id == self.written.leader_id
            assert group.assignments == self.written.assignments
        elif group.is_empty:
            assert group.members == {}

    @invariant()
    def the_log_tells_the_same(self) -> None:
        """What was written last comes back, whatever has happened in memory since."""
        if not self.driver.log:
            return
        again = ClassicDriver()
        again.log = list(self.driver.log)
        again.restart()
        assert again.group.assignments == self.written.assignments
        assert again.group.generation_id == self.written.generation_id
        assert again.group.leader_id == self.written.leader_id
        assert again.group.state is (State.STABLE if self.written.assignments else State.EMPTY)
        live = self.driver.group
        if live.state is State.STABLE:
            assert written_members(live) == written_members(again.group)

    def teardown(self) -> None:
        """Nobody does anything any more: nobody waits for ever, and everybody is gone."""
        if not hasattr(self, "driver"):
            return
        self.driver.advance(LONGEST_WAIT_MS)
        self.hear_replies()
        self.driver.advance(LONGEST_WAIT_MS)
        assert self.driver.waiting_calls() == []
        if GROUP in self.driver.context.groups:
            assert self.driver.group.state is State.EMPTY
            assert self.driver.group.pending_members == set()


TestClassicGroup = ClassicGroupBesideModel.TestCase
TestClassicGroup.settings = settings(max_examples=60, stateful_step_count=50)
