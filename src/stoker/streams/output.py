"""What streams and tables can both do: leave the application."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from stoker.streams import nodes
from stoker.streams.expressions import Expression

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from stoker.streams.application import Streams


class Output:
    """A node of an application, as a user holds it."""

    def __init__(self, application: "Streams", node: nodes.Node) -> None:
        self._application = application
        self._node = node
        application.declare(node)

    @property
    def node(self) -> nodes.Node:
        """What was declared."""
        return self._node

    @property
    def df(self) -> "DataFrame":
        """A Spark DataFrame of all that this is for what the topics hold now."""
        return self._application.data_frame(self._node)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._application.name}: {self._node.describe()}>"

    def to(
        self,
        topic: str,
        *,
        key: Expression | None = None,
        key_format: str | None = None,
        value_format: str | None = None,
        headers: Expression | None = None,
        partitions: int | None = None,
        windowed_key: bool = False,
        configs: Mapping[str, str] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> nodes.ToTopic:
        """Write to a topic, exactly once. It is made if it is not there.

        Formats are by default those of the topic that the rows come from, JSON where that does not say. A row that a table
        has deleted is written as a tombstone. `windowed_key` writes keys of windows as Kafka Streams does.
        """
        node = nodes.ToTopic(
            parent=self._node,
            name=self._application.sink_name(topic),
            topic=topic,
            key=nodes.Format(form=key_format),
            value=nodes.Format(form=value_format),
            key_expression=key,
            headers=headers,
            partitions=partitions,
            windowed_key=windowed_key,
            configs=dict(configs or {}),
            options={name: str(value) for name, value in (options or {}).items()},
        )
        self._application.declare(node)
        return node

    def to_parquet(self, path: str, *, partition_by: tuple[str, ...] | list[str] = ("date", "hour")) -> nodes.ToParquet:
        """Add to a directory of Parquet files, each row once.

        `partition_by` makes directories as Hive does, `date=2026-01-31/hour=14`: `date`, `hour`, `year`, `month`, `day` and `minute`
        are those of the event time (UTC), other names are columns.
        """
        node = nodes.ToParquet(
            parent=self._node,
            name=self._application.sink_name("parquet"),
            path=str(path),
            partition_by=tuple(partition_by),
        )
        self._application.declare(node)
        return node

    def for_each_batch(self, function: "Callable[[DataFrame, int], Any]") -> nodes.ForEachBatch:
        """Call a function with the DataFrame of each micro-batch and its number; at least once, for it may fail half-way."""
        node = nodes.ForEachBatch(parent=self._node, name=self._application.sink_name("batch"), function=function)
        self._application.declare(node)
        return node
