"""Statements that change something: each is checked, with all that could be wrong, and becomes a record of the log."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from stoker.streams.sql import statements as s
from stoker.streams.sql.catalogue import REGISTERED, Source, choices
from stoker.streams.sql.command_log import Command
from stoker.streams.sql.declarations import create_planned
from stoker.streams.sql.declaring import declared
from stoker.streams.sql.errors import SqlError
from stoker.streams.sql.planner import Planned, Planner
from stoker.streams.sql.properties import Checked
from stoker.streams.sql.results import Message
from stoker.streams.sql.script import Name
from stoker.streams.sql.serialized import source_to_json
from stoker.streams.sql.state import SqlState, query_id
from stoker.streams.sql.topics import Topics
from stoker.streams.sql.types import Field, Struct
from stoker.streams.sql.writing import checked_insert, write

if TYPE_CHECKING:
    from stoker.streams.application import Streams

_SCRATCH = "sql-check"


class Changes:
    """Of one statement, as things are now."""

    def __init__(self, state: SqlState, topics: Topics, make: "Callable[[str], Streams]", starting: str) -> None:
        self._state = state
        self._catalogue = state.catalogue
        self._topics = topics
        self._make = make
        self._starting = starting

    def of(self, statement: s.Statement) -> Command | Message:
        """What to write to the log; a Message if there is nothing to do. Raises SqlError."""
        match statement:
            case s.CreateSource():
                return self._source(statement)
            case s.CreateAsSelect():
                return self._query(statement)
            case s.InsertIntoSelect():
                return self._insert(statement)
            case s.CreateType(name=name, type=kind, if_not_exists=if_not_exists):
                if name in self._catalogue.types:
                    if if_not_exists:
                        return Message(text=f"Type {name} is there already.")
                    raise SqlError(f"there is a type {name} already", name)
                return _command("type", statement, name=str(name), type=str(kind))
            case s.DropType(name=name, if_exists=if_exists):
                if name not in self._catalogue.types:
                    if if_exists:
                        return Message(text=f"There is no type {name}.")
                    raise SqlError(
                        f"there is no type {name}: {choices(name, self._catalogue.types, 'SHOW TYPES')}", name
                    )
                return _command("drop-type", statement, name=str(name))
            case s.DropSource():
                return self._drop(statement)
            case s.ControlQuery():
                return self._control(statement)
        raise SqlError(_refusal(statement), statement)

    def told(self, command: Command, offset: int) -> tuple[str, str | None]:
        """What was done, in a sentence, and the id of the query that was made."""
        content = command.content
        match command.kind:
            case "source":
                made = content["source"]
                return f"{made['kind'].capitalize()} {made['name']} is there, over topic {made['topic']}.", None
            case "query" | "insert":
                name = query_id(command.kind, content, offset)
                return f"Query {name} writes {content['sink']}.", name
            case "drop":
                return f"{content['name']} is dropped{' with its topic' if content['topic'] else ''}.", None
            case "terminate" | "pause" | "resume":
                done = {"terminate": "ended", "pause": "paused", "resume": "goes on"}[command.kind]
                return f"{', '.join(content['queries'])}: {done}.", None
        return f"{content['name']} is {'made' if command.kind == 'type' else 'dropped'}.", None

    def plan(self, statement: s.Explain) -> None:
        """Declares what the statement would run on the application that is made for it."""
        inner = statement.statement
        application = self._make(_SCRATCH)
        planner = Planner(application, self._catalogue, starting=self._starting)
        match inner:
            case s.SelectStatement(query=query):
                planner.plan(query).output.for_each_batch(nothing)
            case s.CreateAsSelect():
                create_planned(application, planner, self._catalogue, inner, has_registry=self._topics.has_registry)
            case s.InsertIntoSelect(query=query):
                write(application, planner.plan(query), self._catalogue.get(inner.name))
            case _:
                raise SqlError(
                    "only a query can be explained: SELECT, CREATE ... AS SELECT, INSERT INTO ... SELECT", inner
                )

    # -- streams, tables, queries

    def _source(self, statement: s.CreateSource) -> Command | Message:
        known = self._catalogue.find(statement.name)
        if known is not None and statement.if_not_exists:
            return Message(text=f"{known.kind.value.capitalize()} {known.name} is there already.")
        if known is None or not statement.or_replace:
            self._catalogue.refuse_taken(statement.name)
        elif known.query_id is not None or self._state.users_of(known.name):
            used = ", ".join([*([known.query_id] if known.query_id else []), *self._state.users_of(known.name)])
            raise SqlError(
                f"{known.name} cannot be replaced while queries use it: TERMINATE {used} first", statement.name
            )
        source = declared(statement, self._catalogue, self._topics)
        if self._topics.partitions(source.topic) is None:
            raise SqlError(
                f"there is no topic {source.topic}: SHOW TOPICS lists those there are, and PARTITIONS=1 in WITH (...) makes it",
                statement.name,
            )
        return _command("source", statement, source=source_to_json(source))

    def _query(self, statement: s.CreateAsSelect) -> Command | Message:
        known = self._catalogue.find(statement.name)
        if known is not None and statement.if_not_exists:
            return Message(text=f"{known.kind.value.capitalize()} {known.name} is there already.")
        if statement.or_replace:
            raise SqlError(
                "a query cannot be replaced, as its state is of another one: DROP it, and CREATE it anew",
                statement.name,
            )
        self._catalogue.refuse_taken(statement.name)
        application = self._make(_SCRATCH)
        planner = Planner(application, self._catalogue, starting=self._starting)
        planned, target = create_planned(
            application, planner, self._catalogue, statement, has_registry=self._topics.has_registry
        )
        self._refuse_own_topic(target, planned, statement.name)
        self._make_ready(target, Checked(statement.properties, is_query=True), planned)
        return _command(
            "query",
            statement,
            source=source_to_json(target),
            sink=target.name,
            sources=list(planned.sources),
            starting=self._starting,
            materialized=_materialized(planned),
        )

    def _insert(self, statement: s.InsertIntoSelect) -> Command:
        target = self._catalogue.get(statement.name)
        planned = Planner(self._make(_SCRATCH), self._catalogue, starting=self._starting).plan(statement.query)
        checked_insert(statement, planned, target)
        self._refuse_own_topic(target, planned, statement.name)
        return _command("insert", statement, sink=target.name, sources=list(planned.sources), starting=self._starting)

    def _refuse_own_topic(self, target: Source, planned: Planned, at: Name) -> None:
        for name in planned.sources:
            if self._catalogue.get(name).topic == target.topic:
                raise SqlError(f"the query would read what it writes: topic {target.topic}", at)

    def _make_ready(self, target: Source, properties: Checked, planned: Planned) -> None:
        """The schema, so that others can read the topic before its first record; and the topic, if its replicas are given."""
        if target.value_format in REGISTERED and self._topics.registered(target.topic, "value") is None:
            kind = Struct(tuple(Field(each.spelling, each.stored) for each in target.values))
            self._topics.register(target.topic, "value", target.value_format, kind)
        replicas = properties.number("REPLICAS")
        if replicas is not None and self._topics.partitions(target.topic) is None:
            most = [self._topics.partitions(self._catalogue.get(name).topic) or 1 for name in planned.sources]
            self._topics.create(
                target.topic, properties.number("PARTITIONS") or max(most), replicas, properties.topic_configs()
            )

    def _drop(self, statement: s.DropSource) -> Command | Message:
        if self._catalogue.find(statement.name) is None and statement.if_exists:
            return Message(text=f"There is no {statement.kind.value.lower()} {statement.name}.")
        source = self._catalogue.get(statement.name, statement.kind)
        users = self._state.users_of(source.name)
        if users:
            raise SqlError(
                f"{source.name} is used by {', '.join(users)}: end {'it' if len(users) == 1 else 'them'} first (TERMINATE {users[0]};)",
                statement.name,
            )
        return _command("drop", statement, name=source.name, topic=source.topic if statement.delete_topic else None)

    def _control(self, statement: s.ControlQuery) -> Command | Message:
        wanted: Sequence[str]
        if statement.query_id is None:
            wanted = list(self._state.queries)
            if not wanted:
                return Message(text="There are no queries.")
        else:
            name = str(statement.query_id).upper()
            if name not in self._state.queries:
                hint = choices(name, self._state.queries, "SHOW QUERIES lists those there are")
                raise SqlError(f"there is no query {statement.query_id}: {hint}", statement.query_id)
            wanted = [name]
        return _command(statement.action.value.lower(), statement, queries=list(wanted))


def _command(kind: str, statement: s.Statement, **content: Any) -> Command:
    return Command(kind=kind, statement=statement.text, content=content)


def _materialized(planned: Planned) -> dict[str, Any] | None:
    found = planned.aggregated
    if found is None:
        return None
    return {
        "store": found.store,
        "keys": [each.columns[0] if each.columns else None for each in found.keys],
        "times": found.times,
        "has_having": found.has_having,
    }


def _refusal(statement: s.Statement) -> str:
    match statement:
        case s.CreateConnector() | s.DropConnector() | s.DescribeConnector():
            return "there are no connectors in SQL: a worker of Kafka Connect, beside it, runs them"
        case s.AlterSource():
            return (
                "columns cannot be added to what is there: DROP it, and CREATE it with them; the topic stays as it is"
            )
        case s.AlterSystem():
            return "ALTER SYSTEM is not supported: settings are those of the process (SET is for the session)"
    return f"{_kind(statement)} is not supported"


def _kind(statement: s.Statement) -> str:
    words = statement.text.split()
    return " ".join(words[: 3 if words[0].upper() == "CREATE" else 2]).upper()


def nothing(frame: Any, number: int) -> None:
    """Nobody looks at the rows of what is only explained."""
