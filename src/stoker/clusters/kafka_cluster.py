"""A local Apache Kafka cluster: for trying things out, tests and demos. No Docker, and nothing but Java.

    with KafkaCluster(directory).up(brokers=3) as kafka:
        kafka.bootstrap_servers

Its nodes outlive the process that started them; the directory is all that has to be known to find them again.
"""

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self
from uuid import uuid4

from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.clusters.daemon import Daemon
from stoker.clusters.directories import changing
from stoker.clusters.errors import (
    CannotChange,
    CannotStart,
    NodeState,
    NoSuchNode,
    NotInTime,
    PortInUse,
    UnusableDirectory,
)
from stoker.clusters.jars import Jars, kafka_jars
from stoker.clusters.java import find_java
from stoker.clusters.kafka_node import PURPOSE, KafkaNode
from stoker.clusters.kafka_plan import MOST_CONTROLLERS, OWN_SETTINGS, PLAN_FILE, KafkaPlan, read_plan
from stoker.clusters.kafka_status import KafkaStatus, Replication, node_status, replication
from stoker.clusters.local_cluster import ANY_PORT, LocalCluster, kill_all, named
from stoker.clusters.ports import HIGHEST_PORT, draw_port, draw_ports, is_free
from stoker.wire.uuids import draw_uuid, uuid_text

DEFAULT_BROKERS: Final = 3
DEFAULT_PORT: Final = 9092
DEFAULT_HEAP: Final = "512M"

START_SECONDS: Final = 300.0
"""Until a node is ready; one with much to recover may take longer."""
_ANSWER_MS: Final = "5000"


class KafkaCluster(LocalCluster):
    """Apache Kafka in a directory, by default `$XDG_STATE_HOME/stoker/cluster`."""

    default_directory = "cluster"
    plan_file = PLAN_FILE

    # -- what there is ----------------------------------------------------------------------------------------------

    @property
    def plan(self) -> KafkaPlan:
        """Raises NoCluster."""
        return read_plan(self.directory)

    @property
    def bootstrap_servers(self) -> str:
        """Of all nodes, whether they run or not. Raises NoCluster."""
        return self.plan.bootstrap_servers

    def nodes(self) -> list[KafkaNode]:
        plan = self.plan
        return [KafkaNode(plan, number, self.directory) for number in plan.nodes]

    def stages(self) -> list[list[Daemon]]:
        """A broker asks the controllers whether it may go: without them it would wait for minutes."""
        plan = self.plan
        brokers = [node.daemon for node in self.nodes() if not plan.is_controller(node.number)]
        return [brokers, [node.daemon for node in self.nodes() if plan.is_controller(node.number)]]

    def node(self, number: int) -> KafkaNode:
        """Raises NoCluster and NoSuchNode."""
        plan = self.plan
        if number not in plan.nodes:
            raise NoSuchNode(f"the cluster in {self.directory} has no node {number}: they are 1 to {plan.brokers}")
        return KafkaNode(plan, number, self.directory)

    @contextmanager
    def client(self, properties: Mapping[str, str] | None = None) -> Iterator[Cluster]:
        """A client of the running nodes."""
        limits = {"request.timeout.ms": _ANSWER_MS, "default.api.timeout.ms": _ANSWER_MS}
        with Cluster(client_properties(self.bootstrap_servers, limits | dict(properties or {}))) as cluster:
            yield cluster

    def replication(self) -> Replication:
        """How the partitions are. Raises NoCluster."""
        if not any(node.is_running for node in self.nodes()):
            return Replication(partitions=None, quorum_leader=None)
        with self.client() as cluster:
            return replication(cluster)

    def status(self) -> KafkaStatus:
        """Raises NoCluster."""
        plan, told = self.plan, self.replication()
        return KafkaStatus(
            cluster_id=plan.cluster_id,
            kafka_version=plan.kafka_version,
            directory=str(self.directory),
            bootstrap_servers=plan.bootstrap_servers,
            offline=None if told.partitions is None else told.offline,
            nodes=tuple(node_status(node, told) for node in self.nodes()),
        )

    # -- what is done -----------------------------------------------------------------------------------------------

    def up(
        self,
        brokers: int | None = None,
        *,
        port: int | None = None,
        kafka_version: str | None = None,
        jars: Path | None = None,
        heap: str | None = None,
        config: Mapping[str, str] | None = None,
        seconds: float = START_SECONDS,
    ) -> Self:
        """Start all nodes that are down, making the cluster if there is none; returns when all are ready.

        What is not given is as before, or a default; ANY_PORT is a port that is free. A cluster that is there may get more brokers; other settings may
        change while all of its nodes are down, and an empty one is taken back. If what is wanted cannot be formatted or
        started, the cluster is what it was before, or there is none; but where nodes of a cluster are only not ready in
        time, or a new one serves already, all is left as it is. Raises ClusterError.
        """
        find_java(PURPOSE)
        with changing(self.directory):
            before = self.plan if self.exists else None
            if before is not None:
                self._finish_stopping()
            wanted = self._wanted(before, brokers, port, kafka_version, jars, heap, config)
            nodes = [KafkaNode(wanted, number, self.directory) for number in wanted.nodes]
            down = [node for node in nodes if not node.is_running]
            _check_ports(down)
            new = [node for node in nodes if not node.is_formatted]
            if before is None:
                _check_strangers(nodes)
            wanted.write(self.directory)
            try:
                for node in nodes:
                    node.write_properties()
                self._format(nodes)
                self._start(down, nodes, seconds)
            except Exception as error:
                # What a node has recovered must not be thrown away, nor a replica that a new one may have by now.
                if before is not None and (isinstance(error, NotInTime) or any(node.is_ready() for node in new)):
                    raise
                kill_all(node.daemon for node in down)
                self._put_back(before, new)
                raise
            except BaseException:  # Ctrl-C: the next `up` goes on where this one was
                kill_all(node.daemon for node in down)
                raise
            self._remark_on_growth(before, [node for node in nodes if node not in down])
        return self

    def kill(self, number: int) -> None:
        """SIGKILL, as a machine that fails. Raises NodeState if it does not run."""
        node = self.node(number)
        if not node.is_running:
            raise NodeState(f"node {number} does not run")
        node.daemon.kill()

    def restart(self, number: int, *, seconds: float = START_SECONDS) -> None:
        """Stop it, if it runs, and start it; returns when it is ready. Raises ClusterError: one that is not ready in time
        goes on starting.
        """
        self.node(number)  # first: the lock makes a directory
        with changing(self.directory):
            node = self.node(number)
            self._check_startable()
            self._check_quorum(node)
            self._restart(node, seconds)

    def roll(self, *, seconds: float = START_SECONDS) -> None:
        """Restart one node after the other without a write that is refused; then the preferred leaders lead again.

        `seconds` is how long one node may take to be ready, and then to be in sync. Raises NodeState if the cluster is not
        whole, and NotInTime.
        """
        from stoker.clusters.rolling import roll

        self.nodes()  # first: the lock makes a directory
        with changing(self.directory):
            self._check_startable()
            roll(self, self._restart, self._say, seconds)

    # -- how it is done ---------------------------------------------------------------------------------------------

    def _wanted(
        self,
        there: KafkaPlan | None,
        brokers: int | None,
        port: int | None,
        kafka_version: str | None,
        jars: Path | None,
        heap: str | None,
        config: Mapping[str, str] | None,
    ) -> KafkaPlan:
        if there is None:
            _check_range(port or DEFAULT_PORT, brokers or DEFAULT_BROKERS)
            return self._new_plan(
                brokers or DEFAULT_BROKERS,
                draw_ports(brokers or DEFAULT_BROKERS) if port == ANY_PORT else port or DEFAULT_PORT,
                kafka_jars(kafka_version, jars, self._say),
                heap or DEFAULT_HEAP,
                _merged({}, config or {}),
            )
        if brokers is not None and brokers < there.brokers:
            raise CannotChange(
                f"the cluster in {self.directory} has {there.brokers} brokers and cannot have fewer: `stoker cluster down "
                "--delete` removes it with its data, --data-dir names another directory"
            )
        wanted = there.changed(
            brokers=brokers or there.brokers,
            port=port or there.port,
            heap=heap or there.heap,
            config=_merged(there.config, config or {}),
        )
        _check_range(wanted.port, wanted.brokers)
        if kafka_version is not None or jars is not None or not Path(there.jars).exists():
            found = kafka_jars(kafka_version or there.kafka_version if jars is None else kafka_version, jars, self._say)
            wanted = wanted.changed(jars=str(found.directory), kafka_version=found.kafka_version)
        running = [node for node in self.nodes() if node.is_running]
        if running:
            if wanted.changed(brokers=there.brokers) != there:
                raise CannotChange(
                    f"nodes of the cluster in {self.directory} run, and only the number of brokers can change then: "
                    "`stoker cluster down` first"
                )
            return wanted
        ports: list[int] = []
        for each in there.controller_ports:
            ports.append(each if is_free(each) else draw_port([*ports, *map(wanted.port_of, wanted.nodes)]))
        return wanted.changed(controller_ports=tuple(ports))

    def _new_plan(self, brokers: int, port: int, jars: Jars, heap: str, config: Mapping[str, str]) -> KafkaPlan:
        if "," in str(self.directory):
            raise CannotChange(f"{self.directory} has a comma in its name, which Kafka's log.dirs cannot have")
        taken = list(range(port, port + brokers))
        for _ in range(min(brokers, MOST_CONTROLLERS)):
            taken.append(draw_port(taken))
        return KafkaPlan(
            cluster_id=uuid_text(draw_uuid(uuid4)),
            kafka_version=jars.kafka_version,
            jars=str(jars.directory),
            heap=heap,
            brokers=brokers,
            port=port,
            controller_ports=tuple(taken[brokers:]),
            config=dict(config),
        )

    def _format(self, nodes: list[KafkaNode]) -> None:
        first, *others = nodes
        if not first.is_formatted:
            self._say(
                f"Formatting {named(node.daemon for node in nodes)} of Apache Kafka {first.plan.kafka_version} in {self.directory} ..."
            )
            first.format()
        for node in others:
            if not node.is_formatted:
                node.format_like(first)

    def _start(self, down: list[KafkaNode], nodes: list[KafkaNode], seconds: float) -> None:
        """Those that are down, all at once: none is ready before there is a quorum. Returns when `nodes` are ready."""
        began = time.monotonic()
        if down:
            self._say(f"Starting {named(node.daemon for node in down)} ...")
        for node in down:
            node.start()
        for node in nodes:
            node.wait_until_ready(began + seconds - time.monotonic())
            if node in down:
                self._say(f"Node {node.number} is ready on {node.address} ({time.monotonic() - began:.1f} s).")

    def _remark_on_growth(self, before: KafkaPlan | None, running: list[KafkaNode]) -> None:
        """A topic has as many replicas as the settings say that the active controller was started with."""
        if before is None:
            return
        old = [node for node in running if node.settings != KafkaNode(before, node.number, self.directory).settings]
        if old:
            self._say(
                "Still with the settings of before, such as how many replicas a new topic has: "
                f"{named(node.daemon for node in old)}. `stoker cluster roll` restarts them with those of "
                f"{self.plan.brokers} brokers."
            )

    def _put_back(self, before: KafkaPlan | None, new: Iterable[KafkaNode]) -> None:
        """The plan, and without their data the nodes that were new: that of another cluster id would be refused. Logs stay."""
        if before is None:
            (self.directory / PLAN_FILE).unlink(missing_ok=True)
        else:
            before.write(self.directory)
        for node in new:
            if node.data.exists():
                shutil.rmtree(node.data)

    def _check_startable(self) -> None:
        """Before anything is stopped. Raises CannotStart."""
        find_java(PURPOSE)
        if not Path(self.plan.jars).is_dir():
            raise CannotStart(
                f"the jars of Apache Kafka are no longer in {self.plan.jars}: `stoker cluster up` fetches them, "
                "--kafka-jars names another directory"
            )

    def _check_quorum(self, node: KafkaNode) -> None:
        """A node is not ready before most controllers run. Raises NodeState."""
        plan = self.plan
        controllers = len(plan.controller_ports)
        running = [each for each in self.nodes() if each.is_running and plan.is_controller(each.number)]
        would_run = {each.number for each in running} | ({node.number} if plan.is_controller(node.number) else set())
        if len(would_run) * 2 <= controllers:
            raise NodeState(
                f"node {node.number} would wait for a quorum: {len(running)} of {controllers} controllers run; "
                "`stoker cluster up` starts all nodes that are down"
            )

    def _restart(self, node: KafkaNode, seconds: float) -> None:
        node.write_properties()
        if node.is_running:
            self._stop([node.daemon])
        _check_ports([node])
        self._start([node], [node], seconds)


def _merged(before: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Raises CannotChange for what is the cluster's own to set."""
    for name in given:
        if name in OWN_SETTINGS or name.startswith("controller.quorum."):
            raise CannotChange(f"--config {name}: the cluster sets that itself, for each node")
    return {name: value for name, value in {**before, **given}.items() if value}


def _check_range(port: int, brokers: int) -> None:
    """Raises CannotChange."""
    if port + brokers - 1 > HIGHEST_PORT:
        raise CannotChange(
            f"--port {port}: there are no {brokers} ports from there on, {HIGHEST_PORT} is the last: choose a lower one"
        )


def _check_strangers(nodes: Iterable[KafkaNode]) -> None:
    """Raises UnusableDirectory: what is in a node's directory goes with `down --delete`."""
    for node in nodes:
        strangers = node.strangers()
        if strangers:
            raise UnusableDirectory(
                f"{node.directory} is not node {node.number}'s, and holds {strangers[0]}: --data-dir names another directory"
            )


def _check_ports(nodes: Iterable[KafkaNode]) -> None:
    """Raises PortInUse: a broker that is told so by the operating system says it at the end of a long log."""
    for node in nodes:
        for port in node.plan.listening(node.number):
            if not is_free(port):
                raise PortInUse(
                    f"port {port} of node {node.number} is in use by another program: stop that, or, while all nodes are down, "
                    "choose the port of the first broker by `stoker cluster up --port`"
                )
