"""The demo in order: platform, events, pipeline, a kill in the middle, and the balance."""

import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Final

from stoker.demo.audit import balance, late_orders
from stoker.demo.events import SCHEMAS, SPAN, Event, Plan, avro
from stoker.demo.platform import DemoFailed, Pipeline, broker_and_registry
from stoker.streams.running import newest_manifest
from stoker.streams.state.directory import StateDirectory

PARTITIONS: Final = 4
BATCHES: Final = 3
_POLL_SECONDS: Final = 0.1
_LONGEST_SECONDS: Final = 900.0
Say = Callable[[str], None]


class Demo:
    """`events` are about so many. What is not given is started here, and ends with it unless `keep`."""

    def __init__(
        self,
        *,
        events: int = 200_000,
        bootstrap_servers: str | None = None,
        registry: str | None = None,
        master: str | None = None,
        keep: bool = False,
        say: Say = print,
    ) -> None:
        self._plan = Plan.of(events, round(time.time() * 1000) - SPAN)
        self._bootstrap_servers = bootstrap_servers
        self._registry = registry
        self._master = master
        self._keep = keep
        self._say = say

    def run(self) -> int:
        """0 if the balance is right. Raises DemoFailed."""
        began = time.monotonic()
        with ExitStack() as stack:
            directory = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="stoker-demo-", ignore_cleanup_errors=True))
            )
            servers, registry = self._platform(stack, directory)
            self._say(f"Broker on {servers}, registry on {registry}, after {time.monotonic() - began:.1f} s")
            total = self._produce(servers, registry)
            log = stack.enter_context((directory / "pipeline.log").open("w"))
            arguments = self._arguments(servers, registry, directory, total)
            state = StateDirectory(directory / "state" / "order-pipeline")
            self._run_killed_once(arguments, log, state, total)
            pipeline = Pipeline(arguments, log)
            stack.callback(pipeline.stop)
            self._follow(pipeline, state, total, until=total)
            if not self._keep:
                pipeline.stop()
            is_right = self._show_balance(servers, registry, str(directory / "lake"), state)
            self._say(f"Done after {time.monotonic() - began:.0f} s.")
            if self._keep:
                self._wait(pipeline, servers, registry, state)
        return 0 if is_right else 1

    def _platform(self, stack: ExitStack, directory: Path) -> tuple[str, str]:
        if self._bootstrap_servers is None:
            return stack.enter_context(broker_and_registry(directory / "data"))
        if self._registry is None:
            raise DemoFailed(
                "--bootstrap-servers names a broker: --registry must name a registry on it, http://host:port"
            )
        return self._bootstrap_servers, self._registry

    def _arguments(self, servers: str, registry: str, directory: Path, total: int) -> list[str]:
        given = ["--bootstrap-servers", servers, "--registry", registry]
        given += ["--state-dir", str(directory / "state"), "--lake", str(directory / "lake")]
        given += ["--max-rows-per-batch", str(total // BATCHES)]
        return given + (["--master", self._master] if self._master else [])

    def _produce(self, servers: str, registry: str) -> int:
        """All events, each topic in its order; how many."""
        from confluent_kafka import Producer

        from stoker.client.admin.topics import create_topic
        from stoker.client.cluster import Cluster
        from stoker.client.properties import client_properties
        from stoker.registry.client import RegistryClient

        began = time.monotonic()
        with Cluster(client_properties(servers)) as cluster:
            for topic in SCHEMAS:
                create_topic(cluster, topic, partitions=PARTITIONS, configs={"retention.ms": "-1"})
        with RegistryClient(registry) as client:
            ids = {
                topic: int(client.register(f"{topic}-value", {"schema": schema})["id"])
                for topic, schema in SCHEMAS.items()
            }
        producer = Producer(
            {"bootstrap.servers": servers, "linger.ms": 20, "queue.buffering.max.messages": 1_000_000, "log_level": 0}
        )
        total = 0

        def send(event: Event) -> None:
            value = avro(ids[event.topic], event.fields)
            producer.produce(event.topic, key=event.key, value=value, timestamp=event.timestamp)

        for events in (self._plan.customers(), self._plan.order_events(), self._plan.payment_events()):
            for event in events:
                send(event)
                total += 1
        if producer.flush(120):
            raise DemoFailed("the broker did not take all events within two minutes")
        self._say(
            f"{total:,} Avro events written in {time.monotonic() - began:.1f} s: orders, customers and payments of six hours"
        )
        return total

    def _run_killed_once(self, arguments: list[str], log: IO[str], state: StateDirectory, total: int) -> None:
        """Until one micro-batch is done, and the next one has begun to write."""
        pipeline = Pipeline(arguments, log)
        try:
            self._follow(pipeline, state, total, until=1)
            number = state.manifests()[-1] + 1
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline and not _has_begun(state, number):
                pipeline.check()
                time.sleep(0.01)
        finally:
            pipeline.kill()
        self._say(f"Spark is killed in micro-batch {number}, and started again")

    def _follow(self, pipeline: Pipeline, state: StateDirectory, total: int, *, until: int) -> None:
        """Show how far it is, until so many events are done."""
        shown = -1
        deadline = time.monotonic() + _LONGEST_SECONDS
        while time.monotonic() < deadline:
            pipeline.check()
            manifest = newest_manifest(state)
            if manifest is not None:
                done = sum(manifest.progress["total"]["rows"].values())
                if manifest.batch != shown:
                    shown = manifest.batch
                    self._say(
                        f"micro-batch {shown}: {done:>9,} of {total:,} events, {manifest.progress['seconds']:.1f} s"
                    )
                if done >= until:
                    return
            time.sleep(_POLL_SECONDS)
        raise DemoFailed(f"the pipeline is not done after {_LONGEST_SECONDS:.0f} s")

    def _show_balance(self, servers: str, registry: str, lake: str, state: StateDirectory) -> bool:
        lines = balance(self._plan, servers, registry, lake)
        self._say(f"\n{'':38}{'expected':>16}{'found':>16}{'twice':>8}")
        for line in lines:
            mark = "" if line.is_right else "   <- wrong"
            self._say(f"{line.what:38}{line.expected:>16,}{line.found:>16,}{line.twice:>8,}{mark}")
        manifest = newest_manifest(state)
        late = 0 if manifest is None else manifest.progress["total"]["late"].get("hourly-revenue-store", 0)
        expected = late_orders(self._plan)
        self._say(f"{'orders too late for their hour':38}{expected:>16,}{late:>16,}")
        is_right = all(line.is_right for line in lines) and late == expected
        self._say("\nThe balance is right: nothing lost, nothing doubled." if is_right else "\nThe balance is wrong.")
        return is_right

    def _wait(self, pipeline: Pipeline, servers: str, registry: str, state: StateDirectory) -> None:
        self._say(
            f"It goes on running: broker {servers}, registry {registry}, state in {state}. Ask it:\n"
            f"  stoker consume hourly-revenue --bootstrap-server {servers} --from-beginning --registry {registry}\n"
            f"  stoker streams store order-pipeline hourly-revenue-store customer-00007 --state-dir {Path(str(state)).parent}\n"
            "Ctrl-C ends it."
        )
        sys.stdout.flush()
        while True:
            pipeline.check()
            time.sleep(1)


def _has_begun(state: StateDirectory, batch: int) -> bool:
    return any(f"batch-{batch}" in state.parts(store) for store in state.stores())
