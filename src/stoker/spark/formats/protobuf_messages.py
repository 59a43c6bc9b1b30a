"""One Protobuf message at a time, by Google's library, for those that are too odd to be read together.

Those are: a message that is there twice and has to be merged, groups, a map with one key twice, a constant that a closed enum
does not have, and the few that have hundreds of fields more than others.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from stoker.spark.formats.protobuf_scanning import MALFORMED
from stoker.spark.formats.protobuf_types import NANOS_OF, SECONDS_OF, TIMESTAMP, FieldPlan, MessagePlan

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNSIGNED_BITS = {
    FieldDescriptor.TYPE_UINT32: 32,
    FieldDescriptor.TYPE_FIXED32: 32,
    FieldDescriptor.TYPE_UINT64: 64,
    FieldDescriptor.TYPE_FIXED64: 64,
}
OUT_OF_RANGE = "a moment or a duration that is out of range"


class MessageReader:
    """Reads bytes to what `pyarrow.array` takes for the plan's type."""

    def __init__(self, plan: MessagePlan) -> None:
        self._plan = plan
        self._class = GetMessageClass(plan.descriptor)

    def read(self, data: bytes) -> dict[str, Any]:
        """Raises ValueError with the reason."""
        try:
            message = self._class.FromString(data)
        except DecodeError as problem:
            raise ValueError(f"{MALFORMED}{str(problem)[:200]}") from None
        found: dict[str, Any] = _value(self._plan, message)
        return found


def _value(plan: MessagePlan, message: Any) -> Any:
    if plan.special is not None:
        least, most = SECONDS_OF[plan.special]
        least_nanos, most_nanos = NANOS_OF[plan.special]
        if not least <= message.seconds <= most or not least_nanos <= message.nanos <= most_nanos:
            raise ValueError(OUT_OF_RANGE)
        moment = timedelta(seconds=message.seconds) + timedelta(microseconds=message.nanos // 1000)
        return _EPOCH + moment if plan.special == TIMESTAMP else moment
    return {field.name: _field(field, message) for field in plan.fields if field.is_wanted}


def _field(field: FieldPlan, message: Any) -> Any:
    if field.is_map:
        assert field.message is not None
        key, value = field.message.fields
        return [(_one(key, each), _one(value, found)) for each, found in getattr(message, field.name).items()]
    if field.is_repeated:
        return [_one(field, each) for each in getattr(message, field.name)]
    if field.has_presence and not message.HasField(field.name) and field.default is None:
        return None
    return _one(field, getattr(message, field.name))


def _one(field: FieldPlan, value: Any) -> Any:
    if field.message is not None:
        return _value(field.message, value)
    if field.enum is not None:
        return field.enum.name_of(value)
    if isinstance(value, bytes) and field.type == FieldDescriptor.TYPE_STRING:  # which proto2 does not refuse
        raise ValueError(f"{field.name} is no UTF-8")
    bits = _UNSIGNED_BITS.get(field.type)
    if bits is not None and value >> (bits - 1):
        return value - (1 << bits)
    return value
