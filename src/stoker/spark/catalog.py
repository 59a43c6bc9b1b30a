"""Topics as tables: `attach(spark, "localhost:9092")`, then `SELECT ... FROM stoker.orders`."""

import atexit
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from stoker.spark.attached_topic import attached_topic, source_options_of
from stoker.spark.errors import SparkError
from stoker.spark.named_cluster import NamedCluster
from stoker.spark.options import source_options
from stoker.spark.topic_search import BINARY, AttachedTable, TopicSearch, check_name, selection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATABASE: Final = "stoker"

_directories: Final[dict[tuple[str, str], str]] = {}
"""Of the databases that were made here, by application and name: whoever detaches last drops them."""
_made: Final[set[tuple[str, str]]] = set()
"""By application and name, the tables that are topics: Spark keeps no comment on those of a Python source."""


class TopicsLeftOut(UserWarning):
    """Topics that did not become tables, and why."""


class Attachment:
    """The topics of one cluster as the tables of one database, until `detach()` or the end of the session.

    A table has the columns that its schema had when it was attached: `refresh()` takes over what is new.
    """

    def __init__(self, spark: "SparkSession", database: str, search: TopicSearch) -> None:
        self._spark = spark
        self._search = search
        self.database = database
        self.tables: dict[str, AttachedTable] = {}
        """By topic."""
        self.left_out: dict[str, str] = {}
        """The topics that are no tables, with the reason."""

    def __repr__(self) -> str:
        return f"<{len(self.tables)} topics in {self.database}: {', '.join(self.tables)}>"

    def __str__(self) -> str:
        """A line for each table: what it is, and its columns."""
        return "\n".join(
            f"{each.name}: topic {each.topic}, keys {each.key_format}, values {each.value_format} "
            f"({', '.join(each.columns)})"
            for each in self.tables.values()
        )

    def refresh(self) -> "Attachment":
        """Take over topics that are new or gone, and schemas that have changed. Queries that run are not touched."""
        self._make_database()
        found = self._search.run()
        self.left_out = dict(found.left_out)
        gone = self.tables.keys() - found.tables.keys()
        for topic in gone:
            self._drop(self.tables.pop(topic))
        for topic, (table, options) in found.tables.items():
            try:
                self._create(table, options)
            except SparkError as problem:
                self.left_out[topic] = str(problem)
            else:
                self.tables[topic] = table
        if self.left_out:
            reasons = "; ".join(f"{topic}: {reason}" for topic, reason in sorted(self.left_out.items()))
            warnings.warn(f"these topics are no tables of {self.database}: {reasons}", TopicsLeftOut, stacklevel=3)
        return self

    def detach(self) -> None:
        """Drop the tables, and the database if `attach` made it and nothing else is in it. The topics stay."""
        for topic in list(self.tables):
            self._drop(self.tables.pop(topic))
        directory = _directories.get(self._mark(self.database))
        if directory is not None and not any(
            not each.isTemporary for each in self._spark.catalog.listTables(self.database)
        ):
            self._spark.sql(f"DROP DATABASE IF EXISTS {self.database}")
            shutil.rmtree(directory, ignore_errors=True)
            del _directories[self._mark(self.database)]

    def _make_database(self) -> None:
        """In a directory for nothing, which Spark would make where the program runs."""
        if self._spark.catalog.databaseExists(self.database):
            return
        directory = tempfile.mkdtemp(prefix="stoker-catalogue-")
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
        self._spark.sql(f"CREATE DATABASE {self.database} COMMENT 'topics of Kafka' LOCATION '{directory}'")
        _directories[self._mark(self.database)] = directory

    def _create(self, table: AttachedTable, options: Mapping[str, str]) -> None:
        """Raises SparkError if the name is taken by something else."""
        if self._spark.catalog.tableExists(table.name):
            if self._mark(table.name) not in _made:
                raise SparkError(f"there is a table {table.name} already, which is no topic")
            self._drop(table)
        self._spark.dataSource.register(attached_topic(table.name, options, table.layout))
        self._spark.catalog.createTable(table.name, source=table.name, schema=table.layout.schema)
        _made.add(self._mark(table.name))

    def _drop(self, table: AttachedTable) -> None:
        self._spark.sql(f"DROP TABLE IF EXISTS {table.name}")
        _made.discard(self._mark(table.name))

    def _mark(self, name: str) -> tuple[str, str]:
        return self._spark.sparkContext.applicationId, name.lower()


def attach(
    spark: "SparkSession",
    bootstrap_servers: str | None = None,
    *,
    registry: str | None = None,
    topics: str | Iterable[str] | None = None,
    database: str = DATABASE,
    names: Mapping[str, str] | None = None,
    key_format: str = BINARY,
    value_format: str = BINARY,
    options: Mapping[str, object] | None = None,
) -> Attachment:
    """Make each topic a table of `database`, to be read by SQL, as a stream too, and written by INSERT.

    Without `bootstrap_servers` it is the cluster that stoker.toml or variables name, and their registry. `topics` are names, or a regular expression; by default all but those that begin with `_`. A topic whose name Spark
    does not allow gets `_` for what is not a letter, a digit or `_`; `names` says it otherwise, by topic. The format of keys
    and values is that of the subjects `<topic>-key` and `<topic>-value` of `registry`, else `key_format` and
    `value_format`, which are `binary` or `string`. `options` are those of `format("stoker")`, to read and to write all
    tables. A table shows what is committed, unless they say otherwise. Raises InvalidOption, and what cluster and
    registry raise when they cannot be asked.
    """
    check_name("database", database)
    given = {name.lower(): str(value) for name, value in (options or {}).items()}
    named = NamedCluster.of(bootstrap_servers, registry)
    base = {
        "kafka.isolation.level": "read_committed",
        "kafka.bootstrap.servers": named.bootstrap_servers,
        **named.options_under(given),
    }
    if named.registry is not None:
        base["schema.registry.url"] = named.registry
    source_options(source_options_of(base | given | {"subscribe": "any"}))  # a mistake in them is not one of each topic
    search = TopicSearch(
        database=database,
        is_wanted=selection(topics),
        names=dict(names or {}),
        formats={"key": key_format, "value": value_format},
        options=base | given,
    )
    return Attachment(spark, database, search).refresh()
