"""`stoker cluster-id` and `stoker brokers`."""

from stoker.cli.connection import BootstrapServer, CommandConfig, connect
from stoker.cli.noun import examples, noun
from stoker.cli.output import Json, print_json, print_table
from stoker.client.admin.cluster import describe_cluster

cluster_id = noun("cluster-id", "Print the id of a cluster.")
brokers = noun("brokers", "List the brokers of a cluster.")


@cluster_id.command(
    epilog=examples("stoker cluster-id", "stoker cluster-id --bootstrap-server broker1:9092"),
)
def print_cluster_id(
    bootstrap_server: BootstrapServer = None, command_config: CommandConfig = None, json: Json = False
) -> None:
    """Print the id of a cluster."""
    with connect(bootstrap_server, command_config) as cluster:
        found = cluster.metadata([]).cluster_id
    if json:
        print_json({"cluster_id": found})
    else:
        print(found)


@brokers.command(
    epilog=examples("stoker brokers", "stoker brokers --bootstrap-server broker1:9092 --json"),
)
def list_brokers(
    bootstrap_server: BootstrapServer = None, command_config: CommandConfig = None, json: Json = False
) -> None:
    """List the brokers of a cluster: where they are, and which of them is the controller."""
    with connect(bootstrap_server, command_config) as cluster:
        found = describe_cluster(cluster)
    if json:
        print_json(
            [
                {
                    "id": each.node_id,
                    "host": each.host,
                    "port": each.port,
                    "rack": each.rack,
                    "controller": each.is_controller,
                }
                for each in found.brokers
            ]
        )
        return
    print_table(
        ("ID", "HOST", "PORT", "RACK", "CONTROLLER"),
        [
            (each.node_id, each.host, each.port, each.rack, "yes" if each.is_controller else "no")
            for each in found.brokers
        ],
    )
