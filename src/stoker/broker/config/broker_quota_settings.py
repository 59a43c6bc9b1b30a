"""Broker settings of quotas: over how long a rate is measured."""

from stoker.broker.config.setting import CLUSTER_WIDE, LOW, MAX_LONG, MEDIUM, PLANNED, Setting, int32, int64

# A table reads row by row; the formatter would spread each row over a dozen lines.
# fmt: off
BROKER_QUOTA_SETTINGS: tuple[Setting, ...] = (
    int32("alter.log.dirs.replication.quota.window.num", 11,
        "Samples kept for the quota of moves between log directories.", LOW, at_least=1),
    int32("alter.log.dirs.replication.quota.window.size.seconds", 1,
        "Length of a sample for the quota of moves between log directories.", LOW, at_least=1),
    int32("controller.quota.window.num", 11, "Samples kept for the quota of creating and deleting topics.",
        LOW, at_least=1, effect=PLANNED),
    int32("controller.quota.window.size.seconds", 1,
        "Length of a sample for the quota of creating and deleting topics.", LOW, at_least=1, effect=PLANNED),
    int32("quota.window.num", 11, "Samples kept for client quotas.", LOW, at_least=1, effect=PLANNED),
    int32("quota.window.size.seconds", 1, "Length of a sample for client quotas.", LOW, at_least=1, effect=PLANNED),
    int32("replication.quota.window.num", 11, "Samples kept for replication quotas.", LOW, at_least=1),
    int32("replication.quota.window.size.seconds", 1, "Length of a sample for replication quotas.", LOW, at_least=1),
)

DYNAMIC_ONLY_SETTINGS: tuple[Setting, ...] = (
    int64("follower.replication.throttled.rate", MAX_LONG, "Bytes a second that throttled followers may read.",
        MEDIUM, CLUSTER_WIDE, at_least=0),
    int64("leader.replication.throttled.rate", MAX_LONG,
        "Bytes a second that a leader may send to throttled followers.", MEDIUM, CLUSTER_WIDE, at_least=0),
    int64("replica.alter.log.dirs.io.max.bytes.per.second", MAX_LONG,
        "Bytes a second that moves between log directories may use.", MEDIUM, CLUSTER_WIDE, at_least=0),
)
