"""Produce (key 0), versions 3 to 13: append record batches, as they are, to the logs of their partitions.

Behaves as Kafka 4: one batch a partition and request, message format 2 only, acks 0, 1 and -1 (with one replica the
last two mean the same). acks=0 gets no reply, and a closed connection when something failed. A topic whose
`flush.messages` is due is flushed to the disk before the reply, together with all that waits for the same flush.
Where a topic wants registered schemas (`confluent.value.schema.validation`), as Confluent Server has it, records without
one are refused by INVALID_RECORD and named by their index in the batch, and nothing of the batch is appended.
A batch of a transaction is taken if its partition is in the transaction, which is verified once a transaction; from
version 12 on it is put there (KIP-890).
Left out: tiered storage.
"""

import asyncio
from collections.abc import Coroutine
from functools import partial
from logging import getLogger
from typing import Any
from uuid import UUID

from stoker.broker.metadata import INTERNAL_TOPICS
from stoker.broker.node import Node
from stoker.broker.partitions import Partition
from stoker.broker.produce_admission import NOTHING_ADMITTED, Admitted, admit, check_still_admitted, is_transactional
from stoker.broker.reply import EncodedBody, NoReply, Reply
from stoker.broker.request import RequestContext
from stoker.errors import CorruptRecords
from stoker.log.errors import AppendRefused, LogError, RecordsMustBeRead
from stoker.log.partition import PartitionLog
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from stoker.wire.produce_hot_path import AppendedPartition, ProduceCall, decode_produce, encode_produced

logger = getLogger("stoker.broker")

decode = decode_produce

Outcome = AppendedPartition | PartitionProduceResponse


def handle(node: Node, context: RequestContext, call: ProduceCall) -> Reply | Coroutine[Any, Any, Reply]:
    if call.transactional_id is not None:
        admitted = admit(node, call, context.api_version)
        if isinstance(admitted, Coroutine):
            return _append_when_admitted(node, context, call, admitted)
        return _append(node, context, call, admitted)
    return _append(node, context, call, NOTHING_ADMITTED)


async def _append_when_admitted(
    node: Node, context: RequestContext, call: ProduceCall, admitted: Coroutine[Any, Any, Admitted]
) -> Reply:
    # The frame's memory is reused while this waits, so the batches are copied.
    copied = call.copied()
    await admitted
    while isinstance(again := admit(node, copied, context.api_version), Coroutine):
        await again  # the transaction may have ended meanwhile
    reply = _append(node, context, copied, again)
    return await reply if isinstance(reply, Coroutine) else reply


def _append(
    node: Node, context: RequestContext, call: ProduceCall, admitted: Admitted
) -> Reply | Coroutine[Any, Any, Reply]:
    outcomes: list[tuple[str | UUID, list[Outcome]]] = []
    to_flush: list[tuple[PartitionLog, list[Outcome], int]] = []
    to_read: list[tuple[Partition, memoryview, list[Outcome], int]] = []
    failed = False
    for topic, produced in call.topics:
        partitions = node.partitions.of_topic(topic)
        topic_outcomes: list[Outcome] = []
        for index, records in produced:
            try:
                partition = _writable(partitions, topic, index, call)
                if records is None:
                    raise AppendRefused(ErrorCode.INVALID_RECORD, "a Produce request must carry a record batch")
                log = partition.log
                if log is None:
                    raise AppendRefused(ErrorCode.KAFKA_STORAGE_ERROR, f"the log directory of {partition} is offline")
                if is_transactional(records):
                    admitted.check(partition)
                header = None
                if log.config.validates_schema_ids:
                    records, header = node.schema_validation.validate_at_once(log, records)
                appended = log.append(records, leader_epoch=partition.leader_epoch, valid_header=header, at_once=True)
            except RecordsMustBeRead:
                # The frame's memory is reused after this function, so the batch is copied.
                to_read.append((partition, memoryview(bytearray(records or b"")), topic_outcomes, len(topic_outcomes)))
                topic_outcomes.append(AppendedPartition(index, -1, -1, -1))
                continue
            except AppendRefused as refusal:
                failed = True
                topic_outcomes.append(_refusal(index, refusal))
                continue
            except (OSError, LogError, CorruptRecords) as error:
                failed = True
                topic_outcomes.append(_storage_error(index, f"{topic}-{index}", error))
                continue
            topic_outcomes.append(
                AppendedPartition(index, appended.base_offset, appended.log_append_time_ms, appended.log_start_offset)
            )
            if not appended.duplicate:
                partition.grew(len(records))
            if log.unflushed_messages >= log.config.flush_messages:
                to_flush.append((log, topic_outcomes, len(topic_outcomes) - 1))
        outcomes.append((topic, topic_outcomes))
    if to_read:
        return _read_then_append(node, call, to_read, to_flush, context.api_version, outcomes, failed)
    if to_flush:
        return _flush_then_reply(node, to_flush, context.api_version, call.acks, outcomes, failed)
    return _reply(context.api_version, call.acks, outcomes, failed)


def _writable(partitions: list[Partition] | None, topic: str | UUID, index: int, call: ProduceCall) -> Partition:
    if partitions is None or not 0 <= index < len(partitions):
        by_id = partitions is None and isinstance(topic, UUID)
        raise AppendRefused(
            ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"this broker has no partition {topic}-{index}",
        )
    if call.acks not in (-1, 0, 1):
        raise AppendRefused(ErrorCode.INVALID_REQUIRED_ACKS, f"acks is {call.acks}; it can be 0, 1 or -1 (all)")
    partition = partitions[index]
    if partition.topic in INTERNAL_TOPICS:
        raise AppendRefused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"clients may not write to {partition.topic}")
    return partition


def _refusal(index: int, refusal: AppendRefused) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=index,
        error_code=refusal.error_code,
        base_offset=-1,
        log_append_time_ms=-1,
        log_start_offset=-1,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=batch_index, batch_index_error_message=message)
            for batch_index, message in refusal.record_errors
        ],
        error_message=refusal.message,
    )


def _storage_error(index: int, partition: str, error: Exception) -> PartitionProduceResponse:
    logger.error("could not append to %s: %s", partition, error)
    return _refusal(index, AppendRefused(ErrorCode.KAFKA_STORAGE_ERROR, f"could not append to {partition}: {error}"))


async def _read_then_append(
    node: Node,
    call: ProduceCall,
    to_read: list[tuple[Partition, memoryview, list[Outcome], int]],
    to_flush: list[tuple[PartitionLog, list[Outcome], int]],
    version: int,
    outcomes: list[tuple[str | UUID, list[Outcome]]],
    failed: bool,
) -> Reply:
    """For batches whose every record has to be looked at, while the event loop serves others."""
    for partition, records, topic_outcomes, position in to_read:
        log = partition.log
        try:
            if log is None:
                raise AppendRefused(ErrorCode.KAFKA_STORAGE_ERROR, f"the log directory of {partition} is offline")
            if log.config.validates_schema_ids:
                valid, header = await node.schema_validation.validate(log, records)
            else:
                valid, header = await node.read_records(partial(log.validate, records))
            check_still_admitted(node, call, partition, header, version)
            appended = log.append(valid, leader_epoch=partition.leader_epoch, valid_header=header)
        except AppendRefused as refusal:
            failed = True
            topic_outcomes[position] = _refusal(partition.index, refusal)
            continue
        except (OSError, LogError, CorruptRecords) as error:
            failed = True
            topic_outcomes[position] = _storage_error(partition.index, str(partition), error)
            continue
        topic_outcomes[position] = AppendedPartition(
            partition.index, appended.base_offset, appended.log_append_time_ms, appended.log_start_offset
        )
        if not appended.duplicate:
            partition.grew(len(valid))
        if log.unflushed_messages >= log.config.flush_messages:
            to_flush.append((log, topic_outcomes, position))
    return await _flush_then_reply(node, to_flush, version, call.acks, outcomes, failed)


async def _flush_then_reply(
    node: Node,
    to_flush: list[tuple[PartitionLog, list[Outcome], int]],
    version: int,
    acks: int,
    outcomes: list[tuple[str | UUID, list[Outcome]]],
    failed: bool,
) -> Reply:
    flushes = [node.flusher.flushed(log) for log, _, _ in to_flush]
    errors = await asyncio.gather(*flushes, return_exceptions=True)
    for (log, topic_outcomes, position), error in zip(to_flush, errors, strict=True):
        if isinstance(error, Exception):
            failed = True
            topic_outcomes[position] = _storage_error(log.partition, f"{log.topic}-{log.partition}", error)
    return _reply(version, acks, outcomes, failed)


def _reply(version: int, acks: int, outcomes: list[tuple[str | UUID, list[Outcome]]], failed: bool) -> Reply:
    if acks == 0:
        return NoReply.CLOSE if failed else NoReply.ACKS_0
    if not failed:
        body = encode_produced(version, outcomes)  # type: ignore[arg-type]  # not failed: all were appended
        return EncodedBody([body], len(body))
    responses = []
    for topic, partitions in outcomes:
        named = {"topic_id": topic} if isinstance(topic, UUID) else {"name": topic}
        responses.append(
            TopicProduceResponse(**named, partition_responses=[_as_message(partition) for partition in partitions])
        )
    return ProduceResponse(responses=responses)


def _as_message(outcome: Outcome) -> PartitionProduceResponse:
    if isinstance(outcome, PartitionProduceResponse):
        return outcome
    return PartitionProduceResponse(
        index=outcome.partition,
        base_offset=outcome.base_offset,
        log_append_time_ms=outcome.log_append_time_ms,
        log_start_offset=outcome.log_start_offset,
    )
