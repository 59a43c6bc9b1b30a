"""Which offsets a micro-batch reads: of streams so many, of tables up to the time that the streams have reached."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stoker.client.fetching import PartitionRange
from stoker.client.topic_partition import TopicPartition
from stoker.spark.options import source_options
from stoker.streams.errors import StateLost
from stoker.streams.ranges import SOURCE, TABLES, RangesReader, RangesSource
from stoker.streams.running import Running
from stoker.streams.state.directory import StateDirectory

ORDERS, OTHERS = TopicPartition("orders", 0), TopicPartition("orders", 1)
CUSTOMERS = TopicPartition("customers", 0)


class Asked:
    """In place of a broker: where the first record of a time is."""

    def __init__(self, first: int) -> None:
        self._first = first
        self.asked_for: list[int] = []

    def first_at(self, time: int, partitions: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        self.asked_for.append(time)
        return dict.fromkeys(partitions, self._first)


def reader(subscribed: str = "orders,customers") -> RangesReader:
    given = {"kafka.bootstrap.servers": "localhost:1", "subscribe": subscribed}
    return RangesReader(source_options(given).for_stream(), frozenset({"customers"}))


def test_tables_are_read_up_to_the_time_of_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row must not see what was written after it: the table is read up to the first record that the streams leave for later."""
    made, asked = reader(), Asked(40)
    monkeypatch.setattr(RangesReader, "_asked", asked)
    monkeypatch.setattr(made, "_horizon", lambda ends, latest: 1_000)
    start = {ORDERS: 0, OTHERS: 0, CUSTOMERS: 0}
    found = made._limited(start, {ORDERS: 100, OTHERS: 100, CUSTOMERS: 500}, 20)
    assert found == {ORDERS: 10, OTHERS: 10, CUSTOMERS: 40}
    assert asked.asked_for == [1_000]


def test_a_table_never_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read of it stays read, wherever the time of the streams is."""
    made = reader()
    monkeypatch.setattr(RangesReader, "_asked", Asked(40))
    monkeypatch.setattr(made, "_horizon", lambda ends, latest: 1_000)
    assert made._limited({ORDERS: 0, CUSTOMERS: 90}, {ORDERS: 100, CUSTOMERS: 500}, 20)[CUSTOMERS] == 90


@pytest.mark.parametrize(
    ("end", "most", "expected"),
    [
        ({ORDERS: 10, CUSTOMERS: 500}, 20, {ORDERS: 10, CUSTOMERS: 500}),
        ({CUSTOMERS: 500}, 20, {CUSTOMERS: 20}),
        ({ORDERS: 100}, 20, {ORDERS: 20}),
    ],
    ids=["all of the streams", "tables alone", "streams alone"],
)
def test_without_a_horizon(end: dict[TopicPartition, int], most: int, expected: dict[TopicPartition, int]) -> None:
    """If the streams are read to their end, so are the tables; where there are no streams, or no tables, the number counts."""
    assert reader()._limited(dict.fromkeys(end, 0), end, most) == expected


def test_topics_that_are_no_longer_read_are_left_out() -> None:
    """The offsets of an older topology have them still, also where a batch began."""
    written: dict[str, Any] = {"orders": {"0": 5}, "gone": {"0": 7}, "@from": {"gone": {"0": 1}, "orders": {"0": 2}}}
    made = reader("orders")
    assert made._of_today(written) == {"orders": {"0": 5}, "@from": {"orders": {"0": 2}}}
    today = {"orders": {"0": 5}}
    assert made._of_today(today) is today


def test_what_a_batch_reads_is_between_two_logged_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    """And, of partitions that it is the first to read, from where its end says; Spark has nothing to hand over."""
    monkeypatch.setattr(
        RangesReader, "_asked", SimpleNamespace(earliest=lambda partitions: dict.fromkeys(partitions, 0))
    )
    made = reader()
    start = {"orders": {"0": 2}, "gone": {"0": 1}}
    end = {"orders": {"0": 5}, "customers": {"0": 9}, "@from": {"customers": {"0": 4}}}
    assert made.ranges(start, end) == [PartitionRange("customers", 0, 4, 9), PartitionRange("orders", 0, 2, 5)]
    assert made.partitions(start, end) == []


def test_the_source_knows_which_topics_are_tables() -> None:
    assert RangesSource.name() == SOURCE
    options = {"kafka.bootstrap.servers": "localhost:1", "subscribe": "orders,customers", TABLES: "customers"}
    made = RangesSource(options).streamReader(None)  # type: ignore[arg-type]  # which it does not look at
    assert made._tables == {"customers"}


@pytest.mark.parametrize(("there", "missing"), [([], 7), ([6], 7), ([7], 6)], ids=["both", "the end", "the start"])
def test_a_checkpoint_that_does_not_say_what_is_read(there: list[int], missing: int, tmp_path: Path) -> None:
    """Nothing is skipped and nothing read again: the application is refused, with the file and the ways out."""
    offsets = tmp_path / "checkpoint" / "offsets"
    offsets.mkdir(parents=True)
    for number in there:
        (offsets / str(number)).write_text('v1\n{}\n{"orders": {"0": 5}}')
    running = Running.__new__(Running)
    running._reader, running._directory = reader(), StateDirectory(tmp_path)
    with pytest.raises(StateLost, match=rf"no file offsets/{missing}\. Restore the directory, or begin anew"):
        running._ranges(7)
