"""What only a KRaft quorum of Apache Kafka writes to `__cluster_metadata`: its control records, and records of controllers.

Stoker's own metadata log has none of them. They are here to read the files of Apache Kafka, and to format a directory so that
it can start on it.
"""

from struct import Struct as Layout
from typing import Final, NamedTuple
from uuid import UUID

from stoker.errors import MalformedMessage
from stoker.wire.metadata_records import FRAME_VERSION
from stoker.wire.primitives import Refused, decode_uvarint
from stoker.wire.record_batch import Record, build_batch
from stoker.wire.schema import (
    Buffer,
    Message,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    nested,
    string,
    uint16,
    uuid,
)

LEADER_CHANGE: Final = 2
SNAPSHOT_HEADER: Final = 3
SNAPSHOT_FOOTER: Final = 4
KRAFT_VERSION: Final = 5
KRAFT_VOTERS: Final = 6

_KEY: Final = Layout(">hh")
_KEY_VERSION: Final = 0
_VERSION: Final = Layout(">h")


class Voter(Struct):
    voter_id: int = int32("0+")
    voter_directory_id: UUID = uuid("1+")


class LeaderChangeMessage(Message, versions="0-1", flexible="0+"):
    version: int = int16("0+")
    leader_id: int = int32("0+")
    voters: list[Voter] = array(Voter, "0+")
    granting_voters: list[Voter] = array(Voter, "0+")


class SnapshotHeaderRecord(Message, versions="0", flexible="0+"):
    version: int = int16("0+")
    last_contained_log_timestamp: int = int64("0+")


class SnapshotFooterRecord(Message, versions="0", flexible="0+"):
    version: int = int16("0+")


class KRaftVersionRecord(Message, versions="0", flexible="0+"):
    version: int = int16("0+")
    k_raft_version: int = int16("0+")


class QuorumEndpoint(Struct):
    name: str = string("0+")
    host: str = string("0+")
    port: int = uint16("0+")


class KRaftVersionFeature(Struct):
    min_supported_version: int = int16("0+")
    max_supported_version: int = int16("0+")


class QuorumVoter(Struct):
    voter_id: int = int32("0+")
    voter_directory_id: UUID = uuid("0+")
    endpoints: list[QuorumEndpoint] = array(QuorumEndpoint, "0+")
    k_raft_version_feature: KRaftVersionFeature = nested(KRaftVersionFeature, "0+")


class VotersRecord(Message, versions="0", flexible="0+"):
    version: int = int16("0+")
    voters: list[QuorumVoter] = array(QuorumVoter, "0+")


CONTROL_MESSAGES: Final[dict[int, type[Message]]] = {
    LEADER_CHANGE: LeaderChangeMessage,
    SNAPSHOT_HEADER: SnapshotHeaderRecord,
    SNAPSHOT_FOOTER: SnapshotFooterRecord,
    KRAFT_VERSION: KRaftVersionRecord,
    KRAFT_VOTERS: VotersRecord,
}


class ControlRecord(NamedTuple):
    """`message` is None for a type that is none of the quorum's."""

    control_type: int
    message: Message | None


def decode_control_record(record: Record) -> ControlRecord:
    """What a record of a control batch says. Raises MalformedMessage."""
    if record.key is None or len(record.key) < _KEY.size:
        raise MalformedMessage(f"control record at offset {record.offset}: its key is too short")
    _, control_type = _KEY.unpack_from(record.key)
    declared = CONTROL_MESSAGES.get(control_type)
    if declared is None or record.value is None:
        return ControlRecord(control_type, None)
    if len(record.value) < _VERSION.size:
        raise MalformedMessage(f"control record at offset {record.offset}: its value is too short")
    (version,) = _VERSION.unpack_from(record.value)  # the first field of each of them
    version = min(version, declared.MAX_VERSION)
    return ControlRecord(control_type, declared.decode(record.value, 0, version))


def build_control_batch(messages: list[tuple[int, Message]], *, base_offset: int, timestamp: int) -> bytes:
    """A batch of control records, each a type and its message, as a quorum at epoch 0 writes it."""
    records = [
        Record(0, timestamp, _KEY.pack(_KEY_VERSION, control_type), message.encode(message.MAX_VERSION), ())
        for control_type, message in messages
    ]
    return build_batch(records, base_offset=base_offset, leader_epoch=0, control=True)


# -- records of controllers ----------------------------------------------------------------------------------------------


class UnregisterBrokerRecord(Message, versions="0", flexible="0+"):
    broker_id: int = int32("0+")
    broker_epoch: int = int64("0+")


class FenceBrokerRecord(Message, versions="0", flexible="0+"):
    id: int = int32("0+")
    epoch: int = int64("0+")


class UnfenceBrokerRecord(Message, versions="0", flexible="0+"):
    id: int = int32("0+")
    epoch: int = int64("0+")


class ZkMigrationStateRecord(Message, versions="0", flexible="0+"):
    zk_migration_state: int = int8("0+")


class BeginTransactionRecord(Message, versions="0", flexible="0+"):
    name: str | None = string("0+", nullable="0+", default=None, tag=0)


class EndTransactionRecord(Message, versions="0", flexible="0+"):
    """It has no fields."""


class AbortTransactionRecord(Message, versions="0", flexible="0+"):
    reason: str | None = string("0+", nullable="0+", default=None, tag=0)


class ControllerEndpoint(Struct):
    name: str = string("0+")
    host: str = string("0+")
    port: int = uint16("0+")
    security_protocol: int = int16("0+")


class ControllerFeature(Struct):
    name: str = string("0+")
    min_supported_version: int = int16("0+")
    max_supported_version: int = int16("0+")


class RegisterControllerRecord(Message, versions="0", flexible="0+"):
    controller_id: int = int32("0+")
    incarnation_id: UUID = uuid("0+")
    zk_migration_ready: bool = boolean("0+")
    end_points: list[ControllerEndpoint] = array(ControllerEndpoint, "0+")
    features: list[ControllerFeature] = array(ControllerFeature, "0+")


class ClearElrRecord(Message, versions="0", flexible="0+"):
    topic_name: str = string("0+")


CONTROLLER_RECORDS: Final[dict[int, type[Message]]] = {
    1: UnregisterBrokerRecord,
    7: FenceBrokerRecord,
    8: UnfenceBrokerRecord,
    21: ZkMigrationStateRecord,
    23: BeginTransactionRecord,
    24: EndTransactionRecord,
    25: AbortTransactionRecord,
    27: RegisterControllerRecord,
    28: ClearElrRecord,
}


class Frame(NamedTuple):
    """What a metadata record says of itself, and where its body begins."""

    record_type: int
    version: int
    position: int


def read_frame(data: Buffer) -> Frame:
    """Raises MalformedMessage."""
    try:
        frame_version, position = decode_uvarint(data, 0)
        record_type, position = decode_uvarint(data, position)
        version, position = decode_uvarint(data, position)
    except (IndexError, Refused) as error:
        raise MalformedMessage(f"metadata record: its frame cannot be read: {error}") from None
    if frame_version != FRAME_VERSION:
        raise MalformedMessage(f"metadata record: has frame version {frame_version}, not {FRAME_VERSION}")
    return Frame(record_type, version, position)
