"""What is known of a micro-batch by the ranges that it reads."""

from pathlib import Path

import pytest

from stoker.streams.kafka_inputs import Access, KafkaInputs, Range
from stoker.streams.state.directory import StateDirectory


@pytest.mark.parametrize(
    ("most_rows", "is_behind"),
    [(None, False), (200, False), (103, False), (102, True), (100, True), (50, True)],
    ids=lambda each: str(each),
)
def test_a_batch_with_all_that_it_may_read_may_be_behind(
    tmp_path: Path, most_rows: int | None, is_behind: bool
) -> None:
    """100 records of two partitions: each has its part of what a batch may read, rounded down."""
    access = Access(bootstrap_servers="nobody:1", registry=None, options={})
    ranges = {"orders": {0: Range(0, 90)}, "payments": {0: Range(10, 20)}}
    inputs = KafkaInputs(access, {}, ranges, StateDirectory(tmp_path), 0, most_rows)
    assert inputs.is_behind("orders", 0) is is_behind
    assert inputs.partitions("orders") == [0]
    assert inputs.partitions("customers") == []
