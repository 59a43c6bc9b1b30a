"""For every API of the table and every version of it, a request that an honest client might send."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from stoker.broker.apis.table import APIS, Api
from stoker.wire.messages import alter_configs, describe_topic_partitions, incremental_alter_configs
from stoker.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from stoker.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from stoker.wire.messages.alter_configs import AlterConfigsRequest
from stoker.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from stoker.wire.messages.api_versions import ApiVersionsRequest
from stoker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from stoker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from stoker.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from stoker.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from stoker.wire.messages.delete_groups import DeleteGroupsRequest
from stoker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from stoker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from stoker.wire.messages.describe_cluster import DescribeClusterRequest
from stoker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from stoker.wire.messages.describe_groups import DescribeGroupsRequest
from stoker.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from stoker.wire.messages.describe_producers import DescribeProducersRequest
from stoker.wire.messages.describe_producers import TopicRequest as ProducersOfTopic
from stoker.wire.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from stoker.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from stoker.wire.messages.describe_transactions import DescribeTransactionsRequest
from stoker.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from stoker.wire.messages.end_txn import EndTxnRequest
from stoker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest
from stoker.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from stoker.wire.messages.heartbeat import HeartbeatRequest
from stoker.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from stoker.wire.messages.init_producer_id import InitProducerIdRequest
from stoker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stoker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from stoker.wire.messages.list_groups import ListGroupsRequest
from stoker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stoker.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from stoker.wire.messages.list_transactions import ListTransactionsRequest
from stoker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from stoker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stoker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from stoker.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from stoker.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from stoker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stoker.wire.messages.push_telemetry import PushTelemetryRequest
from stoker.wire.messages.sync_group import SyncGroupRequest
from stoker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from stoker.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from stoker.wire.schema import Request
from tests.raw_connection import batch_of

_TOPIC = 2
_BROKER = 4
_INSTANCE = UUID("6a9f7d6e-3f0a-4a37-9a3e-2f6c1f1d0b11")


@dataclass(frozen=True, kw_only=True)
class Target:
    """What requests are about: a topic that is there, one that may be made and removed, and the broker's number."""

    topic: str
    topic_id: UUID
    spare_topic: str
    node_id: int = 1


def sensible_requests(target: Target) -> Iterator[tuple[Api, int, Request]]:
    """In the order of the table. What is made is small: a spare topic of two partitions, grown by one, then removed."""
    for api in APIS.values():
        for version in range(api.min_version, api.max_version + 1):
            for request in _REQUESTS[api.name](target, version):
                yield api, version, request


def _produce(target: Target, version: int) -> Iterator[Request]:
    named = {"topic_id": target.topic_id} if version >= 13 else {"name": target.topic}
    for codec in range(5 if version >= 7 else 4):
        data = PartitionProduceData(index=0, records=batch_of(b"first", b"second" * 20, codec=codec))
        yield ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(**named, partition_data=[data])])


def _fetch(target: Target, version: int) -> Iterator[Request]:
    named = {"topic_id": target.topic_id} if version >= 13 else {"topic": target.topic}
    wanted = [FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=100_000) for index in (0, 1)]
    for session_epoch in (-1, 0):
        yield FetchRequest(
            max_wait_ms=10,
            min_bytes=1,
            max_bytes=1_000_000,
            session_epoch=session_epoch,
            topics=[FetchTopic(**named, partitions=wanted)],
        )


def _list_offsets(target: Target, version: int) -> Iterator[Request]:
    for timestamp in (-1, -2, 1_700_000_000_000):
        asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        yield ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=target.topic, partitions=[asked])])


def _find_coordinator(target: Target, version: int) -> Iterator[Request]:
    if version < 4:
        yield FindCoordinatorRequest(key="orders-group")
    else:
        yield FindCoordinatorRequest(coordinator_keys=["orders-group", "payments-group"])
    if version >= 1:
        several = {"coordinator_keys": ["orders-1"]} if version >= 4 else {"key": "orders-1"}
        yield FindCoordinatorRequest(key_type=1, **several)


def _join_group(target: Target, version: int) -> Iterator[Request]:
    yield JoinGroupRequest(
        group_id=f"joined-by-version-{version}",  # one of its own: in another's, others would be waited for
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0\xff\xff\xff\xff")],
    )


def _sync_group(target: Target, version: int) -> Iterator[Request]:
    yield SyncGroupRequest(
        group_id="no-members-yet",
        generation_id=1,
        member_id="nobody",
        protocol_type="consumer",
        protocol_name="range",
    )


def _heartbeat(target: Target, version: int) -> Iterator[Request]:
    yield HeartbeatRequest(group_id="no-members-yet", generation_id=1, member_id="nobody")


def _leave_group(target: Target, version: int) -> Iterator[Request]:
    leaving = {"members": [MemberIdentity(member_id="nobody")]} if version >= 3 else {"member_id": "nobody"}
    yield LeaveGroupRequest(group_id="no-members-yet", **leaving)


def _offset_commit(target: Target, version: int) -> Iterator[Request]:
    named = {"topic_id": target.topic_id} if version >= 10 else {"name": target.topic}
    committed = OffsetCommitRequestPartition(partition_index=0, committed_offset=7, committed_metadata="so far")
    yield OffsetCommitRequest(group_id="simple", topics=[OffsetCommitRequestTopic(**named, partitions=[committed])])


def _offset_fetch(target: Target, version: int) -> Iterator[Request]:
    if version < 8:
        yield OffsetFetchRequest(
            group_id="simple", topics=[OffsetFetchRequestTopic(name=target.topic, partition_indexes=[0, 1])]
        )
        if version >= 2:
            yield OffsetFetchRequest(group_id="simple", topics=None)
        return
    named = {"topic_id": target.topic_id} if version >= 10 else {"name": target.topic}
    some = [OffsetFetchRequestTopics(**named, partition_indexes=[0, 1])]
    yield OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(group_id="simple", topics=some),
            OffsetFetchRequestGroup(group_id="unheard-of", topics=None),
        ]
    )


def _offset_delete(target: Target, version: int) -> Iterator[Request]:
    yield OffsetDeleteRequest(
        group_id="simple",
        topics=[OffsetDeleteRequestTopic(name=target.topic, partitions=[OffsetDeleteRequestPartition()])],
    )


def _describe_groups(target: Target, version: int) -> Iterator[Request]:
    yield DescribeGroupsRequest(groups=["simple", "unheard-of"], include_authorized_operations=version >= 3)


def _list_groups(target: Target, version: int) -> Iterator[Request]:
    yield ListGroupsRequest()
    if version >= 5:
        yield ListGroupsRequest(states_filter=["Empty"], types_filter=["classic"])


def _delete_groups(target: Target, version: int) -> Iterator[Request]:
    yield DeleteGroupsRequest(groups_names=["unheard-of"])


def _consumer_group_heartbeat(target: Target, version: int) -> Iterator[Request]:
    joining = ConsumerGroupHeartbeatRequest(
        group_id="modern",
        member_id=str(_INSTANCE),
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=[target.topic],
        topic_partitions=[],
    )
    yield joining
    yield ConsumerGroupHeartbeatRequest(group_id="modern", member_id=str(_INSTANCE), member_epoch=-1)


def _consumer_group_describe(target: Target, version: int) -> Iterator[Request]:
    yield ConsumerGroupDescribeRequest(group_ids=["modern"], include_authorized_operations=True)


def _metadata(target: Target, version: int) -> Iterator[Request]:
    yield MetadataRequest(topics=[MetadataRequestTopic(name=target.topic)])
    yield MetadataRequest(topics=[] if version == 0 else None)
    if version >= 12:
        yield MetadataRequest(topics=[MetadataRequestTopic(topic_id=target.topic_id, name=None)])


def _api_versions(target: Target, version: int) -> Iterator[Request]:
    yield ApiVersionsRequest(client_software_name="stoker-tests", client_software_version="1.0")


def _create_topics(target: Target, version: int) -> Iterator[Request]:
    assignments = [CreatableReplicaAssignment(partition_index=index, broker_ids=[target.node_id]) for index in (0, 1)]
    configs = [CreatableTopicConfig(name="retention.ms", value="60000")]
    yield CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=target.spare_topic,
                num_partitions=-1,
                replication_factor=-1,
                assignments=assignments,
                configs=configs,
            )
        ]
    )
    # By a number only to be validated: another number than this one could be a very large one.
    yield CreateTopicsRequest(
        topics=[CreatableTopic(name=f"{target.spare_topic}.new", num_partitions=3, replication_factor=1)],
        validate_only=True,
    )


def _delete_topics(target: Target, version: int) -> Iterator[Request]:
    if version >= 6:
        yield DeleteTopicsRequest(topics=[DeleteTopicState(name=target.spare_topic)], timeout_ms=1000)
    else:
        yield DeleteTopicsRequest(topic_names=[target.spare_topic], timeout_ms=1000)


def _delete_records(target: Target, version: int) -> Iterator[Request]:
    asked = DeleteRecordsPartition(partition_index=0, offset=1)
    yield DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=target.topic, partitions=[asked])], timeout_ms=1000)


def _init_producer_id(target: Target, version: int) -> Iterator[Request]:
    yield InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    yield InitProducerIdRequest(transactional_id=f"initialised-by-version-{version}", transaction_timeout_ms=60_000)


_PRODUCER: dict[str, Any] = {"transactional_id": "orders-1", "producer_id": 7, "producer_epoch": 0}


def _add_partitions_to_txn(target: Target, version: int) -> Iterator[Request]:
    topics = [AddPartitionsToTxnTopic(name=target.topic, partitions=[0, 1])]
    if version < 4:
        yield AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="orders-1",
            v3_and_below_producer_id=7,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=topics,
        )
    else:
        for verify_only in (False, True):
            transaction = AddPartitionsToTxnTransaction(**_PRODUCER, verify_only=verify_only, topics=topics)
            yield AddPartitionsToTxnRequest(transactions=[transaction])


def _add_offsets_to_txn(target: Target, version: int) -> Iterator[Request]:
    yield AddOffsetsToTxnRequest(**_PRODUCER, group_id="orders-group")


def _end_txn(target: Target, version: int) -> Iterator[Request]:
    for committed in (True, False):
        yield EndTxnRequest(**_PRODUCER, committed=committed)


def _write_txn_markers(target: Target, version: int) -> Iterator[Request]:
    topic = WritableTxnMarkerTopic(name=target.topic, partition_indexes=[0, 1])
    marker = WritableTxnMarker(producer_id=7_000, producer_epoch=0, transaction_result=False, topics=[topic])
    yield WriteTxnMarkersRequest(markers=[marker])


def _txn_offset_commit(target: Target, version: int) -> Iterator[Request]:
    partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="")
    topic = TxnOffsetCommitRequestTopic(name=target.topic, partitions=[partition])
    yield TxnOffsetCommitRequest(**_PRODUCER, group_id="orders-group", topics=[topic])


def _describe_transactions(target: Target, version: int) -> Iterator[Request]:
    yield DescribeTransactionsRequest(transactional_ids=["orders-1", "orders-2"])


def _list_transactions(target: Target, version: int) -> Iterator[Request]:
    yield ListTransactionsRequest()
    yield ListTransactionsRequest(state_filters=["Ongoing", "CompleteCommit"], producer_id_filters=[7])
    if version >= 2:
        yield ListTransactionsRequest(duration_filter=1000, transactional_id_pattern="orders-.*")


def _offset_for_leader_epoch(target: Target, version: int) -> Iterator[Request]:
    asked = OffsetForLeaderPartition(partition=0, leader_epoch=0)
    yield OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=target.topic, partitions=[asked])])


def _describe_configs(target: Target, version: int) -> Iterator[Request]:
    for kind, name in ((_TOPIC, target.topic), (_BROKER, str(target.node_id))):
        yield DescribeConfigsRequest(
            resources=[DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)],
            include_synonyms=True,
        )


def _alter_configs(target: Target, version: int) -> Iterator[Request]:
    config = alter_configs.AlterableConfig(name="segment.bytes", value="2000000")
    resource = alter_configs.AlterConfigsResource(resource_type=_TOPIC, resource_name=target.topic, configs=[config])
    yield AlterConfigsRequest(resources=[resource])


def _incremental_alter_configs(target: Target, version: int) -> Iterator[Request]:
    for kind, name, setting, value in (
        (_TOPIC, target.topic, "retention.ms", "86400000"),
        (_BROKER, str(target.node_id), "log.cleaner.threads", "1"),
    ):
        config = incremental_alter_configs.AlterableConfig(name=setting, config_operation=0, value=value)
        resource = incremental_alter_configs.AlterConfigsResource(
            resource_type=kind, resource_name=name, configs=[config]
        )
        yield IncrementalAlterConfigsRequest(resources=[resource])


def _describe_log_dirs(target: Target, version: int) -> Iterator[Request]:
    yield DescribeLogDirsRequest(topics=None)
    yield DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic=target.topic, partitions=[0])])


def _create_partitions(target: Target, version: int) -> Iterator[Request]:
    grown = CreatePartitionsTopic(
        name=target.spare_topic, count=3, assignments=[CreatePartitionsAssignment(broker_ids=[target.node_id])]
    )
    yield CreatePartitionsRequest(topics=[grown], timeout_ms=1000)
    yield CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=target.topic, count=5, assignments=None)],
        timeout_ms=1000,
        validate_only=True,
    )


def _elect_leaders(target: Target, version: int) -> Iterator[Request]:
    yield ElectLeadersRequest(topic_partitions=[TopicPartitions(topic=target.topic, partitions=[0])])
    yield ElectLeadersRequest(topic_partitions=None)


def _alter_partition_reassignments(target: Target, version: int) -> Iterator[Request]:
    asked = ReassignablePartition(partition_index=0, replicas=[target.node_id])
    yield AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name=target.topic, partitions=[asked])])


def _list_partition_reassignments(target: Target, version: int) -> Iterator[Request]:
    yield ListPartitionReassignmentsRequest()


def _describe_quorum(target: Target, version: int) -> Iterator[Request]:
    asked = PartitionData(partition_index=0)
    yield DescribeQuorumRequest(topics=[TopicData(topic_name="__cluster_metadata", partitions=[asked])])


def _describe_cluster(target: Target, version: int) -> Iterator[Request]:
    yield DescribeClusterRequest(include_cluster_authorized_operations=True)


def _describe_producers(target: Target, version: int) -> Iterator[Request]:
    yield DescribeProducersRequest(topics=[ProducersOfTopic(name=target.topic, partition_indexes=[0])])


def _get_telemetry_subscriptions(target: Target, version: int) -> Iterator[Request]:
    yield GetTelemetrySubscriptionsRequest(client_instance_id=_INSTANCE)


def _push_telemetry(target: Target, version: int) -> Iterator[Request]:
    yield PushTelemetryRequest(client_instance_id=_INSTANCE, metrics=b"")


def _describe_topic_partitions(target: Target, version: int) -> Iterator[Request]:
    yield DescribeTopicPartitionsRequest(
        topics=[describe_topic_partitions.TopicRequest(name=target.topic)],
        cursor=describe_topic_partitions.Cursor(topic_name=target.topic, partition_index=1),
    )
    yield DescribeTopicPartitionsRequest(response_partition_limit=1)


_REQUESTS: dict[str, Callable[[Target, int], Iterator[Request]]] = {
    "Produce": _produce,
    "Fetch": _fetch,
    "ListOffsets": _list_offsets,
    "OffsetCommit": _offset_commit,
    "OffsetFetch": _offset_fetch,
    "FindCoordinator": _find_coordinator,
    "JoinGroup": _join_group,
    "Heartbeat": _heartbeat,
    "LeaveGroup": _leave_group,
    "SyncGroup": _sync_group,
    "DescribeGroups": _describe_groups,
    "ListGroups": _list_groups,
    "DeleteGroups": _delete_groups,
    "OffsetDelete": _offset_delete,
    "ConsumerGroupHeartbeat": _consumer_group_heartbeat,
    "ConsumerGroupDescribe": _consumer_group_describe,
    "Metadata": _metadata,
    "ApiVersions": _api_versions,
    "CreateTopics": _create_topics,
    "DeleteTopics": _delete_topics,
    "DeleteRecords": _delete_records,
    "InitProducerId": _init_producer_id,
    "AddPartitionsToTxn": _add_partitions_to_txn,
    "AddOffsetsToTxn": _add_offsets_to_txn,
    "EndTxn": _end_txn,
    "WriteTxnMarkers": _write_txn_markers,
    "TxnOffsetCommit": _txn_offset_commit,
    "DescribeTransactions": _describe_transactions,
    "ListTransactions": _list_transactions,
    "OffsetForLeaderEpoch": _offset_for_leader_epoch,
    "DescribeConfigs": _describe_configs,
    "AlterConfigs": _alter_configs,
    "IncrementalAlterConfigs": _incremental_alter_configs,
    "DescribeLogDirs": _describe_log_dirs,
    "CreatePartitions": _create_partitions,
    "ElectLeaders": _elect_leaders,
    "AlterPartitionReassignments": _alter_partition_reassignments,
    "ListPartitionReassignments": _list_partition_reassignments,
    "DescribeQuorum": _describe_quorum,
    "DescribeCluster": _describe_cluster,
    "DescribeProducers": _describe_producers,
    "GetTelemetrySubscriptions": _get_telemetry_subscriptions,
    "PushTelemetry": _push_telemetry,
    "DescribeTopicPartitions": _describe_topic_partitions,
}
