"""`stoker cluster`: an Apache Kafka cluster on this machine."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from stoker.cli.cluster_options import HIGHEST_PORT, Timeout, told_how_to_go_on
from stoker.cli.failure import wrong_usage
from stoker.cli.key_values import parse_key_values
from stoker.cli.noun import examples, noun
from stoker.cli.output import Json, Yes, confirm, print_json, print_table, say, shown_bytes

if TYPE_CHECKING:
    from stoker.clusters.kafka_cluster import KafkaCluster
    from stoker.clusters.kafka_status import NodeStatus

application = noun("cluster", "Run an Apache Kafka cluster on this machine.")

_MOST_BROKERS: Final = 32

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", "-d", metavar="DIR", help="Where the cluster is kept; else $XDG_STATE_HOME/stoker/cluster."
    ),
]
Node = Annotated[int, typer.Argument(metavar="N", help="The number of the node, from 1 on.")]


@application.command(
    epilog=examples(
        "stoker cluster up",
        "stoker cluster up --brokers 3 --data-dir ./kafka --port 19092",
        "stoker cluster up --kafka-version 4.2.0 --config log.retention.hours=1",
    )
)
def up(
    brokers: Annotated[
        int | None,
        typer.Option("--brokers", "-n", min=1, max=_MOST_BROKERS, metavar="N", show_default="3", help="How many."),
    ] = None,
    data_dir: DataDir = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            "-p",
            min=0,
            max=HIGHEST_PORT,
            metavar="N",
            show_default="9092",
            help="Of the first broker, the next ones follow it; 0: free ones.",
        ),
    ] = None,
    kafka_version: Annotated[
        str | None,
        typer.Option("--kafka-version", metavar="V", show_default="4.3.0", help="Fetched once, by Maven."),
    ] = None,
    kafka_jars: Annotated[
        Path | None,
        typer.Option(
            "--kafka-jars",
            envvar="STOKER_KAFKA_JARS",
            metavar="DIR",
            help="A directory of Apache Kafka's jars, from which nothing is fetched.",
        ),
    ] = None,
    heap: Annotated[
        str | None,
        typer.Option("--heap", metavar="SIZE", show_default="512M", help="Of each node, as in Java's -Xmx."),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config",
            "-c",
            metavar="NAME=VALUE",
            help="A setting of all brokers, an empty one to take it back; may be repeated.",
        ),
    ] = None,
    timeout: Timeout = 300.0,
    json: Json = False,
) -> None:
    """Start an Apache Kafka cluster on this machine, or those of its nodes that are down; its data is kept.

    The first three nodes are brokers and controllers, others brokers alone. They run until `stoker cluster down`.
    """
    began = time.monotonic()
    if heap is not None and not _is_size(heap):
        wrong_usage(f"--heap {heap}: the form is a number with K, M or G behind it, such as 512M")
    kafka = _cluster(data_dir)
    kafka.up(
        brokers,
        port=port,
        kafka_version=kafka_version,
        jars=kafka_jars,
        heap=heap,
        config=parse_key_values("--config", config) if config else None,
        seconds=timeout,
    )
    plan = kafka.plan
    if json:
        print_json({"bootstrap_servers": plan.bootstrap_servers, "directory": str(kafka.directory)})
        return
    say(f"Apache Kafka {plan.kafka_version} is ready ({time.monotonic() - began:.1f} s):")
    print(plan.bootstrap_servers)


@application.command(epilog=examples("stoker cluster status", "stoker cluster status --json"))
def status(data_dir: DataDir = None, json: Json = False) -> None:
    """Show the nodes: what they are, their processes, what they lead, and what is not in sync.

    UNDER-REPLICATED are partitions that a node leads and that lack a replica, OUT-OF-SYNC replicas of its own that lag.
    """
    found = _cluster(data_dir).status()
    if json:
        print_json(asdict(found))
        return
    print_table(
        ("NODE", "ADDRESS", "RACK", "ROLE", "PID", "MEMORY", "LEADERS", "UNDER-REPLICATED", "OUT-OF-SYNC"),
        [
            (
                node.node,
                node.address,
                node.rack,
                _role(node),
                node.pid,
                None if node.memory is None else shown_bytes(node.memory),
                node.leaders,
                node.under_replicated,
                node.out_of_sync,
            )
            for node in found.nodes
        ],
    )
    if found.offline:
        say(f"Partitions without a leader: {found.offline}")
    if found.offline is not None and found.quorum_leader is None:
        say(
            "No controller is active: leaders and replicas are those of before, and nothing takes the place of what is down."
        )


@application.command(epilog=examples("stoker cluster kill 2"))
def kill(node: Node, data_dir: DataDir = None, json: Json = False) -> None:
    """Kill a node with SIGKILL, as a machine that fails."""
    _cluster(data_dir).kill(node)
    _done(node, "killed", "Killed", json)


@application.command(epilog=examples("stoker cluster restart 2"))
def restart(node: Node, data_dir: DataDir = None, timeout: Timeout = 300.0, json: Json = False) -> None:
    """Stop a node, if it runs, and start it; returns when it is ready."""
    with told_how_to_go_on("cluster"):
        _cluster(data_dir).restart(node, seconds=timeout)
    _done(node, "restarted", "Restarted", json)


@application.command(epilog=examples("stoker cluster roll", "stoker cluster roll --timeout 600"))
def roll(
    data_dir: DataDir = None,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            min=1.0,
            metavar="SECONDS",
            help="How long a node may take to be ready, and then to be in sync.",
        ),
    ] = 300.0,
    json: Json = False,
) -> None:
    """Restart one node after the other, each when all others are in sync, then elect the preferred leaders.

    The active controller comes last. Topics with three replicas stay writable all the time.
    """
    kafka = _cluster(data_dir)
    began = time.monotonic()
    with told_how_to_go_on("cluster"):
        kafka.roll(seconds=timeout)
    nodes = kafka.plan.brokers
    if json:
        print_json({"rolled": list(kafka.plan.nodes), "seconds": round(time.monotonic() - began, 1)})
    else:
        print(f"Rolled {nodes} nodes ({time.monotonic() - began:.1f} s).")


@application.command(epilog=examples("stoker cluster down", "stoker cluster down --delete --yes"))
def down(
    data_dir: DataDir = None,
    delete: Annotated[bool, typer.Option("--delete", help="Remove the cluster with all of its data, too.")] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Stop all nodes; `up` starts them again with their data."""
    kafka = _cluster(data_dir)
    plan = kafka.plan
    if delete:
        confirm(f"Remove the cluster in {kafka.directory}, with all that its topics hold?", yes=yes)
    with told_how_to_go_on("cluster"):
        kafka.down(delete=delete)
    if json:
        print_json({"stopped": list(plan.nodes), "deleted": delete})
    else:
        print(
            f"Removed the cluster in {kafka.directory}."
            if delete
            else "Stopped; `stoker cluster up` goes on with its data."
        )


def _cluster(data_dir: Path | None) -> "KafkaCluster":
    from stoker.clusters.kafka_cluster import KafkaCluster

    return KafkaCluster(data_dir, say=say)


def _done(node: int, key: str, word: str, json: bool) -> None:
    if json:
        print_json({key: node})
    else:
        print(f"{word} node {node}.")


def _role(node: "NodeStatus") -> str:
    return f"{node.roles}(leader)" if node.is_quorum_leader else node.roles


def _is_size(text: str) -> bool:
    return text[:-1].isdecimal() and text[-1] in "kKmMgG"
