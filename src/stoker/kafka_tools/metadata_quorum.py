"""kafka-metadata-quorum.sh: who leads the metadata quorum, who follows, and how far behind."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final
from uuid import UUID

from stoker.client.admin.quorum import Quorum, QuorumReplica, describe_quorum
from stoker.kafka_tools.argument_parser import (
    Action,
    Argument,
    Group,
    Parser,
    TerseFailure,
    Values,
    run,
    subcommand,
)
from stoker.kafka_tools.connection import connect_with
from stoker.kafka_tools.printing import print_table
from stoker.wire.uuids import uuid_text

_TOOL: Final = "kafka-metadata-quorum"
PARSER: Final = Parser(
    name=_TOOL,
    description="This tool describes kraft metadata quorum status.",
    arguments=(
        Argument(
            ("--command-config",),
            "Property file containing configs to be passed to Admin Client. For add-controller, the file is used to "
            "specify the controller properties as well.",
        ),
    ),
    groups=(
        Group(
            required=True,
            arguments=(
                Argument(
                    ("--bootstrap-server",),
                    "A comma-separated list of host:port pairs to use for establishing the connection to the Kafka "
                    "cluster.",
                ),
                Argument(
                    ("--bootstrap-controller",),
                    "A comma-separated list of host:port pairs to use for establishing the connection to the Kafka "
                    "controllers.",
                ),
            ),
        ),
    ),
    commands=(
        subcommand(
            _TOOL,
            "describe",
            "Describe the metadata quorum info",
            arguments=(
                Argument(("--status",), "A short summary of the quorum status.", Action.FLAG),
                Argument(("--replication",), "Detailed information about the status of replication", Action.FLAG),
                Argument(("--human-readable",), "Human-readable output", Action.FLAG),
            ),
        ),
        subcommand(
            _TOOL,
            "add-controller",
            "Add a controller to the KRaft controller cluster",
            arguments=(Argument(("--dry-run",), "Print what would be done, but do not do it.", Action.FLAG),),
        ),
        subcommand(
            _TOOL,
            "remove-controller",
            "Remove a controller from the KRaft controller cluster",
            arguments=(
                Argument(("--controller-id", "-i"), "The id of the controller to remove.", kind=int, required=True),
                Argument(
                    ("--controller-directory-id", "-d"), "The directory ID of the controller to remove.", required=True
                ),
                Argument(("--dry-run",), "Print what would be done, but do not do it.", Action.FLAG),
            ),
        ),
    ),
)
_COLUMNS: Final = (
    "NodeId",
    "DirectoryId",
    "LogEndOffset",
    "Lag",
    "LastFetchTimestamp",
    "LastCaughtUpTimestamp",
    "Status",
)
_NO_DIRECTORY: Final = UUID(int=0)


def main(arguments: Sequence[str]) -> int:
    return run(PARSER, arguments, _execute)


def _execute(values: Values) -> int:
    command = values["command"]
    if values["bootstrap_controller"] is not None:
        raise TerseFailure(
            "--bootstrap-controller is not supported here: give --bootstrap-server, which every broker answers."
        )
    if command != "describe":
        raise TerseFailure(f"{command} is not supported here: use Kafka's own {_TOOL}.sh for it.")
    if values["status"] and values["replication"]:
        raise TerseFailure("Only one of --status or --replication should be specified with describe sub-command")
    if not values["status"] and not values["replication"]:
        raise TerseFailure("One of --status or --replication must be specified with describe sub-command")
    if values["status"] and values["human_readable"]:
        raise TerseFailure("The option --human-readable is only supported along with --replication")
    with connect_with(values["bootstrap_server"], values["command_config"]) as cluster:
        quorum = describe_quorum(cluster)
        if values["status"]:
            print(status(cluster.metadata([]).cluster_id or "", quorum))
        else:
            print_table(_COLUMNS, replication(quorum, _ago if values["human_readable"] else str))
    return 0


def status(cluster_id: str, quorum: Quorum) -> str:
    leader = quorum.leader
    slowest = min(quorum.voters, key=lambda voter: voter.log_end_offset)
    if slowest is leader:
        lag_ms = 0
    elif leader.last_caught_up_ms is not None and slowest.last_caught_up_ms is not None:
        lag_ms = leader.last_caught_up_ms - slowest.last_caught_up_ms
    else:
        lag_ms = -1
    lines = {
        "ClusterId:": cluster_id,
        "LeaderId:": quorum.leader_id,
        "LeaderEpoch:": quorum.leader_epoch,
        "HighWatermark:": quorum.high_watermark,
        "MaxFollowerLag:": leader.log_end_offset - slowest.log_end_offset,
        "MaxFollowerLagTimeMs:": lag_ms,
        "CurrentVoters:": _nodes(quorum, quorum.voters),
        "CurrentObservers:": _nodes(quorum, quorum.observers),
    }
    return "\n".join(f"{name:<24}{value}" for name, value in lines.items())


def replication(quorum: Quorum, shown_time: Callable[[int], str]) -> list[tuple[str, ...]]:
    leader = quorum.leader
    followers = [voter for voter in quorum.voters if voter is not leader]
    return [
        (
            str(each.node_id),
            uuid_text(each.directory_id),
            str(each.log_end_offset),
            str(leader.log_end_offset - each.log_end_offset),
            "-1" if each.last_fetch_ms is None else shown_time(each.last_fetch_ms),
            "-1" if each.last_caught_up_ms is None else shown_time(each.last_caught_up_ms),
            role,
        )
        for role, replicas in (("Leader", [leader]), ("Follower", followers), ("Observer", quorum.observers))
        for each in replicas
    ]


def _nodes(quorum: Quorum, replicas: Iterable[QuorumReplica]) -> str:
    return "[" + ", ".join(_node(quorum, each) for each in replicas) + "]"


def _node(quorum: Quorum, replica: QuorumReplica) -> str:
    parts = [f'"id": {replica.node_id}']
    if replica.directory_id != _NO_DIRECTORY:
        parts.append(f'"directoryId": "{uuid_text(replica.directory_id)}"')
    if endpoints := quorum.endpoints.get(replica.node_id):
        parts.append('"endpoints": [' + ", ".join(f'"{each}"' for each in endpoints) + "]")
    return "{" + ", ".join(parts) + "}"


def _ago(milliseconds: int) -> str:
    return f"{max(0, time.time_ns() // 1_000_000 - milliseconds)} ms ago"
