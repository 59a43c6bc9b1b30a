"""kafka-cluster.sh: the id of a cluster, the endpoints of its brokers, and how to forget one of them."""

import sys
from collections.abc import Sequence
from typing import Final

from stoker.client.admin.cluster import RegisteredBroker, registered_brokers, unregister_broker
from stoker.client.errors import UnsupportedByBroker
from stoker.kafka_tools.argument_parser import (
    Action,
    Argument,
    BadArguments,
    Group,
    Parser,
    TerseFailure,
    Values,
    run,
    subcommand,
)
from stoker.kafka_tools.connection import connect_with

_TOOL: Final = "kafka-cluster"
_CONNECTION: Final = Group(
    required=True,
    arguments=(
        Argument(
            ("--bootstrap-server", "-b"),
            "A list of host/port pairs to use for establishing the connection to the Kafka cluster.",
        ),
        Argument(
            ("--bootstrap-controller", "-C"),
            "A list of host/port pairs to use for establishing the connection to the KRaft controllers.",
        ),
    ),
)
_CONFIGS: Final = (
    Argument(
        ("--config",),
        "(DEPRECATED) A property file containing configurations for the Admin client. "
        "This option will be removed in a future version. Use --command-config instead.",
    ),
    Argument(("--command-config", "-c"), "Config properties file for the Admin client."),
)
_ID: Final = Argument(("--id", "-i"), "The ID of the broker to unregister.", kind=int, required=True)
_INCLUDE_FENCED: Final = Argument(
    ("--include-fenced-brokers",), "Whether to include fenced brokers when listing broker endpoints", Action.FLAG
)
PARSER: Final = Parser(
    name=_TOOL,
    description="The Kafka cluster tool.",
    commands=(
        subcommand(
            _TOOL,
            "cluster-id",
            "Get information about the ID of a cluster.",
            arguments=_CONFIGS,
            groups=(_CONNECTION,),
        ),
        subcommand(_TOOL, "unregister", "Unregister a broker.", arguments=(*_CONFIGS, _ID), groups=(_CONNECTION,)),
        subcommand(
            _TOOL, "list-endpoints", "List endpoints", arguments=(*_CONFIGS, _INCLUDE_FENCED), groups=(_CONNECTION,)
        ),
    ),
)
_NO_RACK: Final = 10


def main(arguments: Sequence[str]) -> int:
    return run(PARSER, arguments, _execute)


def _execute(values: Values) -> int:
    if values["config"] is not None and values["command_config"] is not None:
        raise BadArguments(_TOOL, PARSER.usage, "--config and --command-config cannot be specified together.")
    if values["config"] is not None:
        print(
            "Option --config has been deprecated and will be removed in a future version. Use --command-config instead."
        )
    if values["bootstrap_controller"] is not None:
        raise TerseFailure(
            "--bootstrap-controller is not supported here: give --bootstrap-server, which every broker answers."
        )
    with connect_with(values["bootstrap_server"], values["config"] or values["command_config"]) as cluster:
        if values["command"] == "cluster-id":
            print(f"Cluster ID: {cluster.metadata([]).cluster_id}")
        elif values["command"] == "unregister":
            try:
                unregister_broker(cluster, values["id"])
            except UnsupportedByBroker:
                print("The target cluster does not support the broker unregistration API.")
            else:
                print(f"Broker {values['id']} is no longer registered.")
        else:
            brokers = registered_brokers(cluster)
            _print_endpoints([each for each in brokers if values["include_fenced_brokers"] or not each.is_fenced])
    return 0


def _print_endpoints(brokers: Sequence[RegisteredBroker]) -> None:
    host_width = max((len(each.host) for each in brokers), default=100)
    rack_width = max((len(each.rack) for each in brokers if each.rack is not None), default=_NO_RACK)
    rows = [("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")]
    rows += [
        (
            str(each.node_id),
            each.host,
            str(each.port),
            "null" if each.rack is None else each.rack,
            "fenced" if each.is_fenced else "unfenced",
            "broker",
        )
        for each in brokers
    ]
    for node_id, host, port, rack, state, kind in rows:
        sys.stdout.write(f"{node_id:<10} {host:<{host_width}} {port:<10} {rack:<{rack_width}} {state:<10} {kind:<15}\n")
