"""TxnOffsetCommit (key 28), versions 0 to 5: store how far a group has read, as part of a transaction.

The offsets count when the transaction is committed. The group's partition of `__consumer_offsets` must be in the
transaction: up to version 4 by AddOffsetsToTxn, from 5 on this request adds it (KIP-890). From 3 on a producer says for
which member it commits, and one that is no longer of the group is refused.
"""

from collections.abc import Coroutine
from typing import Any, Final

from stoker.broker.node import Node
from stoker.broker.reply import Deferred
from stoker.broker.request import RequestContext
from stoker.coordinators.groups.offsets import CommitErrors
from stoker.coordinators.result import Result
from stoker.coordinators.transactions.transaction import V2
from stoker.wire.commit_hot_path import CommitCall, CommittedTopic
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from stoker.wire.record_batch import TransactionalProducer
from stoker.wire.schema import ZERO_UUID
from stoker.wire.topic_commits import TopicCommits

decode = TxnOffsetCommitRequest.decode

_FIRST_THAT_KNOWS_LOADING: Final = 2
_FIRST_WITH_ABORTABLE: Final = 4
_FIRST_THAT_ADDS: Final = 5
_AS_OFFSET_COMMIT: Final = 8
"""The version of OffsetCommit that names topics and tells of members as this request does."""
_AS_TOLD: Final = {
    ErrorCode.STALE_MEMBER_EPOCH: ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH,
}

_Reply = TxnOffsetCommitResponse | Deferred


def handle(
    node: Node, context: RequestContext, request: TxnOffsetCommitRequest
) -> _Reply | Coroutine[Any, Any, _Reply]:
    version = context.api_version
    error = node.groups.unavailable(request.group_id) if request.group_id else ErrorCode.INVALID_GROUP_ID
    if error is not ErrorCode.NONE:
        return _refused(request, error, version)
    partition = node.groups.partition_of(request.group_id)
    of_group = (partition.topic, partition.index)
    producer = (request.transactional_id, request.producer_id, request.producer_epoch)
    if version >= _FIRST_THAT_ADDS:
        added = node.transactions.add_partitions(*producer, frozenset([of_group]), V2)
        if isinstance(added, Coroutine):
            return _commit_when_added(node, request, version, added)
        error = added
    elif node.transactions.verifies:
        error = node.transactions.verify_partition(*producer, of_group)
        if error is ErrorCode.TRANSACTION_ABORTABLE and version < _FIRST_WITH_ABORTABLE:
            error = ErrorCode.INVALID_TXN_STATE
    return _commit(node, request, version) if error is ErrorCode.NONE else _refused(request, error, version)


async def _commit_when_added(
    node: Node, request: TxnOffsetCommitRequest, version: int, added: Coroutine[Any, Any, ErrorCode]
) -> _Reply:
    error = await added
    if error is not ErrorCode.NONE:
        return _refused(request, error, version)
    reply = _commit(node, request, version)
    return await reply if isinstance(reply, Coroutine) else reply


def _commit(node: Node, request: TxnOffsetCommitRequest, version: int) -> _Reply | Coroutine[Any, Any, _Reply]:
    coordinator = node.groups.coordinator
    call = CommitCall(
        request.group_id,
        request.generation_id,
        request.member_id,
        request.group_instance_id,
        -1,
        [_columns(topic) for topic in request.topics],
    )

    def commit() -> Result[TopicCommits, TxnOffsetCommitResponse]:
        result = coordinator.commit_offsets(call, _AS_OFFSET_COMMIT, in_transaction=True)
        return Result(result.records, _response(request, result.reply))

    def refused(error: ErrorCode) -> TxnOffsetCommitResponse:
        return _refused(request, error, version)

    producer = TransactionalProducer(request.producer_id, request.producer_epoch)
    return node.groups.perform(request.group_id, commit, refused, producer)


def _columns(topic: TxnOffsetCommitRequestTopic) -> CommittedTopic:
    metadata = tuple(partition.committed_metadata or "" for partition in topic.partitions)
    return CommittedTopic(
        topic.name,
        ZERO_UUID,
        tuple(partition.partition_index for partition in topic.partitions),
        tuple(partition.committed_offset for partition in topic.partitions),
        tuple(partition.committed_leader_epoch for partition in topic.partitions),
        metadata if any(metadata) else None,
    )


def _response(request: TxnOffsetCommitRequest, errors: CommitErrors) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=_told(errors[position].get(place, ErrorCode.NONE)) if errors else ErrorCode.NONE,
                    )
                    for place, partition in enumerate(topic.partitions)
                ],
            )
            for position, topic in enumerate(request.topics)
        ]
    )


def _told(error: ErrorCode) -> ErrorCode:
    return _AS_TOLD.get(error, error)


def _refused(request: TxnOffsetCommitRequest, error: ErrorCode, version: int) -> TxnOffsetCommitResponse:
    if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _FIRST_THAT_KNOWS_LOADING:
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    return _response(request, [dict.fromkeys(range(len(topic.partitions)), error) for topic in request.topics])
