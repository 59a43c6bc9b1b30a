"""Records of `__consumer_offsets` and `__transaction_state` as Kafka's message formatters print them: JSON, without line ends."""

from struct import Struct as Layout
from struct import error as StructError  # noqa: N812 - it is a class
from typing import TYPE_CHECKING, Any, Final

from stoker.errors import MalformedMessage
from stoker.kafka_tools.record_json import as_json, written

if TYPE_CHECKING:
    from confluent_kafka import Message

_PACKAGE: Final = "org.apache.kafka.tools.consumer"
OFFSETS: Final = f"{_PACKAGE}.OffsetsMessageFormatter"
GROUP_METADATA: Final = f"{_PACKAGE}.GroupMetadataMessageFormatter"
TRANSACTION_LOG: Final = f"{_PACKAGE}.TransactionLogMessageFormatter"
_ALLOWED: Final = {OFFSETS: (0, 1), GROUP_METADATA: (2,), TRANSACTION_LOG: (0,)}
"""The types of records that each shows."""

_TYPE: Final = Layout(">h")
_KEY_VERSION: Final = 0


class CoordinatorFormatter:
    def __init__(self, name: str) -> None:
        self._allowed = _ALLOWED[name]
        self._keys, self._values = _declared(name)

    def __call__(self, record: "Message") -> bytes:
        """Nothing of a record of another type. Raises ValueError for one that cannot be read."""
        key, value = record.key(), record.value()
        if key is None:
            return b""
        assert isinstance(key, bytes)
        try:
            (record_type,) = _TYPE.unpack_from(key)
            if record_type not in self._allowed:
                return b""
            decoded = self._keys[record_type].decode(key, _TYPE.size, _KEY_VERSION)
            shown: dict[str, Any] = {
                "key": {"type": record_type, "data": as_json(decoded, _KEY_VERSION)},
                "value": None,
            }
            if isinstance(value, bytes):
                (version,) = _TYPE.unpack_from(value)
                content = self._values[record_type].decode(value, _TYPE.size, version)
                shown["value"] = {"version": version, "data": as_json(content, version)}
        except (MalformedMessage, StructError) as error:
            raise ValueError(f"Could not read record at offset {record.offset()} due to: {error}") from None
        return written(shown).encode()


def _declared(name: str) -> tuple[dict[int, Any], dict[int, Any]]:
    if name == TRANSACTION_LOG:
        from stoker.wire.transaction_records import TransactionLogKey, TransactionLogValue

        return {0: TransactionLogKey}, {0: TransactionLogValue}
    from stoker.wire.group_records import KEY_TYPES, VALUE_TYPES

    return dict(KEY_TYPES), dict(VALUE_TYPES)
