"""`stoker brokers` and `stoker cluster-id` as their users meet them."""

from tests.cli.command_line import BOTH, CommandLine


@BOTH
def test_brokers(run: CommandLine) -> None:
    host, port = run.address.split(":")
    assert run.rows("brokers") == [["ID", "HOST", "PORT", "RACK", "CONTROLLER"], ["1", host, port, "-", "yes"]]
    assert run.json("brokers") == [{"id": 1, "host": host, "port": int(port), "rack": None, "controller": True}]


@BOTH
def test_cluster_id(run: CommandLine) -> None:
    cluster_id = run("cluster-id").strip()
    assert len(cluster_id) == 22
    assert run.json("cluster-id") == {"cluster_id": cluster_id}
