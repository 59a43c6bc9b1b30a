from collections.abc import Callable
from typing import Any

import pytest

from stoker.client.fetching import Isolation
from stoker.client.topic_partition import TopicPartition
from stoker.spark.errors import InvalidOption
from stoker.spark.options import (
    EARLIEST,
    LATEST,
    OPTIONS,
    Assigned,
    AtOffsets,
    AtTime,
    AtTimes,
    Everywhere,
    Matching,
    NoMatch,
    OnError,
    SourceOptions,
    Subscribed,
    source_options,
)
from stoker.spark.planning import Limits

NEEDED = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}
ORDERS_0 = TopicPartition("orders", 0)


def parse(**given: str) -> SourceOptions:
    """Names with _ for the dot."""
    return source_options(NEEDED | {name.replace("_", "."): value for name, value in given.items()})


def test_what_is_not_given() -> None:
    options = parse()
    assert options.selection == Subscribed(("orders",))
    assert options.starting is None
    assert options.ending is None
    assert options.fail_on_data_loss
    assert not options.include_headers
    assert options.isolation is Isolation.READ_UNCOMMITTED
    assert options.on_error is OnError.FAIL
    assert options.max_trigger_delay_ms == 15 * 60_000
    assert (options.offset_retries, options.offset_retry_interval_ms) == (3, 1000)
    assert options.key_format is None


@pytest.mark.parametrize(
    ("given", "read", "expected"),
    [
        ({"subscribe": " a, b ,,a"}, lambda options: options.selection, Subscribed(("a", "b"))),
        ({"startingOffsets": "earliest"}, lambda options: options.starting, Everywhere(EARLIEST)),
        ({"STARTINGOFFSETS": "Latest"}, lambda options: options.starting, Everywhere(LATEST)),
        (
            {"startingOffsets": '{"orders": {"0": -2}}'},
            lambda options: options.starting,
            AtOffsets({ORDERS_0: EARLIEST}),
        ),
        (
            {"startingOffsetsByTimestamp": '{"orders": {"0": 5}}', "startingOffsets": "earliest"},
            lambda options: options.starting,
            AtTimes({ORDERS_0: 5}),
        ),
        (
            {"startingTimestamp": "9", "startingOffsetsByTimestamp": '{"orders": {"0": 5}}'},
            lambda options: options.starting,
            AtTime(9),
        ),
        ({"endingTimestamp": "9"}, lambda options: options.ending, AtTime(9)),
        ({"endingOffsets": '{"orders": {"0": 7}}'}, lambda options: options.ending, AtOffsets({ORDERS_0: 7})),
        ({"startingOffsetsByTimestampStrategy": "LATEST"}, lambda options: options.no_match, NoMatch.LATEST),
        ({"failOnDataLoss": "False"}, lambda options: options.fail_on_data_loss, False),
        ({"includeHeaders": "true"}, lambda options: options.include_headers, True),
        ({"maxOffsetsPerTrigger": "100"}, lambda options: options.max_offsets_per_trigger, 100),
        ({"minOffsetsPerTrigger": "10"}, lambda options: options.min_offsets_per_trigger, 10),
        ({"maxTriggerDelay": "0"}, lambda options: options.max_trigger_delay_ms, 0),
        ({"maxTriggerDelay": "2 min"}, lambda options: options.max_trigger_delay_ms, 120_000),
        ({"minPartitions": "3", "maxRecordsPerPartition": "9"}, lambda options: options.limits, Limits(3, 9)),
        ({"fetchOffset.numRetries": "0"}, lambda options: options.offset_retries, 0),
        ({"kafka.isolation.level": "read_committed"}, lambda options: options.isolation, Isolation.READ_COMMITTED),
        ({"kafka.request.timeout.ms": "77"}, lambda options: options.properties.request_timeout_ms, 77),
        ({"kafka.fetch.max.bytes": "5"}, lambda options: options.properties.given["fetch.max.bytes"], "5"),
        ({"on.error": "drop"}, lambda options: options.on_error, OnError.DROP),
        ({"value.format": "Avro"}, lambda options: options.value_format, "avro"),
        ({"value.format": "binary"}, lambda options: options.value_format, None),
        ({"key.format": "string"}, lambda options: options.key_format, "string"),
    ],
)
def test_what_is_given(given: dict[str, str], read: Callable[[SourceOptions], Any], expected: object) -> None:
    assert read(source_options(NEEDED | given)) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"subscribePattern": "orders.*"}, Matching("orders.*")),
        ({"assign": '{"orders": [0]}'}, Assigned((ORDERS_0,))),
    ],
)
def test_other_ways_to_say_which_topics(given: dict[str, str], expected: object) -> None:
    assert source_options({"kafka.bootstrap.servers": "localhost:9092"} | given).selection == expected


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"startingOfsets": "earliest"}, "no option 'startingofsets'.* did you mean: startingOffsets"),
        ({"zzz": ""}, "the options are: kafka.bootstrap.servers, subscribe"),
        ({"kafka.bootstrap.servers": " "}, "kafka.bootstrap.servers is missing"),
        ({"kafka.bootstrap.servers": "a:b:c"}, "is no address"),
        ({"kafka.request.timeout.ms": "soon"}, "kafka.request.timeout.ms=soon is not a number"),
        ({"kafka.check.crcs": "perhaps"}, "kafka.check.crcs=perhaps is neither true nor false"),
        ({"kafka.auto.offset.reset": "earliest"}, "kafka.auto.offset.reset cannot be given: give startingOffsets"),
        ({"kafka.value.deserializer": "x"}, "give value.format"),
        ({"kafka.enable.auto.commit": "true"}, "Spark keeps the offsets"),
        ({"assign": '{"orders": [0]}'}, "subscribe and assign cannot be given together: give one of"),
        ({"subscribe": " , "}, "subscribe=,: it names no topic"),
        ({"subscribePattern": "("}, "no regular expression"),
        ({"startingOffsets": "first"}, 'startingOffsets=first: it takes earliest, latest or JSON such as {"orders"'),
        ({"startingOffsets": '{"orders": {"0": -3}}'}, "-3 of orders 0 is no whole number from -2 on"),
        ({"startingTimestamp": "now"}, "startingTimestamp=now: it takes a whole number from 0 on"),
        ({"failOnDataLoss": "maybe"}, "failOnDataLoss=maybe: it takes true or false"),
        ({"minPartitions": "0"}, "minPartitions=0: it takes a whole number from 1 on"),
        ({"maxTriggerDelay": "soon"}, "it takes a time such as 500ms"),
        ({"minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"}, "minOffsetsPerTrigger=5 is more than"),
        ({"kafka.isolation.level": "serializable"}, "it takes read_uncommitted or read_committed"),
        ({"on.error": "ignore"}, "on.error=ignore: it takes fail, column or drop"),
        ({"value.format": "xml"}, "value.format=xml: it takes avro, json, protobuf, string or binary"),
    ],
)
def test_what_cannot_be(given: dict[str, str], complaint: str) -> None:
    with pytest.raises(InvalidOption, match=complaint):
        source_options(NEEDED | given)


def test_topics_must_be_named() -> None:
    with pytest.raises(InvalidOption, match=r"not said which topics .* one of subscribe, subscribePattern, assign"):
        source_options({"kafka.bootstrap.servers": "localhost:9092"})


@pytest.mark.parametrize("given", [{"endingOffsets": "latest"}, {"endingTimestamp": "5"}])
def test_a_stream_has_no_end(given: dict[str, str]) -> None:
    with pytest.raises(InvalidOption, match="a stream has no end"):
        source_options(NEEDED | given).for_stream()


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"startingOffsets": "latest"}, "cannot be latest"),
        ({"startingOffsets": '{"orders": {"0": -1}}'}, "cannot be latest"),
        ({"endingOffsets": "earliest"}, "cannot be earliest"),
        ({"endingOffsets": '{"orders": {"0": -2}}'}, "cannot be earliest"),
    ],
)
def test_a_batch_has_something_to_read(given: dict[str, str], complaint: str) -> None:
    with pytest.raises(InvalidOption, match=complaint):
        source_options(NEEDED | given).for_batch()


def test_each_option_is_named_once_and_says_what_it_means() -> None:
    assert len({option.name.lower() for option in OPTIONS}) == len(OPTIONS)
    assert all(option.meaning.endswith(".") for option in OPTIONS)


def test_secrets_are_not_shown() -> None:
    options = source_options(
        NEEDED | {"schema.registry.basic.auth.user.info": "me:hush", "kafka.sasl.jaas.config": "hush"}
    )
    assert "hush" not in repr(options)
