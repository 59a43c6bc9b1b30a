"""`stoker brokers` and `stoker cluster-id` as their users meet them."""

from tests.cli.command_line import BOTH, CommandLine


@BOTH
def test_brokers(run: CommandLine) -> None:
    addresses = [address.split(":") for address in run.address.split(",")]
    racks = [None] if len(addresses) == 1 else ["rack-1", "rack-2", "rack-3"]
    told = run.json("brokers")
    assert [each.pop("controller") for each in told].count(True) == 1
    assert told == [
        {"id": number, "host": host, "port": int(port), "rack": rack}
        for number, ((host, port), rack) in enumerate(zip(addresses, racks, strict=True), 1)
    ]
    header, *rows = run.rows("brokers")
    assert header == ["ID", "HOST", "PORT", "RACK", "CONTROLLER"]
    assert [row[:4] for row in rows] == [
        [str(each["id"]), each["host"], str(each["port"]), each["rack"] or "-"] for each in told
    ]
    assert sorted(row[4] for row in rows) == [*["no"] * (len(rows) - 1), "yes"]


@BOTH
def test_cluster_id(run: CommandLine) -> None:
    cluster_id = run("cluster-id").strip()
    assert len(cluster_id) == 22
    assert run.json("cluster-id") == {"cluster_id": cluster_id}
