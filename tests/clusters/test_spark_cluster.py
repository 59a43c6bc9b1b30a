"""A local Spark cluster as its users run it: one for all tests of this file, which it goes through in their order."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import stoker
from stoker.clusters import SparkCluster
from stoker.clusters.errors import CannotChange, NodeState, NoSuchNode
from tests.cli.running import create_topic, run
from tests.clusters.commands import Commands

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "clusters.md"
RECORDS: Final = 2_000
TRANSCRIPT: Final = 10
"""So many commands are given in this file, at least."""


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    return Commands(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module")
def cluster(commands: Commands) -> Iterator[SparkCluster]:
    found = SparkCluster(commands.home / "stoker" / "spark")
    try:
        commands("stoker spark up --workers 2 --port 0 --web-port 0")
        yield found
    finally:
        if found.exists:
            found.down()


def test_status(cluster: SparkCluster, commands: Commands) -> None:
    """`stoker spark up` prints the master's address, `status` what the master tells of its workers."""
    header, *rows = commands.rows("stoker spark status")
    assert header == ["WORKER", "ADDRESS", "STATE", "PID", "CORES", "USED", "MEMORY", "USED"]
    assert [(row[0], row[2], row[4]) for row in rows] == [("1", "ALIVE", "1"), ("2", "ALIVE", "1")]
    told = commands.json("stoker spark status")
    assert told["master"] == cluster.master
    assert cluster.master in commands.transcript[0].output.splitlines()
    assert [worker["memory"] for worker in told["workers"]] == [1024**3, 1024**3]


def test_a_job_reads_a_topic_on_the_workers(cluster: SparkCluster, stoker_address: str) -> None:
    """A session on the master runs its tasks on the workers, in this Python, where `format("stoker")` is at hand."""
    create_topic(stoker_address, "on-workers", 4)
    records = b"".join(
        b"%d:%d\n" % (number, number) for number in range(RECORDS)
    )  # with keys, they are in all partitions
    assert run(stoker_address, "produce", "on-workers", "--key-separator", ":", stdin=records).code == 0
    arguments = [cluster.master, stoker_address, "on-workers"]
    job = subprocess.run(
        [sys.executable, "-m", "tests.clusters.job_on_workers", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert job.returncode == 0, job.stderr[-3000:]
    parts = json.loads(job.stdout)
    assert sum(part["rows"] for part in parts) == RECORDS
    workers = {Path(part["directory"]).relative_to(cluster.directory).parts[0] for part in parts}
    assert workers == {"worker-1", "worker-2"}
    assert {(part["python"], part["stoker"]) for part in parts} == {(sys.executable, stoker.__file__)}


def test_a_worker_is_killed(cluster: SparkCluster, commands: Commands) -> None:
    """It is down until `up` starts it, where the other one and the master stay as they are."""
    before = cluster.status()
    commands("stoker spark kill 2")
    commands("stoker spark status")
    assert [worker.state for worker in cluster.status().workers] == ["ALIVE", "DOWN"]
    with pytest.raises(NodeState, match="worker 2 does not run"):
        cluster.kill(2)
    with pytest.raises(NoSuchNode, match="has no worker 3: they are 1 to 2"):
        cluster.kill(3)
    with pytest.raises(CannotChange, match="can only get more workers"):
        cluster.up(cores=2)
    commands("stoker spark up")
    after = cluster.status()
    assert [worker.state for worker in after.workers] == ["ALIVE", "ALIVE"]
    assert (after.pid, after.workers[0].pid) == (before.pid, before.workers[0].pid)
    assert after.workers[1].pid != before.workers[1].pid


def test_ports_in_use(cluster: SparkCluster, commands: Commands) -> None:
    port = cluster.plan.master_port
    commands(f"stoker spark up --port {port} --data-dir {commands.home / 'other'}", code=1)
    assert f"port {port} of the master (--port) is in use by another program" in commands.last


def test_down(cluster: SparkCluster, commands: Commands) -> None:
    commands("stoker spark down")
    assert "killed" not in commands.last
    status = cluster.status()
    assert (status.pid, [worker.state for worker in status.workers]) == (None, ["DOWN", "DOWN"])
    commands("stoker spark down --delete")
    assert not cluster.directory.exists()
    commands("stoker spark status", code=1)
    assert "there is no Spark cluster in" in commands.last


def test_what_the_page_shows_is_real(cluster: SparkCluster, commands: Commands) -> None:
    """docs/clusters.md shows what the tests before this one have seen, but for numbers."""
    if len(commands.transcript) < TRANSCRIPT:
        pytest.skip("the tests before it have not run")
    assert commands.not_said(PAGE, "spark") == []
