"""Making, growing and removing topics: Kafka's rules, checked before anything is written.

Each plan function is pure: it takes what is asked and what there is, and returns metadata records or raises
`TopicRefused` with the error code and words a client gets.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from stoker.broker.metadata import ClusterMetadata, TopicState
from stoker.errors import StokerError
from stoker.wire.error_codes import ErrorCode, shortened
from stoker.wire.metadata_records import (
    MetadataRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

MAX_NAME_LENGTH: Final = 249
MAX_PARTITIONS_PER_REQUEST: Final = 10_000
"""As Kafka's controller: no single request may create more."""
_LEGAL_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")


class TopicRefused(StokerError):
    """A topic that cannot be made, grown or removed; `error_code` and the message are what the client gets."""

    def __init__(self, error_code: ErrorCode, message: str) -> None:
        super().__init__(shortened(message))
        self.error_code = error_code


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """What a client asks for. -1 stands for the broker's default; assignments map partitions to broker ids."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)
    configs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRules:
    """What creating a topic depends on besides what there is already."""

    node_id: int
    directory_id: UUID
    num_partitions: int
    replication_factor: int
    refuse_more_replicas: bool
    new_topic_id: Callable[[], UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan:
    """The records that make a topic, and what a client should be told about it."""

    topic_id: UUID
    num_partitions: int
    note: str | None
    records: list[MetadataRecord]


def check_name(name: str) -> None:
    """Raise unless `name` is a legal topic name."""
    if not name:
        reason = "the empty string is not allowed"
    elif name in (".", ".."):
        reason = f"'{name}' is not allowed"
    elif len(name) > MAX_NAME_LENGTH:
        reason = f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    elif not _LEGAL_NAME.fullmatch(name):
        reason = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    else:
        return
    raise TopicRefused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")


def check_total(partitions: int) -> None:
    """Raise if one request is to create so many partitions, in however many topics."""
    if partitions > MAX_PARTITIONS_PER_REQUEST:
        raise TopicRefused(
            ErrorCode.POLICY_VIOLATION,
            f"{partitions} partitions are more than the {MAX_PARTITIONS_PER_REQUEST} that one request may create.",
        )


def plan_topic(wanted: NewTopic, metadata: ClusterMetadata, rules: TopicRules) -> TopicPlan:
    """The records that make `wanted`, but for its configs: the caller checks those and adds theirs."""
    check_name(wanted.name)
    if wanted.name in metadata.topics:
        raise TopicRefused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{wanted.name}' already exists.")
    _check_collision(wanted.name, metadata)
    note = None
    if wanted.assignments:
        num_partitions = _assigned_partitions(wanted, rules)
    else:
        num_partitions = rules.num_partitions if wanted.num_partitions == -1 else wanted.num_partitions
        if num_partitions <= 0:
            raise TopicRefused(
                ErrorCode.INVALID_PARTITIONS,
                f"Number of partitions was set to an invalid non-positive value: {num_partitions}.",
            )
        note = _check_replication_factor(wanted, rules)
    check_total(num_partitions)
    topic_id = rules.new_topic_id()
    records: list[MetadataRecord] = [TopicRecord(name=wanted.name, topic_id=topic_id)]
    records += _partition_records(topic_id, range(num_partitions), rules)
    return TopicPlan(topic_id=topic_id, num_partitions=num_partitions, note=note, records=records)


def plan_growth(
    topic: TopicState, count: int, assignments: Sequence[Sequence[int]] | None, rules: TopicRules
) -> list[MetadataRecord]:
    """The records that bring a topic to `count` partitions."""
    if topic.is_internal:
        raise TopicRefused(
            ErrorCode.INVALID_PARTITIONS,
            f"Topic '{topic.name}' cannot grow: how many partitions it has decides where each group's records are. "
            "offsets.topic.num.partitions sets it for a new broker.",
        )
    present = len(topic.partitions)
    if count < present:
        raise TopicRefused(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {present} partition(s); {count} would not be an increase.",
        )
    if count == present:
        raise TopicRefused(ErrorCode.INVALID_PARTITIONS, f"Topic already has {present} partition(s).")
    check_total(count - present)
    if assignments is not None:
        if len(assignments) != count - present:
            raise TopicRefused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {count - present} additional partition(s), but only "
                f"{len(assignments)} assignment(s) were specified.",
            )
        for brokers in assignments:
            _check_brokers(brokers, rules)
    return _partition_records(topic.topic_id, range(present, count), rules)


def plan_removal(topic: TopicState) -> list[MetadataRecord]:
    return [RemoveTopicRecord(topic_id=topic.topic_id)]


def _check_collision(name: str, metadata: ClusterMetadata) -> None:
    """'.' and '_' are one character in metric names, so two topics may not differ only there."""
    if "." not in name and "_" not in name:
        return
    key = name.replace(".", "_")
    colliding = next((other for other in metadata.topics if other.replace(".", "_") == key), None)
    if colliding is not None:
        raise TopicRefused(
            ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {colliding}"
        )


def _assigned_partitions(wanted: NewTopic, rules: TopicRules) -> int:
    for label, value in (("num_partitions", wanted.num_partitions), ("replication_factor", wanted.replication_factor)):
        if value != -1:
            raise TopicRefused(
                ErrorCode.INVALID_REQUEST,
                f"A manual partition assignment was specified, but {label} was not set to -1.",
            )
    if sorted(wanted.assignments) != list(range(len(wanted.assignments))):
        raise TopicRefused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence"
        )
    for brokers in wanted.assignments.values():
        _check_brokers(brokers, rules)
    return len(wanted.assignments)


def _check_brokers(brokers: Sequence[int], rules: TopicRules) -> None:
    if not brokers:
        raise TopicRefused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "The manual partition assignment includes an empty replica list."
        )
    for broker in brokers:
        if broker != rules.node_id:
            raise TopicRefused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"The manual partition assignment includes broker {broker}, but no such broker is registered; "
                f"the only one is {rules.node_id}.",
            )
    if len(brokers) > 1:
        raise TopicRefused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"The manual partition assignment includes the broker {rules.node_id} more than once.",
        )


def _check_replication_factor(wanted: NewTopic, rules: TopicRules) -> str | None:
    """None, or what to tell a client that asked for more replicas than one broker can hold."""
    factor = rules.replication_factor if wanted.replication_factor == -1 else wanted.replication_factor
    if factor <= 0:
        raise TopicRefused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if factor == 1:
        return None
    if rules.refuse_more_replicas:
        raise TopicRefused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {factor} time(s): The target replication factor of {factor} "
            "cannot be reached because only 1 broker(s) are registered.",
        )
    return (
        f"Topic '{wanted.name}' was created with 1 replica instead of {factor}: this is a single broker. "
        "Set stoker.replication.factor.policy=refuse to get INVALID_REPLICATION_FACTOR instead."
    )


def _partition_records(topic_id: UUID, indexes: range, rules: TopicRules) -> list[MetadataRecord]:
    replicas = [rules.node_id]
    return [
        PartitionRecord(
            partition_id=index,
            topic_id=topic_id,
            replicas=replicas,
            isr=replicas,
            leader=rules.node_id,
            leader_epoch=0,
            partition_epoch=0,
            directories=[rules.directory_id],
        )
        for index in indexes
    ]
