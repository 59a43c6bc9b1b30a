"""SHOW, DESCRIBE and their like."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stoker.client.admin.topics import list_topics
from stoker.streams.kafka_inputs import Access
from stoker.streams.preparation import cluster_of
from stoker.streams.sql.catalogue import Source, choices
from stoker.streams.sql.errors import SqlError
from stoker.streams.sql.functions import FUNCTIONS
from stoker.streams.sql.results import Rows
from stoker.streams.sql.runner import Runner
from stoker.streams.sql.script import Name
from stoker.streams.sql.state import PersistentQuery, SqlState
from stoker.streams.sql.statements import ColumnRole, Show, Shown, SourceKind

_INTERNAL: Final = ("_", "sql-")
_CONNECTORS: Final = (Shown.CONNECTORS, Shown.SOURCE_CONNECTORS, Shown.SINK_CONNECTORS, Shown.CONNECTOR_PLUGINS)


class Showing:
    """Answers about one service."""

    def __init__(
        self,
        state: SqlState,
        runner: Runner,
        access: Access,
        properties: Mapping[str, str],
        variables: Mapping[str, str],
    ) -> None:
        self._state = state
        self._runner = runner
        self._access = access
        self._properties = properties
        self._variables = variables

    def show(self, statement: Show) -> Rows:
        answers: dict[Shown, Callable[[], Rows]] = {
            Shown.STREAMS: lambda: self._sources(SourceKind.STREAM),
            Shown.TABLES: lambda: self._sources(SourceKind.TABLE),
            Shown.TOPICS: lambda: self._topics(with_internal=False),
            Shown.ALL_TOPICS: lambda: self._topics(with_internal=True),
            Shown.QUERIES: self._queries,
            Shown.FUNCTIONS: self._functions,
            Shown.PROPERTIES: lambda: _pairs("PROPERTY", self._properties),
            Shown.VARIABLES: lambda: _pairs("VARIABLE", self._variables),
            Shown.TYPES: lambda: _pairs(
                "TYPE", {name: str(each) for name, each in self._state.catalogue.types.items()}
            ),
        }
        if statement.what in _CONNECTORS:
            raise SqlError(f"SHOW {statement.what.value} is not supported: there are no connectors in SQL", statement)
        return answers[statement.what]()

    def _sources(self, kind: SourceKind) -> Rows:
        found = [each for each in self._state.catalogue if each.kind is kind]
        return Rows(
            columns=(kind.value, "TOPIC", "KEY FORMAT", "VALUE FORMAT", "WINDOWED", "QUERY"),
            rows=[
                (each.name, each.topic, each.key_format, each.value_format, each.window is not None, each.query_id)
                for each in found
            ],
        )

    def _topics(self, *, with_internal: bool) -> Rows:
        with cluster_of(self._access) as cluster:
            found = sorted(list_topics(cluster), key=lambda topic: topic.name)
        rows = [
            (each.name, len(each.partitions), each.replication_factor)
            for each in found
            if with_internal or not each.name.startswith(_INTERNAL)
        ]
        return Rows(columns=("TOPIC", "PARTITIONS", "REPLICAS"), rows=rows)

    def _queries(self) -> Rows:
        rows = []
        for each in self._state.queries.values():
            state, error = self._runner.status(each)
            rows.append((each.id, each.sink, ", ".join(each.sources), state if error is None else f"{state}: {error}"))
        return Rows(columns=("QUERY", "WRITES", "READS", "STATE"), rows=rows)

    def _functions(self) -> Rows:
        return Rows(
            columns=("FUNCTION", "KIND", "MEANING"),
            rows=[(each.signature, each.kind.value, each.description) for each in FUNCTIONS.values()],
        )

    def describe(self, name: Name, *, extended: bool) -> Rows:
        source = self._state.catalogue.get(name)
        rows: list[tuple[Any, ...]] = [(each.name, str(each.type), _role(each.role)) for each in source.columns]
        note = self._note(source) if extended else None
        return Rows(columns=("COLUMN", "TYPE", "KEY"), rows=rows, note=note)

    def describe_all(self, kind: SourceKind) -> Rows:
        rows = [
            (source.name, each.name, str(each.type), _role(each.role))
            for source in self._state.catalogue
            if source.kind is kind
            for each in source.columns
        ]
        return Rows(columns=(kind.value, "COLUMN", "TYPE", "KEY"), rows=rows)

    def _note(self, source: Source) -> str:
        lines = [
            f"{source.kind.value.lower()} {source.name} over topic {source.topic}, keys {source.key_format}, values {source.value_format}",
            f"event time: {source.timestamp or 'that of the record'}",
        ]
        if source.window is not None:
            lines.append(f"windows: {source.window.kind.value}, {source.window.size or 'of any'} ms")
        lines.append(f"statement: {source.text}")
        users = [each for each in self._state.queries.values() if source.name in (each.sink, *each.sources)]
        lines += [self._line(each, source.name) for each in users]
        return "\n".join(lines)

    def _line(self, query: PersistentQuery, name: str) -> str:
        state, error = self._runner.status(query)
        does = "writes" if query.sink == name else "reads"
        return f"query {query.id} {does} it: {state}{f' ({error})' if error else ''}"


def describe_function(name: Name) -> Rows:
    found = FUNCTIONS.get(name.upper())
    if found is None:
        raise SqlError(
            f"there is no function {name}: {choices(name, FUNCTIONS, 'SHOW FUNCTIONS lists those there are')}", name
        )
    return Rows(columns=("FUNCTION", "KIND", "MEANING"), rows=[(found.signature, found.kind.value, found.description)])


def _pairs(name: str, found: Mapping[str, str]) -> Rows:
    return Rows(columns=(name, "VALUE"), rows=sorted(found.items()))


def _role(role: ColumnRole) -> str | None:
    return None if role is ColumnRole.VALUE else role.value
