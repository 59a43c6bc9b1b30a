"""Apache Kafka 4.3 itself reads what we write, tells what it understood, and writes the same bytes."""

import base64
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stoker.wire.api_keys import ApiKey
from stoker.wire.compression import Codec
from stoker.wire.consumer_protocol import ConsumerProtocolMessage, ConsumerProtocolSubscription
from stoker.wire.error_codes import ErrorCode
from stoker.wire.frames import RequestHeader, encode_request_header, response_header
from stoker.wire.group_records import GroupRecordKey, GroupRecordValue, encode_key
from stoker.wire.metadata_records import MetadataRecord, encode_record
from stoker.wire.record_batch import (
    BatchHeader,
    ControlType,
    Record,
    TimestampType,
    build_batch,
    build_end_transaction_batch,
    crc_is_valid,
    iterate_records,
    read_header,
)
from stoker.wire.schema import Field, Request, Struct
from stoker.wire.transaction_records import TransactionLogKey, TransactionLogValue, encode_transaction_key
from tests.apache_kafka import CLASS_PATH, FAST_START
from tests.wire.examples import (
    CONSUMER_PROTOCOL,
    GROUP_RECORD_KEYS,
    GROUP_RECORD_VALUES,
    MESSAGES,
    METADATA_RECORDS,
    MessageAndVersion,
    examples_of,
    name_of,
)

pytestmark = pytest.mark.java

SOURCE = Path(__file__).parent / "java" / "Reencode.java"


class Answer(NamedTuple):
    written: bytes
    understood: Any


class Kafka:
    """A JVM that answers one line with one line."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def ask(self, kind: str, key: int = 0, version: int = 0, data: bytes = b"") -> Answer:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{kind} {key} {version} {base64.b64encode(data).decode()}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert not line.startswith("!"), f"Kafka does not understand {kind} {key} v{version}: {line}"
        written, understood = line.split("\t", 1)
        return Answer(base64.b64decode(written), json.loads(understood))


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    command = ["java", *FAST_START, "-cp", CLASS_PATH, str(SOURCE)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8"
    ) as process:
        yield Kafka(process)
        assert process.stdin is not None
        process.stdin.close()


@pytest.mark.parametrize("message_and_version", MESSAGES, ids=name_of)
def test_messages(kafka: Kafka, message_and_version: MessageAndVersion) -> None:
    message, version = message_and_version
    kind = "request" if issubclass(message, Request) else "response"
    for original in examples_of(message, version, 3):
        encoded = original.encode(version)
        answer = kafka.ask(kind, original.API_KEY, version, encoded)  # type: ignore[attr-defined]
        assert answer.written == encoded
        assert answer.understood == as_kafka_tells_it(original, version)


@pytest.mark.parametrize("record_and_version", METADATA_RECORDS, ids=name_of)
def test_metadata_records(kafka: Kafka, record_and_version: MessageAndVersion) -> None:
    record_type, version = record_and_version
    for original in examples_of(record_type, version, 3):
        assert isinstance(original, MetadataRecord)
        encoded = encode_record(original, version)
        answer = kafka.ask("record", 0, 0, encoded)
        assert answer.written == encoded
        assert answer.understood == as_kafka_tells_it(original, version)


@pytest.mark.parametrize("key_type", GROUP_RECORD_KEYS)
def test_keys_of_group_records(kafka: Kafka, key_type: type[GroupRecordKey]) -> None:
    for original in examples_of(key_type, 0, 5):
        assert isinstance(original, GroupRecordKey)
        encoded = encode_key(original)
        answer = kafka.ask("group-key", data=encoded)
        assert answer.written == encoded
        assert answer.understood == as_kafka_tells_it(original, 0)


@pytest.mark.parametrize("value_and_version", GROUP_RECORD_VALUES, ids=name_of)
def test_values_of_group_records(kafka: Kafka, value_and_version: MessageAndVersion) -> None:
    value_type, version = value_and_version
    for original in examples_of(value_type, version, 10):
        assert isinstance(original, GroupRecordValue)
        encoded = version.to_bytes(2, "big") + original.encode(version)
        answer = kafka.ask("group-value", original.RECORD_TYPE, data=encoded)
        assert answer.written == encoded
        assert answer.understood == as_kafka_tells_it(original, version)


def test_keys_of_transaction_records(kafka: Kafka) -> None:
    for original in examples_of(TransactionLogKey, 0, 5):
        assert isinstance(original, TransactionLogKey)
        encoded = encode_transaction_key(original.transactional_id)
        answer = kafka.ask("transaction-key", data=encoded)
        assert answer.written == encoded
        assert answer.understood == as_kafka_tells_it(original, 0)


@pytest.mark.parametrize("version", [0, 1])
def test_values_of_transaction_records(kafka: Kafka, version: int) -> None:
    for original in examples_of(TransactionLogValue, version, 10):
        encoded = version.to_bytes(2, "big") + original.encode(version)
        answer = kafka.ask("transaction-value", data=encoded)
        assert answer.written == encoded
        assert answer.understood == as_kafka_tells_it(original, version)


@pytest.mark.parametrize("message_and_version", CONSUMER_PROTOCOL, ids=name_of)
def test_consumer_protocol(kafka: Kafka, message_and_version: MessageAndVersion) -> None:
    message, version = message_and_version
    kind = "subscription" if message is ConsumerProtocolSubscription else "assignment"
    for original in examples_of(message, version, 5):
        assert isinstance(original, ConsumerProtocolMessage)
        encoded = original.to_bytes(version)
        answer = kafka.ask(kind, data=encoded)
        assert answer.written == encoded
        assert answer.understood == as_kafka_tells_it(original, version)


def as_kafka_tells_it(struct: Struct, version: int) -> dict[str, Any]:
    """The structure in the JSON of Kafka's converters: fields of the version, tagged ones only if not at their default."""
    told: dict[str, Any] = {}
    default = type(struct)()
    for field in struct.FIELDS:
        value = getattr(struct, field.name)
        if not field.exists_in(version) or (field.tag is not None and value == getattr(default, field.name)):
            continue
        head, *tail = field.name.split("_")
        name = head + "".join(word.capitalize() for word in tail)
        if field.kind == "records":
            told[name] = None if value is None else ""
        elif field.kind == "array" and value is not None:
            told[name] = [_value_as_told(field.element, field, element, version) for element in value]
        else:
            told[name] = _value_as_told(field.kind, field, value, version)
    return told


def _value_as_told(kind: str, field: Field, value: Any, version: int) -> Any:
    if value is None:
        return None
    match kind:
        case "struct":
            return as_kafka_tells_it(value, version)
        case "uuid":
            return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
        case "bytes":
            return base64.b64encode(value).decode()
        case _:
            return value


RECORDS = [
    Record(timestamp=1_700_000_000_000, key=b"key", value=b"value"),
    Record(timestamp=1_700_000_000_500, key=None, value=b"x" * 300),
    Record(
        timestamp=1_699_999_999_000, key=b"", value=None, headers=(("trace", b"\x01"), ("null", None), ("ключ", b""))
    ),
    Record(timestamp=1_700_000_100_000, key=b"k" * 200, value=b"", headers=(("trace", b"again"),)),
]


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("transactional", [False, True])
def test_record_batches(kafka: Kafka, codec: Codec, transactional: bool) -> None:
    batch = build_batch(
        RECORDS,
        base_offset=12345678901,
        codec=codec,
        producer_id=77 if transactional else -1,
        producer_epoch=3 if transactional else -1,
        base_sequence=2**31 - 2 if transactional else -1,
        leader_epoch=5,
        transactional=transactional,
    )
    assert_same_batch(kafka, batch, same_bytes=codec is Codec.NONE)


def test_a_batch_with_log_append_time(kafka: Kafka) -> None:
    batch = build_batch(RECORDS, timestamp_type=TimestampType.LOG_APPEND_TIME)
    understood = assert_same_batch(kafka, batch, same_bytes=False)
    assert {record["timestamp"] for record in understood} == {1_700_000_100_000}


@pytest.mark.parametrize("control_type", ControlType)
def test_end_transaction_batches(kafka: Kafka, control_type: ControlType) -> None:
    batch = build_end_transaction_batch(
        control_type, producer_id=77, producer_epoch=3, timestamp=1_700_000_000_000, coordinator_epoch=9, base_offset=42
    )
    answer = kafka.ask("batch", 0, 0, bytes(batch))
    assert answer.written == batch
    assert answer.understood[0]["controlType"] == control_type.name
    assert answer.understood[0]["coordinatorEpoch"] == 9


def assert_same_batch(kafka: Kafka, batch: bytes, *, same_bytes: bool) -> Any:
    """Kafka finds our records in our batch, and we find them in the batch that Kafka makes of them."""
    answer = kafka.ask("batch", 0, 0, batch)
    ours = list(iterate_records(batch, 1_000_000))
    theirs = list(iterate_records(answer.written, 1_000_000))
    assert theirs == ours
    assert [
        {
            "offset": record.offset,
            "timestamp": record.timestamp,
            "key": _base64(record.key),
            "value": _base64(record.value),
            "headers": [[key, _base64(value)] for key, value in record.headers],
        }
        for record in ours
    ] == answer.understood
    header = read_header(answer.written)
    assert crc_is_valid(memoryview(answer.written), 0, header)
    assert _comparable(header) == _comparable(read_header(batch))
    assert not same_bytes or answer.written == batch
    return answer.understood


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _comparable(header: BatchHeader) -> BatchHeader:
    """Without what depends on how well a library compresses, and on which base a builder counts timestamps from."""
    return header._replace(batch_length=0, crc=0, base_timestamp=0)


def test_error_codes(kafka: Kafka) -> None:
    theirs = kafka.ask("errors").understood
    assert {error.name: [int(error), error.retriable] for error in ErrorCode} == theirs
    assert all(error.message.endswith(".") for error in ErrorCode)


def test_api_keys_and_the_versions_of_their_headers(kafka: Kafka) -> None:
    theirs = {name: api for name, api in kafka.ask("keys").understood.items() if len(api) > 1}
    assert {api.name: int(api) for api in ApiKey} == {name: api["key"] for name, api in theirs.items()}
    for name, api in theirs.items():
        key = api.pop("key")
        for version, (request_version, response_version) in api.items():
            request = encode_request_header(RequestHeader(key, int(version), 1, "c"))
            assert len(request) == (12 if request_version == 2 else 11), f"{name} v{version}"
            response = response_header(key, int(version), 1)
            assert len(response) == (5 if response_version == 1 else 4), f"{name} v{version}"
