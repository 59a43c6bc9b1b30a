"""A consumer group of foreign members, and what must be true of it."""

import itertools
import threading
import time
from collections.abc import Iterable
from typing import Any

from tests.clients.client import WAIT_SECONDS, Record, eventually, fresh_topic
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.groups.kinds import Kind
from tests.clients.groups.members import Commits, End, Member, MemberProgram, Partition
from tests.clients.records import KEEP_FOREVER

_numbers = itertools.count(1)


class Programs:
    """The programs that host members: one for all members of a client, and one for each member that is to be killed."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self._shared: dict[str, MemberProgram] = {}
        self._starting = threading.Lock()

    def shared(self, kind: Kind) -> MemberProgram:
        with self._starting:
            if kind.client not in self._shared:
                self._shared[kind.client] = MemberProgram(kind.command(self.bootstrap_servers))
        self._shared[kind.client].wait_until_ready()
        return self._shared[kind.client]

    def own(self, kind: Kind) -> MemberProgram:
        """One that the caller ends."""
        program = MemberProgram(kind.command(self.bootstrap_servers))
        program.wait_until_ready()
        return program

    def close(self) -> None:
        for program in self._shared.values():
            program.stop()


class Group:
    """Members of one kind, unless a member is joined as another, that read one topic, unless they are told others."""

    def __init__(
        self,
        kind: Kind,
        programs: Programs,
        onlooker: ConfluentKafka,
        *,
        name: str,
        topic: str,
        settings: dict[str, Any],
    ) -> None:
        self.kind = kind
        self.name = name
        self.topic = topic
        self.partitions = {(topic, number) for number in range(onlooker.partition_count(topic))}
        self.members: list[Member] = []
        self.onlooker = onlooker
        self._settings = settings
        self._programs = programs
        self._own_programs: list[MemberProgram] = []

    def join(
        self,
        *,
        own_program: bool = False,
        kind: Kind | None = None,
        topics: list[str] | None = None,
        pattern: str | None = None,
        commit: Commits = "never",
        end: End | None = None,
        callbacks: bool = False,
        **settings: Any,
    ) -> Member:
        """A new member, on its way into the group. Settings have Kafka's names, with _ for the dots."""
        kind = kind or self.kind
        program = self._programs.own(kind) if own_program or end else self._programs.shared(kind)
        if own_program or end:
            self._own_programs.append(program)
        member = Member(f"member-{next(_numbers):04}", program)  # client-side assignors sort by it
        program.add(member.name)
        wanted = {name.replace("_", "."): value for name, value in {**self._settings, **settings}.items()}
        program.send(
            command="join",
            member=member.name,
            topics=None if pattern else topics or [self.topic],
            pattern=pattern,
            settings=kind.settings({"group.id": self.name, "client.id": member.name, **wanted}),
            commit=commit,
            end=end,
            callbacks=callbacks,
        )
        self.members.append(member)
        return member

    def settle(
        self, *members: Member, partitions: set[Partition] | None = None, seconds: float = 3 * WAIT_SECONDS
    ) -> None:
        """Until these members own every partition, each one member's, in fair shares."""
        everything = partitions or self.partitions
        deadline = time.monotonic() + seconds
        while not _shared_out(everything, [member.owned for member in members]):
            assert time.monotonic() < deadline, (
                f"not settled after {seconds} s: {[(member, member.events[-5:]) for member in members]}"
            )
            assert [event for member in members for event in member.told("failed")] == []
            time.sleep(0.01)

    def wait_until_stable(self) -> None:
        """Until the broker says so."""
        assert eventually(lambda: self.onlooker.group_state(self.name), lambda state: state == "STABLE") == "STABLE"

    def produce(self, count: int, *, partition: int | None = None, prefix: str = "") -> list[str]:
        """Write records in turn to all partitions, or to one; give their values."""
        values = [f"{prefix}{number}" for number in range(count)]
        partitions = len(self.partitions)
        self.onlooker.produce(
            self.topic,
            [
                Record(value=value.encode(), partition=number % partitions if partition is None else partition)
                for number, value in enumerate(values)
            ],
        )
        return values

    def committed(self) -> dict[Partition, int]:
        """The committed offset of each partition that has one."""
        return self.onlooker.committed(self.name)

    def wait_for_commits(self, offset: int) -> None:
        """Until that offset is committed for every partition, whoever committed it."""
        expected = dict.fromkeys(self.partitions, offset)
        assert eventually(self.committed, expected.__eq__) == expected

    def end(self) -> None:
        """Let go of all members; those that can leave do."""
        for member in self.members:
            if member.program not in self._own_programs and not member.told("leaving", "failed"):
                member.program.send(command="leave", member=member.name)
        for program in self._own_programs:
            if program.process.returncode is None:
                program.stop()


class Groups:
    """Makes groups, and ends them."""

    def __init__(self, programs: Programs, onlooker: ConfluentKafka) -> None:
        self.onlooker = onlooker
        self._programs = programs
        self._made: list[Group] = []

    def new_topic(self, partitions: int, hint: str = "records") -> str:
        topic = fresh_topic(hint)
        self.onlooker.create_ready_topic(topic, partitions=partitions, configs=KEEP_FOREVER)
        return topic

    def new(
        self, kind: Kind, *, name: str | None = None, topic: str | None = None, partitions: int = 3, **settings: Any
    ) -> Group:
        """A new group that reads a topic; both have fresh names unless they are given. Settings have Kafka's names, with _ for the dots."""
        topic = topic or self.new_topic(partitions)
        name = name or fresh_topic("group")
        group = Group(kind, self._programs, self.onlooker, name=name, topic=topic, settings=settings)
        self._made.append(group)
        return group

    def end(self) -> None:
        for group in self._made:
            group.end()


def _shared_out(everything: set[Partition], shares: list[set[Partition]]) -> bool:
    sizes = [len(share) for share in shares]
    return set().union(*shares) == everything and sum(sizes) == len(everything) and max(sizes) - min(sizes) <= 1


def assert_never_shared(members: Iterable[Member]) -> None:
    """No partition was ever owned by two members at a time."""
    stints = sorted(
        (partition, start, end, member.name) for member in members for partition, start, end in member.stints
    )
    overlaps = [
        (earlier, later)
        for earlier, later in itertools.pairwise(stints)
        if earlier[0] == later[0] and earlier[3] != later[3] and later[1] < earlier[2]
    ]
    kinds = ("assigned", "revoked", "lost", "leaving", "left", "failed")
    assert overlaps == [], (
        f"owned by two at a time: {overlaps}; {[(each, each.gone_at, each.told(*kinds)) for each in members]}"
    )
