"""The plugin in a test suite that is not ours: nothing is imported or configured there."""

import pytest

pytest_plugins = ["pytester"]

SOMEBODY_ELSES_TEST = """
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

def test_orders_are_published(stoker_broker):
    results = []
    producer = Producer({"bootstrap.servers": stoker_broker.bootstrap_servers})
    producer.produce("orders", b"one", on_delivery=lambda error, message: results.append((error, message.offset())))
    producer.flush(10)
    assert results == [(None, 0)]

def test_the_broker_is_the_same(stoker_broker):
    assert any(stoker_broker.data_dir.glob("orders-0/*.log"))

def test_schemas_are_registered(stoker_registry):
    client = SchemaRegistryClient({"url": stoker_registry.url})
    assert client.register_schema("orders-value", Schema('"string"', "AVRO")) == 1
"""


def test_any_suite_gets_a_real_broker_and_a_real_registry(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SOMEBODY_ELSES_TEST)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=3)
