"""Stoker's own broker settings. All begin with `stoker.`, so that none can ever be mistaken for one of Kafka's."""

from stoker.broker.config.setting import CLUSTER_WIDE, HIGH, HONOURED, Setting, string

# A table reads row by row; the formatter would spread each row over a dozen lines.
# fmt: off
STOKER_SETTINGS: tuple[Setting, ...] = (
    string("stoker.replication.factor.policy", "single",
        "A replication factor above 1 makes one replica and says so (`single`), or is refused as by a one-node Kafka (`refuse`).",
        HIGH, CLUSTER_WIDE, choices=("single", "refuse"), effect=HONOURED),
)
