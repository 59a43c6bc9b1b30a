"""Where the records of a micro-batch go in Kafka: topics, changelogs of stores, dead letters."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from stoker.streams import nodes
from stoker.streams.columns import BEFORE, DELETED, KEY, WINDOW
from stoker.streams.compiler.batch import Batch, Inputs
from stoker.streams.compiler.outputs import records
from stoker.streams.kafka_inputs import BINARY, Access, KafkaInputs, ResolvedSource
from stoker.streams.nodes import in_order
from stoker.streams.state.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from stoker.spark.driven_writes import DrivenWrites
    from stoker.streams.columnar.sink import ColumnarSink

BATCH_HEADER: Final = "stoker.batch"
STATE_HEADER: Final = "stoker.state"
"""Which state of the application a change belongs to: after a reset it is another one."""
JSON_OPTIONS: Final = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""By default Spark writes no more than milliseconds."""
_TYPED: Final = ("avro", "json", "protobuf")


class KafkaOutputs:
    """Writes each record once, however often a micro-batch is run: every write has a name of its own in it."""

    def __init__(
        self,
        access: Access,
        application: str,
        sources: Mapping[nodes.TopicSource, ResolvedSource],
        logged: frozenset[str],
        state: str = "",
        columnar: "Mapping[nodes.ToTopic, ColumnarSink] | None" = None,
    ) -> None:
        self._access = access
        self._application = application
        self._sources = sources
        self._logged = logged
        """Stores that have a changelog."""
        self._state = state
        self._columnar = columnar or {}
        self._writes: dict[str, DrivenWrites] = {}
        """By the name of the sink."""

    def apart(self, manifest: Manifest, inputs: Inputs) -> frozenset[nodes.Node]:
        return frozenset(sink for sink, each in self._columnar.items() if each.fits(manifest, inputs))

    def prepare(self, batch: Batch, sink: nodes.ToTopic) -> Callable[[], None]:
        columnar = self._columnar.get(sink)
        if columnar is not None and columnar.fits(batch.manifest, batch.inputs):
            assert isinstance(batch.inputs, KafkaInputs)
            return partial(columnar.write, batch.spark, batch.manifest, batch.inputs)
        frame, options = self.spread(batch, sink)
        return partial(self._save, batch, frame, options)

    def spread(self, batch: Batch, sink: nodes.ToTopic) -> "tuple[DataFrame, dict[str, str]]":
        """The rows of a sink as they are handed to `format("stoker")`, and all of its options."""
        frame, options = self.prepared(records(batch, sink), sink)
        return _spread(frame, options), self._all_options(sink.topic, sink.name, options)

    def prepared(self, frame: "DataFrame", sink: nodes.ToTopic) -> "tuple[DataFrame, dict[str, str]]":
        """The rows as they can be written, and the options that say how."""
        from pyspark.sql import functions as F  # noqa: N812

        origin = next((self._sources[each] for each in in_order([sink]) if isinstance(each, nodes.TopicSource)), None)
        key_form, key = _key_as(F.col("key"), frame.schema["key"].dataType, sink.key.form, origin)
        value_form = sink.value.form or _value_form(frame.schema["value"].dataType, origin, self._access.registry)
        options = {} if key_form == BINARY else {"key.format": key_form}
        if value_form != BINARY:
            options["value.format"] = value_form
        passed_on = _passed_on(sink)
        if passed_on is not None and value_form == self._sources[passed_on].value_format in ("avro", "json"):
            given = {name.lower(): value for name, value in passed_on.options.items()}
            if "value.schema.version" not in given:
                options["value.subject.like"] = given.get("value.subject", f"{passed_on.topic}-value")
        return frame.withColumn("key", key), {**options, **sink.options}

    def write_changes(self, batch: Batch, store: str, rows: "DataFrame") -> None:
        """A record for each changed row, by its key and window; a deleted one is a tombstone."""
        from pyspark.sql import functions as F  # noqa: N812

        if store not in self._logged:
            return
        keys = [name for name in (KEY, *WINDOW) if name in rows.columns]
        plain = [name for name in rows.columns if name not in (*keys, BEFORE, DELETED)]
        told = {BATCH_HEADER: F.lit(str(batch.number)), STATE_HEADER: F.lit(self._state)}
        frame = rows.select(
            F.to_json(F.struct(*keys), JSON_OPTIONS).alias("key"),
            F.when(~F.col(DELETED), F.to_json(F.struct(*plain), JSON_OPTIONS)).alias("value"),
            _headers(told).alias("headers"),
        )
        topic = changelog(self._application, store)
        formats = {"key.format": "string", "value.format": "string"}
        self._save(batch, frame, self._all_options(topic, f"{store}-changelog", formats))

    def write_dead_letters(self, batch: Batch, source: nodes.TopicSource) -> int:
        """The records as they were, with headers that say where they come from and what is wrong with them."""
        from pyspark.sql import functions as F  # noqa: N812

        counted = sum(each.bad for each in batch.inputs.reports(batch.spark, source))
        if counted == 0 or source.dead_letters is None:
            return 0
        bad = batch.inputs.frame(batch.spark, source).where(F.col("error").isNotNull()).select("error.*")
        told = {
            "stoker.error": F.col("reason"),
            "stoker.topic": F.col("topic"),
            "stoker.partition": F.col("partition").cast("string"),
            "stoker.offset": F.col("offset").cast("string"),
            "stoker.application": F.lit(self._application),
        }
        frame = bad.select("key", "value", "timestamp", _headers(told).alias("headers"))
        self._save(batch, frame, self._all_options(source.dead_letters, f"{source.topic}-dead-letters", {}))
        return counted

    def _all_options(self, topic: str, name: str, options: Mapping[str, str]) -> dict[str, str]:
        return {**self._access.write_options(), **options, "topic": topic, "sink.id": name[:100]}

    def _save(self, batch: Batch, frame: "DataFrame", options: Mapping[str, str]) -> None:
        from stoker.spark.driven_writes import DrivenWrites

        name = options["sink.id"]
        if name not in self._writes:
            self._writes[name] = DrivenWrites(batch.spark)
        self._writes[name].write(frame, options)


def _passed_on(sink: nodes.ToTopic) -> nodes.StreamSource | None:
    """The topic whose values, as they are, the sink writes: they keep their schema."""
    node: nodes.Node = sink.parent
    while isinstance(node, nodes.Filter | nodes.Rekey | nodes.Peek):
        node = node.parent
    return node if isinstance(node, nodes.StreamSource) else None


def _spread(frame: "DataFrame", options: Mapping[str, str]) -> "DataFrame":
    """Fields of a value that is never null as columns, of which the sink makes the same: Spark hands structs to Python at twice the cost."""
    from pyspark.sql.types import StructType

    from stoker.spark.sink_columns import RECORD_COLUMNS, SOURCE_ONLY

    value = frame.schema["value"]
    if options.get("value.format") not in _TYPED or not isinstance(value.dataType, StructType) or value.nullable:
        return frame
    if {*RECORD_COLUMNS, *SOURCE_ONLY} & set(value.dataType.names):
        return frame
    return frame.select(*[name for name in frame.columns if name != "value"], "value.*")


def _headers(told: "Mapping[str, Column]") -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    return F.array(
        *[F.struct(F.lit(name).alias("key"), value.cast("binary").alias("value")) for name, value in told.items()]
    )


def changelog(application: str, store: str) -> str:
    """The topic that a store can be had back from, named as Kafka Streams does."""
    return f"{application}-{store}-changelog"


def _key_as(key: "Column", kind: "DataType", given: str | None, origin: ResolvedSource | None) -> "tuple[str, Column]":
    """Text and bytes as they are, structs by a format, numbers as text."""
    from pyspark.sql.types import ArrayType, BinaryType, MapType, StringType, StructType

    if given is not None:
        return given, key
    if isinstance(kind, BinaryType):
        return BINARY, key
    if isinstance(kind, StringType):
        return "string", key
    if origin is not None and origin.key_format in _TYPED:
        return origin.key_format, key
    return ("json", key) if isinstance(kind, StructType | ArrayType | MapType) else ("string", key.cast("string"))


def _value_form(kind: "DataType", origin: ResolvedSource | None, registry: str | None) -> str:
    from pyspark.sql.types import BinaryType, StringType

    if isinstance(kind, BinaryType):
        return BINARY
    form: Any = origin.value_format if origin is not None else None
    if isinstance(kind, StringType) and form not in _TYPED:
        return "string"
    return form if form in _TYPED and (form == "json" or registry is not None) else "json"
