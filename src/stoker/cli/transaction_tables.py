"""What `stoker transactions` prints of transactions and their producers: tables for people, JSON for programs."""

from collections.abc import Sequence
from typing import Any, Final

from stoker.cli.durations import shown_duration
from stoker.cli.moments import shown_moment
from stoker.cli.output import print_table
from stoker.client.admin.hanging_transactions import OpenTransaction
from stoker.client.admin.producers import ActiveProducer
from stoker.client.admin.transactions import TransactionDescription
from stoker.client.topic_partition import TopicPartition

_PRODUCER: Final = ("PRODUCER-ID", "PRODUCER-EPOCH")


def print_descriptions(descriptions: Sequence[TransactionDescription], now: int) -> None:
    columns = ("STATE", "TIMEOUT", "START", "DURATION", "PARTITIONS")
    rows = [
        (
            each.transactional_id,
            each.coordinator,
            each.producer_id,
            each.producer_epoch,
            each.state,
            shown_duration(each.timeout_ms),
            _moment(each.start_time_ms),
            _duration(each.duration_ms(now)),
            ",".join(map(str, each.partitions)) or None,
        )
        for each in descriptions
    ]
    print_table(("TRANSACTIONAL-ID", "COORDINATOR", *_PRODUCER, *columns), rows)


def transaction_as_json(description: TransactionDescription, now: int) -> dict[str, Any]:
    return {
        "transactional_id": description.transactional_id,
        "coordinator": description.coordinator,
        "producer_id": description.producer_id,
        "producer_epoch": description.producer_epoch,
        "state": description.state,
        "timeout_ms": description.timeout_ms,
        "start_time_ms": description.start_time_ms,
        "duration_ms": description.duration_ms(now),
        "partitions": [each._asdict() for each in description.partitions],
    }


def print_producers(rows: Sequence[tuple[TopicPartition, ActiveProducer]]) -> None:
    columns = ("COORDINATOR-EPOCH", "LAST-SEQUENCE", "LAST-TIMESTAMP", "START-OFFSET")
    print_table(
        ("TOPIC", "PARTITION", *_PRODUCER, *columns),
        [
            (
                *partition,
                producer.producer_id,
                producer.producer_epoch,
                producer.coordinator_epoch,
                producer.last_sequence,
                _moment(producer.last_timestamp),
                producer.transaction_start_offset,
            )
            for partition, producer in rows
        ],
    )


def producer_as_json(partition: TopicPartition, producer: ActiveProducer) -> dict[str, Any]:
    return {**partition._asdict(), **producer._asdict()}


def print_hanging(transactions: Sequence[OpenTransaction], now: int) -> None:
    """The columns of Kafka's own tool, and the transactional id where a coordinator still knows it."""
    columns = ("COORDINATOR-EPOCH", "START-OFFSET", "LAST-TIMESTAMP", "DURATION", "TRANSACTIONAL-ID")
    print_table(
        ("TOPIC", "PARTITION", *_PRODUCER, *columns),
        [
            (
                *each.partition,
                each.producer.producer_id,
                each.producer.producer_epoch,
                each.producer.coordinator_epoch,
                each.producer.transaction_start_offset,
                _moment(each.producer.last_timestamp),
                _duration(_silence_ms(each, now)),
                None if each.coordinated is None else each.coordinated.transactional_id,
            )
            for each in transactions
        ],
    )


def hanging_as_json(transaction: OpenTransaction, now: int) -> dict[str, Any]:
    coordinated = transaction.coordinated
    return {
        **producer_as_json(transaction.partition, transaction.producer),
        "duration_ms": _silence_ms(transaction, now),
        "transactional_id": None if coordinated is None else coordinated.transactional_id,
        "state": None if coordinated is None else coordinated.state,
    }


def _silence_ms(transaction: OpenTransaction, now: int) -> int | None:
    """Since it last wrote: where it began is known, not when."""
    last = transaction.producer.last_timestamp
    return None if last is None else now - last


def _duration(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else shown_duration(milliseconds)


def _moment(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else shown_moment(milliseconds)
