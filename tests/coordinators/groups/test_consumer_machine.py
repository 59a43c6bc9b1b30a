"""KIP-848 groups under any order of events: members come, go, hang and change, topics grow, the coordinator restarts.

The model is what members themselves believe they own, and when they were last heard of.
"""

import re
from dataclasses import dataclass
from itertools import count
from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from stoker.coordinators.groups.consumer_group import ConsumerGroup
from stoker.coordinators.groups.consumer_states import ConsumerGroupState
from stoker.wire.error_codes import ErrorCode
from tests.coordinators.groups.consumer_driver import (
    GROUP,
    SESSION_TIMEOUT_MS,
    ConsumerDriver,
    FakeMember,
    Partition,
)
from tests.coordinators.groups.driver import Topics

INSTANCES = (None, None, "one", "two")
"""Of the processes that may run; the last two are static members."""
TOPICS = ("orders", "orders_eu", "payments")
REBALANCE_TIMEOUT_MS = 30_000
HEARTBEAT_INTERVAL_MS = 5_000
ROUNDS_UNTIL_QUIET = 12

processes = st.integers(0, len(INSTANCES) - 1)
topic_names = st.sampled_from(TOPICS)
subscriptions = st.tuples(st.sets(topic_names).map(sorted), st.sampled_from(["", "orders.*", ".*s", "none"])).filter(
    lambda subscription: any(subscription)
)


@dataclass
class Process:
    """A consumer that runs, as it sees itself."""

    member: FakeMember
    heard_at_ms: int | None = None
    """When it last was a member that was heard of; None: it is not one, and may not know yet."""
    must_give_up_since_ms: int | None = None
    """When it may first have been told to give partitions up, if it has not said since that it did."""
    knows_what_to_give_up: bool = False
    """By the last reply, which was not lost."""


class ConsumerGroupMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.member_ids = map("member-{}".format, count(1))
        self.running: dict[int, Process] = {}

    @initialize(
        counts=st.tuples(*[st.integers(1, 5)] * len(TOPICS)), assignment_interval_ms=st.sampled_from([0, 1_000])
    )
    def start_coordinator(self, counts: tuple[int, ...], assignment_interval_ms: int) -> None:
        topics = Topics(**dict(zip(TOPICS, counts, strict=True)))
        self.driver = ConsumerDriver(topics, assignment_interval_ms=assignment_interval_ms)

    # -- what members do --------------------------------------------------------------------------------------------

    @rule(process=processes, subscription=subscriptions, assignor=st.sampled_from([None, "range", "uniform"]))
    def start(self, process: int, subscription: tuple[list[str], str], assignor: str | None) -> None:
        if process in self.running:
            return
        names, regex = subscription
        member = FakeMember(
            self.driver,
            next(self.member_ids),
            names,
            regex=regex,
            instance_id=INSTANCES[process],
            server_assignor=assignor,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
        )
        self.running[process] = Process(member)
        self.beat(process, at_once=True, reply_is_lost=False)

    @rule(process=processes, at_once=st.booleans(), reply_is_lost=st.booleans())
    def beat(self, process: int, at_once: bool, reply_is_lost: bool) -> None:
        if process not in self.running:
            return
        running = self.running[process]
        member = running.member
        gave_up = member.owned == member.told  # and says so
        had = member.owned | member.told
        response = member.beat(at_once=at_once, reply_is_lost=reply_is_lost)
        if response.error_code != ErrorCode.NONE:
            self.beat_was_refused(running, response.error_code)
            return
        running.heard_at_ms = self.now
        if gave_up and not reply_is_lost:
            running.must_give_up_since_ms = None
        running.knows_what_to_give_up = not reply_is_lost and not had <= member.told
        if running.must_give_up_since_ms is None and (reply_is_lost or running.knows_what_to_give_up):
            running.must_give_up_since_ms = self.now

    @rule(at_once=st.booleans())
    def all_beat(self, at_once: bool) -> None:
        for process in self.running:
            self.beat(process, at_once=at_once, reply_is_lost=False)

    def beat_was_refused(self, running: Process, error: int) -> None:
        """It is not a member; or it is one and knows too little of it, as replies were lost; or another process of its
        instance id crashed, whose session has not ended yet."""
        assert error in {
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.FENCED_MEMBER_EPOCH,
            ErrorCode.UNRELEASED_INSTANCE_ID,
        }
        if error != ErrorCode.FENCED_MEMBER_EPOCH:
            assert running.heard_at_ms is None

    @rule(process=processes)
    def do_what_it_was_told(self, process: int) -> None:
        if process in self.running:
            self.running[process].member.reconcile()

    @rule(process=processes, subscription=subscriptions)
    def subscribe(self, process: int, subscription: tuple[list[str], str]) -> None:
        if process in self.running:
            names, regex = subscription
            self.running[process].member.subscribe(*names, regex=regex)

    @rule(process=processes)
    def leave(self, process: int) -> None:
        if process in self.running:
            self.running.pop(process).member.leave()

    @rule(process=processes)
    def crash(self, process: int) -> None:
        """The coordinator hears nothing of it."""
        self.running.pop(process, None)

    # -- what happens around them -----------------------------------------------------------------------------------

    @rule(name=topic_names, partition_count=st.integers(1, 6))
    def make_topic_or_let_it_grow(self, name: str, partition_count: int) -> None:
        if partition_count > (self.driver.topics.partition_count(name) or 0):
            self.driver.topics.set(name, partition_count)

    @rule(name=topic_names)
    def delete_topic(self, name: str) -> None:
        if self.driver.topics.topic_id(name) is not None:
            self.driver.topics.set(name, None)

    @rule(milliseconds=st.sampled_from([500, 5_000, REBALANCE_TIMEOUT_MS, SESSION_TIMEOUT_MS]))
    def pass_time(self, milliseconds: int) -> None:
        self.driver.advance(milliseconds)
        self.take_note_of_who_is_out()

    @rule()
    def restart_coordinator(self) -> None:
        before = self.snapshot()
        self.driver.restart()
        assert self.snapshot() == before
        for running in self.running.values():  # time-outs begin anew
            if running.heard_at_ms is not None:
                running.heard_at_ms = self.now
            if running.must_give_up_since_ms is not None:
                running.must_give_up_since_ms = self.now

    @rule()
    def quiet(self) -> None:
        """With heartbeats alone the group comes to rest, and everybody has what it should."""
        for _ in range(SESSION_TIMEOUT_MS // HEARTBEAT_INTERVAL_MS + ROUNDS_UNTIL_QUIET):
            self.driver.advance(HEARTBEAT_INTERVAL_MS)
            self.take_note_of_who_is_out()
            for process in self.running:
                self.beat(process, at_once=True, reply_is_lost=False)
                self.no_partition_has_two_owners()
        group = self.group
        if not self.running:
            assert group is None or group.is_empty
            return
        assert group is not None
        assert group.state is ConsumerGroupState.STABLE
        members = [running.member for running in self.running.values()]
        assert group.members.keys() == {member.member_id for member in members}
        for member in members:
            assert member.owned == flat(group.target_of(member.member_id))
            assert member.owned == flat(group.members[member.member_id].assigned)
            assert member.owned <= self.subscribed_partitions(member)
        assert set().union(*(member.owned for member in members)) == set().union(
            *(self.subscribed_partitions(member) for member in members)
        )
        written = len(self.driver.log)
        for member in members:
            assert member.beat().assignment is None
        assert len(self.driver.log) == written

    # -- what must always be so -------------------------------------------------------------------------------------

    @invariant()
    def no_partition_has_two_owners(self) -> None:
        owners: dict[Partition, str] = {}
        group = self.group
        for running in self.running.values():
            member = running.member
            for partition in member.owned:
                assert partition not in owners, f"{owners[partition]} and {member.member_id} have {partition}"
                owners[partition] = member.member_id
                assert group is not None
                assert group.owner_of(*partition) == member.member_id

    @invariant()
    def epochs_are_in_order(self) -> None:
        group = self.group
        if group is None:
            return
        assert group.assignment_epoch <= group.group_epoch
        for member in group.members.values():
            assert member.member_epoch <= group.assignment_epoch

    def teardown(self) -> None:
        if hasattr(self, "driver"):
            self.quiet()
            self.restart_coordinator()

    # -- the model --------------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        return self.driver.clock.passed_ms

    @property
    def group(self) -> ConsumerGroup | None:
        group = self.driver.context.groups.get(GROUP)
        assert group is None or isinstance(group, ConsumerGroup)
        return group

    def take_note_of_who_is_out(self) -> None:
        """Who missed no deadline is still a member; who did has noticed, and owns nothing any more."""
        members = {} if self.group is None else self.group.members
        for running in self.running.values():
            member, since = running.member, running.must_give_up_since_ms
            silent_ms = SESSION_TIMEOUT_MS if running.heard_at_ms is None else self.now - running.heard_at_ms
            if silent_ms >= (REBALANCE_TIMEOUT_MS if running.knows_what_to_give_up else SESSION_TIMEOUT_MS):
                assert member.member_id not in members
            elif since is None or self.now - since < REBALANCE_TIMEOUT_MS:
                assert member.member_id in members
            if member.member_id not in members:
                running.heard_at_ms = running.must_give_up_since_ms = None
                running.knows_what_to_give_up = False
                member.owned, member.told = set(), set()

    def subscribed_partitions(self, member: FakeMember) -> set[Partition]:
        names = [
            name
            for name in self.driver.topics.names()
            if name in member.subscription or re.fullmatch(member.regex or "", name)
        ]
        return self.driver.partitions(*names)

    def snapshot(self) -> dict[str, Any] | None:
        """All that a group is, but for what it need not remember."""
        if self.group is None:
            return None
        return {
            name: value
            for name, value in vars(self.group).items()
            if name not in {"_subscribed", "_checked_topics", "_resolved_at"}
        }


def flat(partitions: Any) -> set[Partition]:
    return {(topic_id, partition) for topic_id, indexes in partitions.items() for partition in indexes}


TestConsumerGroups = ConsumerGroupMachine.TestCase
TestConsumerGroups.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    phases=[phase for phase in Phase if phase is not Phase.explain],  # which traces every line
)
