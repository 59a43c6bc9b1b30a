"""The demo's pipeline on a three-broker Apache Kafka and a Spark cluster, and what may be done to them while it runs."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import IO, Any, Final

from confluent_kafka import Producer

from stoker.client.admin.topics import create_topic, wait_until
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.client.targets import LeaderOf
from stoker.clusters import KafkaCluster
from stoker.clusters.local_cluster import ANY_PORT
from stoker.clusters.spark_cluster import SparkCluster
from stoker.demo.audit import Line, Values, balance
from stoker.demo.events import SCHEMAS, Plan, avro
from stoker.demo.platform import Pipeline
from stoker.streams.state.directory import StateDirectory
from tests.kafka_cluster import kafka_cluster
from tests.registry.registry_process import RegistryProcess

PARTITIONS: Final = 4
LONGEST_SECONDS: Final = 600.0
ENDED: Final = "ended by itself"
OUTPUTS: Final = ("orders-enriched", "orders-high-value", "orders-paid")


class Platform:
    """A cluster or a broker with a registry, the events of a plan, and the pipeline, which is started again if it ends."""

    def __init__(
        self, directory: Path, servers: str, registry: RegistryProcess, plan: Plan, *, batches: int, master: str
    ) -> None:
        self.directory = directory
        self.servers = servers
        self.registry = registry
        self.plan = plan
        self.counts: Counter[str] = Counter()
        self.state = StateDirectory(directory / "state" / "order-pipeline")
        self.total = self._produce()
        self._arguments = ["--bootstrap-servers", servers, "--registry", registry.url, "--master", master]
        self._arguments += ["--state-dir", str(directory / "state"), "--lake", self.lake]
        self._arguments += ["--max-rows-per-batch", str(self.total // batches)]
        self._log: IO[str] = (directory / "pipeline.log").open("w")
        self._pipeline: Pipeline | None = None

    @property
    def lake(self) -> str:
        return str(self.directory / "lake")

    @property
    def log(self) -> str:
        return Path(self._log.name).read_text(errors="replace")

    def _produce(self) -> int:
        with Cluster(client_properties(self.servers)) as cluster:
            for topic in SCHEMAS:
                create_topic(cluster, topic, partitions=PARTITIONS, configs={"retention.ms": "-1"})
                wait_until(cluster, topic, lambda found: found is not None)
        ids = {topic: self.registry.register(f"{topic}-value", schema) for topic, schema in SCHEMAS.items()}
        producer = Producer({"bootstrap.servers": self.servers, "enable.idempotence": True, "linger.ms": 20})
        total = 0
        for events in (self.plan.customers(), self.plan.order_events(), self.plan.payment_events()):
            for event in events:
                value = avro(ids[event.topic], event.fields)
                producer.produce(event.topic, key=event.key, value=value, timestamp=event.timestamp)
                producer.poll(0)
                total += 1
        assert producer.flush(120) == 0
        return total

    # -- the pipeline

    def tend(self) -> None:
        """Start what is not running."""
        if not self.registry.is_running:
            self.counts["registry ended by itself"] += 1
            self.registry.start()
        if self._pipeline is None or not self._pipeline.is_running:
            self.counts["started" if self._pipeline is None else ENDED] += 1
            self._pipeline = Pipeline(self._arguments, self._log)

    @property
    def batch(self) -> int:
        """The last one that is done."""
        return (self.state.manifests() or [-1])[-1]

    @property
    def done(self) -> int:
        manifest = self.state.newest_manifest()
        return 0 if manifest is None else sum(manifest.progress["total"]["rows"].values())

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LONGEST_SECONDS
        while not is_so():
            self.tend()
            assert time.monotonic() < deadline, (
                f"micro-batch {self.batch} is the last after {LONGEST_SECONDS} s:\n{self.log[-5000:]}"
            )
            time.sleep(0.1)

    def wait_for_batches(self, count: int = 1) -> None:
        """So many more, or until everything is done."""
        last = self.batch + count
        self.wait_until(lambda: self.batch >= last or self.done >= self.total)

    def finish(self) -> None:
        self.wait_until(lambda: self.done >= self.total)
        assert self._pipeline is not None
        self._pipeline.stop()

    def end(self) -> None:
        if self._pipeline is not None:
            self._pipeline.kill()
        self._log.close()

    # -- what came of it

    def balance(self) -> list[Line]:
        return balance(self.plan, self.servers, self.registry.url, self.lake)

    def late(self) -> dict[str, int]:
        manifest = self.state.newest_manifest()
        assert manifest is not None
        return dict(manifest.progress["total"]["late"])

    def results(self) -> dict[str, Any]:
        """What does not depend on how the events were cut into micro-batches: all outputs, and the last sum of each hour."""
        with closing(Values(self.servers, self.registry.url)) as values:
            found: dict[str, Any] = {topic: sorted(_text(each) for each in values.keyed(topic)) for topic in OUTPUTS}
            found["hourly-revenue"] = {
                f"{key} {value['window_start']}": _text(value) for key, value in values.keyed("hourly-revenue")
            }
            for topic in ("orders-dead-letters", "payments-dead-letters"):
                found[topic] = values.count(topic)
        found["lake"] = sorted(_text(row) for row in _stored(self.lake))
        return found


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _stored(lake: str) -> list[Any]:
    from pyarrow import dataset

    return list(dataset.dataset(lake, format="parquet", partitioning="hive").to_table().to_pylist())


class Clusters(Platform):
    """Three brokers and two workers of Spark, to be killed."""

    def __init__(
        self,
        directory: Path,
        kafka: KafkaCluster,
        spark: SparkCluster,
        registry: RegistryProcess,
        plan: Plan,
        batches: int,
    ) -> None:
        super().__init__(directory, kafka.bootstrap_servers, registry, plan, batches=batches, master=spark.master)
        self._kafka = kafka
        self._spark = spark

    # -- who is who

    def leader_of(self, topic: str, partition: int = 0) -> int:
        with Cluster(client_properties(self.servers)) as cluster:
            cluster.metadata([topic])
            return cluster.leader_of(LeaderOf(topic, partition))

    def controller(self) -> int:
        """As the quorum tells it."""
        found = self._kafka.status().quorum_leader
        assert found is not None
        return found

    # -- faults

    def kill(self, node: int, what: str) -> None:
        self.counts[f"{what} killed"] += 1
        self._kafka.kill(node)

    def restart(self, node: int) -> None:
        """And wait until it is in sync, or the next fault would leave too few."""
        self._kafka.restart(node)
        self.wait_until(lambda: self._kafka.replication().is_whole)

    def roll(self) -> None:
        """Who waits for each node to be in sync before the next."""
        self._kafka.roll()
        self.counts["rolled"] += 1

    def kill_worker(self, number: int) -> None:
        """With its executor."""
        self.counts["Spark worker killed"] += 1
        self._spark.kill(number)

    def restart_workers(self) -> None:
        """Those that were killed."""
        self._spark.up()

    def kill_driver(self) -> None:
        self.counts["driver killed"] += 1
        assert self._pipeline is not None
        self._pipeline.kill()
        self._pipeline = None


@contextmanager
def clusters(directory: Path, plan: Plan, *, batches: int) -> Iterator[Clusters]:
    """Three replicas of everything, two of them in sync; two workers of one core each."""
    with ExitStack() as stack:
        kafka = stack.enter_context(kafka_cluster(directory / "kafka"))
        spark = SparkCluster(directory / "spark").up(2, port=ANY_PORT, web_port=ANY_PORT)
        stack.callback(spark.down)
        registry = stack.enter_context(RegistryProcess(kafka.bootstrap_servers))
        platform = Clusters(directory, kafka, spark, registry, plan, batches)
        stack.callback(platform.end)
        yield platform
