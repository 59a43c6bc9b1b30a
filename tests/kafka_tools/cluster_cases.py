"""Arguments that Kafka's own tools and ours are given on a cluster. {topics} stands for a file of that name."""

from tests.kafka_tools.comparison import HERE

GROUPS, REASSIGN, ELECTION = "kafka-consumer-groups.sh", "kafka-reassign-partitions.sh", "kafka-leader-election.sh"
QUORUM, FEATURES, CLUSTER, TRANSACTIONS = (
    "kafka-metadata-quorum.sh",
    "kafka-features.sh",
    "kafka-cluster.sh",
    "kafka-transactions.sh",
)
SERVER = ("--bootstrap-server", HERE)
RATE = 50_000_000

_RESET = ("--group", "payments-service", "--reset-offsets")
_OF_ORDERS = (*_RESET, "--topic", "orders")
GROUP_CASES = [
    ("--list",),
    ("--list", "--state"),
    ("--list", "--type", "--state"),
    ("--list", "--state", "nonsense"),
    ("--list", "--type", "classic"),
    ("--describe", "--group", "payments-service"),
    ("--describe", "--all-groups"),
    ("--describe", "--group", "payments-service", "--verbose"),
    ("--describe", "--group", "payments-service", "--members", "--verbose"),
    ("--describe", "--group", "payments-service", "--state", "--verbose"),
    ("--describe", "--group", "nope"),
    (*_OF_ORDERS, "--to-earliest"),
    (*_RESET, "--topic", "orders:0", "--to-offset", "500", "--dry-run"),
    (*_OF_ORDERS, "--to-datetime", "2024-01-15T00:00:00.000", "--dry-run"),
    (*_OF_ORDERS, "--to-datetime", "2036-02-01T00:00:00.000", "--dry-run"),
    (*_OF_ORDERS, "--to-datetime", "2036-02-01", "--dry-run"),
    (*_OF_ORDERS, "--by-duration", "PT1X", "--dry-run"),
    (*_OF_ORDERS, "--by-duration", "PT1H", "--dry-run"),
    (*_RESET, "--topic", "orders:9", "--to-latest", "--dry-run"),
    (*_RESET, "--topic", "nope", "--to-latest", "--dry-run"),
    (*_RESET, "--all-topics", "--to-current", "--dry-run", "--export"),
    (*_RESET, "--all-topics", "--shift-by", "-5", "--dry-run"),
    (*_OF_ORDERS, "--shift-by", "-5", "--dry-run"),
    (*_OF_ORDERS, "--to-offset", "x", "--dry-run"),
    (*_OF_ORDERS, "--dry-run"),
    (*_RESET, "--to-latest", "--dry-run"),
    (*_RESET, "--topic", "orders:2:10000", "--to-offset", "10000", "--execute"),
    ("--reset-offsets",),
    ("--delete", "--group", "nope"),
    ("--delete-offsets", "--group", "shipping", "--topic", "orders:2"),
    ("--delete-offsets", "--group", "nope", "--topic", "orders:2"),
    ("--delete-offsets", "--group", "shipping", "--topic", "nope"),
    ("--members", "--list"),
    ("--describe",),
    ("--list", "--group", "x"),
    ("--list", "--describe", "--all-groups"),
    ("--nonsense",),
    ("--help",),
]
REASSIGN_CASES = [
    (),
    ("--list",),
    ("--generate",),
    ("--list", "--execute"),
    ("--verify",),
    ("--generate", "--topics-to-move-json-file", "{topics}"),
    ("--list", "--throttle", "5"),
    ("--list", "--bootstrap-controller", "localhost:1"),
    ("--nonsense",),
    ("--execute", "--reassignment-json-file", "{same}", "--throttle", "x"),
    *(
        ("--generate", "--topics-to-move-json-file", file, "--broker-list", brokers)
        for file, brokers in [
            ("{no-topics}", "1,2"),
            ("{twice}", "1,2"),
            ("{broken}", "1,2"),
            ("{version}", "1,2"),
            ("{missing}", "1,2"),
            ("{topics}", "1,1"),
            ("{topics}", "1,x"),
            ("{topics}", "1"),
            ("{topics}", "7,8"),
        ]
    ),
    *(
        ("--execute", "--reassignment-json-file", file)
        for file in (
            *("{unknown-broker}", "{unknown-topic}", "{unknown-partition}", "{empty}", "{doubled}"),
            *("{doubled-replica}", "{no-replicas}", "{directories}", "{missing}"),
        )
    ),
    ("--execute", "--reassignment-json-file", "{three}", "--disallow-replication-factor-change"),
    ("--verify", "--reassignment-json-file", "{same}"),
    ("--verify", "--reassignment-json-file", "{elsewhere}", "--preserve-throttles"),
    ("--verify", "--reassignment-json-file", "{unknown-topic}", "--preserve-throttles"),
    ("--cancel", "--reassignment-json-file", "{same}"),
    ("--execute", "--reassignment-json-file", "{same}", "--throttle", str(RATE)),
]
ELECTION_CASES = [
    ("--election-type", "PREFERRED", "--all-topic-partitions"),
    ("--election-type", "preferred", "--topic", "orders", "--partition", "0"),
    ("--election-type", "UNCLEAN", "--topic", "orders", "--partition", "0"),
    ("--election-type", "UNCLEAN", "--topic", "nope", "--partition", "0"),
    ("--election-type", "UNCLEAN", "--topic", "orders"),
    ("--election-type", "UNCLEAN"),
    ("--election-type", "nonsense", "--all-topic-partitions"),
    ("--election-type", "UNCLEAN", "--partition", "0", "--all-topic-partitions"),
    ("--election-type", "PREFERRED", "--path-to-json-file", "{missing}"),
    ("--election-type", "PREFERRED", "--path-to-json-file", "{topics}"),
    ("--election-type", "PREFERRED", "--path-to-json-file", "{doubled}"),
    ("--all-topic-partitions",),
    ("--help",),
]
OTHER_CASES = [
    (QUORUM, *SERVER, "describe", "--status"),
    (QUORUM, *SERVER, "describe"),
    (QUORUM, *SERVER, "describe", "--status", "--replication"),
    (QUORUM, *SERVER, "describe", "--status", "--human-readable"),
    (QUORUM, *SERVER, "nonsense"),
    (QUORUM, "describe", "--status"),
    (FEATURES, *SERVER, "describe"),
    (FEATURES, *SERVER, "upgrade", "--feature", "metadata.version=30", "--dry-run"),
    (FEATURES, *SERVER, "upgrade", "--feature", "metadata.version=31"),
    (FEATURES, *SERVER, "upgrade", "--feature", "group.version=9", "--dry-run"),
    (FEATURES, *SERVER, "downgrade", "--metadata", "3.3-IV3", "--dry-run"),
    (FEATURES, *SERVER, "disable", "--feature", "share.version", "--dry-run"),
    (FEATURES, *SERVER, "upgrade"),
    (FEATURES, "describe"),
    (CLUSTER, "cluster-id", "-b", HERE),
    (CLUSTER, "list-endpoints", "-b", HERE),
    (CLUSTER, "list-endpoints", "-b", HERE, "--include-fenced-brokers"),
    (CLUSTER, "unregister", "-b", HERE, "--id", "77"),
    (TRANSACTIONS, *SERVER, "list"),
    (TRANSACTIONS, *SERVER, "describe", "--transactional-id", "nope"),
    (TRANSACTIONS, *SERVER, "describe-producers", "--topic", "orders", "--partition", "0"),
    (TRANSACTIONS, *SERVER, "abort", "--topic", "orders", "--partition", "0"),
    (TRANSACTIONS, *SERVER, "abort", "--topic", "orders", "--partition", "0", "--start-offset", "3"),
    (TRANSACTIONS, *SERVER, "find-hanging"),
    (TRANSACTIONS, *SERVER, "find-hanging", "--broker-id", "1"),
    (TRANSACTIONS, *SERVER, "list", "--duration-filter", "x"),
    (TRANSACTIONS, *SERVER, "nonsense"),
]
CASES = [
    *((GROUPS, *SERVER, *case) for case in GROUP_CASES),
    *((REASSIGN, *SERVER, *case) for case in REASSIGN_CASES),
    *((ELECTION, *SERVER, *case) for case in ELECTION_CASES),
    *OTHER_CASES,
]
