"""`Streams.sql`: statements that declare sources, queries and sinks on one application."""

from typing import TYPE_CHECKING, Any

from stoker.streams.kafka_inputs import Access
from stoker.streams.sql import statements as s
from stoker.streams.sql.catalogue import Catalogue, Source
from stoker.streams.sql.declaring import declared
from stoker.streams.sql.errors import SqlError
from stoker.streams.sql.parser import iterate
from stoker.streams.sql.planner import Planned, Planner
from stoker.streams.sql.properties import Checked
from stoker.streams.sql.reading import Opened
from stoker.streams.sql.topics import KafkaTopics
from stoker.streams.sql.writing import checked_insert, target_of, write

if TYPE_CHECKING:
    from stoker.streams.application import Streams

_OFFSET_RESET = "auto.offset.reset"


class Declarations:
    """What SQL has declared on an application so far."""

    def __init__(self, application: "Streams") -> None:
        self._application = application
        self._variables: dict[str, str] = {}
        self._starting = "earliest"
        self._opened: Opened = {}
        self.catalogue = Catalogue()
        self.topics = KafkaTopics(
            Access(
                bootstrap_servers=application.bootstrap_servers,
                registry=application.registry,
                options=application.options,
            )
        )

    def run(self, text: str) -> Any:
        """All statements; gives what the last of them declares: a Source, or of SELECT the Stream or Table."""
        result: Any = None
        for statement in iterate(text, variables=self._variables):
            result = self._declare(statement)
        return result

    def _declare(self, statement: s.Statement) -> Any:
        match statement:
            case s.CreateSource():
                return self._source(statement)
            case s.CreateAsSelect():
                return self._query(statement)
            case s.InsertIntoSelect():
                return self._insert(statement)
            case s.SelectStatement(query=query):
                return self._planner().plan(query).output
            case s.CreateType(name=name, type=kind):
                self.catalogue.types[str(name)] = kind
                return None
            case s.SetProperty(name=name, value=value) if name == _OFFSET_RESET and value in ("earliest", "latest"):
                self._starting = value
                return None
            case s.Define() | s.Undefine():
                return None
        raise SqlError(
            "an application takes CREATE STREAM, CREATE TABLE, CREATE TYPE, INSERT INTO ... SELECT, SELECT, DEFINE and SET "
            f"'{_OFFSET_RESET}': other statements are for `stoker sql`",
            statement,
        )

    def _source(self, statement: s.CreateSource) -> Source:
        known = self.catalogue.find(statement.name)
        if known is not None and statement.if_not_exists:
            return known
        if not statement.or_replace:
            self.catalogue.refuse_taken(statement.name)
        source = declared(statement, self.catalogue, self.topics)
        self.catalogue.add(source)
        return source

    def _query(self, statement: s.CreateAsSelect) -> Source:
        known = self.catalogue.find(statement.name)
        if known is not None and statement.if_not_exists:
            return known
        self.catalogue.refuse_taken(statement.name)
        target = create_as_select(
            self._application, self._planner(), self.catalogue, statement, has_registry=self.topics.has_registry
        )
        self.catalogue.add(target)
        return target

    def _insert(self, statement: s.InsertIntoSelect) -> Source:
        return insert_into(self._application, self._planner(), self.catalogue, statement)

    def _planner(self) -> Planner:
        return Planner(self._application, self.catalogue, starting=self._starting, opened=self._opened)


def create_as_select(
    application: "Streams", planner: Planner, catalogue: Catalogue, statement: s.CreateAsSelect, *, has_registry: bool
) -> Source:
    """Declares the query and its sink on the application; gives the stream or table that it makes. Raises SqlError."""
    return create_planned(application, planner, catalogue, statement, has_registry=has_registry)[1]


def create_planned(
    application: "Streams", planner: Planner, catalogue: Catalogue, statement: s.CreateAsSelect, *, has_registry: bool
) -> tuple[Planned, Source]:
    """The same, with the plan."""
    planned = planner.plan(statement.query, store=store_name(statement.name))
    first = catalogue.get(statement.query.source.name)
    target = target_of(statement, planned, first, has_registry=has_registry)
    write(application, planned, target, Checked(statement.properties, is_query=True))
    return planned, target


def insert_into(
    application: "Streams", planner: Planner, catalogue: Catalogue, statement: s.InsertIntoSelect
) -> Source:
    """Declares the query and its sink on the application; gives the stream that it writes to. Raises SqlError."""
    target = catalogue.get(statement.name)
    planned = planner.plan(statement.query)
    checked_insert(statement, planned, target)
    write(application, planned, target)
    return target


def store_name(name: str) -> str:
    """Of the store of an aggregation: the name of the table, as far as a store can be called so."""
    return "".join(each if each.isalnum() and each.isascii() else "-" for each in name)[:80] or "table"
