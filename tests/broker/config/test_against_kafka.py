"""The same properties, the same changes and the same questions to Apache Kafka and to the configs of this room: the same answers."""

import socket
import time
from collections.abc import Iterator
from typing import TypeVar

import pytest

from stoker.broker.config.alter import AlterOperation, ConfigOperation, alter_incrementally, configs_of_new_topic
from stoker.broker.config.confluent_topic_settings import CONFLUENT_TOPIC_SETTINGS
from stoker.broker.config.describe import ConfigEntry, describe, describe_new_topic
from stoker.broker.config.errors import ConfigRefused
from stoker.broker.config.image import ConfigChange, ConfigImage, ResourceType
from stoker.broker.config.server_properties import load_broker_config
from stoker.broker.config.stoker_settings import STOKER_SETTINGS
from stoker.wire.error_codes import ErrorCode
from stoker.wire.frames import RequestHeader, decode_response_header, encode_request_header
from stoker.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from stoker.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from stoker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from stoker.wire.schema import Request, Response
from tests.apache_kafka import ApacheKafka

PROPERTIES = {
    "compression.type": "lz4",
    "group.consumer.regex.refresh.interval.ms": "20000",
    "group.consumer.session.timeout.ms": "50000",
    "listener.name.plaintext.max.connections": "100",
    "log.cleaner.min.cleanable.ratio": "0.25",
    "log.flush.scheduler.interval.ms": "4000",
    "log.retention.hours": "100",
    "log.roll.ms": " 7200000",
    "max.connections.per.ip.overrides": "127.0.0.1:200",
    "nobody.knows.this": "secret",
    "ssl.keystore.password": "secret",
}
TOPIC = "orders"
OWN = [("retention.bytes", "1000000"), ("cleanup.policy", "compact,delete"), ("min.cleanable.dirty.ratio", "0.0005")]

SET, DELETE, APPEND, SUBTRACT = AlterOperation
Operations = list[tuple[str, int, str | None]]
Answer = tuple[int, str | None]

STEPS: list[tuple[ResourceType, str, Operations]] = [
    (ResourceType.TOPIC, TOPIC, [("retention.ms", SET, "1000"), ("flush.messages", SET, " 1 ")]),
    (ResourceType.TOPIC, TOPIC, [("retention.ms", SET, "x")]),
    (ResourceType.TOPIC, TOPIC, [("retention.ms", SET, "-2")]),
    (ResourceType.TOPIC, TOPIC, [("retention.ms", SET, None)]),
    (ResourceType.TOPIC, TOPIC, [("retention.ms", SET, "1"), ("retention.ms", SET, "2")]),
    (ResourceType.TOPIC, TOPIC, [("retention.ms", APPEND, "1")]),
    (ResourceType.TOPIC, TOPIC, [("preallocate", SET, "yes")]),
    (ResourceType.TOPIC, TOPIC, [("no.such.setting", SET, "1")]),
    (ResourceType.TOPIC, TOPIC, [("no.such.setting", APPEND, "1")]),
    (ResourceType.TOPIC, TOPIC, [("no.such.setting", DELETE, None)]),
    (ResourceType.TOPIC, TOPIC, [("compression.type", SET, "brotli")]),
    (ResourceType.TOPIC, TOPIC, [("compression.gzip.level", SET, "0")]),
    (ResourceType.TOPIC, TOPIC, [("min.cleanable.dirty.ratio", SET, "2")]),
    (ResourceType.TOPIC, TOPIC, [("cleanup.policy", SUBTRACT, "compact")]),
    (ResourceType.TOPIC, TOPIC, [("cleanup.policy", APPEND, "nonsense")]),
    (ResourceType.TOPIC, TOPIC, [("cleanup.policy", SET, ",")]),
    (ResourceType.TOPIC, TOPIC, [("leader.replication.throttled.replicas", APPEND, "0:1,1:1")]),
    (ResourceType.TOPIC, TOPIC, [("leader.replication.throttled.replicas", SUBTRACT, "0:1")]),
    (ResourceType.TOPIC, TOPIC, [("leader.replication.throttled.replicas", SET, "a")]),
    (ResourceType.TOPIC, TOPIC, [("min.compaction.lag.ms", SET, "9"), ("max.compaction.lag.ms", SET, "8")]),
    (ResourceType.TOPIC, TOPIC, [("remote.storage.enable", SET, "true")]),
    (ResourceType.TOPIC, TOPIC, [("leader.replication.throttled.replicas", SET, f"{'1' * 20_000}:1")]),
    (ResourceType.TOPIC, TOPIC, [("leader.replication.throttled.replicas", APPEND, f"{'2' * 20_000}:1")]),
    (ResourceType.TOPIC, TOPIC, [("leader.replication.throttled.replicas", DELETE, None)]),
    (ResourceType.TOPIC, TOPIC, [("segment.bytes", SET, "1024")]),
    (ResourceType.TOPIC, TOPIC, [("internal.segment.bytes", SET, "1024")]),
    (ResourceType.TOPIC, "", [("retention.ms", SET, "1000")]),
    (ResourceType.BROKER, "1", [("log.segment.bytes", SET, "2097152"), ("max.connections", SET, "500")]),
    (ResourceType.BROKER, "1", [("log.retention.minutes", SET, "7")]),
    (ResourceType.BROKER, "1", [("log.retention.ms", SET, "420000"), ("nobody.knows.that", SET, "secret")]),
    (ResourceType.BROKER, "1", [("num.partitions", SET, "7")]),
    (ResourceType.BROKER, "1", [("message.max.bytes", SET, "x")]),
    (ResourceType.BROKER, "1", [("message.max.bytes", SET, "-1")]),
    (ResourceType.BROKER, "1", [("message.max.bytes", APPEND, "1")]),
    (ResourceType.BROKER, "1", [("nobody.knows.that", APPEND, "1")]),
    (ResourceType.BROKER, "1", [("message.max.bytes", 9, "1")]),
    (ResourceType.BROKER, "1", [("log.cleanup.policy", APPEND, "compact")]),
    (ResourceType.BROKER, "1", [("log.roll.ms", SET, "0")]),
    (ResourceType.BROKER, "1", [("ssl.keystore.password", SET, "secret")]),
    (ResourceType.BROKER, "2", [("message.max.bytes", SET, "1000000")]),
    (ResourceType.BROKER, "x", [("message.max.bytes", SET, "1000000")]),
    (ResourceType.BROKER, "", [("message.max.bytes", SET, "1000000"), ("log.flush.interval.ms", SET, "100")]),
    (ResourceType.BROKER, "", [("leader.replication.throttled.rate", SET, "1000000")]),
    (ResourceType.BROKER, "", [("listeners", SET, "PLAINTEXT://:1")]),
    (ResourceType.BROKER, "", [("max.connections.per.ip", SET, "0"), ("max.connections.per.ip.overrides", SET, "")]),
    (ResourceType.GROUP, "g", [("consumer.session.timeout.ms", SET, "46000")]),
    (ResourceType.GROUP, "g", [("consumer.session.timeout.ms", SET, "1000")]),
    (ResourceType.GROUP, "g", [("consumer.session.timeout.ms", SET, "100000")]),
    (ResourceType.GROUP, "g", [("consumer.session.timeout.ms", SET, "x")]),
    (ResourceType.GROUP, "g", [("no.such.setting", SET, "1")]),
    (ResourceType.GROUP, "g", [("share.auto.offset.reset", SET, "by_duration:PT1H")]),
    (ResourceType.GROUP, "g", [("share.auto.offset.reset", SET, "none")]),
    (ResourceType.GROUP, "", [("consumer.session.timeout.ms", SET, "46000")]),
    (ResourceType.CLIENT_METRICS, "m", [("interval.ms", SET, "1000"), ("match", SET, "client_id=a.*")]),
    (ResourceType.CLIENT_METRICS, "m", [("interval.ms", SET, "99")]),
    (ResourceType.CLIENT_METRICS, "m", [("match", SET, "nobody=a")]),
    (ResourceType.CLIENT_METRICS, "m", [("match", SET, "client_id=(")]),
    (ResourceType.CLIENT_METRICS, "m", [("no.such.setting", SET, "1")]),
    (ResourceType.CLIENT_METRICS, "", [("interval.ms", SET, "1000")]),
    (ResourceType.UNKNOWN, "u", [("interval.ms", SET, "1000")]),
]
QUESTIONS = [
    (ResourceType.TOPIC, TOPIC),
    (ResourceType.BROKER, "1"),
    (ResourceType.BROKER, ""),
    (ResourceType.BROKER, "2"),
    (ResourceType.BROKER, "x"),
    (ResourceType.GROUP, "g"),
    (ResourceType.GROUP, "other"),
    (ResourceType.GROUP, ""),
    (ResourceType.CLIENT_METRICS, "m"),
    (ResourceType.CLIENT_METRICS, "other"),
    (ResourceType.CLIENT_METRICS, ""),
    (ResourceType.BROKER_LOGGER, ""),
    (ResourceType.BROKER_LOGGER, "2"),
]
SECONDS_TO_AGREE = 10
NOT_KAFKAS = {setting.name for setting in (*STOKER_SETTINGS, *CONFLUENT_TOPIC_SETTINGS)}

AnyResponse = TypeVar("AnyResponse", bound=Response)


class Connection:
    """A connection to a broker that asks one thing at a time."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._stream = self._socket.makefile("rb")

    def ask(self, request: Request, response: type[AnyResponse]) -> AnyResponse:
        version = request.MAX_VERSION
        frame = encode_request_header(RequestHeader(request.API_KEY, version, 1, "test")) + request.encode(version)
        self._socket.sendall(len(frame).to_bytes(4, "big") + frame)
        reply = memoryview(self._stream.read(int.from_bytes(self._stream.read(4), "big")))
        _, position = decode_response_header(reply, request.API_KEY, version)
        return response.decode(reply, position, version)

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


class Both:
    """Apache Kafka, and the image of what it should know."""

    def __init__(self, connection: Connection, image: ConfigImage) -> None:
        self.connection = connection
        self.image = image


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    with ApacheKafka(properties=PROPERTIES) as kafka:
        loaded = load_broker_config(next(kafka.directory.glob("*.properties")))
        connection = Connection(kafka.port)
        # Kafka writes this one down itself, for its eligible leader replicas (KIP-966).
        elr = ConfigChange(ResourceType.BROKER, "", "min.insync.replicas", "1")
        yield Both(connection, ConfigImage(loaded.config).apply([elr]))
        connection.close()


def as_kafka_says(entry: DescribeConfigsResourceResult) -> dict[str, object]:
    return {
        "name": entry.name,
        "value": entry.value,
        "source": entry.config_source,
        "read_only": entry.read_only,
        "is_sensitive": entry.is_sensitive,
        "type": entry.config_type,
        "synonyms": [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms],
    }


def as_we_say(entry: ConfigEntry) -> dict[str, object]:
    return {
        "name": entry.name,
        "value": entry.value,
        "source": entry.source,
        "read_only": entry.read_only,
        "is_sensitive": entry.sensitive,
        "type": entry.type,
        "synonyms": [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms],
    }


def kafka_describes(
    both: Both, resource_type: ResourceType, name: str
) -> tuple[int, str | None, list[dict[str, object]]]:
    resource = DescribeConfigsResource(resource_type=resource_type, resource_name=name, configuration_keys=None)
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    [result] = both.connection.ask(request, DescribeConfigsResponse).results
    configs = sorted(result.configs, key=lambda entry: entry.name)
    return result.error_code, result.error_message or None, [as_kafka_says(entry) for entry in configs]


def we_describe(both: Both, resource_type: ResourceType, name: str) -> tuple[int, str | None, list[dict[str, object]]]:
    try:
        entries = describe(both.image, resource_type, name)
    except ConfigRefused as refused:
        return refused.error_code, refused.message, []
    return ErrorCode.NONE, None, [as_we_say(entry) for entry in entries if entry.name not in NOT_KAFKAS]


def kafka_alters(both: Both, resource_type: ResourceType, name: str, operations: Operations) -> Answer:
    configs = [AlterableConfig(name=key, config_operation=how, value=value) for key, how, value in operations]
    resource = AlterConfigsResource(resource_type=resource_type, resource_name=name, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource])
    [answer] = both.connection.ask(request, IncrementalAlterConfigsResponse).responses
    return answer.error_code, without_hint(answer.error_message)


def we_alter(both: Both, resource_type: ResourceType, name: str, operations: Operations) -> Answer:
    try:
        changes = alter_incrementally(both.image, resource_type, name, [ConfigOperation(*of) for of in operations])
    except ConfigRefused as refused:
        return refused.error_code, without_hint(refused.message)
    both.image = both.image.apply(changes)
    return ErrorCode.NONE, None


def assert_both_describe_the_same(both: Both) -> None:
    """What was changed in Apache Kafka shows a moment later."""
    deadline = time.monotonic() + SECONDS_TO_AGREE
    for resource_type, name in QUESTIONS:
        ours = we_describe(both, resource_type, name)
        while (kafkas := kafka_describes(both, resource_type, name)) != ours and time.monotonic() < deadline:
            pass
        assert ours[:2] == kafkas[:2], (resource_type, name)
        for our_entry, kafka_entry in zip(ours[2], kafkas[2], strict=True):
            assert our_entry == kafka_entry, (resource_type, name)


def without_hint(message: str | None) -> str | None:
    """Kafka's message: Scala's `require` puts words in front of it, and we put a hint behind it."""
    return None if message is None else message.removeprefix("requirement failed: ").partition(" (")[0]


@pytest.mark.java
def test_kafka_and_we_say_the_same(both: Both) -> None:
    """Every config of topic, broker, group and client metrics, with source and synonyms, before and after each kind of change."""
    # A new topic
    topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1)
    topic.configs = [CreatableTopicConfig(name=name, value=value) for name, value in OWN]
    [created] = both.connection.ask(CreateTopicsRequest(topics=[topic]), CreateTopicsResponse).topics
    assert created.configs is not None
    assert [(entry.name, entry.value, entry.config_source) for entry in created.configs] == [
        (entry.name, entry.value, entry.source)
        for entry in describe_new_topic(both.image, dict(OWN))
        if entry.name not in NOT_KAFKAS
    ]
    both.image = both.image.apply(configs_of_new_topic(both.image, TOPIC, OWN))
    assert_both_describe_the_same(both)

    # Changes, legal and not
    differences = []
    for resource_type, name, operations in STEPS:
        kafkas = kafka_alters(both, resource_type, name, operations)
        ours = we_alter(both, resource_type, name, operations)
        if ours != kafkas:
            differences.append((name, operations, ours, kafkas))
    assert differences == []
    assert_both_describe_the_same(both)
