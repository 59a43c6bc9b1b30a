"""OffsetCommit (key 8), versions 2 to 10: store how far a group has read.

By a member, who must be of the current generation or epoch, or by anyone when the group has no members. What is
acknowledged is in the log of `__consumer_offsets`. Retention is the broker's (`offsets.retention.minutes`) unless a client
of versions 2 to 4 names its own.
"""

from collections.abc import Coroutine
from typing import Any

from stoker.broker.node import Node
from stoker.broker.reply import Deferred, EncodedBody
from stoker.broker.request import RequestContext
from stoker.coordinators.groups.offsets import CommitErrors
from stoker.coordinators.result import Result
from stoker.wire.commit_hot_path import CommitCall, decode_commit, encode_committed
from stoker.wire.error_codes import ErrorCode
from stoker.wire.topic_commits import TopicCommits

decode = decode_commit


def handle(
    node: Node, context: RequestContext, request: CommitCall
) -> EncodedBody | Deferred | Coroutine[Any, Any, EncodedBody | Deferred]:
    version = context.api_version
    coordinator = node.groups.coordinator

    def commit() -> Result[TopicCommits, EncodedBody]:
        result = coordinator.commit_offsets(request, version)
        return Result(result.records, answer(result.reply))

    def answer(errors: CommitErrors) -> EncodedBody:
        body = encode_committed(request.topics, errors, version)
        return EncodedBody([body], len(body))

    def refused(error: ErrorCode) -> EncodedBody:
        return answer(coordinator.refuse_commit(request, version, error))

    return node.groups.perform(request.group_id, commit, refused)
