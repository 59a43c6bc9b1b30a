"""What the options of a write mean, and what is refused."""

import pickle
import re

import pytest

from stoker.spark.errors import InvalidOption
from stoker.spark.sink_options import SINK_OPTIONS, Delivery, sink_options
from stoker.wire.compression import Codec

BROKERS = {"kafka.bootstrap.servers": "localhost:9092"}


def test_the_defaults() -> None:
    options = sink_options(BROKERS)
    assert options.delivery is Delivery.EXACTLY_ONCE
    assert (options.codec, options.compression_level) == (Codec.NONE, None)
    assert (options.topic, options.key_format, options.value_format) == (None, None, None)
    defaults = {option.name: option.default for option in SINK_OPTIONS}
    assert str(options.batch_bytes) == defaults["kafka.batch.size"]
    assert str(options.buffer_bytes) == defaults["kafka.buffer.memory"]
    assert str(options.delivery_timeout_ms) == defaults["kafka.delivery.timeout.ms"]
    assert str(options.transaction_timeout_ms) == defaults["kafka.transaction.timeout.ms"]


def test_names_in_any_case_and_values_as_they_are() -> None:
    given = {
        "Kafka.Bootstrap.Servers": "one:1,two:2",
        "Topic": "Orders",
        "DELIVERY": "At-Least-Once",
        "kafka.compression.type": "ZSTD",
        "kafka.compression.zstd.level": "7",
        "kafka.compression.gzip.level": "1",
        "kafka.batch.size": "16384",
        "kafka.max.request.size": "2000000",
        "kafka.client.id": "mine",
        "kafka.linger.ms": "20",
        "value.format": "Avro",
        "checkpointLocation": "/somewhere",
    }
    options = sink_options(given)
    assert (options.topic, options.delivery, options.value_format) == ("Orders", Delivery.AT_LEAST_ONCE, "avro")
    assert (options.codec, options.compression_level, options.batch_bytes) == (Codec.ZSTD, 7, 16384)
    assert options.max_request_size == 2_000_000
    assert options.properties.client_id == "mine"
    assert len(options.properties.bootstrap_servers) == 2


def test_they_can_be_sent_to_tasks() -> None:
    options = sink_options(BROKERS)
    assert pickle.loads(pickle.dumps(options)) == options


REFUSED = {
    "no brokers": ({"kafka.bootstrap.servers": " "}, "kafka.bootstrap.servers is missing"),
    "no address": ({"kafka.bootstrap.servers": "host:port"}, "'host:port' in bootstrap.servers is no address"),
    "a slip": ({"topik": "orders"}, "no option 'topik' of a write .*did you mean: topic"),
    "nothing like it": ({"xyzzy": "1"}, "no option 'xyzzy' .*the options are: kafka.bootstrap.servers, topic"),
    "an option of reads": ({"subscribe": "orders"}, "no option 'subscribe' of a write"),
    "delivery": ({"delivery": "twice"}, "delivery=twice .*: exactly-once, at-least-once"),
    "compression": ({"kafka.compression.type": "rar"}, "kafka.compression.type=rar .*: none, gzip, snappy, lz4, zstd"),
    "level": ({"kafka.compression.type": "zstd", "kafka.compression.zstd.level": "high"}, "level=high is not a number"),
    "number": ({"kafka.batch.size": "1 MB"}, "kafka.batch.size=1 MB is not a number"),
    "too high": ({"kafka.buffer.memory": "9" * 30}, "kafka.buffer.memory=9+ is not a number from 1 to 2147483647"),
    "zero": ({"kafka.batch.size": "0"}, "kafka.batch.size=0 is not a number from 1"),
    "milliseconds": ({"kafka.request.timeout.ms": "soon"}, "kafka.request.timeout.ms=soon is not a number"),
    "acks": ({"kafka.acks": "1"}, "kafka.acks=1 cannot be: .*nothing but all"),
    "idempotence": ({"kafka.enable.idempotence": "false"}, "kafka.enable.idempotence=false cannot be"),
    "serializer": ({"kafka.value.serializer": "x"}, "kafka.value.serializer cannot be set: give value.format"),
    "transactional id": (
        {"kafka.transactional.id": "x"},
        "kafka.transactional.id cannot be set: .*delivery=exactly-once",
    ),
    "partitioner": ({"kafka.partitioner.class": "x"}, "kafka.partitioner.class cannot be set: .*column `partition`"),
    "format": ({"value.format": "xml"}, "value.format=xml .*: avro, json, protobuf, string"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_with_the_choices(case: str) -> None:
    given, message = REFUSED[case]
    with pytest.raises(InvalidOption, match=re.compile(message, re.DOTALL)):
        sink_options(BROKERS | given)


def test_every_option_is_said_once_and_explained() -> None:
    names = [option.name for option in SINK_OPTIONS]
    assert len(set(names)) == len(names)
    assert all(option.meaning.endswith(".") for option in SINK_OPTIONS)
