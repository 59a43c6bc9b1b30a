"""`stoker.Streams`: an application that is declared first and run then."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from stoker.streams import nodes
from stoker.streams.errors import InvalidTopology
from stoker.streams.names import check_name
from stoker.streams.topology import Topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from stoker.streams.stream import Stream
    from stoker.streams.table import GlobalTable, Table

_ON_ERROR: Final = ("fail", "drop", "dead-letter")
_STARTING: Final = ("earliest", "latest")


class Streams:
    """`name` is Kafka Streams' application id: state, offsets and internal topics are found by it."""

    def __init__(
        self,
        name: str,
        *,
        bootstrap_servers: str = "localhost:9092",
        registry: str | None = None,
        state_dir: str | None = None,
        spark: "SparkSession | None" = None,
        master: str | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        self.name = check_name("the name of an application", name)
        self.bootstrap_servers = bootstrap_servers
        self.registry = registry
        self.options = {each: str(value) for each, value in (options or {}).items()}
        self._state_dir = state_dir
        self._spark = spark
        self._master = master
        self._declared: list[nodes.Node] = []
        self._names: set[str] = set()

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

    def stream_like(self, sink: nodes.ToTopic, like: "Stream") -> "Stream":
        """What is written by `sink`, read again."""
        raise NotImplementedError

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
        self._names.add(check_name("the name of a store", given))
        return given

    def sink_name(self, kind: str) -> str:
        return self.store_name(f"to-{kind}")

    @property
    def topology(self) -> Topology:
        return Topology(tuple(self._declared))

    def session(self) -> "SparkSession":
        """The Spark session of the application, started if there is none."""
        if self._spark is None:
            import stoker.spark

            self._spark = stoker.spark.session(self.name, master=self._master)
        return self._spark

    def data_frame(self, node: nodes.Node) -> "DataFrame":
        raise NotImplementedError


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
