"""Every API this broker serves: key, name, versions. Dispatch, ApiVersions and docs/compatibility.md read this table.

A handler is a module of this package with `decode(view, position, version)` and `handle(node, context, request)`;
it is imported when its first request comes, because a broker must answer its first client within 0.3 s of its start.
"""

from collections.abc import Coroutine
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from stoker.broker.reply import Deferred, Reply

if TYPE_CHECKING:
    from stoker.broker.node import Node
    from stoker.broker.request import RequestContext


class Handler(Protocol):
    """What a module of this package is to the dispatcher."""

    def decode(self, view: memoryview, position: int, version: int, /) -> Any: ...

    def handle(
        self, node: "Node", context: "RequestContext", request: Any, /
    ) -> Reply | Deferred | Coroutine[Any, Any, Reply | Deferred]: ...


@dataclass(frozen=True)
class Api:
    key: int
    name: str
    min_version: int
    max_version: int
    module: str
    advertised_min_version: int | None = None
    """What ApiVersions tells when it differs from what is served."""

    @cached_property
    def handler(self) -> Handler:
        return cast(Handler, import_module(f"{__package__}.{self.module}"))


API_VERSIONS: Final = 18

# Produce is advertised from 0 though 0 to 2 are refused: older librdkafka stops compressing otherwise (KAFKA-18659).
_TABLE: Final = (
    Api(0, "Produce", 3, 13, "produce", advertised_min_version=0),
    Api(1, "Fetch", 4, 18, "fetch"),
    Api(2, "ListOffsets", 1, 10, "list_offsets"),
    Api(3, "Metadata", 0, 13, "metadata"),
    Api(8, "OffsetCommit", 2, 10, "offset_commit"),
    Api(9, "OffsetFetch", 1, 10, "offset_fetch"),
    Api(10, "FindCoordinator", 0, 6, "find_coordinator"),
    Api(11, "JoinGroup", 0, 9, "join_group"),
    Api(12, "Heartbeat", 0, 4, "heartbeat"),
    Api(13, "LeaveGroup", 0, 5, "leave_group"),
    Api(14, "SyncGroup", 0, 5, "sync_group"),
    Api(15, "DescribeGroups", 0, 6, "describe_groups"),
    Api(16, "ListGroups", 0, 5, "list_groups"),
    Api(API_VERSIONS, "ApiVersions", 0, 4, "api_versions"),
    Api(19, "CreateTopics", 2, 7, "create_topics"),
    Api(20, "DeleteTopics", 1, 6, "delete_topics"),
    Api(21, "DeleteRecords", 0, 2, "delete_records"),
    Api(22, "InitProducerId", 0, 5, "init_producer_id"),
    Api(23, "OffsetForLeaderEpoch", 2, 4, "offset_for_leader_epoch"),
    Api(24, "AddPartitionsToTxn", 0, 5, "add_partitions_to_txn"),
    Api(25, "AddOffsetsToTxn", 0, 4, "add_offsets_to_txn"),
    Api(26, "EndTxn", 0, 5, "end_txn"),
    Api(27, "WriteTxnMarkers", 1, 2, "write_txn_markers"),
    Api(28, "TxnOffsetCommit", 0, 5, "txn_offset_commit"),
    Api(32, "DescribeConfigs", 1, 4, "describe_configs"),
    Api(33, "AlterConfigs", 0, 2, "alter_configs"),
    Api(35, "DescribeLogDirs", 1, 4, "describe_log_dirs"),
    Api(37, "CreatePartitions", 0, 3, "create_partitions"),
    Api(42, "DeleteGroups", 0, 2, "delete_groups"),
    Api(43, "ElectLeaders", 0, 2, "elect_leaders"),
    Api(44, "IncrementalAlterConfigs", 0, 1, "incremental_alter_configs"),
    Api(45, "AlterPartitionReassignments", 0, 1, "alter_partition_reassignments"),
    Api(46, "ListPartitionReassignments", 0, 0, "list_partition_reassignments"),
    Api(47, "OffsetDelete", 0, 0, "offset_delete"),
    Api(55, "DescribeQuorum", 0, 2, "describe_quorum"),
    Api(60, "DescribeCluster", 0, 2, "describe_cluster"),
    Api(61, "DescribeProducers", 0, 0, "describe_producers"),
    Api(65, "DescribeTransactions", 0, 0, "describe_transactions"),
    Api(66, "ListTransactions", 0, 2, "list_transactions"),
    Api(68, "ConsumerGroupHeartbeat", 0, 1, "consumer_group_heartbeat"),
    Api(69, "ConsumerGroupDescribe", 0, 1, "consumer_group_describe"),
    Api(71, "GetTelemetrySubscriptions", 0, 0, "get_telemetry_subscriptions"),
    Api(72, "PushTelemetry", 0, 0, "push_telemetry"),
    Api(75, "DescribeTopicPartitions", 0, 0, "describe_topic_partitions"),
)

APIS: Final = {api.key: api for api in _TABLE}
