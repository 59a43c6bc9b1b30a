"""Records of Kafka's internal topics as the JSON that Kafka's own converters make of them."""

import json
import re
from base64 import b64encode
from collections.abc import Callable
from struct import Struct as Layout
from typing import Any, Final, NamedTuple

from stoker.errors import MalformedMessage
from stoker.wire.record_batch import Record
from stoker.wire.schema import Field, Message, Struct
from stoker.wire.uuids import uuid_text

_INT16: Final = Layout(">h")
_KEY_VERSION: Final = 0
_DELETE: Final = "<DELETE>"
_WORD: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GROUP_METADATA: Final = 2


class Shown(NamedTuple):
    """What is printed of the key and of the value of a record; None prints nothing."""

    key: str | None
    value: str | None


RecordDecoder = Callable[[Record], Shown]


def as_json(struct: Struct, version: int) -> dict[str, Any]:
    """Fields by Kafka's names, in their order: those that the version has, and of the tagged ones those that are set."""
    return {
        _camel(field.name): _value(field, getattr(struct, field.name), version)
        for field in struct.FIELDS
        if field.exists_in(version) and not (field.tag is not None and _is_default(field, getattr(struct, field.name)))
    }


def written(value: Any) -> str:
    """One line without spaces, as Jackson writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def decode_metadata(record: Record) -> Shown:
    """A record of `__cluster_metadata`."""
    from stoker.wire.metadata_records import RECORD_TYPES
    from stoker.wire.quorum_records import CONTROLLER_RECORDS, read_frame

    try:
        if record.value is None:
            raise MalformedMessage("it has no value")
        frame = read_frame(record.value)
        declared: type[Message] | None = RECORD_TYPES.get(frame.record_type) or CONTROLLER_RECORDS.get(
            frame.record_type
        )
        if declared is None:
            raise MalformedMessage(f"Unknown metadata id {frame.record_type}")
        if not declared.MIN_VERSION <= frame.version <= declared.MAX_VERSION:
            raise MalformedMessage(f"Unknown version {frame.version} of metadata record {frame.record_type}")
        message = declared.decode(record.value, frame.position, frame.version)
    except MalformedMessage as error:
        return Shown(None, f"Error at {record.offset}, skipping. {error}")
    name = "_".join(_WORD.split(declared.__name__)).upper()
    return Shown(None, written({"type": name, "version": frame.version, "data": as_json(message, frame.version)}))


def decode_offsets(record: Record) -> Shown:
    """A record of `__consumer_offsets`."""
    from stoker.wire.group_records import KEY_TYPES, VALUE_TYPES

    shown = _coordinator_record(record, KEY_TYPES, VALUE_TYPES)
    return Shown(*shown)


def decode_transactions(record: Record) -> Shown:
    """A record of `__transaction_state`."""
    from stoker.wire.transaction_records import TransactionLogKey, TransactionLogValue

    return _coordinator_record(record, {0: TransactionLogKey}, {0: TransactionLogValue})


def _coordinator_record(record: Record, keys: "dict[int, Any]", values: "dict[int, Any]") -> Shown:
    if record.key is None:
        raise MalformedMessage(
            f"Failed to decode message at offset {record.offset} using the specified decoder (message had a missing key)"
        )
    try:
        record_type = _first_int16(record.key)
        if record_type not in keys:
            return Shown(f"Unknown record type {record_type} at offset {record.offset}, skipping.", None)
        key = keys[record_type].decode(record.key, _INT16.size, _KEY_VERSION)
        shown_key = written({"type": str(record_type), "data": as_json(key, _KEY_VERSION)})
        if record.value is None:
            return Shown(shown_key, _DELETE)
        version = _first_int16(record.value)
        declared = values[record_type]
        if not declared.MIN_VERSION <= version <= declared.MAX_VERSION:
            problem = f"Value version {version} of record type {record_type} is not known."
            return Shown(f"Error at offset {record.offset}, skipping. {problem}", None)
        data = as_json(declared.decode(record.value, _INT16.size, version), version)
        if record_type == _GROUP_METADATA and declared.__name__ == "GroupMetadataValue":
            _unpack_members(data)
        return Shown(shown_key, written({"version": str(version), "data": data}))
    except MalformedMessage as error:
        return Shown(f"Error at offset {record.offset}, skipping. {error}", None)


def _unpack_members(data: dict[str, Any]) -> None:
    """Of a group of consumers, subscription and assignment are messages themselves."""
    from base64 import b64decode

    from stoker.wire.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription

    if data.get("protocolType") != "consumer":
        return
    for member in data.get("members") or ():
        for name, declared in (
            ("subscription", ConsumerProtocolSubscription),
            ("assignment", ConsumerProtocolAssignment),
        ):
            packed = b64decode(member[name])
            try:
                version = _first_int16(packed)
                member[name] = as_json(declared.from_bytes(packed), version)
            except MalformedMessage:  # they stay as they are
                continue


def _value(field: Field, value: Any, version: int) -> Any:
    if value is None:
        return None
    if field.kind == "array":
        return [_single(field.element, each, version) for each in value]
    return _single(field.kind, value, version)


def _single(kind: str, value: Any, version: int) -> Any:
    if kind == "struct":
        return as_json(value, version)
    if kind == "uuid":
        return uuid_text(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b64encode(value).decode()
    return value


def _is_default(field: Field, value: Any) -> bool:
    default = list(field.default) if field.kind == "array" and field.default is not None else field.default
    return bool(value == default)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _first_int16(data: bytes) -> int:
    if len(data) < _INT16.size:
        raise MalformedMessage(f"it ends after {len(data)} bytes")
    number: int = _INT16.unpack_from(data)[0]
    return number
