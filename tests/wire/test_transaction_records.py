"""The frame of transaction records; Kafka judges their bodies in test_against_kafka.py."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.errors import MalformedMessage
from stoker.wire.transaction_records import (
    TransactionLogRecord,
    TransactionLogValue,
    TransactionPartitions,
    decode_transaction_record,
    encode_plain_value,
    encode_transaction_key,
    encode_transaction_value,
)
from tests.wire.examples import instances

VALUE = TransactionLogValue(
    producer_id=7,
    producer_epoch=3,
    transaction_timeout_ms=60_000,
    transaction_status=1,
    transaction_partitions=[TransactionPartitions(topic="t", partition_ids=[2])],
    transaction_last_update_timestamp_ms=5,
    transaction_start_timestamp_ms=4,
    client_transaction_version=2,
)


def test_a_record_is_kafkas_byte_for_byte() -> None:
    key, value = encode_transaction_key("id"), encode_transaction_value(VALUE)

    assert key == bytes.fromhex("0000 0002 6964")
    assert value == bytes.fromhex(
        "0001 0000000000000007 0003 0000ea60 01 02 02 74 02 00000002 00 0000000000000005 0000000000000004 01 02 02 0002"
    )
    assert decode_transaction_record(key, value) == TransactionLogRecord("id", VALUE)


def test_a_record_without_a_value_takes_the_id_away() -> None:
    assert decode_transaction_record(encode_transaction_key("id"), None) == TransactionLogRecord("id", None)


@given(st.text(max_size=40), instances(TransactionLogValue, 1))
def test_what_is_written_is_read(transactional_id: str, value: TransactionLogValue) -> None:
    key = encode_transaction_key(transactional_id)
    assert decode_transaction_record(key, encode_transaction_value(value)) == (transactional_id, value)


def test_what_is_not_known_is_left_out() -> None:
    assert decode_transaction_record(bytes.fromhex("0001 0002 6964"), None) is None
    assert decode_transaction_record(encode_transaction_key("id"), bytes.fromhex("0002 00")) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [(b"", None), (b"\0", None), (b"\0\0\0\5id", None), (b"\0\0\0\2id", b""), (b"\0\0\0\2id", b"\0\1\0")],
)
def test_what_ends_too_early_is_refused(key: bytes, value: bytes | None) -> None:
    with pytest.raises(MalformedMessage):
        decode_transaction_record(key, value)


def test_a_transaction_of_many_partitions_leaves_nothing_in_memory() -> None:
    """They are added one by one, and each time the record is written with all of them."""
    partitions: frozenset[tuple[str, int]] = frozenset()
    tracemalloc.start()
    try:
        for index in range(500):
            partitions |= {("orders", index)}
            encode_plain_value(
                producer_id=1,
                producer_epoch=0,
                timeout_ms=1,
                status=1,
                partitions=partitions,
                update_ms=1,
                start_ms=1,
                client_version=2,
            )
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 1_000_000


def test_long_transactional_ids_leave_nothing_in_memory() -> None:
    tracemalloc.start()
    try:
        for number in range(100):
            encode_transaction_key(f"{number:030000}")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 1_000_000
