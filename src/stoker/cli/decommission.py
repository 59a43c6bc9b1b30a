"""`stoker decommission`: move all replicas off a broker, watch them go, and say when it may be stopped."""

import time
from collections.abc import Iterable
from typing import Annotated, Final

import typer

from stoker.cli.connection import BootstrapServer, CommandConfig, connect
from stoker.cli.failure import CommandFailed
from stoker.cli.noun import examples, noun
from stoker.cli.output import Yes, confirm, counted, print_table, say, shown_bytes
from stoker.client.admin.evacuation import Evacuation, plan_evacuation, replicas_on
from stoker.client.admin.log_dirs import replica_sizes
from stoker.client.admin.reassignments import alter_reassignments, list_reassignments
from stoker.client.admin.replication_throttle import Move, throttle_moves, unthrottle_brokers, unthrottle_topics
from stoker.client.admin.topics import list_topics
from stoker.client.cluster import Cluster
from stoker.client.topic_partition import TopicPartition

application = noun("decommission", "Move all replicas off a broker, so that it may be stopped.")

_LOOKS_A_SECOND: Final = 2.0
_SHOWN_AT_MOST: Final = 5


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
    """
    with connect(bootstrap_server, command_config) as cluster:
        racks = {each.node_id: each.rack for each in cluster.metadata([]).brokers}
        if broker not in racks:
            known = ", ".join(map(str, sorted(racks)))
            raise CommandFailed(f"there is no live broker {broker}; there are {known}")
        if check:
            _refuse_unless_empty(cluster, broker)
        else:
            plan = plan_evacuation(list_topics(cluster), racks, broker)
            if dry_run or not plan.after:
                _show(plan)
            else:
                question = f"Move {counted(len(plan.after), 'replica')} off broker {broker}?"
                confirm(question, yes=yes)
                _move(cluster, plan, throttle)
            if dry_run:
                return
            _refuse_unless_empty(cluster, broker)
    say(
        f"Broker {broker} holds no replicas: it may be stopped. When it is stopped for good, "
        f"`kafka-cluster.sh unregister --id {broker} ...` makes the cluster forget it."
    )


def _refuse_unless_empty(cluster: Cluster, broker: int) -> None:
    held = replicas_on(list_topics(cluster), broker)
    moving = [each for each, move in list_reassignments(cluster).items() if broker in move.replicas]
    left = sorted({*held, *moving})
    if left:
        raise CommandFailed(
            f"broker {broker} must not be stopped: it still holds {counted(len(left), 'replica')}: {_listed(left)}"
        )


def _move(cluster: Cluster, plan: Evacuation, throttle: int | None) -> None:
    moves = {
        partition: Move(
            sources=frozenset(plan.before[partition]),
            destinations=frozenset(after) - frozenset(plan.before[partition]),
        )
        for partition, after in plan.after.items()
    }
    if throttle is not None:
        throttle_moves(cluster, moves, throttle)
    refused = {partition: why for partition, why in alter_reassignments(cluster, plan.after).items() if why is not None}
    if refused:
        raise CommandFailed("; ".join(f"{partition} cannot be moved: {why}" for partition, why in refused.items()))
    try:
        _watch(cluster, moves)
    except KeyboardInterrupt:
        say("The brokers go on moving replicas. `kafka-reassign-partitions.sh --list` shows them, --cancel stops them.")
        raise
    if throttle is not None:
        unthrottle_brokers(
            cluster, sorted({each for move in moves.values() for each in move.sources | move.destinations})
        )
        unthrottle_topics(cluster, sorted({partition.topic for partition in moves}))


def _watch(cluster: Cluster, moves: dict[TopicPartition, Move]) -> None:
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
        time.sleep(1 / _LOOKS_A_SECOND)


def _bytes_copied(cluster: Cluster, moves: dict[TopicPartition, Move]) -> int:
    """What the brokers that replicas go to have of those that are not there yet."""
    total = 0
    for broker in sorted({each for move in moves.values() for each in move.destinations}):
        there = [partition for partition, move in moves.items() if broker in move.destinations]
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
