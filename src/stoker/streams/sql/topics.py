"""What SQL has to know of topics: whether they are there, what the registry says of their records, how fields are spelled."""

import json
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from stoker.streams.kafka_inputs import Access
from stoker.streams.sql import types as t
from stoker.streams.sql.errors import SqlError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

_LOOKED_AT: Final = 20
"""So many records tell how fields are spelled."""
_CONNECT_SECONDS: Final = 1.0


class Registered(NamedTuple):
    """What the registry has: `format` is AVRO, JSON or PROTOBUF."""

    subject: str
    format: str
    type: t.SqlType
    """With the names of fields as they are in the schema."""


class Topics(Protocol):
    """Of one cluster."""

    @property
    def has_registry(self) -> bool: ...

    def registered(self, topic: str, side: str) -> Registered | None:
        """The latest schema of `key` or `value`; None if there is none."""

    def register(self, topic: str, side: str, form: str, kind: t.SqlType) -> None:
        """A schema for a topic that has none."""

    def spellings(self, topic: str) -> list[str]:
        """Names of fields that JSON values of the topic have; none if nobody knows."""

    def partitions(self, topic: str) -> int | None:
        """How many it has; None if it is not there or nobody knows."""

    def create(self, topic: str, partitions: int, replicas: int | None, configs: Mapping[str, str]) -> None: ...

    def delete(self, topic: str) -> None: ...


class KafkaTopics:
    """Of a cluster that is asked when something has to be known."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._is_there: bool | None = None

    @property
    def has_registry(self) -> bool:
        return self._access.registry is not None

    def registered(self, topic: str, side: str) -> Registered | None:
        from stoker.spark.errors import SchemaNotFound
        from stoker.spark.formats import spark_type_of
        from stoker.spark.schemas import registry_access, schema_source

        found = registry_access({name.lower(): value for name, value in self._access.write_options().items()})
        if found is None:
            return None
        subject = f"{topic}-{side}"
        try:
            schema = schema_source(found).version(subject)
        except SchemaNotFound:
            return None
        return Registered(subject, schema.type, sql_type(spark_type_of(schema.type.lower(), schema)))

    def register(self, topic: str, side: str, form: str, kind: t.SqlType) -> None:
        from stoker.spark.formats import writer_schema_for

        options = {name.lower(): value for name, value in self._access.write_options().items()}
        writer_schema_for(form.lower().removesuffix("_sr"), side, topic, options, spark_type(kind))

    def spellings(self, topic: str) -> list[str]:
        if not self._can_be_asked():
            return []
        found: dict[str, None] = {}
        for value in self._first_values(topic):
            try:
                content = json.loads(value)
            except ValueError:
                continue
            found.update(dict.fromkeys(content) if isinstance(content, dict) else {})
        return list(found)

    def partitions(self, topic: str) -> int | None:
        from stoker.streams.preparation import cluster_of, partitions_of

        if not self._can_be_asked():
            return None
        with cluster_of(self._access) as cluster:
            return partitions_of(cluster, [topic]).get(topic)

    def create(self, topic: str, partitions: int, replicas: int | None, configs: Mapping[str, str]) -> None:
        from stoker.client.admin.topics import create_topic
        from stoker.streams.preparation import cluster_of

        with cluster_of(self._access) as cluster:
            create_topic(cluster, topic, partitions=partitions, replication_factor=replicas, configs=configs)

    def delete(self, topic: str) -> None:
        from stoker.client.admin.topics import delete_topics
        from stoker.streams.preparation import cluster_of

        with cluster_of(self._access) as cluster:
            refused = delete_topics(cluster, [topic])[topic]
        if refused is not None:
            raise refused

    def _can_be_asked(self) -> bool:
        """A topology can be declared and tested without a broker, and nobody wants to wait for one then."""
        if self._is_there is None:
            self._is_there = any(_answers(each) for each in self._access.bootstrap_servers.split(","))
        return self._is_there

    def _first_values(self, topic: str) -> list[bytes]:
        from stoker.client.admin.offsets import EARLIEST, LATEST
        from stoker.streams.preparation import cluster_of, offsets_of
        from stoker.streams.sql.records import read_records

        with cluster_of(self._access) as cluster:
            first, last = (offsets_of(cluster, [topic], place) for place in (EARLIEST, LATEST))
        ranges = {
            each.partition: (first[each], min(end, first[each] + _LOOKED_AT))
            for each, end in last.items()
            if each in first
        }
        return [each.value for each in read_records(self._access, topic, ranges) if each.value is not None]


def _answers(address: str) -> bool:
    host, _, port = address.strip().rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS):
            return True
    except (OSError, ValueError):
        return False


def sql_type(kind: "DataType") -> t.SqlType:
    """Of a Spark type. Raises SqlError for what SQL has no type for."""
    from pyspark.sql import types as spark

    match kind:
        case spark.StructType():
            return t.Struct(tuple(t.Field(each.name, sql_type(each.dataType)) for each in kind))
        case spark.ArrayType():
            return t.Array(sql_type(kind.elementType))
        case spark.MapType():
            return t.Map(sql_type(kind.keyType), sql_type(kind.valueType))
        case spark.NullType():
            return t.STRING
    return t.from_spark(kind.simpleString())


def spark_type(kind: t.SqlType) -> "DataType":
    """As Spark's own type."""
    from pyspark.sql import types as spark

    match kind:
        case t.Struct(fields):
            return spark.StructType([spark.StructField(each.name, spark_type(each.type)) for each in fields])
        case t.Array(element):
            return spark.ArrayType(spark_type(element))
        case t.Map(key, value):
            return spark.MapType(spark_type(key), spark_type(value))
        case t.Decimal(precision, scale):
            return spark.DecimalType(precision, scale)
    plain: dict[t.SqlType, Any] = {
        t.BOOLEAN: spark.BooleanType, t.INTEGER: spark.IntegerType, t.BIGINT: spark.LongType, t.DOUBLE: spark.DoubleType,
        t.STRING: spark.StringType, t.BYTES: spark.BinaryType, t.DATE: spark.DateType, t.TIMESTAMP: spark.TimestampType,
    }  # fmt: skip
    if kind not in plain:
        raise SqlError(f"{kind} cannot be a column of a topic: use INTEGER or STRING")
    made: DataType = plain[kind]()
    return made
