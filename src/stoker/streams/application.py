"""`stoker.Streams`: an application that is declared first and run then."""

import logging
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from stoker.spark.named_cluster import NamedCluster
from stoker.spark.options import FORMATS
from stoker.spark.spark_session import has_ended
from stoker.streams import nodes
from stoker.streams.description import drawing, plans
from stoker.streams.errors import ApplicationFailed, InvalidTopology
from stoker.streams.kafka_inputs import Access
from stoker.streams.names import check_name
from stoker.streams.state.directory import StateDirectory, default_root
from stoker.streams.topology import Topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from stoker.streams.running import Running, Status
    from stoker.streams.sql.declarations import Declarations
    from stoker.streams.state.views import StoreView
    from stoker.streams.stream import Stream
    from stoker.streams.table import GlobalTable, Table

_LOGGER: Final = logging.getLogger(__name__)
_ON_ERROR: Final = ("fail", "drop", "dead-letter")
_STARTING: Final = ("earliest", "latest")


class Streams:
    """`name` is Kafka Streams' application id: state, offsets and internal topics are found by it.

    Without `bootstrap_servers` it is the cluster that stoker.toml or variables name, else localhost:9092.
    """

    def __init__(
        self,
        name: str,
        *,
        bootstrap_servers: str | None = None,
        registry: str | None = None,
        state_dir: str | None = None,
        spark: "SparkSession | None" = None,
        master: str | None = None,
        options: Mapping[str, object] | None = None,
        max_rows_per_batch: int = 1_000_000,
        trigger: str = "0 seconds",
        changelogs: bool = True,
    ) -> None:
        self.name = check_name("the name of an application", name)
        named = NamedCluster.of(bootstrap_servers, registry)
        self.bootstrap_servers = named.bootstrap_servers
        self.registry = named.registry
        self.options = named.options_under({each: str(value) for each, value in (options or {}).items()})
        self._state_dir = state_dir
        self._spark = spark
        self._master = master
        self._most_rows = max_rows_per_batch
        self._trigger = trigger
        self._changelogs = changelogs
        self._running: Running | None = None
        self._server: Any = None
        self._sql: Declarations | None = None
        self._declared: list[nodes.Node] = []
        self._names: set[str] = set()
        self._logged: set[str] = set()
        """Stores that the user has named: these have changelogs."""

    def __repr__(self) -> str:
        return f"<Streams {self.name}: {len(self.topology.nodes)} nodes>"

    # -- sources

    def stream(self, topic: str, **arguments: Any) -> "Stream":
        """The records of a topic as a stream. See `source_arguments` for what can be said of the topic."""
        from stoker.streams.stream import Stream

        return Stream(self, nodes.StreamSource(topic=topic, **_source(topic, **arguments)))

    def table(self, topic: str, *, store: str | None = None, **arguments: Any) -> "Table":
        """A topic as a table: the latest value of each key, where null deletes."""
        from stoker.streams.table import Table

        name = self.store_name(f"{topic}-table", store)
        return Table(self, nodes.TableSource(topic=topic, name=name, **_source(topic, **arguments)))

    def global_table(self, topic: str, *, store: str | None = None, **arguments: Any) -> "GlobalTable":
        """A topic as a table that any row can look into, whatever its key and partition."""
        from stoker.streams.table import GlobalTable

        name = self.store_name(f"{topic}-table", store)
        node = nodes.TableSource(topic=topic, name=name, is_global=True, **_source(topic, **arguments))
        return GlobalTable(self, node)

    def sql(self, text: str) -> Any:
        """Statements of ksqlDB's language: CREATE STREAM and TABLE declare sources, with AS SELECT a query and its topic.

        Gives what the last of them made; of a SELECT it is the Stream or Table. Raises SqlError, which says where.
        """
        if self._sql is None:
            from stoker.streams.sql.declarations import Declarations

            self._sql = Declarations(self)
        return self._sql.run(text)

    def stream_like(self, sink: nodes.ToTopic, like: "Stream") -> "Stream":
        """What is written by `sink`, read again with the columns that it was written with."""
        from stoker.streams.stream import Stream

        return Stream(self, nodes.StreamSource(topic=sink.topic, key=sink.key, value=sink.value, written_by=sink))

    # -- what streams and tables declare

    def declare(self, node: nodes.Node) -> None:
        self._declared.append(node)

    def store_name(self, kind: str, given: str | None = None) -> str:
        """The name that was given, which must be free; else one that follows from the order of the program."""
        if given is None:
            number = 1
            while f"{kind}-{number}" in self._names:
                number += 1
            given = f"{kind}-{number}"
        elif given in self._names:
            raise InvalidTopology(f"there is a store named {given!r} already: a name is for one of them")
        else:
            self._logged.add(given)
        self._names.add(check_name("the name of a store", given))
        return given

    def sink_name(self, kind: str) -> str:
        return self.store_name(f"to-{kind}")

    @property
    def topology(self) -> Topology:
        """All that was declared so far."""
        return Topology(tuple(self._declared))

    def session(self) -> "SparkSession":
        """The Spark session of the application, started if there is none."""
        if self._spark is None:
            import stoker.spark

            self._spark = stoker.spark.session(self.name, master=self._master)
        return self._spark

    # -- to look at

    def describe(self) -> str:
        """The topology as a drawing."""
        return drawing(self.topology, self.name)

    def explain(self) -> str:
        """The topology, and Spark's plan of a micro-batch for each of its outputs. Topics and registry are asked, nothing runs."""
        batch = self._runner().check()
        return f"{self.describe()}\n\n{plans(self.topology, batch)}"

    def check(self) -> None:
        """Whether it can run: columns, formats, topics, the state that is there. Raises what is wrong; makes nothing."""
        self._runner().check()

    def data_frame(self, node: nodes.Node) -> "DataFrame":
        """What a node is for all that the topics hold now."""
        from stoker.streams.snapshot import snapshot

        alone = nodes.ForEachBatch(parent=node, name="snapshot", function=lambda frame, number: None)
        return snapshot(self._runner(Topology((alone,))), node)

    # -- to run

    def start(self, *, available_now: bool = False, http: str | None = None) -> "Streams":
        """Begin, or go on where it was; it runs beside the program until `stop()`.

        With `available_now` it ends when it has read what the topics hold now. `http` is an address (`127.0.0.1:7070`) where its stores
        can be asked for. Raises StreamsError, SparkError or ClientError for what can be seen before it runs.
        """
        if self._running is not None and self._running.is_running:
            raise ApplicationFailed(f"application {self.name} runs already: stop() it first")
        running = self._runner(available_now=available_now)
        running.start()
        self._running = running
        if http is not None:
            from stoker.streams.http import serve

            host, _, port = http.rpartition(":")
            self._server = serve(self.state_root, host or "127.0.0.1", int(port))
        return self

    def run(self, *, until_end: bool = False, http: str | None = None) -> None:
        """Run until Ctrl-C or SIGTERM, which let the micro-batch that runs come to its end; or until all that is there is read."""
        if until_end:
            self._run_until_end()
            return
        self.session()  # which, where it starts Spark, puts a handler of its own in the place of that for Ctrl-C
        is_stopped = threading.Event()
        try:
            try:
                with stopped_by_signals(is_stopped):
                    self.start(http=http)
                    while not is_stopped.is_set() and not self.wait(0.5):
                        pass
            except BaseException:
                with suppress(ApplicationFailed):  # which is told already
                    self.stop()
                raise
            self.stop()
        except Exception:
            if not (is_stopped.is_set() and has_ended()):
                raise
            _LOGGER.warning(
                "application %s: Spark was told to stop, too (a signal to the whole process group); the micro-batch that ran is run "
                "again at the next start",
                self.name,
            )

    def _run_until_end(self) -> None:
        """Topics that it writes itself (`through`) may have got something in the meantime."""
        own = {each.topic for each in self.topology.sinks if isinstance(each, nodes.ToTopic)} & set(
            self.topology.topics
        )
        done = None
        while True:
            self.start(available_now=True)
            self.wait()
            batches = self.directory.manifests()
            if not own or batches[-1:] == done:
                return
            done = batches[-1:]

    def wait(self, timeout: float | None = None) -> bool:
        """Until it has ended, or so many seconds; whether it has. Raises ApplicationFailed if by an error."""
        if self._running is None:
            raise ApplicationFailed(f"application {self.name} was not started")
        return self._running.wait(timeout)

    def stop(self) -> None:
        """Let the micro-batch that runs come to its end, then stop. Raises ApplicationFailed if it had failed."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._running is not None:
            self._running.stop()

    close = stop

    def status(self) -> "Status":
        """How far it is: rates, lag, late records, sizes of stores."""
        return (self._running or self._runner()).status()

    def store(self, name: str) -> "StoreView":
        """A store, as it was after the last micro-batch; also while nothing, or another process, runs the application."""
        from stoker.streams.state.views import StoreView

        return StoreView(self.directory, name)

    def reset(self) -> None:
        """Forget state and offsets: the next start reads its topics from their beginning. Topics stay as they are."""
        if self._running is not None and self._running.is_running:
            raise ApplicationFailed(f"application {self.name} runs: stop() it first")
        self.directory.remove()

    @property
    def state_root(self) -> str:
        """Where the directories of applications are."""
        return self._state_dir or default_root()

    @property
    def directory(self) -> StateDirectory:
        """Where its state is: `<state_dir>/<name>`."""
        return StateDirectory(f"{self.state_root}/{self.name}")

    def _runner(self, topology: Topology | None = None, *, available_now: bool = False) -> "Running":
        from stoker.streams.running import Running

        return Running(
            self.name,
            self.topology if topology is None else topology,
            self.session(),
            Access(bootstrap_servers=self.bootstrap_servers, registry=self.registry, options=self.options),
            self.directory,
            logged=frozenset(self._logged) if self._changelogs else frozenset(),
            most_rows=self._most_rows,
            trigger=self._trigger,
            available_now=available_now,
        )


@contextmanager
def stopped_by_signals(is_stopped: threading.Event) -> Iterator[None]:
    """Ctrl-C and SIGTERM set the event, in the main thread; a second one ends the program as usual."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}

    def stop(number: int, frame: Any) -> None:
        is_stopped.set()
        for each, handler in before.items():
            signal.signal(each, handler)

    for each in before:
        signal.signal(each, stop)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _source(
    topic: str,
    *,
    key_format: str | None = None,
    value_format: str | None = None,
    key_schema: str | None = None,
    value_schema: str | None = None,
    timestamp: str | None = None,
    starting: str = "earliest",
    on_error: str = "fail",
    dead_letters: str | None = None,
    headers: bool = False,
    options: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    if dead_letters is not None and on_error == "fail":
        on_error = "dead-letter"
    for name, value, choices in (("on_error", on_error, _ON_ERROR), ("starting", starting, _STARTING)):
        if value not in choices:
            raise InvalidTopology(f"{name}={value!r} of topic {topic}: it takes {', '.join(choices)}")
    for name, form in (("key_format", key_format), ("value_format", value_format)):
        if form is not None and form.lower() not in FORMATS:
            raise InvalidTopology(f"{name}={form!r} of topic {topic}: it takes {', '.join(FORMATS)}")
    return {
        "key": nodes.Format(form=key_format, schema=key_schema),
        "value": nodes.Format(form=value_format, schema=value_schema),
        "timestamp": timestamp,
        "starting": starting,
        "on_error": on_error,
        "dead_letters": dead_letters or (f"{topic}-dead-letters" if on_error == "dead-letter" else None),
        "headers": headers,
        "options": {each: str(value) for each, value in (options or {}).items()},
    }
