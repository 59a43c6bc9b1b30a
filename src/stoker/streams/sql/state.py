"""What the log of statements comes to: streams, tables, types, and the queries that are to run. No Kafka, no Spark."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from stoker.streams.sql.catalogue import Catalogue
from stoker.streams.sql.command_log import Command
from stoker.streams.sql.parser import parse_type
from stoker.streams.sql.serialized import source_from_json


class QueryState(Enum):
    """What is wanted of a query."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"


@dataclass(frozen=True, kw_only=True)
class Materialized:
    """Where the rows of a table are kept, and how they become its columns.

    `keys` are the names of the columns of the key, in the order that the store has them; `times` columns that are a time of
    the window or of the row; `has_having` whether a row counts only if its column KSQL_HAVING says so.
    """

    store: str
    keys: tuple[str | None, ...]
    times: Mapping[str, str]
    has_having: bool = False


@dataclass(frozen=True, kw_only=True)
class PersistentQuery:
    id: str
    statement: str
    sink: str
    """The stream or table that it writes."""
    sources: tuple[str, ...]
    starting: str
    state: QueryState = QueryState.RUNNING
    materialized: Materialized | None = None


@dataclass
class SqlState:
    """Changed by `replay` alone, at start as later."""

    catalogue: Catalogue = field(default_factory=Catalogue)
    queries: dict[str, PersistentQuery] = field(default_factory=dict)

    def replay(self, offset: int, command: Command) -> None:
        """What no longer makes sense, as two processes wrote at the same time, changes nothing."""
        content = command.content
        match command.kind:
            case "source":
                self.catalogue.add(source_from_json(content["source"]))
            case "query" | "insert":
                self._add_query(query_id(command.kind, content, offset), command)
            case "type":
                self.catalogue.types[content["name"]] = parse_type(content["type"])
            case "drop-type":
                self.catalogue.types.pop(content["name"], None)
            case "drop":
                self._drop(content["name"])
            case "terminate":
                for each in content["queries"]:
                    self.queries.pop(each, None)
            case "pause" | "resume":
                wanted = QueryState.PAUSED if command.kind == "pause" else QueryState.RUNNING
                for each in set(content["queries"]) & self.queries.keys():
                    self.queries[each] = replace(self.queries[each], state=wanted)

    def _add_query(self, name: str, command: Command) -> None:
        content = command.content
        if "source" in content:
            if self.catalogue.find(content["sink"]) is not None:
                return
            self.catalogue.add(replace(source_from_json(content["source"]), query_id=name))
        elif self.catalogue.find(content["sink"]) is None:
            return
        kept = content.get("materialized")
        self.queries[name] = PersistentQuery(
            id=name,
            statement=command.statement,
            sink=content["sink"],
            sources=tuple(content["sources"]),
            starting=content["starting"],
            materialized=None if kept is None else Materialized(**{**kept, "keys": tuple(kept["keys"])}),
        )

    def _drop(self, name: str) -> None:
        source = self.catalogue.find(name)
        if source is None:
            return
        if source.query_id is not None:
            self.queries.pop(source.query_id, None)
        self.catalogue.remove(name)

    def users_of(self, name: str) -> list[str]:
        """Queries that read a stream or table, or write it beside the one that made it."""
        source = self.catalogue.find(name)
        own = None if source is None else source.query_id
        return [
            each.id for each in self.queries.values() if each.id != own and (name in each.sources or name == each.sink)
        ]


def query_id(kind: str, content: Mapping[str, Any], offset: int) -> str:
    """As ksqlDB names queries: CSAS_HIGH_VALUE_ORDERS_1."""
    if kind == "insert":
        return f"INSERTQUERY_{offset}"
    short = "CTAS" if content["source"]["kind"] == "TABLE" else "CSAS"
    name = "".join(each if each.isalnum() else "_" for each in content["sink"])
    return f"{short}_{name}_{offset}"
