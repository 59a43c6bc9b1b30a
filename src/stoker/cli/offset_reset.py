"""Resetting how far groups have read, by the rules of Kafka's own tool: which partitions, to where, and for whom not."""

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from stoker.cli.failure import CommandFailed, did_you_mean, no_such, wrong_usage
from stoker.cli.groups import find_group
from stoker.cli.offset_file import OffsetFile, Offsets, write_offsets
from stoker.cli.output import print_json, print_table, say
from stoker.cli.partition_scope import partitions_in
from stoker.client.admin.group_offsets import alter_committed_offsets, committed_offsets
from stoker.client.admin.groups import Group, list_groups
from stoker.client.admin.offset_targets import OffsetsNotKnown, at_or_after, fitted, offsets_at
from stoker.client.admin.offsets import EARLIEST, LATEST
from stoker.client.cluster import Cluster
from stoker.client.topic_partition import TopicPartition
from stoker.wire.error_codes import ErrorCode

TARGETS: Final = (
    "--to-earliest",
    "--to-latest",
    "--to-current",
    "--to-offset",
    "--shift-by",
    "--to-datetime",
    "--by-duration",
    "--from-file",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ResetRequest:
    """What was asked for: one target, and a scope unless the target is a file."""

    target: str
    value: Any
    topics: Sequence[str]
    all_topics: bool
    execute: bool

    @classmethod
    def from_options(cls, *, topics: Sequence[str], all_topics: bool, execute: bool, **targets: Any) -> "ResetRequest":
        """Checked: the rest of the options are the targets, by their names with underscores."""
        given = {
            f"--{name.replace('_', '-')}": value
            for name, value in targets.items()
            if value is not None and value is not False  # but 0 is an offset
        }
        if len(given) != 1:
            wrong_usage(f"give one target: {', '.join(TARGETS)}")
        ((target, value),) = given.items()
        if target == "--from-file":
            if topics or all_topics:
                wrong_usage("--from-file says itself which partitions: leave --topic and --all-topics out")
        elif bool(topics) == all_topics:
            wrong_usage("give one scope: --topic TOPIC, --topic TOPIC:0,1 or --all-topics")
        return cls(target=target, value=_parsed(target, value), topics=topics, all_topics=all_topics, execute=execute)

    @property
    def groups_of_file(self) -> list[str]:
        """Those that the file names, if the target is a file."""
        return list(self.value.for_groups) if isinstance(self.value, OffsetFile) else []

    @property
    def needs_commits(self) -> bool:
        """Whether a group that does not exist cannot be meant."""
        return self.all_topics or self.target == "--shift-by"


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupReset:
    """Where a group was and where it goes, or went if it was executed."""

    group_id: str
    before: Mapping[TopicPartition, int]
    after: Mapping[TopicPartition, int]


@dataclass(kw_only=True, slots=True)
class Outcome:
    resets: list[GroupReset] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def print(self, *, as_json: bool, as_csv: bool, several_groups: bool) -> None:
        rows = [
            (reset.group_id, partition.topic, partition.partition, reset.before.get(partition), offset)
            for reset in self.resets
            for partition, offset in sorted(reset.after.items())
        ]
        if as_json:
            names = ("group", "topic", "partition", "current_offset", "new_offset")
            print_json([dict(zip(names, row, strict=True)) for row in rows])
        elif as_csv:
            write_offsets(
                sys.stdout, [(*([group] if several_groups else []), *rest, to) for group, *rest, _, to in rows]
            )
        elif rows:
            print_table(("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "NEW-OFFSET"), rows)


class NothingToReset(CommandFailed):
    """A group to which what was asked does not apply: no failure where all groups are meant."""

    def __init__(self, group_id: str, reason: str, choice: str = "") -> None:
        super().__init__(f"group {group_id!r} was not reset: {reason}{choice}")
        self.remark = f"Skipped group {group_id!r}: {reason}."


def reset(cluster: Cluster, group_ids: Sequence[str], request: ResetRequest, *, all_groups: bool = False) -> Outcome:
    """Plan, and if it is to be executed commit, for each group; one that cannot be reset does not keep the others.

    If `all_groups` are meant, those of which there is nothing to reset are left out, and that is said.
    """
    outcome = Outcome()
    scope = partitions_in(cluster, request.topics) if request.topics else []
    for group_id in group_ids:
        try:
            outcome.resets.append(_reset_group(cluster, group_id, scope, request))
        except NothingToReset as nothing:
            if all_groups:
                say(nothing.remark)
            else:
                outcome.failures.append(str(nothing))
        except CommandFailed as failure:
            outcome.failures.append(str(failure))
    if all_groups:
        _tell_of_strangers(request, group_ids)
    return outcome


def _tell_of_strangers(request: ResetRequest, group_ids: Sequence[str]) -> None:
    for group_id in request.groups_of_file:
        if group_id not in group_ids:
            say(f"Skipped group {group_id!r}: it does not exist. Without --all-groups, those of the file are meant.")


def _reset_group(cluster: Cluster, group_id: str, scope: Sequence[TopicPartition], request: ResetRequest) -> GroupReset:
    group = find_group(cluster, group_id)
    if group is not None:
        _refuse_if_active(group)
        return _plan_and_commit(cluster, group_id, scope, request)
    others = [each.group_id for each in list_groups(cluster)]
    if request.needs_commits:
        raise no_such("group", group_id, others)
    planned = _plan_and_commit(cluster, group_id, scope, request)
    said = "did not exist and was created" if request.execute else "does not exist: --execute creates it"
    say(f"Group {group_id!r} {said}{did_you_mean(group_id, others) or '.'}")
    return planned


def _plan_and_commit(
    cluster: Cluster, group_id: str, scope: Sequence[TopicPartition], request: ResetRequest
) -> GroupReset:
    before = {each: committed.offset for each, committed in committed_offsets(cluster, group_id).items()}
    if request.all_topics:
        scope = list(before)
        if not scope:
            raise NothingToReset(group_id, "it has committed nothing", "; name topics with --topic")
    after = _Planner(cluster, group_id, scope, before).plan(request.target, request.value)
    if request.execute and after:
        _commit(cluster, group_id, after)
    return GroupReset(group_id=group_id, before=before, after=after)


def _refuse_if_active(group: Group) -> None:
    if group.is_active:
        raise CommandFailed(
            f"offsets can only be reset while a group has no members, but {group.group_id!r} is {group.state} "
            f"with {len(group.members)}: stop its consumers first"
        )


def _commit(cluster: Cluster, group_id: str, offsets: Offsets) -> None:
    results = alter_committed_offsets(cluster, group_id, offsets)
    refused = {str(partition): why for partition, why in results.items() if why is not None}
    if any(why.error_code is ErrorCode.UNKNOWN_MEMBER_ID for why in refused.values()):
        raise CommandFailed(f"group {group_id!r} was not reset: a consumer has joined it meanwhile")
    if refused:
        reasons = "; ".join(f"{partition}: {why}" for partition, why in refused.items())
        raise CommandFailed(f"some offsets of group {group_id!r} were not reset: {reasons}")


class _Planner:
    """Where the partitions of the scope go, by Kafka's rules."""

    def __init__(
        self, cluster: Cluster, group_id: str, scope: Sequence[TopicPartition], before: Mapping[TopicPartition, int]
    ) -> None:
        self._cluster = cluster
        self._group_id = group_id
        self._scope = scope
        self._before = before

    def plan(self, target: str, value: Any) -> Offsets:
        match target:
            case "--to-earliest":
                return self._listed(self._scope, EARLIEST)
            case "--to-latest":
                return self._listed(self._scope, LATEST)
            case "--to-current":
                return self._current_or_end()
            case "--to-offset":
                return self._within_range(dict.fromkeys(self._scope, value))
            case "--shift-by":
                return self._shifted(value)
            case "--to-datetime" | "--by-duration":
                return self._at_or_after(value)
            case _:
                return self._from_file(value)

    def _current_or_end(self) -> Offsets:
        ends = self._listed([partition for partition in self._scope if partition not in self._before], LATEST)
        return {
            partition: ends[partition] if partition in ends else self._before[partition] for partition in self._scope
        }

    def _shifted(self, count: int) -> Offsets:
        uncommitted = [str(partition) for partition in self._scope if partition not in self._before]
        if uncommitted:
            raise CommandFailed(
                f"group {self._group_id!r} has no committed offset to shift of {', '.join(uncommitted)}"
            )
        return self._within_range({partition: self._before[partition] + count for partition in self._scope})

    def _at_or_after(self, timestamp: int) -> Offsets:
        try:
            found, late = at_or_after(self._cluster, self._scope, timestamp)
        except OffsetsNotKnown as error:
            raise _not_known(error) from error
        for partition in late:
            say(f"{partition} has no record as late as that: its end is taken.")
        return found

    def _from_file(self, file: OffsetFile) -> Offsets:
        wanted = file.of_group(self._group_id)
        if not wanted:
            hint = did_you_mean(self._group_id, file.for_groups)
            raise NothingToReset(self._group_id, f"--from-file {file.path} says nothing of it", hint)
        partitions_in(self._cluster, [f"{partition.topic}:{partition.partition}" for partition in wanted])
        return self._within_range(wanted)

    def _within_range(self, wanted: Offsets) -> Offsets:
        """An offset that is not there becomes the nearest that is, and that is said."""
        try:
            offsets = fitted(self._cluster, wanted)
        except OffsetsNotKnown as error:
            raise _not_known(error) from error
        for partition, (asked, offset) in offsets.items():
            if asked > offset:
                say(f"{partition}: offset {asked} is higher than the latest, {offset}, which is taken.")
            elif asked < offset:
                say(f"{partition}: offset {asked} is lower than the earliest, {offset}, which is taken.")
        return {partition: offset for partition, (_, offset) in offsets.items()}

    def _listed(self, partitions: Iterable[TopicPartition], timestamp: int) -> Offsets:
        try:
            return offsets_at(self._cluster, partitions, timestamp)
        except OffsetsNotKnown as error:
            raise _not_known(error) from error


def _not_known(error: OffsetsNotKnown) -> CommandFailed:
    return CommandFailed(f"the offsets of {error.partition} are not known: {error}")


def _parsed(target: str, value: Any) -> Any:
    if target == "--to-datetime":
        from stoker.cli.moments import MalformedMoment, parse_moment

        try:
            return max(0, parse_moment(value, _now_ms()))  # below 0 are the protocol's special values
        except MalformedMoment as error:
            wrong_usage(f"--to-datetime: {error}")
    if target == "--by-duration":
        from stoker.cli.durations import parse_duration_ms

        return max(0, _now_ms() - parse_duration_ms(target, value))
    if target == "--from-file":
        return OffsetFile.read(value)
    return value


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
