"""What a Spark cluster is made of is found again, or known to be damaged."""

from pathlib import Path

import pytest

from stoker.clusters.errors import DamagedPlan, NoCluster
from stoker.clusters.spark_plan import SparkPlan, read_plan


def test_it_is_kept(tmp_path: Path) -> None:
    with pytest.raises(NoCluster, match="there is no Spark cluster in"):
        read_plan(tmp_path)
    plan = SparkPlan(master_port=7077, web_port=7080, worker_ports=(20_001, 20_002), cores=1, memory="1g")
    plan.write(tmp_path)
    assert read_plan(tmp_path) == plan


@pytest.mark.parametrize("content", [b"", b'{"master_port": 70', b"{}", b"[]", b'{"worker_ports": []}', b"\xff"])
def test_one_that_is_damaged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "spark.json").write_bytes(content)
    with pytest.raises(DamagedPlan, match=r"spark\.json, .* is damaged: put a copy of it back; or end the processes"):
        read_plan(tmp_path)
