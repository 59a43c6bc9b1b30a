"""kafka-broker-api-versions.sh: which versions of which APIs the brokers offer."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from stoker.errors import StokerError
from stoker.kafka_tools.api_table import APIS
from stoker.kafka_tools.connection import connect_with
from stoker.kafka_tools.failure import ToolEnds, java_error
from stoker.kafka_tools.options import OptionParser
from stoker.kafka_tools.thrown import print_thrown

if TYPE_CHECKING:
    from stoker.client.cluster import Cluster
    from stoker.wire.messages.metadata import MetadataResponseBroker

_SECONDS: Final = 5.0
_NOT_FENCED: Final = 1237
"""What Java makes of `false`."""


class _Options:
    def __init__(self, arguments: Sequence[str]) -> None:
        parser = OptionParser()
        self.command_config = parser.option(
            "command-config",
            "A property file containing configs to be passed to Admin Client.",
            described_as="command config property file",
        )
        self.bootstrap_server = parser.option(
            "bootstrap-server", "REQUIRED: The server to connect to.", described_as="server(s) to use for bootstrapping"
        )
        self.given = parser.parse(arguments)
        self.given.print_help_or_version("This tool helps to retrieve broker version information.")
        self.given.require(self.bootstrap_server)


def main(arguments: Sequence[str]) -> int:
    try:
        options = _Options(arguments)
        with connect_with(
            options.given.value(options.bootstrap_server), options.given.value(options.command_config)
        ) as cluster:
            for broker in _in_order(cluster.metadata([]).brokers):
                rack = "null" if broker.rack is None else broker.rack
                name = f"{broker.host}:{broker.port} (id: {broker.node_id} rack: {rack} isFenced: false)"
                print(f"{name} -> {_versions(cluster, broker.node_id)}")
    except ToolEnds:
        raise
    except StokerError as error:
        return print_thrown(java_error(error))
    return 0


def _versions(cluster: "Cluster", node_id: int) -> str:
    from stoker.client.targets import Broker

    try:
        offered = cluster.connection_to(Broker(node_id), _SECONDS).offered
    except StokerError as error:
        return f"ERROR: {java_error(error).message}"
    texts = {key: _text(key, *versions) for key, versions in offered.items()}
    for key, api in APIS.items():
        if api.is_for_clients:
            texts.setdefault(key, f"{api.name}({key}): UNSUPPORTED")
    lines = ",\n\t".join(texts[key] for key in sorted(texts))
    return f"(\n\t{lines}\n)"


def _text(key: int, oldest: int, latest: int) -> str:
    versions = str(oldest) if oldest == latest else f"{oldest} to {latest}"
    api = APIS.get(key)
    if api is None:
        return f"UNKNOWN({key}): {versions}"
    if api.latest < oldest:
        usable = "unusable: node too new"
    elif latest < api.oldest:
        usable = "unusable: node too old"
    else:
        usable = f"usable: {min(api.latest, latest)}"
    return f"{api.name}({key}): {versions} [{usable}]"


def _in_order(brokers: "Sequence[MetadataResponseBroker]") -> "list[MetadataResponseBroker]":
    from stoker.kafka_tools.hash_order import combined, in_hash_order, java_hash

    by_id = {broker.node_id: broker for broker in brokers}

    def hashed(node_id: int) -> int:
        broker = by_id[node_id]
        rack = 0 if broker.rack is None else java_hash(broker.rack)
        return combined(java_hash(broker.host), node_id, broker.port, rack, _NOT_FENCED)

    return [by_id[node_id] for node_id in in_hash_order(by_id, hashed)]
