"""What a local Apache Kafka cluster is made of: kept in its directory, and turned into the settings of each node."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final, Self

from stoker.clusters.errors import DamagedPlan, NoCluster
from stoker.clusters.ports import HOST
from stoker.log.files import replace_file

PLAN_FILE: Final = "cluster.json"
MOST_CONTROLLERS: Final = 3
"""More of them make a quorum slower, not a local cluster safer; nodes beyond are brokers alone."""
OWN_SETTINGS: Final = frozenset(
    (
        "process.roles",
        "node.id",
        "listeners",
        "advertised.listeners",
        "controller.listener.names",
        "log.dir",
        "log.dirs",
    )
)
"""By which a node is found again: nobody else may set them."""
_REPLICAS: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class KafkaPlan:
    """Nodes are numbered from 1. Those of `controller_ports` are controllers as well."""

    cluster_id: str
    kafka_version: str
    jars: str
    heap: str
    brokers: int
    port: int
    """Of the first broker; the next ones follow it."""
    controller_ports: tuple[int, ...]
    config: Mapping[str, str] = field(default_factory=dict)
    """Settings of all nodes that replace or add to ours."""

    @property
    def nodes(self) -> range:
        return range(1, self.brokers + 1)

    def port_of(self, node: int) -> int:
        return self.port + node - 1

    def address_of(self, node: int) -> str:
        return f"{HOST}:{self.port_of(node)}"

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(map(self.address_of, self.nodes))

    def is_controller(self, node: int) -> bool:
        return node <= len(self.controller_ports)

    def roles(self, node: int) -> str:
        return "broker,controller" if self.is_controller(node) else "broker"

    def listening(self, node: int) -> Iterator[int]:
        """The ports of a node."""
        yield self.port_of(node)
        if self.is_controller(node):
            yield self.controller_ports[node - 1]

    def changed(self, **changes: object) -> Self:
        return replace(self, **changes)  # type: ignore[arg-type]  # they are checked by who calls

    def write(self, directory: Path) -> None:
        """Replace what was kept: whenever this is cut short, the old or the new plan is there, whole."""
        replace_file(str(directory / PLAN_FILE), (json.dumps(asdict(self), indent=2) + "\n").encode())


def read_plan(directory: Path) -> KafkaPlan:
    """Raises NoCluster and DamagedPlan."""
    path = directory / PLAN_FILE
    try:
        told = json.loads(path.read_text())
        return KafkaPlan(**(told | {"controller_ports": tuple(told["controller_ports"])}))
    except OSError:
        raise NoCluster(
            f"there is no cluster in {directory}: `stoker cluster up` makes one, --data-dir names another"
        ) from None
    except (ValueError, TypeError, KeyError):
        raise DamagedPlan(path) from None


def node_properties(plan: KafkaPlan, node: int, data: Path) -> dict[str, str]:
    """The settings of one node, by Kafka's names."""
    replicas = min(_REPLICAS, plan.brokers)
    in_sync = max(1, replicas - 1)
    listeners = [f"PLAINTEXT://{plan.address_of(node)}"]
    if plan.is_controller(node):
        listeners.append(f"CONTROLLER://{HOST}:{plan.controller_ports[node - 1]}")
    voters = [f"{number}@{HOST}:{port}" for number, port in enumerate(plan.controller_ports, 1)]
    return {
        "process.roles": plan.roles(node),
        "node.id": str(node),
        "broker.rack": f"rack-{node}",
        "listeners": ",".join(listeners),
        "advertised.listeners": f"PLAINTEXT://{plan.address_of(node)}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": ",".join(voters),
        "log.dirs": str(data),
        "default.replication.factor": str(replicas),
        "min.insync.replicas": str(in_sync),
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(in_sync),
        "share.coordinator.state.topic.replication.factor": str(replicas),
        "share.coordinator.state.topic.min.isr": str(in_sync),
        "group.initial.rebalance.delay.ms": "0",
        # A node that stops or is killed is let in again only when its old session is over: Kafka's 9 s would be waited for.
        "broker.heartbeat.interval.ms": "500",
        "broker.session.timeout.ms": "5000",
        **plan.config,
    }


def properties_text(properties: Mapping[str, str]) -> str:
    """As Java reads it: bytes are Latin-1 to it, so that everything else is escaped."""
    return "".join(f"{name}={_escaped(value)}\n" for name, value in properties.items())


def _escaped(value: str) -> str:
    text = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return "".join(each if each.isascii() else _in_utf16(each) for each in text)


def _in_utf16(character: str) -> str:
    return "".join(f"\\u{unit:04x}" for unit in memoryview(character.encode("utf-16-le", "surrogatepass")).cast("H"))
