"""What a write needs to know before it begins: found once, where the query is planned, and sent to its tasks."""

from collections.abc import Mapping
from typing import NamedTuple
from uuid import uuid4

from pyspark.sql.types import StructType

from stoker.spark.formats import WriterSchema, writer_schema_for
from stoker.spark.sink_columns import SinkColumns, sink_columns
from stoker.spark.sink_options import SinkOptions, sink_options


class SinkPlan(NamedTuple):
    options: SinkOptions
    columns: SinkColumns
    key: WriterSchema | None
    """None for a column that is text or bytes already."""
    value: WriterSchema | None
    write_id: str
    """Of this write, where Spark gives it no query id."""


def sink_plan(given: Mapping[str, str], schema: StructType) -> SinkPlan:
    """Raises InvalidOption, and what a registry that is to be asked raises."""
    options = sink_options(given)
    columns = sink_columns(schema, options)
    key = value = None
    if options.key_format is not None and columns.key_type is not None:
        key = writer_schema_for(options.key_format, "key", options.topic, options.given, columns.key_type)
    if options.value_format is not None:
        value = writer_schema_for(options.value_format, "value", options.topic, options.given, columns.value_type)
    return SinkPlan(options, columns, key, value, uuid4().hex)
