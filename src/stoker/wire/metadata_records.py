"""Records of the metadata log, in the format of Kafka's own `__cluster_metadata`.

A record is the value of a log record: a frame version, the record's type and version, each an unsigned varint, then a body
like that of any other message. Kafka's `DumpLogSegments --cluster-metadata-decoder` reads what is written here.
"""

from typing import ClassVar, NamedTuple
from uuid import UUID

from stoker.errors import MalformedMessage
from stoker.wire.primitives import Refused, decode_uvarint, encode_uvarint
from stoker.wire.schema import (
    Buffer,
    Message,
    Struct,
    array,
    blob,
    boolean,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint16,
    uuid,
)

FRAME_VERSION = 1


class MetadataRecord(Message):
    """A change of the cluster's metadata."""

    RECORD_TYPE: ClassVar[int]

    def __init_subclass__(cls, *, record_type: int, versions: str, flexible: str) -> None:
        super().__init_subclass__(versions=versions, flexible=flexible)
        cls.RECORD_TYPE = record_type
        RECORD_TYPES[record_type] = cls


RECORD_TYPES: dict[int, type[MetadataRecord]] = {}


class UnknownRecord(NamedTuple):
    """A record of a type or version that Stoker does not know: to be skipped, or reported, but never guessed at."""

    record_type: int
    version: int


class TopicRecord(MetadataRecord, record_type=2, versions="0", flexible="0+"):
    name: str = string("0+")
    topic_id: UUID = uuid("0+")


class PartitionRecord(MetadataRecord, record_type=3, versions="0-2", flexible="0+"):
    partition_id: int = int32("0+", default=-1)
    topic_id: UUID = uuid("0+")
    replicas: list[int] = array(int32, "0+")
    isr: list[int] = array(int32, "0+")
    removing_replicas: list[int] = array(int32, "0+")
    adding_replicas: list[int] = array(int32, "0+")
    leader: int = int32("0+", default=-1)
    leader_recovery_state: int = int8("0+", tag=0)
    leader_epoch: int = int32("0+", default=-1)
    partition_epoch: int = int32("0+", default=-1)
    directories: list[UUID] = array(uuid, "1+", ignorable=False)
    eligible_leader_replicas: list[int] | None = array(int32, "2+", nullable="2+", default=None, tag=1, ignorable=False)
    last_known_elr: list[int] | None = array(int32, "2+", nullable="2+", default=None, tag=2, ignorable=False)


class ConfigRecord(MetadataRecord, record_type=4, versions="0", flexible="0+"):
    resource_type: int = int8("0+")
    resource_name: str = string("0+")
    name: str = string("0+")
    value: str | None = string("0+", nullable="0+")


class PartitionChangeRecord(MetadataRecord, record_type=5, versions="0-2", flexible="0+"):
    partition_id: int = int32("0+", default=-1)
    topic_id: UUID = uuid("0+")
    isr: list[int] | None = array(int32, "0+", nullable="0+", default=None, tag=0)
    leader: int = int32("0+", default=-2, tag=1)
    replicas: list[int] | None = array(int32, "0+", nullable="0+", default=None, tag=2)
    removing_replicas: list[int] | None = array(int32, "0+", nullable="0+", default=None, tag=3)
    adding_replicas: list[int] | None = array(int32, "0+", nullable="0+", default=None, tag=4)
    leader_recovery_state: int = int8("0+", default=-1, tag=5)
    directories: list[UUID] | None = array(uuid, "1+", nullable="1+", default=None, tag=8, ignorable=False)
    eligible_leader_replicas: list[int] | None = array(int32, "2+", nullable="2+", default=None, tag=6, ignorable=False)
    last_known_elr: list[int] | None = array(int32, "2+", nullable="2+", default=None, tag=7, ignorable=False)


class RemoveTopicRecord(MetadataRecord, record_type=9, versions="0", flexible="0+"):
    topic_id: UUID = uuid("0+")


class UserScramCredentialRecord(MetadataRecord, record_type=11, versions="0", flexible="0+"):
    name: str = string("0+")
    mechanism: int = int8("0+")
    salt: bytes = blob("0+")
    stored_key: bytes = blob("0+")
    server_key: bytes = blob("0+")
    iterations: int = int32("0+")


class RemoveUserScramCredentialRecord(MetadataRecord, record_type=22, versions="0", flexible="0+"):
    name: str = string("0+")
    mechanism: int = int8("0+")


class FeatureLevelRecord(MetadataRecord, record_type=12, versions="0", flexible="0+"):
    name: str = string("0+")
    feature_level: int = int16("0+")


class EntityData(Struct):
    entity_type: str = string("0+")
    entity_name: str | None = string("0+", nullable="0+")


class ClientQuotaRecord(MetadataRecord, record_type=14, versions="0", flexible="0+"):
    entity: list[EntityData] = array(EntityData, "0+")
    key: str = string("0+")
    value: float = float64("0+")
    remove: bool = boolean("0+")


class ProducerIdsRecord(MetadataRecord, record_type=15, versions="0", flexible="0+"):
    broker_id: int = int32("0+")
    broker_epoch: int = int64("0+", default=-1)
    next_producer_id: int = int64("0+")


class BrokerRegistrationChangeRecord(MetadataRecord, record_type=17, versions="0-3", flexible="0+"):
    broker_id: int = int32("0+")
    broker_epoch: int = int64("0+")
    fenced: int = int8("0+", tag=0)
    in_controlled_shutdown: int = int8("1+", tag=1, ignorable=False)
    log_dirs: list[UUID] = array(uuid, "2+", tag=2, ignorable=False)
    cordoned_log_dirs: list[UUID] | None = array(uuid, "3+", nullable="3+", default=None, tag=3, ignorable=False)


class AccessControlEntryRecord(MetadataRecord, record_type=18, versions="0", flexible="0+"):
    id: UUID = uuid("0+")
    resource_type: int = int8("0+")
    resource_name: str = string("0+")
    pattern_type: int = int8("0+")
    principal: str = string("0+")
    host: str = string("0+")
    operation: int = int8("0+")
    permission_type: int = int8("0+")


class RemoveAccessControlEntryRecord(MetadataRecord, record_type=19, versions="0", flexible="0+"):
    id: UUID = uuid("0+")


class NoOpRecord(MetadataRecord, record_type=20, versions="0", flexible="0+"):
    """It has no fields."""


class BrokerEndpoint(Struct):
    name: str = string("0+")
    host: str = string("0+")
    port: int = uint16("0+")
    security_protocol: int = int16("0+")


class BrokerFeature(Struct):
    name: str = string("0+")
    min_supported_version: int = int16("0+")
    max_supported_version: int = int16("0+")


class RegisterBrokerRecord(MetadataRecord, record_type=0, versions="0-4", flexible="0+"):
    broker_id: int = int32("0+")
    is_migrating_zk_broker: bool = boolean("2+", ignorable=False)
    incarnation_id: UUID = uuid("0+")
    broker_epoch: int = int64("0+")
    end_points: list[BrokerEndpoint] = array(BrokerEndpoint, "0+")
    features: list[BrokerFeature] = array(BrokerFeature, "0+")
    rack: str | None = string("0+", nullable="0+")
    fenced: bool = boolean("0+", default=True)
    in_controlled_shutdown: bool = boolean("1+", ignorable=False)
    log_dirs: list[UUID] = array(uuid, "3+", tag=0, ignorable=False)
    cordoned_log_dirs: list[UUID] | None = array(uuid, "4+", nullable="4+", default=None, tag=1, ignorable=False)


def encode_record(record: MetadataRecord, version: int | None = None) -> bytes:
    """The record as the value of a log record; in its latest version unless told otherwise."""
    if version is None:
        version = record.MAX_VERSION
    out = bytearray((FRAME_VERSION,))
    out += encode_uvarint(record.RECORD_TYPE)
    out += encode_uvarint(version)
    record.encode_into(out, version)
    return bytes(out)


def decode_record(data: Buffer) -> MetadataRecord | UnknownRecord:
    """The record in the value of a log record. Raises only MalformedMessage."""
    try:
        frame_version, position = decode_uvarint(data, 0)
        record_type, position = decode_uvarint(data, position)
        version, position = decode_uvarint(data, position)
    except IndexError:
        raise MalformedMessage(f"metadata record: its frame ends too early, after {len(data)} bytes") from None
    except Refused as refused:
        raise MalformedMessage(f"metadata record: its frame {refused}") from None
    if frame_version != FRAME_VERSION:
        raise MalformedMessage(f"metadata record: has frame version {frame_version}, not {FRAME_VERSION}")
    declared = RECORD_TYPES.get(record_type)
    if declared is None or not declared.MIN_VERSION <= version <= declared.MAX_VERSION:
        return UnknownRecord(record_type, version)
    return declared.decode(data, position, version)
