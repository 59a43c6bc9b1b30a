"""`SqlEngine`: statements of ksqlDB's language against a cluster; those that change something survive a restart.

engine = SqlEngine("localhost:9092", registry="http://localhost:8081")
engine.execute("CREATE STREAM orders WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='AVRO');")
engine.execute("CREATE TABLE totals AS SELECT customer_id, SUM(total) AS total FROM orders GROUP BY customer_id;")
engine.execute("SELECT * FROM totals WHERE customer_id = 'c1';")
"""

import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stoker.errors import StokerError
from stoker.streams.application import Streams
from stoker.streams.kafka_inputs import Access
from stoker.streams.names import check_name
from stoker.streams.sql import statements as s
from stoker.streams.sql.changes import Changes, nothing
from stoker.streams.sql.command_log import Command, CommandLog
from stoker.streams.sql.errors import SqlError, alternatives
from stoker.streams.sql.functions import SPARK_SETTINGS
from stoker.streams.sql.inserting import insert
from stoker.streams.sql.planner import Planner
from stoker.streams.sql.printing import print_topic
from stoker.streams.sql.pulling import pull_from_store, refuse_what_only_push_has
from stoker.streams.sql.pushing import PushedRows, push
from stoker.streams.sql.results import Live, Message, Result, Rows, in_utc
from stoker.streams.sql.runner import Lock, Runner
from stoker.streams.sql.showing import Showing, describe_function
from stoker.streams.sql.spark_statements import SparkStatement, SparkTopics, statements_in
from stoker.streams.sql.state import SqlState
from stoker.streams.sql.topics import KafkaTopics
from stoker.streams.state.directory import default_root, directory_of
from stoker.streams.state.views import StoreView

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGER: Final = logging.getLogger(__name__)
OFFSET_RESET: Final = "auto.offset.reset"
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {OFFSET_RESET: ("earliest", "latest")}
_FOLLOW_SECONDS: Final = 1.0
_SPARK_CONFIG: Final = {**SPARK_SETTINGS, "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
"""Of a session that is started here: what it prints would be among the rows."""


class SqlEngine:
    """One service: statements with the same `service` are in one log. To be closed; then its queries stop, and go on another time.

    Of the engines of a service on a machine, one runs the queries: the first that is there. With `runs=False` this one does not.
    """

    def __init__(
        self,
        bootstrap_servers: str = "localhost:9092",
        registry: str | None = None,
        service: str = "default",
        state_dir: str | None = None,
        spark: "SparkSession | None" = None,
        *,
        options: Mapping[str, str] | None = None,
        runs: bool = True,
    ) -> None:
        self.service = check_name("the name of a service", service)
        self._access = Access(bootstrap_servers=bootstrap_servers, registry=registry, options=dict(options or {}))
        self._state_dir = state_dir
        self._spark = spark
        self._runs = runs
        self.properties: dict[str, str] = {OFFSET_RESET: "earliest"}
        self.variables: dict[str, str] = {}
        self.state = SqlState()
        self._topics = KafkaTopics(self._access)
        self._spark_topics = SparkTopics(self._access)
        self._log = CommandLog(self._access, service)
        self._runner = Runner(service, self._application)
        self._lock = Lock(Path(state_dir or default_root()) / f".sql-{service}.lock")
        self._changing = threading.RLock()
        self._closing = threading.Event()
        self._live: list[Live] = []
        self._catch_up()
        self._follower = threading.Thread(target=self._follow, name=f"stoker-sql-{service}", daemon=True)
        self._follower.start()

    def __enter__(self) -> "SqlEngine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Its queries stop after the micro-batch that runs; they go on when there is an engine of this service again."""
        self._closing.set()
        self._follower.join()
        for each in self._live:
            each.close()
            if isinstance(each.rows, PushedRows):
                each.rows.close()
        self._spark_topics.close()
        self._runner.stop()
        self._lock.release()

    # -- statements

    def execute(self, text: str) -> list[Result]:
        """All statements, one after the other. Raises SqlError, which says where; what came before it has been done."""
        return list(self.iterate(text))

    def iterate(self, text: str) -> Iterator[Result]:
        """As `execute`, but each result can be looked at before the next statement is run."""
        for statement in statements_in(text, self.variables):
            yield self._execute(statement)

    def run_until_end(self) -> list[str]:
        """Each query, in the order they were made, until it has read what its topics hold. Gives their ids; raises ApplicationFailed."""
        self._catch_up()
        if not self._lock.acquire():
            raise SqlError(f"process {self._lock.holder()} runs the queries of service {self.service}")
        done = []
        for query in self.state.queries.values():
            self._runner.planned(query, self.state.catalogue).run(until_end=True)
            done.append(query.id)
        return done

    @property
    def runs_queries(self) -> bool:
        """Whether it is this engine that runs the queries of the service."""
        return self._lock.is_held

    def _execute(self, statement: "s.Statement | SparkStatement") -> Result:
        if isinstance(statement, SparkStatement):
            return self._spark_topics.run(self._session(), statement)
        rules: dict[type[s.Statement], Callable[[Any], Result]] = {
            s.SelectStatement: lambda each: self._select(each.query),
            s.InsertValues: self._insert,
            s.Print: lambda each: self._started(print_topic(each, self._access)),
            s.Explain: self._explain,
            s.SetProperty: self._set,
            s.UnsetProperty: self._unset,
            s.Define: lambda each: Message(text=f"{each.name} is {each.value!r}."),
            s.Undefine: lambda each: Message(text=f"{each.name} is not defined any more."),
            s.RunScript: self._run_script,
            s.Show: lambda each: self._showing().show(each),
            s.Describe: lambda each: self._showing().describe(each.name, extended=each.extended),
            s.DescribeStreams: lambda each: self._showing().describe_all(s.SourceKind.STREAM),
            s.DescribeTables: lambda each: self._showing().describe_all(s.SourceKind.TABLE),
            s.DescribeFunction: lambda each: describe_function(each.name),
        }
        rule = rules.get(type(statement))
        if rule is not None:
            self._catch_up()
            return rule(statement)
        return self._change(statement)

    def _change(self, statement: s.Statement) -> Message:
        """Checked first, then written to the log, then done as everybody does it who reads the log."""
        with self._changing:
            self._catch_up()
            changes = Changes(self.state, self._topics, self._application, self.properties[OFFSET_RESET])
            found = changes.of(statement)
            if isinstance(found, Message):
                return found
            offset = self._log.append(found)
            self._catch_up()
            return self._told(found, offset, changes)

    def _told(self, command: Command, offset: int, changes: Changes) -> Message:
        text, query_id = changes.told(command, offset)
        if command.kind == "drop" and command.content["topic"] is not None:
            self._topics.delete(command.content["topic"])
        if query_id is not None and query_id in self._runner.failures:
            raise SqlError(f"{text} But it could not be started: {self._runner.failures[query_id]}")
        if query_id is not None and not self._lock.is_held and self._runs:
            text += f" Process {self._lock.holder()} runs it."
        return Message(text=text, query_id=query_id)

    # -- the log

    def _catch_up(self) -> None:
        with self._changing:
            for offset, command in self._log.read():
                try:
                    self.state.replay(offset, command)
                except (StokerError, KeyError, ValueError) as error:
                    _LOGGER.warning("record %d of %s is not understood: %s", offset, self._log.topic, error)
            if self._runs and self.state.queries and self._lock.acquire():
                self._runner.reconcile(self.state.queries, self.state.catalogue)
            elif self._runs and self._lock.is_held:
                self._runner.reconcile({}, self.state.catalogue)

    def _follow(self) -> None:
        """What other processes write."""
        while not self._closing.wait(_FOLLOW_SECONDS):
            try:
                self._catch_up()
            except StokerError as error:
                _LOGGER.warning("the log of statements cannot be read: %s", error)

    # -- queries

    def _select(self, query: s.Query) -> Result:
        if query.is_push:
            name = f"sql-{self.service}-push-{uuid.uuid4().hex[:8]}"
            starting = self.properties[OFFSET_RESET]
            return self._started(push(self._temporary, name, self.state.catalogue, query, starting=starting))
        refuse_what_only_push_has(query)
        source = self.state.catalogue.get(query.source.name)
        made_by = self.state.queries.get(source.query_id or "")
        if made_by is not None and made_by.materialized is not None:
            directory = directory_of(self._runner.application_name(made_by.id), self._state_dir)
            view = StoreView(directory, made_by.materialized.store)
            return pull_from_store(query, source, made_by.materialized, view, self._session)
        return self._read_whole(query)

    def _read_whole(self, query: s.Query) -> Rows:
        application = self._application(f"sql-{self.service}-pull-{uuid.uuid4().hex[:8]}")
        planned = Planner(application, self.state.catalogue).plan(query)
        planned.output.for_each_batch(nothing)  # without anything that is written, a topology is empty
        frame = planned.output.df
        order = [name for name in ("_timestamp", "_offset") if name in frame.columns]
        names = [f"`{each.name}`" for each in planned.columns]
        chosen = frame.orderBy(*order).select(*names)
        rows = (chosen if query.limit is None else chosen.limit(query.limit)).collect()
        return Rows(
            columns=[each.name for each in planned.columns],
            rows=[tuple(in_utc(value) for value in row) for row in rows],
            note="read from the topic just now",
        )

    def _started(self, live: Live) -> Live:
        self._live.append(live)
        return live

    def _insert(self, statement: s.InsertValues) -> Message:
        insert(statement, self.state.catalogue, self._access, self._session())
        return Message(text=f"Inserted a record into {statement.name}.")

    def _explain(self, statement: s.Explain) -> Message:
        if statement.query_id is not None:
            query = self.state.queries.get(str(statement.query_id).upper())
            if query is None:
                known = ", ".join(self.state.queries) or "none"
                raise SqlError(f"there is no query {statement.query_id}: there is {known}", statement.query_id)
            return Message(text=self._runner.planned(query, self.state.catalogue).explain())
        application = self._application(f"sql-{self.service}-explain")
        Changes(self.state, self._topics, lambda name: application, self.properties[OFFSET_RESET]).plan(statement)
        try:
            return Message(text=application.explain())
        except StokerError:
            return Message(text=application.describe())

    # -- the session

    def _set(self, statement: s.SetProperty) -> Message:
        name = str(statement.name).removeprefix("ksql.streams.")
        if name not in _CHOICES:
            raise SqlError(f"there is no property {statement.name}: there is {', '.join(_CHOICES)}", statement.name)
        if statement.value not in _CHOICES[name]:
            raise SqlError(f"{name} takes {alternatives(_CHOICES[name])}, not {statement.value!r}", statement.name)
        self.properties[name] = statement.value
        return Message(text=f"{name} is {statement.value!r}.")

    def _unset(self, statement: s.UnsetProperty) -> Message:
        name = str(statement.name).removeprefix("ksql.streams.")
        if name not in _CHOICES:
            raise SqlError(f"there is no property {statement.name}: there is {', '.join(_CHOICES)}", statement.name)
        self.properties[name] = _CHOICES[name][0]
        return Message(text=f"{name} is {self.properties[name]!r} again.")

    def _run_script(self, statement: s.RunScript) -> Message:
        try:
            text = Path(str(statement.path)).read_text()
        except OSError as error:
            raise SqlError(f"{statement.path} cannot be read: {error.strerror}", statement.path) from error
        done = [each.text for each in self.iterate(text) if isinstance(each, Message)]
        return Message(text="\n".join(done) or f"{statement.path} was run.")

    def _showing(self) -> Showing:
        return Showing(self.state, self._runner, self._access, self.properties, self.variables)

    # -- applications

    def _session(self) -> "SparkSession":
        if self._spark is None:
            import stoker.spark

            self._spark = stoker.spark.session(f"stoker-sql-{self.service}", config=_SPARK_CONFIG)
        return self._spark

    def _application(self, name: str) -> Streams:
        return self._made(name, self._state_dir, changelogs=True)

    def _temporary(self, name: str, directory: str) -> Streams:
        return self._made(name, directory, changelogs=False)

    def _made(self, name: str, directory: str | None, *, changelogs: bool) -> Streams:
        return Streams(
            name,
            bootstrap_servers=self._access.bootstrap_servers,
            registry=self._access.registry,
            state_dir=directory,
            spark=self._session(),
            options=self._access.options,
            changelogs=changelogs,
        )
