"""A directory, however it is spelled, has one cluster, which is stopped before it is removed."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stoker.clusters.daemon import Daemon
from stoker.clusters.errors import NodeState, UnusableDirectory
from stoker.clusters.local_cluster import LocalCluster, kill_all

PROGRAM = "import time; time.sleep(600)"


class Sleepers(LocalCluster):
    """One process, which sleeps."""

    default_directory = "sleepers"
    plan_file = "sleepers.json"

    @property
    def daemon(self) -> Daemon:
        return Daemon(self.directory / "node-1", "node 1")

    def stages(self) -> list[list[Daemon]]:
        return [[self.daemon]]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Sleepers]:
    found = Sleepers(tmp_path / "cluster")
    daemon = found.daemon
    daemon.start([sys.executable, "-c", PROGRAM, daemon.mark])
    (found.directory / found.plan_file).touch()
    yield found
    daemon.kill()


def test_one_that_does_not_end_keeps_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck, other = (Daemon(tmp_path / name, name) for name in ("stuck", "other"))
    other.start([sys.executable, "-c", PROGRAM, other.mark])

    def kill() -> None:
        raise NodeState("stuck does not end")

    monkeypatch.setattr(stuck, "kill", kill)
    with pytest.raises(NodeState, match="stuck does not end"):
        kill_all([stuck, other])
    assert other.pid is None


@pytest.mark.parametrize("spelling", ["cluster", "link", "cluster/../cluster", "link/../cluster", "cluster/node-1/.."])
def test_another_spelling_of_its_directory(cluster: Sleepers, tmp_path: Path, spelling: str) -> None:
    """What runs there is found, and not left running without its data."""
    (tmp_path / "link").symlink_to("cluster")
    pid = cluster.daemon.pid
    again = Sleepers(tmp_path / spelling)
    assert again.daemon.pid == pid is not None
    again.down(delete=True)
    assert cluster.daemon.pid is None
    assert not cluster.directory.exists()


def test_links_that_go_round_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("link")
    assert not Sleepers(tmp_path / "link").exists


def test_data_that_cannot_be_removed(cluster: Sleepers, tmp_path: Path) -> None:
    """It is said, and the cluster is still one, to be removed later."""
    node = cluster.daemon.directory
    cluster.down()
    node.rename(tmp_path / "elsewhere")
    node.symlink_to(tmp_path / "elsewhere")  # whoever is root may remove all but this
    with pytest.raises(UnusableDirectory, match=r"the data of node 1 cannot be removed: .*node-1: .*symbolic link"):
        cluster.down(delete=True)
    assert cluster.exists
    node.unlink()
    cluster.down(delete=True)
    assert not cluster.directory.exists()


def test_what_others_have_put_there_stays(cluster: Sleepers) -> None:
    (cluster.directory / "notes").touch()
    cluster.down(delete=True)
    assert [path.name for path in cluster.directory.iterdir()] == ["notes"]
