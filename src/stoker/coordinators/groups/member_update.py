"""What becomes of a KIP-848 group when a member joins or says something new: records, and the member's next state."""

from functools import cached_property
from logging import getLogger

from stoker.coordinators.groups.assignors import Assignment
from stoker.coordinators.groups.consumer_group import (
    ConsumerGroup,
    ResolvedPattern,
    subscribed_topics,
    topics_of,
)
from stoker.coordinators.groups.consumer_member import ConsumerMember
from stoker.coordinators.groups.consumer_records import (
    group_epoch_record,
    partition_metadata_tombstone,
    pattern_record,
    pattern_tombstone,
)
from stoker.coordinators.groups.context import ConsumerGroupSettings, GroupContext
from stoker.coordinators.groups.reconciliation import Target, reconcile
from stoker.coordinators.groups.refusal import RequestRefused
from stoker.coordinators.groups.subscription_patterns import (
    InvalidRegularExpression,
    compile_pattern,
    matching_topics,
)
from stoker.coordinators.groups.target_assignment import (
    assign,
    may_compute_target,
    metadata_hash,
    preferred_assignor,
    target_records,
)
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupRecord
from stoker.wire.messages.consumer_group_heartbeat import TopicPartitions

logger = getLogger("stoker.groups")


_MATCHES_PER_HEARTBEAT = 20_000
"""How many names of topics one heartbeat matches with patterns that are not its own; that takes about 0.1 s."""


class MemberUpdate:
    """One pass over a group that itself stays as it is until the records are replayed.

    The steps are called in the order in which they stand here; each builds on those before it.
    """

    def __init__(
        self, context: GroupContext, group: ConsumerGroup, records: list[GroupRecord], member: ConsumerMember
    ) -> None:
        self._context = context
        self._group = group
        self._records = records
        self._old = member
        self.member = member
        self.group_epoch = group.group_epoch
        self._patterns = group.patterns
        self._subscription_changed = False
        self._target_epoch = group.assignment_epoch
        self._target: Assignment = {}

    def change_member(self, member: ConsumerMember) -> None:
        """`member` is the same as before, or what a request made of it."""
        if member is self._old:
            return
        self.member = member
        self._records.append(member.metadata_record(self._group.group_id))
        self._subscription_changed = (
            member.subscribed_topic_names != self._old.subscribed_topic_names
            or member.subscribed_topic_regex != self._old.subscribed_topic_regex
        )

    def refresh_topics(self) -> None:
        """Resolve patterns where that is due; a new subscription, or other topics behind an old one, makes an epoch."""
        topics, group = self._context.topics, self._group
        topics_changed = group.must_check_topics(topics.version)
        pattern_changed = self._refresh_patterns()
        if not (self._subscription_changed or pattern_changed or topics_changed):
            return
        topics_hash = metadata_hash(subscribed_topics(self._members.values(), self._patterns), topics)
        if self._subscription_changed or pattern_changed or topics_hash != group.metadata_hash:
            self.group_epoch = group.group_epoch + 1
            self._records.append(group_epoch_record(group.group_id, self.group_epoch, topics_hash))
            logger.info(
                "group %.200r goes to epoch %d: %s", group.group_id, self.group_epoch, self._why(pattern_changed)
            )
        group.checked_topics(topics.version, self.group_epoch)
        if group.has_partition_metadata_record:
            self._records.append(partition_metadata_tombstone(group.group_id))

    def _why(self, pattern_changed: bool) -> str:
        if self._subscription_changed:
            return f"member {self.member.member_id:.200} joins or subscribes anew"
        return "a pattern matches other topics" if pattern_changed else "the topics it reads have changed"

    def refresh_target(self, settings: ConsumerGroupSettings) -> None:
        """A new target if the epoch has risen and the last target is old enough; else a later heartbeat brings it."""
        group, now = self._group, self._context.wall_clock()
        if self.group_epoch <= group.assignment_epoch or not may_compute_target(
            group, settings.assignment_interval_ms, now
        ):
            self._target = group.target_of(self.member.member_id, self.member.instance_id)
            return
        assignor = preferred_assignor(self._members.values(), self._context.settings.consumer_assignors)
        target = assign(group, self._members, self._patterns, self._context.topics, assignor)
        self._records += target_records(group, target, self.group_epoch, now)
        self._target = target[self.member.member_id]
        self._target_epoch = self.group_epoch

    def reconcile(self, reported: list[TopicPartitions] | None) -> bool:
        """One step towards the target. Whether that changed where the member stands."""
        if not self._subscription_changed and self.member.is_reconciled_to(self._target_epoch):
            return False
        topic_ids = {self._context.topics.topic_id(name) for name in topics_of(self.member, self._patterns)}
        moved = reconcile(
            self.member,
            Target(
                epoch=self._target_epoch,
                assignment=self._target,
                topics={topic_id for topic_id in topic_ids if topic_id is not None},
            ),
            reported=reported,
            owner_of=self._group.owner_of,
            subscription_changed=self._subscription_changed,
        )
        if moved == self.member:
            return False
        self.member = moved
        self._records.append(moved.assignment_record(self._group.group_id))
        return True

    @cached_property
    def _members(self) -> dict[str, ConsumerMember]:
        """The members as they will be: with this one, and without the one whose instance id it takes."""
        members = dict(self._group.members)
        if self.member.instance_id is not None:
            members.pop(self._group.static_members.get(self.member.instance_id, ""), None)
        members[self.member.member_id] = self.member
        return members

    def _refresh_patterns(self) -> bool:
        """Whether some pattern matches other topics than before.

        RE2 takes linear time, so that patterns are resolved here, where Kafka leaves it to another thread: the member's
        own at once, of those that others brought not more than a heartbeat has time for.
        """
        known, own, version = self._group.patterns, self.member.subscribed_topic_regex, self._context.topics.version
        now, interval_ms = self._context.wall_clock(), self._context.settings.consumer_regex_refresh_interval_ms
        overdue = {text for text, pattern in known.items() if now > pattern.timestamp_ms + interval_ms}
        outdated = overdue | {text for text in known if not self._group.is_resolved(text, version)}
        if own and own not in known:
            outdated.add(own)
        if not self._subscription_changed and not outdated:
            return False
        wanted = {member.subscribed_topic_regex for member in self._members.values()} - {""}
        self._patterns = {text: pattern for text, pattern in known.items() if text in wanted}
        changed = False
        for text in sorted(wanted & outdated, key=lambda text: (text != own, text))[: self._patterns_at_once]:
            changed |= self._refresh_pattern(text, text in overdue)
        self._records += [pattern_tombstone(self._group.group_id, text) for text in sorted(known.keys() - wanted)]
        return changed

    @property
    def _patterns_at_once(self) -> int:
        return max(_MATCHES_PER_HEARTBEAT // max(len(self._context.topics.names()), 1), 1)

    def _refresh_pattern(self, text: str, is_overdue: bool) -> bool:
        """Whether it matches other topics than before."""
        old, new = self._group.patterns.get(text), self._resolve(text)
        self._patterns[text] = new
        if old is not None and old.topics == new.topics and not is_overdue:
            self._group.resolved(text, new.version)
            return False
        self._records.append(pattern_record(self._group.group_id, text, new.topics, new.version, new.timestamp_ms))
        return old is not None and old.topics != new.topics

    def _resolve(self, text: str) -> ResolvedPattern:
        topics = self._context.topics
        try:
            pattern = compile_pattern(text)
        except InvalidRegularExpression as invalid:
            if text == self.member.subscribed_topic_regex:
                raise RequestRefused(ErrorCode.INVALID_REGULAR_EXPRESSION, str(invalid)) from None
            matching = self._group.patterns[
                text
            ].topics  # it was written by a Kafka that took it; others cannot help it
        else:
            matching = frozenset(matching_topics(pattern, topics.names()))
        return ResolvedPattern(matching, topics.version, self._context.wall_clock())
