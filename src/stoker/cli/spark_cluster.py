"""`stoker spark`: a Spark cluster on this machine."""

import re
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from stoker.cli.cluster_options import HIGHEST_PORT, Timeout, told_how_to_go_on
from stoker.cli.failure import wrong_usage
from stoker.cli.noun import examples, noun
from stoker.cli.output import Json, Yes, confirm, print_json, print_table, say, shown_bytes

if TYPE_CHECKING:
    from stoker.clusters.spark_cluster import SparkCluster

application = noun("spark", "Run a Spark cluster on this machine.")

_MOST_WORKERS: Final = 64
_MEMORY: Final = re.compile(r"\d+[mMgG]")

DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", "-d", metavar="DIR", help="Where it is kept; else $XDG_STATE_HOME/stoker/spark."),
]


@application.command(
    epilog=examples("stoker spark up", "stoker spark up --workers 2 --cores 2 --memory 2g", "stoker spark up --port 0")
)
def up(
    workers: Annotated[
        int | None,
        typer.Option("--workers", "-n", min=1, max=_MOST_WORKERS, metavar="N", show_default="2", help="How many."),
    ] = None,
    cores: Annotated[
        int | None, typer.Option("--cores", min=1, metavar="N", show_default="1", help="Of each worker.")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="SIZE", show_default="1g", help="Of each worker, for its executors."),
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
            show_default="7077",
            help="Of the master; 0: a free one.",
        ),
    ] = None,
    web_port: Annotated[
        int | None,
        typer.Option(
            "--web-port",
            min=0,
            max=HIGHEST_PORT,
            metavar="N",
            show_default="7080",
            help="Of the master's web page; 0: a free one.",
        ),
    ] = None,
    timeout: Timeout = 300.0,
    json: Json = False,
) -> None:
    """Start Spark's standalone master and workers on this machine, or those of them that are down.

    They are of the pyspark that is installed, and run until `stoker spark down`. Executors have this Python and its packages.
    """
    began = time.monotonic()
    if memory is not None and not _MEMORY.fullmatch(memory):
        wrong_usage(f"--memory {memory}: the form is a number with m or g behind it, such as 1g")
    cluster = _cluster(data_dir)
    cluster.up(workers, cores=cores, memory=memory, port=port, web_port=web_port, seconds=timeout)
    plan = cluster.plan
    if json:
        print_json({"master": plan.master, "web": plan.web_address, "directory": str(cluster.directory)})
        return
    say(f"Spark is ready, its web page is {plan.web_address} ({time.monotonic() - began:.1f} s):")
    print(plan.master)


@application.command(epilog=examples("stoker spark status", "stoker spark status --json"))
def status(data_dir: DataDir = None, json: Json = False) -> None:
    """Show the workers as the master tells of them, and the applications that run."""
    found = _cluster(data_dir).status()
    if json:
        print_json(asdict(found))
        return
    print_table(
        ("WORKER", "ADDRESS", "STATE", "PID", "CORES", "USED", "MEMORY", "USED"),
        [
            (
                worker.worker,
                worker.address,
                worker.state,
                worker.pid,
                worker.cores,
                worker.cores_used,
                None if worker.memory is None else shown_bytes(worker.memory),
                None if worker.memory_used is None else shown_bytes(worker.memory_used),
            )
            for worker in found.workers
        ],
    )
    if found.pid is None:
        say("The master is down: `stoker spark up` starts it.")
    for name in found.applications:
        print(f"application {name}")


@application.command(epilog=examples("stoker spark kill 2"))
def kill(
    worker: Annotated[int, typer.Argument(metavar="N", help="The number of the worker, from 1 on.")],
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Kill a worker and its executors with SIGKILL, as a machine that fails; `up` starts it again."""
    _cluster(data_dir).kill(worker)
    if json:
        print_json({"killed": worker})
    else:
        print(f"Killed worker {worker}.")


@application.command(epilog=examples("stoker spark down", "stoker spark down --delete"))
def down(
    data_dir: DataDir = None,
    delete: Annotated[bool, typer.Option("--delete", help="Remove logs, and what executors have left, too.")] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Stop the workers and the master, and with them every application."""
    cluster = _cluster(data_dir)
    workers = list(cluster.plan.workers)
    if delete:
        confirm(f"Remove the Spark cluster in {cluster.directory}?", yes=yes)
    with told_how_to_go_on("spark"):
        cluster.down(delete=delete)
    if json:
        print_json({"stopped": workers, "deleted": delete})
    else:
        print(f"Removed the Spark cluster in {cluster.directory}." if delete else "Stopped.")


def _cluster(data_dir: Path | None) -> "SparkCluster":
    from stoker.clusters.spark_cluster import SparkCluster

    return SparkCluster(data_dir, say=say)
