"""The rows of a micro-batch, read from Kafka by the ranges that Spark has planned."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from stoker.spark.range_report import RangeReport
from stoker.streams.errors import InvalidTopology
from stoker.streams.nodes import Format, TopicSource
from stoker.streams.state.directory import StateDirectory
from stoker.streams.used_columns import Use

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField, StructType

BINARY: Final = "binary"


class Range(NamedTuple):
    start: int
    end: int


Ranges = dict[str, dict[int, Range]]
"""By topic and partition."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """How topics are read and written: the options of every `format("stoker")`."""

    bootstrap_servers: str
    registry: str | None
    options: Mapping[str, str]
    """The user's, of `kafka.*` and the registry."""

    def read_options(self) -> dict[str, str]:
        return {"kafka.isolation.level": "read_committed", **self.write_options()}

    def write_options(self) -> dict[str, str]:
        given = {"kafka.bootstrap.servers": self.bootstrap_servers, **self.options}
        if self.registry is not None:
            given["schema.registry.url"] = self.registry
        return given


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedSource:
    """A source of which it is known how its records look."""

    source: TopicSource
    key_format: str
    value_format: str
    schema: "StructType"
    """Of all columns that are read."""
    unread: "tuple[StructField, ...]" = ()
    """Fields of the value that are not, since nobody uses them."""
    unread_columns: "tuple[StructField, ...]" = ()
    """Likewise, of what is known of the record."""


def resolve(spark: "SparkSession", access: Access, source: TopicSource, formats: Mapping[str, str]) -> ResolvedSource:
    """Ask once what the columns are; `formats` are those that the registry knows, for `key` and `value`.

    Raises InvalidOption and what a registry raises.
    """
    forms = {
        side: _form(side, source, given, formats) for side, given in (("key", source.key), ("value", source.value))
    }
    options = _options(access, source, forms)
    reader = spark.read.format("stoker").options(**options, subscribe=source.topic)
    given = {"key": source.key.schema, "value": source.value.schema}
    if any(given.values()):
        columns = [f"{side} {_type(given[side]) or _plain(side, source, forms)}" for side in ("key", "value")]
        error = (
            "reason string, topic string, partition int, offset bigint, timestamp timestamp, key binary, value binary"
        )
        columns += ["partition int", "offset bigint", "timestamp timestamp", "streamTime bigint"]
        columns += ["headers array<struct<key: string, value: binary>>"] if source.headers else []
        columns += [f"error struct<{error}>"] if source.on_error != "fail" else []
        reader = reader.schema(", ".join(columns))
    schema = reader.load().drop("topic", "timestampType").schema
    return ResolvedSource(source=source, key_format=forms["key"], value_format=forms["value"], schema=schema)


def resolved_like(source: TopicSource, schema: "StructType", options: Mapping[str, str]) -> ResolvedSource:
    """A topic that is written with these columns and options."""
    from pyspark.sql.types import LongType, StructField, StructType

    from stoker.spark.source_schema import METADATA

    read = schema.toNullable()  # whatever is never null as it is written: formats cannot promise it
    columns = [StructField(side, read[side].dataType) for side in ("key", "value")]
    columns += [StructField(name, kind) for name, kind in METADATA.items() if name not in ("topic", "timestampType")]
    return ResolvedSource(
        source=source,
        key_format=options.get("key.format", BINARY),
        value_format=options.get("value.format", BINARY),
        schema=StructType([*columns, StructField("streamTime", LongType())]),
    )


def _form(side: str, source: TopicSource, given: Format, formats: Mapping[str, str]) -> str:
    if given.form is not None:
        return given.form.lower()
    if side in formats:
        return formats[side]
    return "json" if given.schema is not None and given.schema.strip().lower() not in ("string", BINARY) else "string"


def _plain(side: str, source: TopicSource, forms: Mapping[str, str]) -> str:
    if forms[side] in ("string", BINARY):
        return forms[side]
    raise InvalidTopology(
        f"{side}s of topic {source.topic} are {forms[side]}: with a schema for the other side this one needs one too ({side}_schema=...)"
    )


def _type(schema: str | None) -> str | None:
    """A list of columns is a struct, and anything else the type itself."""
    if schema is None:
        return None
    text = schema.strip()
    is_type = " " not in text or text.lower().startswith(("struct<", "array<", "map<", "decimal("))
    return text if is_type else f"struct<{text}>"


def _options(access: Access, source: TopicSource, forms: Mapping[str, str]) -> dict[str, str]:
    options = {**access.read_options(), **source.options}
    options |= {f"{side}.format": form for side, form in forms.items() if form != BINARY}
    options["streamTime"] = "timestamp" if source.timestamp is None else f"value.{source.timestamp}"
    if source.headers:
        options["includeHeaders"] = "true"
    if source.on_error != "fail":
        options |= {"on.error": "column", "error.record": "true"}
    return options


def options_of(access: Access, resolved: ResolvedSource) -> dict[str, str]:
    """Of `format("stoker")`, but for the topic and the offsets."""
    return _options(access, resolved.source, {"key": resolved.key_format, "value": resolved.value_format})


def only_used(resolved: ResolvedSource, use: Use) -> ResolvedSource:
    """The source with nothing that nobody uses, as far as its records may be read so."""
    from pyspark.sql.types import StructField, StructType

    value = resolved.schema["value"]
    unread: tuple[StructField, ...] = ()
    kind = value.dataType
    if isinstance(kind, StructType) and use.fields and use.fields < frozenset(kind.names):
        value = StructField("value", StructType([field for field in kind if field.name in use.fields]))
        unread = tuple(field for field in kind if field.name not in use.fields)
    return replace(
        resolved,
        schema=StructType(
            [value if field.name == "value" else field for field in resolved.schema if field.name not in use.unused]
        ),
        unread=unread,
        unread_columns=tuple(field for field in resolved.schema if field.name in use.unused),
    )


class KafkaInputs:
    """Of one micro-batch."""

    def __init__(
        self,
        access: Access,
        sources: Mapping[TopicSource, ResolvedSource],
        ranges: Ranges,
        directory: StateDirectory,
        number: int,
        most_rows: int | None = None,
    ) -> None:
        self._access = access
        self._sources = sources
        self._ranges = ranges
        self._directory = directory
        self._number = number
        self._most_rows = most_rows
        """That a batch reads, or about as many."""

    def partitions(self, topic: str) -> list[int]:
        return sorted(self._ranges.get(topic, {}))

    def ranges(self, topic: str) -> dict[int, Range]:
        """What is to be read of each partition."""
        return self._ranges.get(topic, {})

    @property
    def report_uri(self) -> str:
        """Where tasks leave what they have read."""
        return self._directory.report_uri(self._number)

    def unread(self, source: TopicSource) -> "Sequence[StructField]":
        return self._sources[source].unread

    def reports(self, spark: "SparkSession", source: TopicSource) -> list[RangeReport]:
        """From the files that the tasks have left."""
        found = self._reports(source.topic)
        if {each.partition for each in found} != set(self._ranges.get(source.topic, {})):
            self.frame(spark, source).write.format("noop").mode("overwrite").save()
            found = self._reports(source.topic)
        return found

    def _reports(self, topic: str) -> list[RangeReport]:
        ranges = self._ranges.get(topic, {})
        left = [RangeReport(**each) for each in self._directory.read_reports(self._number)]
        return [
            each for each in left if each.topic == topic and ranges.get(each.partition) == Range(each.start, each.end)
        ]

    def is_behind(self, topic: str, partition: int) -> bool:
        """As far as the ranges tell, which are the same when the batch is run again: all are, if it has as many records as it may.

        Each partition has its part of them, rounded down.
        """
        counts = [each.end - each.start for ranges in self._ranges.values() for each in ranges.values()]
        return self._most_rows is not None and sum(counts) >= self._most_rows - len(counts)

    def frame(self, spark: "SparkSession", source: TopicSource) -> "DataFrame":
        resolved = self._sources[source]
        ranges = self._ranges.get(source.topic)
        if not ranges:
            return self._with_nulls(resolved, spark.createDataFrame([], resolved.schema))
        topic = source.topic
        return self._with_nulls(
            resolved,
            spark.read.format("stoker")
            .options(**options_of(self._access, resolved))
            .option("report", self.report_uri)
            .option("assign", json.dumps({topic: sorted(ranges)}))
            .option("startingOffsets", json.dumps({topic: {str(each): found.start for each, found in ranges.items()}}))
            .option("endingOffsets", json.dumps({topic: {str(each): found.end for each, found in ranges.items()}}))
            .schema(resolved.schema)
            .load(),
        )

    def _with_nulls(self, resolved: ResolvedSource, rows: "DataFrame") -> "DataFrame":
        """With the columns that are not read: they may be named."""
        from pyspark.sql import functions as F  # noqa: N812

        if not resolved.unread_columns:
            return rows
        return rows.select("*", *[F.lit(None).cast(each.dataType).alias(each.name) for each in resolved.unread_columns])
