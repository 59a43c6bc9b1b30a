"""What kafka-consumer-groups.sh tells of groups: offsets, members, states, in Kafka's columns."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from stoker.client.admin.group_offsets import CommittedOffset, committed_offsets
from stoker.client.admin.groups import DEAD, EMPTY, Group, Member, describe_group
from stoker.client.admin.offsets import LATEST, ListedOffset, list_offsets_of
from stoker.client.cluster import Cluster
from stoker.client.topic_partition import TopicPartition, by_topic
from stoker.wire.error_codes import ErrorCode

MISSING: Final = "-"
_STABLE: Final = "Stable"
_WIDTH: Final = 15


@dataclass(frozen=True, kw_only=True, slots=True)
class _Row:
    """A partition that a group reads or has read; without a member nobody reads it now."""

    partition: TopicPartition
    committed: CommittedOffset | None
    end: int | None
    member: Member | None

    @property
    def cells(self) -> dict[str, str]:
        committed = self.committed
        offset = None if committed is None else committed.offset
        epoch = None if committed is None or committed.leader_epoch < 0 else committed.leader_epoch
        return {
            "TOPIC": self.partition.topic,
            "PARTITION": str(self.partition.partition),
            "LEADER-EPOCH": _shown(epoch),
            "CURRENT-OFFSET": _shown(offset),
            "LOG-END-OFFSET": _shown(self.end),
            "LAG": _shown(None if offset is None or self.end is None else self.end - offset),
            "CONSUMER-ID": MISSING if self.member is None else self.member.member_id,
            "HOST": MISSING if self.member is None else self.member.host,
            "CLIENT-ID": MISSING if self.member is None else self.member.client_id,
        }


def print_offsets(cluster: Cluster, group_ids: Iterable[str], *, verbose: bool) -> None:
    """Raises ClientError."""
    collected = [(group, _rows(cluster, group)) for group in _described(cluster, group_ids)]
    for group, rows in collected:
        if not _is_worth_printing(group, len(rows)):
            continue
        cells = [{"GROUP": group.group_id} | row.cells for row in rows]
        columns = ["GROUP", *rows[0].cells]
        if not verbose:
            columns.remove("LEADER-EPOCH")
        widths = dict.fromkeys(columns, _WIDTH) | {"PARTITION": 10, "CLIENT-ID": 0}
        for name in ("GROUP", "TOPIC", "CONSUMER-ID", "HOST"):
            widths[name] = max(_WIDTH, *(len(row[name]) for row in cells))
        for row in [{name: name for name in columns}, *cells]:
            sys.stdout.write("\n" + " ".join(f"{row[name]:<{widths[name]}}" for name in columns))
        print()


def print_members(cluster: Cluster, group_ids: Iterable[str], *, verbose: bool) -> None:
    """Raises ClientError."""
    for group in _described(cluster, group_ids):
        members = group.members if _is_worth_printing(group, len(group.members)) else ()
        with_instance = any(member.instance_id for member in members)
        upgraded = {member.is_upgraded for member in members}
        rows = [_member_cells(group, member) for member in members]
        columns = ["GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
        if not with_instance:
            columns.remove("GROUP-INSTANCE-ID")
        detail = ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
        if {True, False} <= upgraded:
            detail.append("UPGRADED")
        widths = dict.fromkeys((*columns, *detail), _WIDTH)
        widths |= {"GROUP-INSTANCE-ID": 17, "CURRENT-ASSIGNMENT": 20, "TARGET-ASSIGNMENT": 20, "UPGRADED": 0}
        for name in (*columns[:-1], "CURRENT-ASSIGNMENT", "TARGET-ASSIGNMENT"):
            widths[name] = max(widths[name], *(len(row[name]) for row in rows), 0)
        print()
        for row in [{name: name for name in (*columns, *detail)}, *rows]:
            line = "".join(f"{row[name]:<{widths[name]}} " for name in columns)
            if verbose:
                line += " ".join(f"{row[name]:<{widths[name]}}" for name in detail)
            print(line)


def print_states(cluster: Cluster, group_ids: Iterable[str], *, verbose: bool) -> None:
    """Raises ClientError."""
    for group in _described(cluster, group_ids):
        if not _is_worth_printing(group, 1):
            continue
        address = cluster.brokers().get(-1 if group.coordinator is None else group.coordinator)
        coordinator = f"{MISSING}  ({group.coordinator})"
        if address is not None:
            coordinator = f"{address.host}:{address.port}  ({group.coordinator})"
        columns = {
            "GROUP": (group.group_id, max(_WIDTH, len(group.group_id))),
            "COORDINATOR (ID)": (coordinator, max(25, len(coordinator))),
            "ASSIGNMENT-STRATEGY": (group.assignor or MISSING, 20),
            "STATE": (group.state, 20),
        }
        if verbose:
            columns |= {
                "GROUP-EPOCH": (_shown(group.epoch), 15),
                "TARGET-ASSIGNMENT-EPOCH": (_shown(group.assignment_epoch), 25),
            }
        columns["#MEMBERS"] = (str(len(group.members)), 0)
        header = " ".join(f"{name:<{width}}" for name, (_, width) in columns.items())
        print(f"\n{header}\n" + " ".join(f"{value:<{width}}" for value, width in columns.values()))


def _described(cluster: Cluster, group_ids: Iterable[str]) -> list[Group]:
    """All before the first is printed, by their ids."""
    return [describe_group(cluster, group_id) for group_id in sorted(set(group_ids))]


def _rows(cluster: Cluster, group: Group) -> list[_Row]:
    committed = committed_offsets(cluster, group.group_id)
    readers = [member for member in group.members if member.assignment]
    readers.sort(key=lambda member: len(member.assignment), reverse=True)
    read = {partition for member in readers for partition in member.assignment}
    ends = list_offsets_of(cluster, sorted({*committed, *read}), LATEST)

    def row(partition: TopicPartition, member: Member | None) -> _Row:
        end = ends[partition]
        if not isinstance(end, ListedOffset) and end.error_code is not ErrorCode.LEADER_NOT_AVAILABLE:
            raise end
        offset = end.offset if isinstance(end, ListedOffset) else None
        return _Row(partition=partition, committed=committed.get(partition), end=offset, member=member)

    rows = [row(partition, member) for member in readers for partition in sorted(member.assignment)]
    return rows + [row(partition, None) for partition in sorted(committed) if partition not in read]


def _is_worth_printing(group: Group, count: int) -> bool:
    sys.stdout.flush()
    if group.state == DEAD:
        print(f"\nError: Consumer group '{group.group_id}' does not exist.")
    elif group.state == EMPTY:
        print(f"\nConsumer group '{group.group_id}' has no active members.", file=sys.stderr)
    elif group.state != _STABLE:
        print(f"\nWarning: Consumer group '{group.group_id}' is rebalancing.", file=sys.stderr)
    return group.state != DEAD and count > 0


def _member_cells(group: Group, member: Member) -> dict[str, str]:
    return {
        "GROUP": group.group_id,
        "CONSUMER-ID": member.member_id,
        "GROUP-INSTANCE-ID": member.instance_id or "",
        "HOST": member.host,
        "CLIENT-ID": member.client_id,
        "#PARTITIONS": str(len(member.assignment)),
        "CURRENT-EPOCH": _shown(member.epoch),
        "CURRENT-ASSIGNMENT": _assignment(member.assignment),
        "TARGET-EPOCH": _shown(group.assignment_epoch),
        "TARGET-ASSIGNMENT": _assignment(member.target or ()),
        "UPGRADED": MISSING if member.is_upgraded is None else str(member.is_upgraded).lower(),
    }


def _assignment(partitions: Sequence[TopicPartition]) -> str:
    grouped = (f"{topic}:{','.join(map(str, sorted(each)))}" for topic, each in by_topic(partitions).items())
    return ";".join(sorted(grouped)) or MISSING


def _shown(number: int | None) -> str:
    return MISSING if number is None else str(number)
