"""What is written when members leave a KIP-848 group."""

from stoker.coordinators.groups.consumer_group import ConsumerGroup, subscribed_topics
from stoker.coordinators.groups.consumer_member import ConsumerMember
from stoker.coordinators.groups.consumer_records import group_epoch_record, member_tombstones, pattern_tombstone
from stoker.coordinators.groups.context import Topics
from stoker.coordinators.groups.target_assignment import metadata_hash
from stoker.wire.group_records import GroupRecord


def departure_records(group: ConsumerGroup, staying: list[ConsumerMember], topics: Topics) -> list[GroupRecord]:
    """Without the others, and at the next epoch: whoever stays gets a new target with its next heartbeat."""
    leaving = group.members.keys() - {member.member_id for member in staying}
    records = [record for member_id in sorted(leaving) for record in member_tombstones(group.group_id, member_id)]
    unused = group.patterns.keys() - {member.subscribed_topic_regex for member in staying}
    records += [pattern_tombstone(group.group_id, text) for text in sorted(unused)]
    patterns = {text: pattern for text, pattern in group.patterns.items() if text not in unused}
    topics_hash = metadata_hash(subscribed_topics(staying, patterns), topics)
    records.append(group_epoch_record(group.group_id, group.group_epoch + 1, topics_hash))
    return records
