"""The loads on groups: joining, committing, rebalancing and reading in one; the same clients for either broker."""

import itertools
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from side_by_side import canned, group_requests, loads, processes
from side_by_side.bench import Bench
from side_by_side.group_members import PROTOCOLS, Crowd, Member, await_coordinator, is_settled
from side_by_side.loads import Blast, Outcome, Values
from side_by_side.peers import Peer
from side_by_side.processes import LoadFailed

_group_numbers = itertools.count()


def new_group() -> str:
    return f"group-{os.getpid()}-{next(_group_numbers)}"


def fill(bench: Bench, peer: Peer, topic: str, partitions: int) -> None:
    """One record to each partition."""
    batch = canned.record_batch(value_size=100, about_bytes=100)
    loads.blast_produce(
        bench, peer, topic, Blast(batch=batch, partitions=partitions, connections=1, requests=partitions)
    )


def join(peer: Peer, topic: str, *, protocol: str, members: int, partitions: int) -> float:
    """Seconds from the first request to join until the last of the members, started at once, has its first record."""
    with Crowd(peer.port) as crowd:
        group = _ready_group(crowd)
        all_members = [Member(group=group, topic=topic, reads=True) for _ in range(members)]
        crowd.start(PROTOCOLS[protocol](member, partitions) for member in all_members)
        crowd.run_until(
            lambda: all(member.first_record_at for member in all_members), f"the first record of {members} members"
        )
        _leave(crowd, all_members)
    return max(each.first_record_at for each in all_members) - min(each.joining_at for each in all_members)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rebalances:
    """Seconds until all members had their new assignment, each time that one joined and that one left."""

    joins: Sequence[float]
    leaves: Sequence[float]


def rebalance(peer: Peer, topic: str, *, protocol: str, members: int, partitions: int, times: int) -> Rebalances:
    """A group settles; then, again and again, one member joins and the oldest one leaves."""
    joins, leaves = [], []
    with Crowd(peer.port) as crowd:
        group = _ready_group(crowd)
        all_members = [Member(group=group, topic=topic) for _ in range(members)]

        def settled_at(what: str) -> float:
            crowd.run_until(lambda: is_settled(all_members, partitions), what)
            return time.monotonic()

        crowd.start(PROTOCOLS[protocol](member, partitions) for member in all_members)
        settled_at(f"the first assignment of {members} members")
        for _ in range(times):
            newcomer = Member(group=group, topic=topic)
            all_members.append(newcomer)
            crowd.start([PROTOCOLS[protocol](newcomer, partitions)])
            joins.append(settled_at("the rebalance after one joined") - newcomer.joining_at)
            leaver = all_members.pop(0)
            leaver.is_leaving = True
            leaves.append(settled_at("the rebalance after one left") - leaver.leaving_at)
        _leave(crowd, all_members)
    return Rebalances(joins=joins, leaves=leaves)


def _ready_group(crowd: Crowd) -> str:
    """The name of a new group whose coordinator answers."""
    group = new_group()
    crowd.start([await_coordinator(group)])
    crowd.run_to_the_end()
    return group


def _leave(crowd: Crowd, members: list[Member]) -> None:
    """Leave in order: members that vanish would be expired by the broker in the middle of the next load."""
    for member in members:
        member.is_leaving = True
    crowd.run_to_the_end()


@dataclass(frozen=True, kw_only=True, slots=True)
class Commits:
    partitions: int
    connections: int
    in_flight: int
    count: int


def commit(bench: Bench, peer: Peer, topic: str, commits: Commits) -> Outcome:
    """Commit by canned requests, each connection for a group of its own."""
    return _commit(bench, peer, topic, commits)[0]


def commit_many(bench: Bench, peer: Peer, topic: str, commits: Commits) -> str:
    """Commit likewise; returns the name of the first of the groups."""
    return _commit(bench, peer, topic, commits)[1]


def _commit(bench: Bench, peer: Peer, topic: str, commits: Commits) -> tuple[Outcome, str]:
    with Crowd(peer.port) as crowd:
        prefix = f"{_ready_group(crowd)}-"
    first_group = prefix + "0" * group_requests.GROUP_DIGITS
    frame = group_requests.offset_commit(topic, group_prefix=prefix, partitions=commits.partitions)
    path = bench.directory / "commit"
    path.write_bytes(frame.data)
    numbers = (frame.partition_at, commits.partitions, commits.connections, commits.in_flight)

    def client() -> tuple[float, int]:
        output = processes.run(
            [
                *(bench.programs.blast, "commit", str(peer.port), path),
                *map(str, (*numbers, commits.count, frame.offset_at)),
            ]
        )
        return float(output.split()[0]), commits.count

    outcome = loads.observed(peer, client)
    found = committed(peer, first_group, topic, commits.partitions)
    if not all(offset >= 0 for offset in found.values()):
        raise LoadFailed(f"{peer.name} answered {commits.count} commits, but has {found}")
    return outcome, first_group


def commit_once(peer: Peer, topic: str, partitions: int) -> str:
    """The name of a new group that has committed offsets and has no members."""
    with Crowd(peer.port) as crowd:
        group = _ready_group(crowd)
    frame = group_requests.offset_commit(topic, group_prefix=group, partitions=partitions)
    peer.ask(frame.data)
    return group + "0" * group_requests.GROUP_DIGITS


def committed(peer: Peer, group: str, topic: str, partitions: int) -> dict[int, int]:
    """The group's committed offsets by partition."""
    return group_requests.read_offsets(peer.ask(group_requests.offset_fetch(group, topic, range(partitions))))


def read_in_group(
    bench: Bench, peer: Peer, topic: str, values: Values, *, protocol: str, members: int, partitions: int
) -> Outcome:
    """librdkafka members read a topic to its end and have committed all of it."""
    group = new_group()

    def client() -> tuple[float, int]:
        program = (bench.programs.rdkafka_group, bench.programs.librdkafka, peer.brokers)
        arguments = (topic, partitions, values.count, group, protocol, members)
        seconds, value_bytes = processes.run([*program, *map(str, arguments)]).split()
        return float(seconds), int(value_bytes)

    outcome = loads.observed(peer, client)
    loads.check_fetched(peer, outcome, values.bytes)
    found = sum(committed(peer, group, topic, partitions).values())
    if found != values.count:
        raise LoadFailed(f"{peer.name}: {values.count} records were read, {found} are committed")
    return outcome
