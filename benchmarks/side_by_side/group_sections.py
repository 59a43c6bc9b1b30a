"""The sections of the benchmark of groups: which loads, how much of each, and what is wanted of Stoker."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from statistics import median

from side_by_side import command, group_loads, loads, processes
from side_by_side.bench import Bench, Measured, Samples
from side_by_side.group_loads import Commits
from side_by_side.group_members import PAUSE_SECONDS, PROTOCOLS
from side_by_side.loads import Outcome, Values
from side_by_side.peers import Peer
from side_by_side.results import Row, Section, Target, at_least, at_most

WITHOUT_DELAYS = {"group.initial.rebalance.delay.ms": "0", "group.consumer.assignment.interval.ms": "0"}
"""Kafka waits 3 s and 1 s by default for more members before it assigns; that would hide what is measured."""
MEMBER_COUNTS = {1: 20, 10: 10, 100: 3}
"""How many members join, and how many times in a round: few are soon done."""
JOIN_PARTITIONS = 100
REBALANCE_MEMBERS, REBALANCE_PARTITIONS, REBALANCES = 50, 500, 10
READ_PARTITIONS = 8
MEMBERS = (
    f"Members speak the protocol from one thread, each on a connection of its own, and beat their hearts "
    f"{PAUSE_SECONDS * 1000:.0f} ms after the last answer."
)


def join(bench: Bench) -> Section:
    rows = _join_rows(bench, bench.peers, MEMBER_COUNTS, target=at_most(1.0))
    return Section(
        title="From join to first record",
        settings=f"Members of one group, all started at once, on a topic of {JOIN_PARTITIONS} partitions with a record in "
        "each: from the first request to join until the last member has its first record (join, sync, committed "
        f"offsets, fetch). A round is the median of 20, 10 and 3 groups; the broker's time is that of a group until all have left it again. {MEMBERS} Classic members are eager. "
        + " and ".join(f"`{name}={value}`" for name, value in WITHOUT_DELAYS.items())
        + " on both brokers.",
        rows=rows,
    )


def delays(bench: Bench) -> Section:
    with ExitStack() as stack:
        brokers = bench.spare({})
        command.start(bench, brokers, stack)
        rows = _join_rows(bench, brokers, dict.fromkeys((1, 100) if bench.scale == 1 else (1,), 1), target=None)
    return Section(
        title="The same with the default delays",
        settings="`group.initial.rebalance.delay.ms=3000` and `group.consumer.assignment.interval.ms=1000`, as both "
        "brokers have them by default: most of the time is that delay, so nothing is wanted but to be shown it.",
        rows=rows,
    )


def _join_rows(bench: Bench, brokers: Sequence[Peer], counts: Mapping[int, int], target: Target | None) -> list[Row]:
    rows = []
    for protocol in PROTOCOLS:
        for members, times in counts.items():

            def load(peer: Peer, protocol: str = protocol, members: int = members, times: int = times) -> Measured:
                with bench.topic(peer, JOIN_PARTITIONS) as topic:
                    group_loads.fill(bench, peer, topic, JOIN_PARTITIONS)
                    before = processes.cpu_seconds(peer.pid)
                    seconds = [
                        group_loads.join(peer, topic, protocol=protocol, members=members, partitions=JOIN_PARTITIONS)
                        for _ in range(times)
                    ]
                    used = processes.cpu_seconds(peer.pid) - before
                return {"time": median(seconds) * 1000, "cost": used / times * 1000}

            name = f"{protocol}, {members} member{'s' if members > 1 else ''}"
            samples = bench.in_turns(f"join {name}", load, peers=brokers, warm_up=target is not None)
            rows.append(Row(name=name, unit="ms", samples=samples.of("time"), target=target))
            if target is not None:
                rows.append(Row(name=f"broker CPU, {name}", unit="ms", samples=samples.of("cost")))
    return sorted(rows, key=_is_cost)


def commits(bench: Bench) -> Section:
    rows = []
    for label, connections, in_flight in (("one by one", 1, 1), ("16 groups, 4 in flight each", 16, 4)):
        for partitions in (1, 50):
            count = bench.scaled(20_000 if partitions == 1 else 10_000)
            load = Commits(partitions=partitions, connections=connections, in_flight=in_flight, count=count)

            def run(peer: Peer, load: Commits = load) -> Measured:
                with bench.topic(peer, load.partitions) as topic:
                    outcome = group_loads.commit(bench, peer, topic, load)
                return {"rate": load.count / outcome.seconds, "cost": outcome.cpu_seconds / load.count * 1e6}

            name = f"{partitions} partition{'s' if partitions > 1 else ''}, {label}"
            samples = bench.in_turns(f"commits {name}", run, warm_up=True)
            rows.append(Row(name=name, unit="commits/s", samples=samples.of("rate"), target=at_least(1.0)))
            rows.append(Row(name=f"broker CPU, {name}", unit="µs a commit", samples=samples.of("cost")))
    return Section(
        title="Commits",
        settings="A C client replays OffsetCommit v9 of all partitions of one topic, outside of any generation: on one "
        "connection, each after the answer to the last, or on 16 connections with a group each.",
        rows=sorted(rows, key=_is_cost),
    )


def rebalance(bench: Bench) -> Section:
    rows = []
    for protocol in PROTOCOLS:

        def load(peer: Peer, protocol: str = protocol) -> Measured:
            with bench.topic(peer, REBALANCE_PARTITIONS) as topic:
                before = processes.cpu_seconds(peer.pid)
                seconds = group_loads.rebalance(
                    *(peer, topic),
                    protocol=protocol,
                    members=REBALANCE_MEMBERS,
                    partitions=REBALANCE_PARTITIONS,
                    times=REBALANCES,
                )
                used = processes.cpu_seconds(peer.pid) - before
            return {
                "joins": median(seconds.joins) * 1000,
                "leaves": median(seconds.leaves) * 1000,
                "cost": used / REBALANCES / 2 * 1000,
            }

        samples = bench.in_turns(f"rebalance {protocol}", load, warm_up=True)
        for event in ("joins", "leaves"):
            name = f"{protocol}, one member {event}"
            rows.append(Row(name=name, unit="ms", samples=samples.of(event), target=at_most(1.0)))
        rows.append(Row(name=f"broker CPU, {protocol}, a rebalance", unit="ms", samples=samples.of("cost")))
    return Section(
        title="Rebalance",
        settings=f"A settled group of {REBALANCE_MEMBERS} members on {REBALANCE_PARTITIONS} partitions: one more joins, "
        f"or one leaves ({REBALANCES} times a round, of which the median counts), until every partition has one holder again, no member has two more than another, and all "
        f"have heard of it. The broker's time is that of the whole load, divided by the rebalances. {MEMBERS}",
        rows=sorted(rows, key=_is_cost),
    )


def read(bench: Bench) -> Section:
    values = Values(size=1000, codec="none", count=bench.scaled(800_000))
    rows = []
    for protocol in PROTOCOLS:
        for members in (1, 4):

            def load(peer: Peer, protocol: str = protocol, members: int = members) -> Measured:
                with bench.topic(peer, READ_PARTITIONS) as topic:
                    loads.rdkafka_produce(bench, peer, topic, values, partitions=READ_PARTITIONS)
                    return _read(
                        group_loads.read_in_group(
                            bench, peer, topic, values, protocol=protocol, members=members, partitions=READ_PARTITIONS
                        )
                    )

            name = f"{protocol}, {members} member{'s' if members > 1 else ''}"
            rows += _read_rows(name, bench.in_turns(f"read {name}", load, warm_up=True))
    return Section(
        title="Reading in a group",
        settings=f"librdkafka members, a thread each, on {READ_PARTITIONS} partitions of 1 KB values, which commit every "
        "100 ms; from when each has its share to the last record. What was committed is checked.",
        rows=sorted(rows, key=_is_cost),
    )


def _is_cost(row: Row) -> bool:
    """What the broker spent comes behind what the clients saw."""
    return row.name.startswith("broker CPU")


def _read(outcome: Outcome) -> Measured:
    return {"rate": outcome.megabytes_per_second, "cost": outcome.cpu_seconds_per_gigabyte}


def _read_rows(name: str, samples: Samples) -> list[Row]:
    return [
        Row(name=name, unit="MB/s", samples=samples.of("rate"), target=at_least(1.0)),
        Row(name=f"broker CPU, {name}", unit="s/GB", samples=samples.of("cost")),
    ]


SECTIONS: Mapping[str, Callable[[Bench], Section]] = {
    "join": join,
    "commits": commits,
    "rebalance": rebalance,
    "read": read,
    "delays": delays,
}
