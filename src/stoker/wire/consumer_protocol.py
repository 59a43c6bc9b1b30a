"""What consumers of a classic group tell each other through the coordinator: who wants which topics, who gets which partitions.

The blobs in JoinGroup and SyncGroup are these messages after an int16 version, if the protocol type is `consumer`. A newer
version is read as the newest known one, as Kafka does: new versions only add fields at the end.
"""

from struct import Struct as Layout
from typing import Self

from stoker.errors import MalformedMessage
from stoker.wire.schema import Buffer, Message, Struct, array, blob, int32, string

PROTOCOL_TYPE = "consumer"

_VERSION = Layout(">h")


class ConsumerProtocolMessage(Message):
    """A message whose version travels before it."""

    @classmethod
    def from_bytes(cls, data: Buffer) -> Self:
        """The message in a blob; bytes after its end are tolerated. Raises only MalformedMessage."""
        if len(data) < _VERSION.size:
            raise MalformedMessage(f"{cls.__name__}: ends too early, after {len(data)} bytes")
        (version,) = _VERSION.unpack_from(data)
        if version < cls.MIN_VERSION:
            raise MalformedMessage(f"{cls.__name__}: has version {version}, not {cls.MIN_VERSION} or later")
        return cls.decode(data, _VERSION.size, min(version, cls.MAX_VERSION))

    def to_bytes(self, version: int | None = None) -> bytes:
        """The blob; in the latest version unless told otherwise. Raises UnencodableMessage."""
        if version is None:
            version = self.MAX_VERSION
        out = bytearray(_VERSION.pack(version))
        self.encode_into(out, version)
        return bytes(out)


class TopicPartitions(Struct):
    topic: str = string("0+")
    partitions: list[int] = array(int32, "0+")


class ConsumerProtocolSubscription(ConsumerProtocolMessage, versions="0-3"):
    topics: list[str] = array(string, "0+")
    user_data: bytes | None = blob("0+", nullable="0+", default=None)
    owned_partitions: list[TopicPartitions] = array(TopicPartitions, "1+")
    generation_id: int = int32("2+", default=-1)
    rack_id: str | None = string("3+", nullable="3+", default=None)


class ConsumerProtocolAssignment(ConsumerProtocolMessage, versions="0-3"):
    assigned_partitions: list[TopicPartitions] = array(TopicPartitions, "0+")
    user_data: bytes | None = blob("0+", nullable="0+", default=None)
