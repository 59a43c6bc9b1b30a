"""All that `stoker groups describe` tells of a group: who reads what, and how far behind."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stoker.cli.output import print_table
from stoker.client.admin.group_offsets import CommittedOffset, committed_offsets
from stoker.client.admin.groups import Group, Member
from stoker.client.admin.offsets import LATEST, ListedOffset, list_offsets_of
from stoker.client.cluster import Cluster
from stoker.client.topic_partition import TopicPartition


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionProgress:
    """What a group has done with a partition; None where nothing is known, `member` where nobody reads it now."""

    partition: TopicPartition
    committed: int | None
    log_end: int | None
    member: Member | None

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.log_end is None:
            return None
        return max(0, self.log_end - self.committed)  # a partition that was cut may end before the commit


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupDescription:
    group: Group
    partitions: tuple[PartitionProgress, ...]

    @property
    def lag(self) -> int | None:
        return total_lag(self.partitions)

    @property
    def summary(self) -> str:
        """One line: a table of partitions does not show a group that has none."""
        group = self.group
        count = len(group.members)
        members = f"{count or 'no'} member{'' if count == 1 else 's'}"
        assignor = f", assignor {group.assignor}" if group.assignor else ""
        return f"Group {group.group_id!r} ({group.type}) is {group.state}: {members}{assignor}, {self._lag_in_words}."

    @property
    def _lag_in_words(self) -> str:
        """The sum, and of how many partitions nothing is in it."""
        count = len(self.partitions)
        uncommitted = sum(each.committed is None for each in self.partitions)
        endless = sum(each.committed is not None and each.log_end is None for each in self.partitions)
        if uncommitted == count:
            return "nothing committed"
        words = ["lag unknown" if self.lag is None else f"lag {self.lag}"]
        if uncommitted:
            words.append(f"nothing committed in {uncommitted} of {count} partitions")
        if endless:
            words.append(f"no end known of {endless} of {count} partition{'' if count == 1 else 's'}")
        return ", ".join(words)

    def as_json(self) -> dict[str, Any]:
        group = self.group
        return {
            "group": group.group_id,
            "type": group.type,
            "state": group.state,
            "protocol_type": group.protocol_type,
            "assignor": group.assignor,
            "coordinator": group.coordinator,
            "epoch": group.epoch,
            "lag": self.lag,
            "members": [
                {
                    "member_id": member.member_id,
                    "instance_id": member.instance_id,
                    "client_id": member.client_id,
                    "host": member.host,
                    "epoch": member.epoch,
                    "lag": total_lag(partitions_of(member, self)),
                    "partitions": _as_json(member.assignment),
                    "target": None if member.target is None else _as_json(member.target),
                }
                for member in group.members
            ],
            "partitions": [
                {
                    "topic": each.partition.topic,
                    "partition": each.partition.partition,
                    "current_offset": each.committed,
                    "log_end_offset": each.log_end,
                    "lag": each.lag,
                    "member_id": None if each.member is None else each.member.member_id,
                }
                for each in self.partitions
            ],
        }


def collect(cluster: Cluster, group: Group) -> GroupDescription:
    """The group with its offsets, and where the partitions it reads or has read end."""
    committed = committed_offsets(cluster, group.group_id)
    readers = {partition: member for member in group.members for partition in member.assignment}
    partitions = sorted({*committed, *readers})
    ends = list_offsets_of(cluster, partitions, LATEST)
    return GroupDescription(
        group=group,
        partitions=tuple(
            _progress(partition, committed.get(partition), ends[partition], readers.get(partition))
            for partition in partitions
        ),
    )


def total_lag(partitions: Sequence[PartitionProgress]) -> int | None:
    """Of those whose lag is known; None if it is known of none: that is not the same as having read everything."""
    known = [each.lag for each in partitions if each.lag is not None]
    return sum(known) if known else None


def partitions_of(member: Member, description: GroupDescription) -> list[PartitionProgress]:
    return [each for each in description.partitions if each.member is member]


def print_partitions(descriptions: Sequence[GroupDescription]) -> None:
    """One table for all groups, with the columns of Kafka's own tool, so that what reads those reads these."""
    rows = [
        (
            description.group.group_id,
            each.partition.topic,
            each.partition.partition,
            each.committed,
            each.log_end,
            each.lag,
            None if each.member is None else each.member.member_id,
            None if each.member is None else each.member.host,
            None if each.member is None else each.member.client_id,
        )
        for description in descriptions
        for each in description.partitions
    ]
    if rows:
        columns = ("CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
        print_table(("GROUP", "TOPIC", "PARTITION", *columns), rows)


def print_members(descriptions: Sequence[GroupDescription]) -> None:
    rows = [
        (
            description.group.group_id,
            member.member_id,
            member.instance_id,
            member.host,
            member.client_id,
            len(member.assignment),
            total_lag(partitions_of(member, description)),
            ",".join(map(str, member.assignment)) or None,
        )
        for description in descriptions
        for member in description.group.members
    ]
    if rows:
        columns = ("CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "LAG", "ASSIGNMENT")
        print_table(("GROUP", *columns), rows)


def print_states(descriptions: Sequence[GroupDescription]) -> None:
    rows = [
        (
            group.group_id,
            group.coordinator,
            group.assignor or None,
            group.type,
            group.state,
            group.epoch,
            len(group.members),
            description.lag,
        )
        for description in descriptions
        for group in [description.group]
    ]
    if rows:
        print_table(("GROUP", "COORDINATOR", "ASSIGNOR", "TYPE", "STATE", "EPOCH", "#MEMBERS", "LAG"), rows)


def _progress(
    partition: TopicPartition, committed: CommittedOffset | None, end: object, member: Member | None
) -> PartitionProgress:
    return PartitionProgress(
        partition=partition,
        committed=None if committed is None else committed.offset,
        log_end=end.offset if isinstance(end, ListedOffset) else None,
        member=member,
    )


def _as_json(partitions: Sequence[TopicPartition]) -> list[dict[str, object]]:
    return [each._asdict() for each in partitions]
