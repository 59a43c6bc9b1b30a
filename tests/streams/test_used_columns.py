"""What of its records a topology uses: the rest is not read."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stoker.streams.application import Streams
from stoker.streams.compiler.batch import Batch
from stoker.streams.execution import compile_dry
from stoker.streams.kafka_inputs import Access, KafkaInputs, ResolvedSource, only_used
from stoker.streams.kafka_outputs import KafkaOutputs
from stoker.streams.state.directory import StateDirectory
from stoker.streams.state.manifest import Manifest
from stoker.streams.stream import Stream
from stoker.streams.used_columns import Use, uses
from stoker.streams.windows import tumbling

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = (
    "key string, value struct<customer_id: string, amount: double, region: string>, partition int, offset bigint, "
    "timestamp timestamp, streamTime bigint"
)
ACCESS = Access(bootstrap_servers="nobody:1", registry=None, options={})


def routed(orders: Stream) -> None:
    orders.filter("amount > 500").to("large")


def revenue(orders: Stream) -> None:
    orders.group_by("customer_id").window(tumbling("1 hour")).aggregate(revenue="sum(amount)").to("revenue")


def counted(orders: Stream) -> None:
    orders.group_by_key().count().to("counts")


def shown(orders: Stream) -> None:
    orders.peek(print).filter("amount > 500").to("large")


def matched(orders: Stream) -> None:
    orders.join(orders, within="1 minute", columns=["left.amount"]).to("pairs")


@pytest.mark.parametrize(
    ("declare", "use"),
    [
        (routed, Use(frozenset({"customer_id", "amount", "region"}), frozenset({"partition", "offset", "streamTime"}))),
        (revenue, Use(frozenset({"customer_id", "amount"}), frozenset({"offset"}))),
        (counted, Use(frozenset(), frozenset({"offset", "streamTime"}))),
        (shown, Use(frozenset({"customer_id", "amount", "region"}), frozenset())),
        (matched, None),
    ],
    ids=lambda each: each.__name__ if callable(each) else "",
)
def test_what_nobody_uses_is_not_read(
    spark: "SparkSession", tmp_path: Path, declare: Callable[[Stream], None], use: Use | None
) -> None:
    """A function that shows rows sorts them by what no plan tells, and a topic that is joined with itself is read whole."""
    from pyspark.sql.types import StructType, _parse_datatype_string

    app = Streams("application", bootstrap_servers="nobody:1", registry="")
    declare(app.stream("orders"))
    topology = app.topology
    schema = _parse_datatype_string(SCHEMA)
    assert isinstance(schema, StructType)
    sources = {
        source: ResolvedSource(source=source, key_format="string", value_format="json", schema=schema)
        for source in topology.sources
    }
    directory = StateDirectory(tmp_path)
    inputs = KafkaInputs(ACCESS, sources, {}, directory, 0)
    batch = Batch(spark, number=0, inputs=inputs, directory=directory, manifest=Manifest(), is_dry=True)
    compile_dry(topology, batch, KafkaOutputs(ACCESS, "application", sources, frozenset()))
    found = uses(batch, topology, sources)
    assert list(found.values()) == ([] if use is None else [use])


def test_columns_that_are_not_read_may_be_named(spark: "SparkSession", tmp_path: Path) -> None:
    from pyspark.sql.types import StructType, _parse_datatype_string

    app = Streams("application", bootstrap_servers="nobody:1", registry="")
    routed(app.stream("orders"))
    schema = _parse_datatype_string(SCHEMA)
    assert isinstance(schema, StructType)
    [source] = app.topology.sources
    resolved = ResolvedSource(source=source, key_format="string", value_format="json", schema=schema)
    less = only_used(resolved, Use(frozenset({"amount"}), frozenset({"offset", "streamTime"})))
    assert less.schema.names == ["key", "value", "partition", "timestamp"]
    assert [field.name for field in less.unread] == ["customer_id", "region"]
    frame = KafkaInputs(ACCESS, {source: less}, {}, StateDirectory(tmp_path), 0).frame(spark, source)
    assert frame.schema["offset"].dataType == schema["offset"].dataType
    assert set(frame.columns) == set(schema.names)
