"""Which topics a cluster has, and what tables they make: names, formats, columns."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import StructType

from stoker.client.admin.topics import list_topics
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.errors import StokerError
from stoker.registry.client import RegistryClient, type_of
from stoker.spark.attached_topic import Layout, layout_of, source_options_of
from stoker.spark.errors import InvalidOption
from stoker.spark.schemas import registry_access

BINARY: Final = "binary"

_NAME: Final = re.compile(r"\w+", re.ASCII)
_NOT_IN_A_NAME: Final = re.compile(r"\W", re.ASCII)
_KAFKA: Final = "kafka."


class AttachedTable(NamedTuple):
    """One topic as a table."""

    name: str
    """With the database, as a query names it."""
    topic: str
    key_format: str
    value_format: str
    layout: Layout

    @property
    def columns(self) -> list[str]:
        return list(self.layout.schema.names)


class Found(NamedTuple):
    """What there is to attach, by topic: the table and the options of its source; or why it cannot be one."""

    tables: Mapping[str, tuple[AttachedTable, Mapping[str, str]]]
    left_out: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicSearch:
    """What to look for, as often as it is wanted."""

    database: str
    is_wanted: Callable[[str], bool]
    names: Mapping[str, str]
    """Of tables, by topic, where the user has chosen them."""
    formats: Mapping[str, str]
    """Of `key` and `value`, where the registry knows no schema."""
    options: Mapping[str, str]
    """Of each source, their names in lower case."""

    def run(self) -> Found:
        """Raises ClientError and RegistryClientError if cluster or registry cannot be asked."""
        topics = [topic for topic in self._topics() if self.is_wanted(topic)]
        named, left_out = table_names(topics, self.names)
        tables = {}
        types = self._schema_types(named)
        for topic, name in named.items():
            formats = {**self.formats, **types[topic]}
            options = dict(self.options) | {"subscribe": topic}
            options |= {f"{side}.format": form for side, form in formats.items() if form != BINARY}
            try:
                layout = _layout(options)
            except StokerError as problem:
                left_out[topic] = str(problem)
                continue
            table = AttachedTable(f"{self.database}.{name}", topic, formats["key"], formats["value"], layout)
            tables[topic] = (table, options)
        return Found(tables, left_out)

    def _topics(self) -> list[str]:
        kafka = {name[len(_KAFKA) :]: value for name, value in self.options.items() if name.startswith(_KAFKA)}
        with Cluster(client_properties(given=kafka)) as cluster:
            return [topic.name for topic in list_topics(cluster) if not topic.is_internal]

    def _schema_types(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """By topic, the formats of those sides of which the registry has a schema."""
        access = registry_access(self.options)
        if access is None:
            return {topic: {} for topic in topics}
        with RegistryClient(access.urls[0], user=access.user) as registry:
            subjects = set(registry.subjects())
            return {
                topic: {
                    side: type_of(registry.version(f"{topic}-{side}")).lower()
                    for side in ("key", "value")
                    if f"{topic}-{side}" in subjects
                }
                for topic in topics
            }


def selection(topics: str | Iterable[str] | None) -> Callable[[str], bool]:
    """Names, a regular expression, or all but those that begin with `_`. Raises InvalidOption."""
    if topics is None:
        return lambda topic: not topic.startswith("_")
    if not isinstance(topics, str):
        return frozenset(topics).__contains__
    try:
        pattern = re.compile(topics)
    except re.error as error:
        raise InvalidOption(f"topics={topics!r} is no regular expression: {error}") from error
    return lambda topic: pattern.fullmatch(topic) is not None


def table_names(topics: Iterable[str], chosen: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The names of tables by topic; and the topics whose name is another's already, with the reason.

    Names that need no change come first, then what the user has chosen is stronger still. Spark does not tell large
    letters from small ones.
    """
    for topic, name in chosen.items():
        check_name(f"names[{topic!r}]", name)
    owners: dict[str, str] = {}
    named: dict[str, str] = {}
    left_out: dict[str, str] = {}

    def weakness(topic: str) -> tuple[int, str]:
        return (0 if topic in chosen else 1 if _NAME.fullmatch(topic) else 2), topic

    for topic in sorted(topics, key=weakness):
        name = chosen.get(topic) or _NOT_IN_A_NAME.sub("_", topic)
        owner = owners.setdefault(name.lower(), topic)
        if owner == topic:
            named[topic] = name
        else:
            left_out[topic] = f"the table {name} is the topic {owner}; names={{{topic!r}: ...}} gives it another name"
    return dict(sorted(named.items())), left_out


def check_name(what: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidOption(f"{what} is {name!r}: Spark allows letters, digits and _ in the names of its catalogue")


def _layout(options: Mapping[str, str]) -> Layout:
    from stoker.spark.data_source import StokerDataSource

    schema = StokerDataSource(CaseInsensitiveDict(source_options_of(options))).schema()
    assert isinstance(schema, StructType)
    return layout_of(schema)
