"""The options of a write with `format("stoker")`: those of Spark's `kafka` sink, and some for typed columns and delivery.

`SINK_OPTIONS` is the one list of them: what is not in it is refused, and the documentation is held against it.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from stoker.client.errors import InvalidClientProperty
from stoker.client.producing import BUFFER_BYTES, DELIVERY_TIMEOUT_MS
from stoker.client.properties import BOOTSTRAP_SERVERS, ClientProperties, client_properties
from stoker.spark.errors import InvalidOption
from stoker.spark.options import FORMATS, KAFKA, Option
from stoker.wire.compression import Codec

DEFAULT_BATCH_BYTES: Final = 1024 * 1024
DEFAULT_TRANSACTION_TIMEOUT_MS: Final = 15 * 60 * 1000
"""The longest that brokers allow by default (transaction.max.timeout.ms)."""


SINK_OPTIONS: Final = (
    Option("kafka.bootstrap.servers", "", "The brokers to begin with, `host:port,host:port`. Required."),
    Option("topic", "", "The topic to write to; it is stronger than the column `topic`, one of which there must be."),
    Option("delivery", "exactly-once", "`exactly-once`: a transaction for each task, told apart from those of tasks that are run again; `at-least-once`: no transaction, and rows of a task that is run again are written again."),
    Option("sink.id", "", "A name for what `df.write` writes, with `exactly-once`: a write with the same name and the same rows that is run again writes what is missing, and nothing twice. In `foreachBatch` it holds for the batch, so that a batch that is run again is written once; each write in there needs a name of its own."),
    Option("kafka.compression.type", "none", "`none`, `gzip`, `snappy`, `lz4` or `zstd`."),
    Option("kafka.compression.gzip.level", "-1", "As in Kafka."),
    Option("kafka.compression.lz4.level", "9", "As in Kafka."),
    Option("kafka.compression.zstd.level", "3", "As in Kafka."),
    Option("kafka.batch.size", "1048576", "How large a record batch may get, before compression; never larger than `max.message.bytes` of the topic allows."),
    Option("kafka.max.request.size", "", "The largest record batch that may be sent, if it is to be lower than `max.message.bytes` of the topic."),
    Option("kafka.buffer.memory", "16777216", "How many bytes of a task may await their acknowledgement."),
    Option("kafka.delivery.timeout.ms", "120000", "How long a task tries to deliver records while brokers are away."),
    Option("kafka.transaction.timeout.ms", "900000", "How long a task may take with `exactly-once`; brokers allow no more than their `transaction.max.timeout.ms`."),
    Option("kafka.acks", "all", "Nothing but `all`: both kinds of delivery rest on it."),
    Option("kafka.enable.idempotence", "true", "Nothing but `true`: both kinds of delivery rest on it."),
    Option("kafka.linger.ms", "", "Accepted: batches are made of the rows that are there, and nobody waits for more."),
    Option("kafka.max.in.flight.requests.per.connection", "", "Accepted: it is 5."),
    Option("kafka.*", "", "Other properties of Kafka's clients, such as `kafka.request.timeout.ms`, `kafka.default.api.timeout.ms` and `kafka.client.id`."),
    Option("value.format", "", "Encode the column `value` or, where there is none, a struct of all columns that are not the record's own: `avro`, `json`, `protobuf` or `string`. Without it `value` is string or binary."),
    Option("key.format", "", "The same for the column `key`."),
    Option("schema.registry.url", "", "The schema registry, `http://host:port`."),
    Option("schema.registry.basic.auth.user.info", "", "`name:password` for the registry."),
    Option("basic.auth.user.info", "", "The same by its shorter name."),
    Option("schema.registry.timeout.ms", "60000", "How long the registry may be away."),
    Option("value.subject", "<topic>-value", "The subject whose schema values are written by. Required if the rows name their own topics."),
    Option("key.subject", "<topic>-key", "The same for keys."),
    Option("value.subject.like", "", "A subject whose latest schema is registered for values as it is, if the columns fit it and no schema of the values' own subject: for values that are passed on."),
    Option("key.subject.like", "", "The same for keys."),
    Option("value.schema.version", "latest", "The version to write by; with a number nothing is registered."),
    Option("key.schema.version", "latest", "The same for keys."),
    Option("value.message", "", "The message of a Protobuf schema that values are, by name; the first of it if not given."),
    Option("key.message", "", "The same for keys."),
    Option("auto.register.schemas", "true", "Register a schema made of the columns, if the subject has none that fits."),
    Option("use.latest.version", "false", "Write by the latest schema of the subject, and register none."),
)  # fmt: skip

_SINK_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
_NAMES: Final = {option.name.lower(): option.name for option in SINK_OPTIONS}
_OF_SPARK: Final = frozenset(["path", "checkpointlocation", "queryname", "serialization.format"])
"""What Spark itself adds or keeps among the options."""

_REFUSED: Final = {
    "key.serializer": "give key.format, or a column `key` of string or binary",
    "value.serializer": "give value.format, or a column `value` of string or binary",
    "interceptor.classes": "there is no Java producer here that could run them",
    "partitioner.class": "give the column `partition` to say where rows go; without it Kafka's default partitioner does",
    "transactional.id": "the sink makes one for each task: delivery=exactly-once is all that it takes",
}


class Delivery(Enum):
    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"


@dataclass(frozen=True, kw_only=True, slots=True)
class SinkOptions:
    """It can be sent to where it is used."""

    properties: ClientProperties
    topic: str | None
    delivery: Delivery
    sink_id: str | None
    codec: Codec
    compression_level: int | None
    batch_bytes: int
    max_request_size: int | None
    buffer_bytes: int
    delivery_timeout_ms: int
    transaction_timeout_ms: int
    key_format: str | None
    value_format: str | None
    given: Mapping[str, str] = field(repr=False)
    """All of them, by lower-case names."""


def sink_options(given: Mapping[str, str]) -> SinkOptions:
    """The options by their names in any case. Raises InvalidOption."""
    options = {name.lower(): value for name, value in given.items()}
    _refuse_unknown(options)
    _only(options, "kafka.acks", ("all", "-1"), "both kinds of delivery rest on the acknowledgement of all replicas")
    _only(options, "kafka.enable.idempotence", ("true",), "both kinds of delivery rest on it")
    codec = Codec[_choice(options, "kafka.compression.type", [each.name.lower() for each in Codec], "none").upper()]
    limit = _number(options, "kafka.max.request.size", None, lowest=1)
    return SinkOptions(
        properties=_properties(options),
        topic=options.get("topic"),
        delivery=Delivery(_choice(options, "delivery", [each.value for each in Delivery], Delivery.EXACTLY_ONCE.value)),
        sink_id=_sink_id(options),
        codec=codec,
        compression_level=_level(options, codec),
        batch_bytes=_number(options, "kafka.batch.size", DEFAULT_BATCH_BYTES, lowest=1) or 0,
        max_request_size=limit,
        buffer_bytes=_number(options, "kafka.buffer.memory", BUFFER_BYTES, lowest=1) or 0,
        delivery_timeout_ms=_number(options, "kafka.delivery.timeout.ms", DELIVERY_TIMEOUT_MS, lowest=1) or 0,
        transaction_timeout_ms=_number(
            options, "kafka.transaction.timeout.ms", DEFAULT_TRANSACTION_TIMEOUT_MS, lowest=1
        )
        or 0,
        key_format=_format(options, "key"),
        value_format=_format(options, "value"),
        given=options,
    )


def _refuse_unknown(options: Mapping[str, str]) -> None:
    for name in options:
        why = _REFUSED.get(name.removeprefix(KAFKA))
        if why is not None and name.startswith(KAFKA):
            raise InvalidOption(f"{name} cannot be set: {why}")
        if name in _NAMES or name in _OF_SPARK or name.startswith(KAFKA):
            continue
        close = difflib.get_close_matches(name, _NAMES, n=3)
        choices = ", ".join(_NAMES[each] for each in close or _NAMES)
        asked = "did you mean" if close else "the options are"
        raise InvalidOption(f'there is no option {name!r} of a write with format("stoker"); {asked}: {choices}')


def _properties(options: Mapping[str, str]) -> ClientProperties:
    given = {name.removeprefix(KAFKA): value for name, value in options.items() if name.startswith(KAFKA)}
    if not given.get(BOOTSTRAP_SERVERS, "").strip():
        raise InvalidOption(f"{KAFKA}{BOOTSTRAP_SERVERS} is missing: it names the brokers, host:port,host:port")
    try:
        return client_properties(None, given)
    except InvalidClientProperty as error:
        raise InvalidOption(f"{KAFKA}{error}") from None


def _sink_id(options: Mapping[str, str]) -> str | None:
    name = options.get("sink.id")
    if name is not None and not _SINK_ID.fullmatch(name):
        raise InvalidOption(
            f"sink.id={name} cannot be a name: it takes 1 to 100 letters, digits, dots, underscores and hyphens"
        )
    return name


def _format(options: Mapping[str, str], side: str) -> str | None:
    name = f"{side}.format"
    return None if options.get(name) is None else _choice(options, name, FORMATS, "")


def _level(options: Mapping[str, str], codec: Codec) -> int | None:
    name = f"kafka.compression.{codec.name.lower()}.level"
    text = options.get(name)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidOption(f"{name}={text} is not a number") from None


def _number(options: Mapping[str, str], name: str, default: int | None, *, lowest: int) -> int | None:
    text = options.get(name)
    if text is None:
        return default
    if not (text.strip().isascii() and text.strip().isdecimal() and lowest <= int(text[:18]) < 2**31):
        raise InvalidOption(f"{name}={text} is not a number from {lowest} to {2**31 - 1}")
    return int(text)


def _choice(options: Mapping[str, str], name: str, choices: list[str] | tuple[str, ...], default: str) -> str:
    found = options.get(name, default).strip().lower()
    if found not in choices:
        raise InvalidOption(f"{name}={options[name]} is none of its choices: {', '.join(choices)}")
    return found


def _only(options: Mapping[str, str], name: str, allowed: tuple[str, ...], why: str) -> None:
    if options.get(name, allowed[0]).strip().lower() not in allowed:
        raise InvalidOption(f"{name}={options[name]} cannot be: {why}, so it takes nothing but {allowed[0]}")
