"""Which sinks of an application can be run on Arrow columns."""

import logging
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from pyspark.sql.pandas.types import to_arrow_schema

from stoker.spark.data_source import row_reader
from stoker.spark.options import source_options
from stoker.spark.sink_plan import sink_plan
from stoker.streams import nodes
from stoker.streams.columnar.expressions import Unsupported
from stoker.streams.columnar.forwarding import forwarded
from stoker.streams.columnar.sink import ColumnarSink, Endpoints, columnar_plan, may_be_columnar
from stoker.streams.columnar.steps import Plan
from stoker.streams.columns import BEFORE
from stoker.streams.compiler.batch import Batch
from stoker.streams.kafka_inputs import Access, KafkaInputs, ResolvedSource, options_of
from stoker.streams.state.directory import StateDirectory
from stoker.streams.state.manifest import Manifest
from stoker.streams.topology import Topology
from stoker.streams.used_columns import whole_plans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from stoker.streams.kafka_outputs import KafkaOutputs

_LOGGER: Final = logging.getLogger(__name__)


def columnar_sinks(
    spark: "SparkSession",
    topology: Topology,
    access: Access,
    sources: Mapping[nodes.TopicSource, ResolvedSource],
    layouts: "Mapping[str, DataFrame]",
    outputs: "KafkaOutputs",
    directory: StateDirectory,
) -> dict[nodes.ToTopic, ColumnarSink]:
    """`sources` are those with the columns that are used, `layouts` the columns of stores."""
    inputs = KafkaInputs(access, sources, {}, directory, 0)
    at_rest = Batch(
        spark, number=0, inputs=inputs, directory=directory, manifest=Manifest(), is_dry=True, is_at_rest=True
    )
    found = {}
    for sink in topology.sinks:
        made_of = may_be_columnar(sink) if isinstance(sink, nodes.ToTopic) else None
        if made_of is None:
            continue
        assert isinstance(sink, nodes.ToTopic)
        source, table = made_of
        read = sources[source].schema
        table_columns = None
        if table is not None:
            columns = layouts[table.name].drop(BEFORE)
            table_columns = to_arrow_schema(columns.schema, timezone="UTC")
        try:
            with whole_plans(spark):
                frame, options = outputs.spread(at_rest, sink)
                plan = columnar_plan(frame, read, table_columns)
        except Unsupported as reason:
            _LOGGER.debug("%s is run by Spark's rows: %s", sink.describe(), reason)
            continue
        found[sink] = ColumnarSink(
            source=source,
            table=table,
            table_columns=table_columns,
            plan=plan,
            directory=directory,
            connect=partial(
                _connected,
                options_of(access, sources[source]) | {"subscribe": source.topic},
                read,
                options,
                frame.schema,
                plan,
            ),
        )
    return found


def _connected(
    read_options: dict[str, str], read: "StructType", write_options: dict[str, str], written: "StructType", plan: Plan
) -> Endpoints:
    limits = source_options(read_options).limits
    rows, sink = row_reader(read_options, read), sink_plan(write_options, written)
    rows, plan, sink = forwarded(rows, plan, sink) or (rows, plan, sink)
    return Endpoints(rows, limits, plan, sink)
