"""What every group is, whichever protocol its members speak: what offsets, listings and deletion ask of it."""

from abc import ABC, abstractmethod
from enum import Enum

from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupRecord


class GroupType(Enum):
    """By which protocol a group is coordinated. The values are Kafka's, as ListGroups tells them."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


class Group(ABC):
    """One group. Errors are answers, not exceptions: the caller puts them in the reply."""

    group_id: str
    type: GroupType

    @property
    @abstractmethod
    def state_name(self) -> str:
        """As Kafka writes it: "Empty", "Stable", "PreparingRebalance", "Assigning", ..."""

    @property
    @abstractmethod
    def protocol_type(self) -> str:
        """ "consumer" for consumers; "" while a classic group has never had members."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """No member is in it."""

    @abstractmethod
    def commit_error(
        self,
        member_id: str,
        instance_id: str | None,
        generation_or_epoch: int,
        version: int,
        *,
        in_transaction: bool = False,
    ) -> ErrorCode:
        """Whether this member may commit offsets. `version` is that of OffsetCommit: from 9 on it may say
        STALE_MEMBER_EPOCH. A transactional producer need not say on which member's behalf it commits.
        Kafka's Group.validateOffsetCommit."""

    @abstractmethod
    def fetch_error(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Whether this member (None, -1: anyone) may read the group's offsets. Kafka's Group.validateOffsetFetch."""

    @abstractmethod
    def delete_error(self) -> ErrorCode:
        """Whether the group may be deleted: NON_EMPTY_GROUP while it has members."""

    @abstractmethod
    def offset_delete_error(self) -> ErrorCode:
        """Whether single offsets may be deleted at all; those of subscribed topics never are."""

    @abstractmethod
    def is_subscribed_to(self, topic: str) -> bool:
        """Whether some member reads this topic now, so that its offsets neither expire nor can be deleted."""

    @abstractmethod
    def offsets_expire_since(self, commit_timestamp_ms: int) -> int | None:
        """The wall-clock time from which the retention of an offset committed then is counted; None: it does not expire
        (KIP-211)."""

    @abstractmethod
    def tombstones(self) -> list[GroupRecord]:
        """The records that make the log forget the group, its offsets aside."""
