"""Topics that take only records with the id of a registered schema, as in Confluent Server."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType
from confluent_kafka.schema_registry import (
    SchemaRegistryClient,
    header_schema_id_serializer,
    topic_record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

import stoker
from stoker.wire.compression import Codec
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from stoker.wire.messages.init_producer_id import InitProducerIdRequest
from stoker.wire.messages.produce import PartitionProduceResponse, ProduceRequest
from stoker.wire.record_batch import Record, build_batch, iterate_records
from tests.clients.client import BrokerRefused
from tests.clients.client import Record as ProducedRecord
from tests.clients.drivers.java import JavaClients
from tests.faults.broker_process import BrokerProcess
from tests.raw_connection import RawConnection, produce_request
from tests.registry.registry_process import RegistryProcess
from tests.transactional_producer import TransactionalProducer

STRATEGY = "io.confluent.kafka.serializers.subject.{}NameStrategy"
VALIDATED: dict[str, Any] = {"confluent_value_schema_validation": "true"}
SCHEMAS = "_schemas"

Headers = list[tuple[str, str | bytes | None]]


def framed(schema_id: int, data: bytes = b"data") -> bytes:
    return b"\0" + schema_id.to_bytes(4) + data


def now() -> int:
    return time.time_ns() // 1_000_000


def registered(subject: str, schema_id: int, version: int = 1, *, deleted: bool = False) -> Record:
    """As Confluent's registry writes it."""
    key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
    value = {"subject": subject, "version": version, "id": schema_id, "schema": '"string"', "deleted": deleted}
    return Record(timestamp=now(), key=json.dumps(key).encode(), value=json.dumps(value).encode())


def subject_deleted(subject: str, version: int) -> Record:
    key = {"keytype": "DELETE_SUBJECT", "subject": subject, "magic": 0}
    value = {"subject": subject, "version": version}
    return Record(timestamp=now(), key=json.dumps(key).encode(), value=json.dumps(value).encode())


def write(connection: RawConnection, topic: str, *records: Record, codec: Codec = Codec.NONE) -> None:
    error, _ = connection.produce(topic, build_batch(records, codec=codec))
    assert error == ErrorCode.NONE


def produced(
    connection: RawConnection, topic: str, *values: bytes | None, **options: object
) -> PartitionProduceResponse:
    """What the broker answers of one batch."""
    return answer_to(
        connection, topic, *[Record(timestamp=now(), key=b"k", value=value) for value in values], **options
    )


def answer_to(connection: RawConnection, topic: str, *records: Record, **options: object) -> PartitionProduceResponse:
    batch = build_batch(records, **options)  # type: ignore[arg-type]
    answer: PartitionProduceResponse = (
        connection.call(produce_request(topic, batch), 9).responses[0].partition_responses[0]
    )
    return answer


def takes(connection: RawConnection, topic: str, value: bytes) -> bool:
    answer = produced(connection, topic, value)
    assert answer.error_code in (ErrorCode.NONE, ErrorCode.INVALID_RECORD), answer
    return answer.error_code == ErrorCode.NONE


def alter(admin: AdminClient, topic: str, **settings: str | None) -> None:
    """Config names have underscores for dots here; None takes a setting away."""
    entries = [
        ConfigEntry(
            name.replace("_", "."),
            value,
            incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
        )
        for name, value in settings.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin.incremental_alter_configs([resource])[resource].result(20)


@pytest.fixture(scope="module", autouse=True)
def schemas(broker: stoker.Broker) -> None:
    with RawConnection(broker.bootstrap_servers) as connection:
        connection.create_topic(SCHEMAS, cleanup_policy="compact")


@pytest.fixture(scope="module")
def admin(broker: stoker.Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap_servers})


@pytest.fixture
def topic(request: pytest.FixtureRequest, connection: RawConnection) -> str:
    """A topic whose values must have schema 1, or 2 of its own subject."""
    name = str(request.node.name).replace("[", "-").replace("]", "")
    connection.create_topic(name, **VALIDATED)
    write(connection, SCHEMAS, registered(f"{name}-value", 1), registered(f"{name}-value", 2, 2))
    return name


# -- records -----------------------------------------------------------------------------------------------------------


def test_records_that_are_wrong_are_named_and_nothing_is_appended(topic: str, connection: RawConnection) -> None:
    answer = produced(connection, topic, framed(1), b"{}", framed(2), framed(3), None)
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert answer.base_offset == -1
    assert [(error.batch_index, error.batch_index_error_message) for error in answer.record_errors] == [
        (1, "the value begins with 7b 7d, not with 00 and a schema id of 4 bytes: was it written without a registry's serializer?"),
        (3, f"schema id 3 of the value is not registered under the subject {topic}-value"),
    ]  # fmt: skip
    assert (answer.error_message or "").startswith(
        "2 of 5 records do not name a schema that this topic takes; record 1: the value begins with 7b 7d"
    )
    good = produced(connection, topic, framed(1), framed(2), None)
    assert (good.error_code, good.base_offset) == (ErrorCode.NONE, 0)


def test_a_topic_without_the_setting_takes_anything(connection: RawConnection) -> None:
    connection.create_topic("unvalidated")
    assert takes(connection, "unvalidated", b"{}")


def test_keys_and_values_are_validated_each_by_its_own_setting(connection: RawConnection) -> None:
    connection.create_topic("keyed", confluent_key_schema_validation="true")
    connection.create_topic("both", confluent_key_schema_validation="true", **VALIDATED)
    write(connection, SCHEMAS, registered("keyed-key", 1), registered("both-key", 1), registered("both-value", 2))

    def error(topic: str, key: bytes | None, value: bytes | None) -> str | None:
        answer = answer_to(connection, topic, Record(timestamp=now(), key=key, value=value))
        return answer.record_errors[0].batch_index_error_message if answer.error_code else None

    assert error("keyed", framed(1), b"{}") is None
    assert error("keyed", None, b"{}") is None
    assert error("keyed", framed(2), b"{}") == "schema id 2 of the key is not registered under the subject keyed-key"
    assert error("both", framed(1), framed(2)) is None
    assert error("both", None, None) is None
    assert error("both", framed(2), framed(2)) == "schema id 2 of the key is not registered under the subject both-key"
    assert error("both", framed(1), framed(1)) == (
        "schema id 1 of the value is not registered under the subject both-value"
    )


@pytest.mark.parametrize("codec", list(Codec))
def test_large_batches(topic: str, connection: RawConnection, codec: Codec) -> None:
    """Ten thousand records, as librdkafka sends them: one that is wrong is found, wherever it is."""
    values: list[bytes | None] = [framed(1 + number % 2, b"%06d" % number) for number in range(10_000)]
    assert produced(connection, topic, *values, codec=codec).error_code == ErrorCode.NONE
    values[7777] = b"{}"
    answer = produced(connection, topic, *values, codec=codec)
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [7777]
    good = produced(connection, topic, framed(1), codec=codec)
    assert (good.error_code, good.base_offset) == (ErrorCode.NONE, 10_000)


def test_together_with_the_other_things_a_topic_wants(connection: RawConnection) -> None:
    """Keys, the broker's clock and its codec: the batch is still validated once, and stored as the topic says."""
    connection.create_topic(
        "particular",
        cleanup_policy="compact",
        message_timestamp_type="LogAppendTime",
        compression_type="zstd",
        **VALIDATED,
    )
    write(connection, SCHEMAS, registered("particular-value", 1))
    for codec in (Codec.NONE, Codec.LZ4, Codec.ZSTD):
        assert produced(connection, "particular", framed(1), codec=codec).error_code == ErrorCode.NONE
        assert produced(connection, "particular", b"{}", codec=codec).error_code == ErrorCode.INVALID_RECORD
    assert answer_to(connection, "particular", Record(timestamp=now(), value=framed(1))).error_code == (
        ErrorCode.INVALID_RECORD
    )
    _, stored = connection.fetch("particular", 0)
    assert stored[22] & 0x0F == Codec.ZSTD | 0x08
    assert [record.value for record in iterate_records(stored, 1 << 20)] == [framed(1)]


def test_acks_0_closes_the_connection_of_who_sends_what_is_refused(topic: str, broker: stoker.Broker) -> None:
    with RawConnection(broker.bootstrap_servers) as connection:
        connection.send(produce_request(topic, build_batch([Record(timestamp=now(), value=b"{}")]), acks=0), 9)
        assert connection.is_closed_by_broker()


# -- which schemas -----------------------------------------------------------------------------------------------------


def test_schemas_that_come_and_go(connection: RawConnection) -> None:
    """What is registered counts from then on, and what is deleted, softly or for good, does not any more."""
    connection.create_topic("changing", **VALIDATED)
    subject = "changing-value"
    assert not takes(connection, "changing", framed(1))
    write(connection, SCHEMAS, registered(subject, 1))
    assert takes(connection, "changing", framed(1))
    write(connection, SCHEMAS, registered(subject, 2, 2), codec=Codec.ZSTD)
    assert takes(connection, "changing", framed(2))
    write(connection, SCHEMAS, registered(subject, 1, deleted=True))
    assert not takes(connection, "changing", framed(1))
    assert takes(connection, "changing", framed(2))
    write(connection, SCHEMAS, registered(subject, 1))
    assert takes(connection, "changing", framed(1))
    write(connection, SCHEMAS, subject_deleted(subject, 2))
    assert not takes(connection, "changing", framed(1))
    write(connection, SCHEMAS, registered(subject, 1, 3))
    assert takes(connection, "changing", framed(1))
    write(connection, SCHEMAS, registered(subject, 1, 3)._replace(value=None))
    assert not takes(connection, "changing", framed(1))


def test_only_the_default_context_counts(connection: RawConnection) -> None:
    connection.create_topic("contextual", **VALIDATED)
    write(connection, SCHEMAS, registered(":.staging:contextual-value", 1), registered(":.:contextual-value", 2))
    assert not takes(connection, "contextual", framed(1))
    assert takes(connection, "contextual", framed(2))


def test_what_no_registry_wrote_does_not_stop_the_reader(
    topic: str, connection: RawConnection, caplog: pytest.LogCaptureFixture
) -> None:
    odd = [Record(timestamp=now(), key=b"odd", value=b"\xff"), Record(timestamp=now(), key=b"{}", value=None)]
    write(connection, SCHEMAS, *odd, registered(f"{topic}-value", 9, 3))
    assert takes(connection, topic, framed(9))
    assert "2 records of _schemas before offset " in caplog.text


@pytest.mark.parametrize("v2", [False, True])
def test_what_is_in_a_transaction_counts_when_it_is_committed(v2: bool, topic: str, connection: RawConnection, other: RawConnection) -> None:  # fmt: skip
    """The registry writes so. Neither an open nor an aborted transaction counts, nor what comes behind an open one."""
    writer = TransactionalProducer(connection, f"registry-{v2}", v2=v2)
    assert writer.init() is ErrorCode.NONE

    def write_in_transaction(schema_id: int) -> None:
        if not v2:
            assert writer.add_partition(SCHEMAS, 0) is ErrorCode.NONE
        written = writer.produce_records(SCHEMAS, 0, registered(f"{topic}-value", schema_id, schema_id))
        assert written is ErrorCode.NONE

    write_in_transaction(11)
    assert not takes(other, topic, framed(11))
    write(other, SCHEMAS, registered(f"{topic}-value", 12, 12))
    assert not takes(other, topic, framed(12))
    assert writer.end(commit=True) is ErrorCode.NONE
    assert takes(other, topic, framed(11))
    assert takes(other, topic, framed(12))
    write_in_transaction(13)
    assert writer.end(commit=False) is ErrorCode.NONE
    write(other, SCHEMAS, registered(f"{topic}-value", 14, 14))
    assert takes(other, topic, framed(14))
    assert not takes(other, topic, framed(13))


def test_subject_name_strategies(admin: AdminClient, connection: RawConnection) -> None:
    """With the record's name in it: any subject of the topic, or any subject at all, has the id."""
    connection.create_topic("named", **VALIDATED)
    write(
        connection, SCHEMAS, registered("named-value", 101), registered("named-com.shop.Order", 102), registered("com.shop.Order", 103)
    )  # fmt: skip
    accepted = {}
    for strategy in ("Topic", "TopicRecord", "Record"):
        alter(admin, "named", confluent_value_subject_name_strategy=STRATEGY.format(strategy))
        accepted[strategy] = [each for each in (101, 102, 103, 104) if takes(connection, "named", framed(each))]
    assert accepted == {"Topic": [101], "TopicRecord": [101, 102], "Record": [101, 102, 103]}
    answer = produced(connection, "named", framed(104))
    assert answer.record_errors[0].batch_index_error_message == (
        "schema id 104 of the value is not registered under any subject"
    )


def test_producers_beside_each_other_while_schemas_are_registered(topic: str, broker: stoker.Broker) -> None:
    """Small batches and large, on several connections: each is judged by what was registered before it came."""
    small = build_batch([Record(timestamp=now(), value=framed(1))])
    large = build_batch([Record(timestamp=now(), value=framed(2, bytes(50)))] * 1000)
    with ExitStack() as stack:
        writer, *producers = [stack.enter_context(RawConnection(broker.bootstrap_servers)) for _ in range(5)]
        for _ in range(5):
            for producer in producers:
                for batch in (small, large, small):
                    producer.send(produce_request(topic, batch), 9)
        for schema_id in range(10, 40):
            write(writer, SCHEMAS, registered(f"{topic}-value", schema_id, schema_id))
            assert takes(writer, topic, framed(schema_id))
        answers = [producer.receive(ProduceRequest, 9)[1] for producer in producers for _ in range(15)]
    assert {answer.responses[0].partition_responses[0].error_code for answer in answers} == {ErrorCode.NONE}


# -- settings ----------------------------------------------------------------------------------------------------------


def test_validation_is_switched_on_and_off_while_records_come(admin: AdminClient, connection: RawConnection) -> None:
    connection.create_topic("switched")
    assert takes(connection, "switched", b"{}")
    alter(admin, "switched", confluent_value_schema_validation="true")
    assert not takes(connection, "switched", b"{}")
    alter(admin, "switched", confluent_value_schema_validation="false")
    assert takes(connection, "switched", b"{}")
    alter(admin, "switched", confluent_value_schema_validation="true")
    assert not takes(connection, "switched", b"{}")
    alter(admin, "switched", confluent_value_schema_validation=None)
    assert takes(connection, "switched", b"{}")


def test_the_settings_are_shown_with_their_defaults(admin: AdminClient, topic: str) -> None:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    shown = admin.describe_configs([resource])[resource].result(20)
    values = {name: (entry.value, entry.is_default) for name, entry in shown.items() if name.startswith("confluent.")}
    assert values == {
        "confluent.key.schema.validation": ("false", True),
        "confluent.key.subject.name.strategy": (STRATEGY.format("Topic"), True),
        "confluent.value.schema.validation": ("true", False),
        "confluent.value.subject.name.strategy": (STRATEGY.format("Topic"), True),
    }


def test_a_strategy_that_does_not_exist_is_refused_and_the_choices_are_named(admin: AdminClient, topic: str) -> None:
    with pytest.raises(KafkaException) as refused:
        alter(admin, topic, confluent_value_subject_name_strategy="com.shop.OurStrategy")
    error: KafkaError = refused.value.args[0]
    assert error.code() == KafkaError.INVALID_CONFIG
    assert all(STRATEGY.format(each) in error.str() for each in ("Topic", "TopicRecord", "Record"))
    with pytest.raises(KafkaException, match="Expected value to be either true or false"):
        alter(admin, topic, confluent_value_schema_validation="yes")


# -- without schemas, and after a stop ---------------------------------------------------------------------------------


def test_without_a_registry_on_this_broker_all_is_refused_with_the_reason(tmp_path: Path) -> None:
    """And again when `_schemas` is deleted; when there is one again, what is in the new one counts."""
    with stoker.Broker(data_dir=tmp_path) as broker, RawConnection(broker.bootstrap_servers) as connection:
        connection.create_topic("orders", **VALIDATED)
        reason = (
            "the topic orders has confluent.value.schema.validation=true, but no schema is known: this broker has no "
            "topic _schemas. Start a schema registry that keeps its schemas on this broker, or set "
            "confluent.value.schema.validation to false"
        )
        answer = produced(connection, "orders", framed(1))
        assert (answer.error_code, answer.error_message) == (ErrorCode.INVALID_RECORD, reason)
        connection.create_topic(SCHEMAS, cleanup_policy="compact")
        assert not takes(connection, "orders", framed(1))
        write(connection, SCHEMAS, registered("orders-value", 1))
        assert takes(connection, "orders", framed(1))
        connection.call(DeleteTopicsRequest(topics=[DeleteTopicState(name=SCHEMAS)], timeout_ms=10_000), 6)
        assert produced(connection, "orders", framed(1)).error_message == reason
        connection.create_topic(SCHEMAS, cleanup_policy="compact")
        write(connection, SCHEMAS, registered("orders-value", 2))
        assert takes(connection, "orders", framed(2))
        assert not takes(connection, "orders", framed(1))


def test_after_a_restart_the_same_schemas_are_known(tmp_path: Path) -> None:
    """Also of a log of several segments and megabytes, in which transactions were committed and aborted."""
    with stoker.Broker(data_dir=tmp_path) as broker, RawConnection(broker.bootstrap_servers) as connection:
        connection.create_topic("orders", 3, **VALIDATED)
        connection.create_topic(SCHEMAS, internal_segment_bytes=1_000_000, min_cleanable_dirty_ratio=1)
        writer = TransactionalProducer(connection, "registry", v2=True)
        assert writer.init() is ErrorCode.NONE
        for number in range(0, 5000, 500):
            many = [registered(f"subject-{each}", each) for each in range(number, number + 500)]
            write(connection, SCHEMAS, *[each._replace(value=each.value[:-1] + b" " * 900 + b"}") for each in many if each.value])  # fmt: skip
            wanted = registered("orders-value", 10_000 + number, 1 + number)
            assert writer.produce_records(SCHEMAS, 0, wanted) is ErrorCode.NONE
            assert writer.end(commit=number % 1000 == 0) is ErrorCode.NONE
    with stoker.Broker(data_dir=tmp_path) as broker, RawConnection(broker.bootstrap_servers) as connection:
        for number in range(0, 5000, 500):
            assert takes(connection, "orders", framed(10_000 + number)) is (number % 1000 == 0), number


# -- producers ---------------------------------------------------------------------------------------------------------


def test_a_refused_batch_does_not_count_for_an_idempotent_producer(topic: str, connection: RawConnection) -> None:
    """The sequence goes on with what is sent instead, small batches and large."""
    made = connection.call(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000), 4)
    producer = {"producer_id": made.producer_id, "producer_epoch": made.producer_epoch}
    sequence = 0
    for count in (1, 2000):
        bad = produced(connection, topic, *[b"{}" * 20] * count, base_sequence=sequence, **producer)
        assert bad.error_code == ErrorCode.INVALID_RECORD
        good = produced(connection, topic, *[framed(1)] * count, base_sequence=sequence, **producer)
        assert (good.error_code, good.base_offset) == (ErrorCode.NONE, sequence)
        again = produced(connection, topic, *[framed(1)] * count, base_sequence=sequence, **producer)
        assert (again.error_code, again.base_offset) == (ErrorCode.NONE, sequence)
        sequence += count


# -- a registry and its serializers ------------------------------------------------------------------------------------


class Platform:
    """A broker and a registry on it, each in a process of its own."""

    def __init__(self, broker: BrokerProcess, registry: RegistryProcess, client: SchemaRegistryClient) -> None:
        self.bootstrap_servers = broker.bootstrap_servers
        self.registry = registry
        self.client = client
        self._producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0})

    def create(self, topic: str, **settings: str) -> None:
        config = {name.replace("_", "."): value for name, value in settings.items()}
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        admin.create_topics([NewTopic(topic, 1, 1, config=config)])[topic].result(20)

    def taken(self, topic: str, value: bytes | None, headers: Headers | None = None) -> bool:
        """Whether a message gets into the log; if not, its producer hears INVALID_RECORD."""
        heard: list[KafkaError | None] = []
        self._producer.produce(topic, value, headers=headers, on_delivery=lambda error, _: heard.append(error))
        self._producer.flush(20)
        [error] = heard
        assert error is None or error.code() == KafkaError.INVALID_RECORD
        return error is None


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    options = {"group.initial.rebalance.delay.ms": 0}
    with (
        BrokerProcess(tmp_path_factory.mktemp("platform"), options=options) as broker,
        RegistryProcess(broker.bootstrap_servers) as registry,
        SchemaRegistryClient({"url": registry.url}) as client,
    ):
        yield Platform(broker, registry, client)


AVRO = json.dumps({"type": "record", "name": "com.shop.Order", "fields": [{"name": "amount", "type": "int"}]})
JSON_SCHEMA = json.dumps({"title": "Order", "type": "object", "properties": {"amount": {"type": "integer"}}})
ORDER = {"amount": 7}


def test_what_a_serializer_registers_is_taken_at_once(platform: Platform) -> None:
    """Id in front of the value or guid in a header, Avro and JSON; what is written without a serializer is not taken."""
    for name, serializer, schema in (("avro", AvroSerializer, AVRO), ("json", JSONSerializer, JSON_SCHEMA)):
        for where, more in (("front", {}), ("header", {"schema.id.serializer": header_schema_id_serializer})):
            topic = f"{name}-{where}"
            platform.create(topic, **VALIDATED)
            headers: Headers = []
            context = SerializationContext(topic, MessageField.VALUE, headers)
            serialize = (
                serializer(platform.client, schema, conf=more)
                if serializer is AvroSerializer
                else serializer(schema, platform.client, conf=more)
            )
            value = serialize(ORDER, context)
            assert [each for each, _ in headers] == (["__value_schema_id"] if where == "header" else [])
            assert platform.taken(topic, value, headers)
            assert not platform.taken(topic, json.dumps(ORDER).encode())
            assert platform.taken(topic, None)


def test_a_schema_of_another_subject_is_not_taken(platform: Platform) -> None:
    for topic in ("first", "second"):
        platform.create(topic, **VALIDATED)
    serialize = AvroSerializer(platform.client, AVRO)
    value = serialize(ORDER, SerializationContext("first", MessageField.VALUE))
    assert platform.taken("first", value)
    assert not platform.taken("second", value)


def test_the_strategy_of_the_serializer_is_that_of_the_topic(platform: Platform) -> None:
    platform.create("strategic", **VALIDATED, confluent_value_subject_name_strategy=STRATEGY.format("TopicRecord"))
    conf = {"subject.name.strategy": topic_record_subject_name_strategy}
    serialize = AvroSerializer(platform.client, AVRO, conf=conf)
    value = serialize(ORDER, SerializationContext("strategic", MessageField.VALUE))
    assert "strategic-com.shop.Order" in platform.client.get_subjects()
    assert platform.taken("strategic", value)


def test_a_deleted_schema_is_not_taken_any_more_until_it_is_registered_again(platform: Platform) -> None:
    platform.create("deleted", **VALIDATED)
    schema_id = platform.registry.register("deleted-value", AVRO)
    assert platform.taken("deleted", framed(schema_id))
    platform.registry.ask("DELETE", "/subjects/deleted-value")
    assert not platform.taken("deleted", framed(schema_id))
    assert platform.registry.register("deleted-value", AVRO) == schema_id
    assert platform.taken("deleted", framed(schema_id))
    platform.registry.ask("DELETE", "/subjects/deleted-value/versions/latest")
    assert not platform.taken("deleted", framed(schema_id))


def test_a_transaction_with_a_refused_record_is_aborted_and_a_later_one_committed(platform: Platform) -> None:
    """librdkafka fails the next one too, for its own sequence (so it does with Apache Kafka), and is told to abort it."""
    platform.create("transactional", **VALIDATED)
    schema_id = platform.registry.register("transactional-value", AVRO)
    producer = Producer({"bootstrap.servers": platform.bootstrap_servers, "transactional.id": "transactional"})
    producer.init_transactions(20)
    errors = []
    for value in (b"{}", framed(schema_id), framed(schema_id)):
        producer.begin_transaction()
        producer.produce("transactional", value)
        try:
            producer.commit_transaction(20)
        except KafkaException as refused:
            error: KafkaError = refused.args[0]
            errors.append((error.code(), error.txn_requires_abort()))
            producer.abort_transaction(20)
        else:
            break
    assert errors[0] == (KafkaError.INVALID_RECORD, True)
    with RawConnection(platform.bootstrap_servers) as connection:
        _, stored = connection.fetch("transactional", 0)
    assert framed(schema_id) in stored
    assert b"{}" not in stored


@pytest.mark.java
def test_kafkas_own_producer_shows_the_reason(platform: Platform) -> None:
    platform.create("java", **VALIDATED)
    schema_id = platform.registry.register("java-value", AVRO)
    with closing(JavaClients(platform.bootstrap_servers)) as java:
        assert java.produce("java", [ProducedRecord(value=framed(schema_id))], idempotent=True) == [0]
        with pytest.raises(BrokerRefused) as refused:
            java.produce("java", [ProducedRecord(value=b"{}")], idempotent=True)
    assert refused.value.code == ErrorCode.INVALID_RECORD
    assert "the value begins with 7b 7d, not with 00 and a schema id of 4 bytes" in refused.value.message
