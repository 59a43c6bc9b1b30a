"""The settings of each node follow from the number of brokers."""

import os
from pathlib import Path

import pytest

from stoker.clusters.errors import DamagedPlan, NoCluster
from stoker.clusters.kafka_plan import KafkaPlan, node_properties, properties_text, read_plan
from stoker.properties import parse_properties


def plan(brokers: int, **config: str) -> KafkaPlan:
    return KafkaPlan(
        cluster_id="MkU3OEVBNTcwNTJENDM2Qk",
        kafka_version="4.3.0",
        jars="/jars",
        heap="512M",
        brokers=brokers,
        port=9092,
        controller_ports=tuple(range(20_001, 20_001 + min(3, brokers))),
        config={name.replace("_", "."): value for name, value in config.items()},
    )


@pytest.mark.parametrize(
    ("brokers", "replicas", "in_sync"), [(1, "1", "1"), (2, "2", "1"), (3, "3", "2"), (5, "3", "2")]
)
def test_replicas(brokers: int, replicas: str, in_sync: str) -> None:
    settings = node_properties(plan(brokers), 1, Path("/data"))
    for name in ("default", "offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
        assert settings[f"{name}.replication.factor"] == replicas
    for name in ("min.insync.replicas", "transaction.state.log.min.isr", "share.coordinator.state.topic.min.isr"):
        assert settings[name] == in_sync


@pytest.mark.acceptance("B044")
def test_roles() -> None:
    """Three nodes are broker and controller, those beyond brokers; each lists the three voters."""
    five = plan(5)
    settings = [node_properties(five, node, Path("/data")) for node in five.nodes]
    assert [each["process.roles"] for each in settings] == [*["broker,controller"] * 3, "broker", "broker"]
    assert [each["node.id"] for each in settings] == ["1", "2", "3", "4", "5"]
    assert {each["controller.quorum.voters"] for each in settings} == {
        "1@127.0.0.1:20001,2@127.0.0.1:20002,3@127.0.0.1:20003"
    }
    assert settings[1]["listeners"] == "PLAINTEXT://127.0.0.1:9093,CONTROLLER://127.0.0.1:20002"
    assert settings[4]["listeners"] == "PLAINTEXT://127.0.0.1:9096"


def test_what_is_given_is_stronger() -> None:
    settings = node_properties(plan(3, min_insync_replicas="1", log_retention_hours="1"), 1, Path("/data"))
    assert (settings["min.insync.replicas"], settings["log.retention.hours"]) == ("1", "1")


def test_it_is_kept(tmp_path: Path) -> None:
    with pytest.raises(NoCluster, match="there is no cluster in"):
        read_plan(tmp_path)
    plan(4, log_retention_hours="1").write(tmp_path)
    assert read_plan(tmp_path) == plan(4, log_retention_hours="1")


def test_a_write_that_is_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan that was there is there."""
    plan(3).write(tmp_path)

    def fail(source: str, target: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        plan(4).write(tmp_path)
    assert read_plan(tmp_path) == plan(3)


@pytest.mark.parametrize(
    "content", [b"", b'{\n  "cluster_id": "MkU3', b"{}", b"[]", b'{"controller_ports": []}', b"\xff"]
)
def test_one_that_is_damaged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "cluster.json").write_bytes(content)
    with pytest.raises(DamagedPlan, match=r"cluster\.json, .* is damaged: put a copy of it back; or end the processes"):
        read_plan(tmp_path)


def test_properties_as_java_reads_them() -> None:
    """It takes a byte for a character."""
    given = {"log.dirs": "/a b/c\\d/müller/\u4e2d/\U0001f600", "broker.rack": "rack-1", "lines": "a\nb"}
    text = properties_text(given).encode().decode("latin-1")
    assert {each.name: each.value for each in parse_properties(text)} == given
