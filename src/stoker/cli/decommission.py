"""`stoker decommission`: move all replicas off a broker, watch them go, and say when it may be stopped."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from time import sleep
from typing import Annotated, Final

import typer

from stoker.cli.connection import BootstrapServer, CommandConfig, connect
from stoker.cli.failure import CommandFailed
from stoker.cli.noun import examples, noun
from stoker.cli.output import Yes, confirm, counted, print_table, say, shown_bytes
from stoker.client.admin.evacuation import Evacuation, plan_evacuation, replicas_on
from stoker.client.admin.log_dirs import replica_sizes
from stoker.client.admin.quorum import describe_quorum
from stoker.client.admin.reassignments import Reassignment, alter_reassignments, list_reassignments
from stoker.client.admin.replication_throttle import (
    Move,
    Moves,
    throttle_moves,
    topics_throttled_for,
    unthrottle_moves,
)
from stoker.client.admin.topics import list_topics
from stoker.client.cluster import Cluster
from stoker.client.errors import ClientError, KafkaRefused
from stoker.client.topic_partition import TopicPartition

application = noun("decommission", "Move all replicas off a broker, so that it may be stopped.")

_LOOKS_A_SECOND: Final = 2.0
_SHOWN_AT_MOST: Final = 5
_SECONDS_TO_HEAR: Final = 10.0


@application.command(
    epilog=examples(
        "stoker decommission 4",
        "stoker decommission 4 --throttle 50000000 --yes",
        "stoker decommission 4 --check && ssh broker4 systemctl stop kafka",
    )
)
def decommission(
    broker: Annotated[int, typer.Argument(metavar="BROKER", min=0, help="The id of the broker.")],
    throttle: Annotated[
        int | None,
        typer.Option("--throttle", min=1024, metavar="BYTES", help="Copy no faster than so many bytes a second."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Move nothing: fail if the broker still holds replicas.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show where replicas would go.")] = False,
    yes: Yes = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Move all replicas off a broker, show the progress, verify, and say that it may be stopped.

    As long as the broker holds a replica, or one is still on its way, this ends with exit code 1.
    Ctrl-C does not stop the moves, nor take off their throttle: run it again to go on watching; at the
    end it takes the throttle off.
    """
    with connect(bootstrap_server, command_config) as cluster:
        racks = {each.node_id: each.rack for each in cluster.metadata([]).brokers}
        if broker not in racks:
            if not (check or dry_run):  # it may have been stopped before the throttle was off
                _take_throttle_off(cluster, broker)
            known = ", ".join(map(str, sorted(racks)))
            raise CommandFailed(f"there is no live broker {broker}; there are {known}")
        if check:
            _refuse_unless_empty(cluster, broker)
        else:
            is_moved = is_unthrottled = False
            # Before the topics: a move that ends in between does no harm, while its replicas would, were it not known.
            moving = list_reassignments(cluster)
            plan = plan_evacuation(list_topics(cluster), racks, broker, moving)
            leaving = {partition: move for partition, move in moving.items() if broker in move.removing}
            if leaving:
                say(f"Already on the way: {counted(len(leaving), 'replica')}.")
            if dry_run:
                _show(plan)
                return
            if plan.after:
                confirm(f"Move {counted(len(plan.after), 'replica')} off broker {broker}?", yes=yes)
            if plan.after or leaving:
                is_unthrottled = _move(cluster, broker, plan, moving, throttle)
                is_moved = True
            else:
                _show(plan)
                is_unthrottled = _take_throttle_off(cluster, broker)
            _refuse_unless_empty(cluster, broker, seconds=_SECONDS_TO_HEAR if is_moved else 0.0)
            if not is_unthrottled:
                raise CommandFailed(
                    f"broker {broker} holds no replicas, but should not be stopped while its throttle is on, which slows others "
                    f"down: run `stoker decommission {broker}` again when they have moved"
                )
        controllers = _controllers(cluster)
    say(
        f"Broker {broker} holds no replicas: it may be stopped. When it is stopped for good, "
        f"`kafka-cluster.sh unregister --id {broker} ...` makes the cluster forget it."
    )
    if broker in controllers:
        say(
            f"It is one of the controllers, too ({', '.join(map(str, controllers))}): while it is stopped, more than half of "
            f"{len(controllers)} must go on without it, or nothing of the cluster can change."
        )


def _controllers(cluster: Cluster) -> list[int]:
    """The voters of the quorum, as far as is told; a broker may be one, and no replica shows it."""
    try:
        return sorted(each.node_id for each in describe_quorum(cluster).voters)
    except ClientError:  # of a cluster with ZooKeeper, of one that does not tell everybody
        return []


def _refuse_unless_empty(cluster: Cluster, broker: int, *, seconds: float = 0.0) -> None:
    """What the controller knows at once, other brokers may hear of only `seconds` later."""
    left: list[TopicPartition] = []
    for attempt in cluster.attempts(seconds):
        held = replicas_on(list_topics(cluster), broker)
        moving = [each for each, move in list_reassignments(cluster).items() if broker in move.replicas]
        left = sorted({*held, *moving})
        if not left or attempt.is_last:
            break
    if left:
        raise CommandFailed(
            f"broker {broker} must not be stopped: it still holds {counted(len(left), 'replica')}: {_listed(left)}"
        )


def _move(
    cluster: Cluster,
    broker: int,
    plan: Evacuation,
    moving: Mapping[TopicPartition, Reassignment],
    throttle: int | None,
) -> bool:
    """Begin what is planned, watch it and what was on its way off the broker before, and take the throttle off, if it can be."""
    moves = {partition: _as_move(each) for partition, each in moving.items() if broker in each.removing}
    for partition, after in plan.after.items():
        move = moving.get(partition)
        # With the broker even if it was only just being added: by its name the throttle is found again.
        sources = frozenset(plan.before[partition]) if move is None else _as_move(move).sources | {broker}
        moves[partition] = Move(sources=sources, destinations=frozenset(after) - sources)
    with _told_what_goes_on(broker):
        refused = _begin(cluster, moves, plan, throttle)
        reasons = "; ".join(f"{_listed(partitions)} cannot be moved: {why}" for why, partitions in refused.items())
        refused_ones = {partition for partitions in refused.values() for partition in partitions}
        begun = {partition: move for partition, move in moves.items() if partition not in refused_ones}
        if begun:
            if reasons:  # the others may take hours
                say(reasons)
            _watch(cluster, begun)
        # A broker that is asked which are throttled may not have heard of it yet.
        throttled = [] if throttle is None else [partition.topic for partition in moves]
        is_unthrottled = _take_throttle_off(cluster, broker, throttled)
    if reasons:
        raise CommandFailed(reasons)
    return is_unthrottled


def _begin(cluster: Cluster, moves: Moves, plan: Evacuation, throttle: int | None) -> dict[str, list[TopicPartition]]:
    """What of the plan is refused, by the reason. Raises KafkaRefused if nothing is planned, and the throttle is refused."""
    try:
        if throttle is not None:
            throttle_moves(cluster, moves, throttle)
        results = alter_reassignments(cluster, plan.after) if plan.after else {}
    except KafkaRefused as refusal:
        if not plan.after:
            raise
        return {str(refusal): list(plan.after)}
    refused: dict[str, list[TopicPartition]] = {}
    for partition, why in results.items():
        if why is not None:
            refused.setdefault(str(why), []).append(partition)
    return refused


def _as_move(reassignment: Reassignment) -> Move:
    adding = frozenset(reassignment.adding)
    return Move(sources=frozenset(reassignment.replicas) - adding, destinations=adding)


@contextmanager
def _told_what_goes_on(broker: int) -> Iterator[None]:
    """The moves are the cluster's: they do not end with this command, and their throttle must not end before them."""
    try:
        yield
    except (KeyboardInterrupt, ClientError):
        say(
            "What has begun to move goes on moving, with the replication throttle if one was set. Run "
            f"`stoker decommission {broker}` again to go on watching: at the end it takes the throttle off."
        )
        raise


def _take_throttle_off(cluster: Cluster, broker: int, throttled: Iterable[str] = ()) -> bool:
    """Off the topics that are known to be `throttled`, or name the broker in theirs, and if there are any, off all live brokers.

    As by `kafka-reassign-partitions.sh --verify` it stays on while anything moves, which may be what it is for. Returns
    whether it is off.
    """
    names = [topic.name for topic in list_topics(cluster)]
    topics = sorted({*throttled, *topics_throttled_for(cluster, names, broker)}.intersection(names))
    if not topics:
        return True
    if moving := list_reassignments(cluster):
        say(f"The replication throttle stays on, for other replicas are moving: {_listed(moving)}.")
        return False
    unthrottle_moves(cluster, sorted(each.node_id for each in cluster.metadata([]).brokers), topics)
    say("The replication throttle is off.")
    return True


def _watch(cluster: Cluster, moves: Moves) -> None:
    """Say how far it is whenever that has changed, until nothing of it is under way."""
    told = ""
    while True:
        pending = [partition for partition in list_reassignments(cluster) if partition in moves]
        copied = _bytes_copied(cluster, {partition: moves[partition] for partition in pending})
        now = f"{len(moves) - len(pending)} of {counted(len(moves), 'replica')} moved"
        now += f", {shown_bytes(copied)} of the next ones copied" if pending else ""
        if now != told:
            say(now)
            told = now
        if not pending:
            return
        sleep(1 / _LOOKS_A_SECOND)


def _bytes_copied(cluster: Cluster, moves: Moves) -> int:
    """What the brokers that replicas go to have of those that are not there yet."""
    total = 0
    for broker in sorted({each for move in moves.values() for each in move.destinations}):
        there = [partition for partition, move in moves.items() if broker in move.destinations]
        with suppress(ClientError):  # one that is being restarted tells nothing, and the move goes on
            total += sum(replica_sizes(cluster, broker, there).values())
    return total


def _show(plan: Evacuation) -> None:
    rows = [
        (str(partition), ",".join(map(str, plan.before[partition])), ",".join(map(str, after)))
        for partition, after in plan.after.items()
    ]
    if rows:
        print_table(("PARTITION", "REPLICAS", "NEW-REPLICAS"), rows)
    else:
        say("There is nothing to move.")


def _listed(partitions: Iterable[TopicPartition]) -> str:
    names = [str(each) for each in partitions]
    more = len(names) - _SHOWN_AT_MOST
    return ", ".join(names[:_SHOWN_AT_MOST]) + (f" and {more} more" if more > 0 else "")
