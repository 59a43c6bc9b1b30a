"""Fetch (key 1), versions 4 to 18: record batches as they lie in the log, from an offset on.

Behaves as Kafka 4: long-polls until `min_bytes` have come or `max_wait_ms` is over; the batch that holds the offset
comes whole; the first batch of a reply may exceed the limits; fetch sessions (KIP-227); leader epochs are checked;
topics by name up to version 12, by id from 13. Larger stretches go from file to socket by sendfile.
Left out: followers (no replication here), rack-aware preferred replicas, tiered storage.
"""

from stoker.broker.fetch_sessions import FINAL_EPOCH, INITIAL_EPOCH, FetchSession, SessionPartition
from stoker.broker.node import Node
from stoker.broker.pending_fetch import PendingFetch
from stoker.broker.reply import Deferred, Reply
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.fetch import FetchRequest, FetchResponse

decode = FetchRequest.decode

_FIRST_WITH_TOPIC_IDS = 13


def handle(node: Node, context: RequestContext, request: FetchRequest) -> Reply | Deferred:
    by_id = context.api_version >= _FIRST_WITH_TOPIC_IDS
    wanted = [
        SessionPartition(
            topic=topic.topic_id if by_id else topic.topic,
            index=partition.partition,
            fetch_offset=partition.fetch_offset,
            max_bytes=partition.partition_max_bytes,
            current_leader_epoch=partition.current_leader_epoch,
            last_fetched_epoch=partition.last_fetched_epoch,
        )
        for topic in request.topics
        for partition in topic.partitions
    ]
    session: FetchSession | None = None
    incremental = False
    if request.session_epoch == FINAL_EPOCH:
        if request.session_id:
            node.fetch_sessions.close(request.session_id)
    elif request.session_epoch == INITIAL_EPOCH:
        if request.session_id:
            node.fetch_sessions.close(request.session_id)
        session = node.fetch_sessions.open(wanted, node.clock())
    else:
        forgotten = (
            (topic.topic_id if by_id else topic.topic, index)
            for topic in request.forgotten_topics_data
            for index in topic.partitions
        )
        resumed = node.fetch_sessions.resume(
            request.session_id, request.session_epoch, node.clock(), wanted=wanted, forgotten=forgotten
        )
        if isinstance(resumed, ErrorCode):
            return FetchResponse(error_code=resumed)
        session, incremental = resumed, True
        wanted = list(session.partitions.values())
    max_bytes = min(request.max_bytes, node.config.fetch_max_bytes)
    fetch = PendingFetch(
        version=context.api_version,
        wanted=wanted,
        session=session,
        incremental=incremental,
        min_bytes=min(request.min_bytes, max_bytes),
        max_bytes=max_bytes,
        read_committed=request.isolation_level == 1,
        partitions=node.partitions,
        loop=node.loop,
    )
    if fetch.look() or request.max_wait_ms <= 0:
        return fetch.reply()
    return fetch.wait(request.max_wait_ms)
