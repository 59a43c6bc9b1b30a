"""The reader of a stream without Spark: where batches begin and end, and what is in them."""

import json
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from operator import ne
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Place
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows
from pyspark.sql.types import StructType

from stoker.client.errors import CannotConnect, InvalidClientProperty
from stoker.spark.data_source import StokerDataSource
from stoker.spark.errors import DataLost, InvalidOption
from stoker.spark.options import source_options
from stoker.spark.stream_reader import StreamReader
from tests.clients.client import eventually
from tests.spark.topics import NOON, WAIT_SECONDS, Sent, Topic, Topics, written

Json = dict[str, Any]
ALL = ReadAllAvailable()


@pytest.fixture(scope="module")
def topics(broker: str) -> Topics:
    return Topics(broker)


class Query:
    """What Spark does with a reader: offsets pass through JSON, and tasks run on a copy of the reader."""

    def __init__(self, topic: Topic, **options: object) -> None:
        given = topic.options | {"fetchOffset.retryIntervalMs": "10"} | written(options)
        given = {name: value for name, value in given.items() if value != "None"}
        source = StokerDataSource(given)
        schema = source.schema()
        self.reader = stream_reader(source, schema)
        self._at_tasks: StreamReader = pickle.loads(pickle.dumps(stream_reader(source, schema)))

    def begin(self) -> Json:
        return as_kept(self.reader.initialOffset())

    def next(self, start: Json, limit: Any = ALL) -> Json:
        return as_kept(self.reader.latestOffset(start, limit))

    def values(self, start: Json, end: Json) -> list[str]:
        return sorted(row["value"].decode() for row in self.rows(start, end))

    def rows(self, start: Json, end: Json) -> list[dict[str, Any]]:
        tasks = pickle.loads(pickle.dumps(self.reader.partitions(start, end)))
        return [row for task in tasks for batch in self._at_tasks.read(task) for row in batch.to_pylist()]


def stream_reader(source: StokerDataSource, schema: StructType) -> StreamReader:
    reader = source.streamReader(schema)
    assert isinstance(reader, StreamReader)
    return reader


def as_kept(offset: Json) -> Json:
    kept: Json = json.loads(json.dumps(offset))
    return kept


@pytest.fixture
def topic(topics: Topics) -> Topic:
    return topics.create(partitions=2)


@pytest.fixture
def begin(topic: Topic) -> Iterator[Callable[..., Query]]:
    """Makes queries of the topic, and stops them."""
    queries: list[Query] = []

    def make(**options: object) -> Query:
        queries.append(Query(topic, **options))
        return queries[-1]

    yield make
    for query in queries:
        query.reader.stop()


@pytest.fixture
def query(begin: Callable[..., Query]) -> Query:
    return begin(startingOffsets="earliest")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, []),
        ({"startingOffsets": "latest"}, []),
        ({"startingOffsets": "earliest"}, ["0", "1", "2", "3", "4"]),
        ({"startingOffsets": '{"TOPIC": {"0": 1, "1": -1}}'}, ["2", "4"]),
        ({"startingOffsets": '{"TOPIC": {"0": -1, "1": -2}}'}, ["1", "3"]),
        ({"startingTimestamp": NOON + 2500}, ["3", "4"]),
        ({"startingTimestamp": NOON + 3500, "startingOffsetsByTimestampStrategy": "latest"}, ["4"]),
        ({"startingOffsetsByTimestamp": f'{{"TOPIC": {{"0": {NOON}, "1": {NOON + 3000}}}}}'}, ["0", "2", "3", "4"]),
    ],
)
def test_where_a_query_begins(
    begin: Callable[..., Query], topic: Topic, options: dict[str, object], expected: list[str]
) -> None:
    topic.send_values(range(5), partitions=2)
    query = begin(**{name: str(value).replace("TOPIC", topic.name) for name, value in options.items()})
    start = query.begin()
    assert query.values(start, query.next(start)) == expected


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"startingOffsets": '{"TOPIC": {"0": 1}}'}, "startingOffsets must name every partition that is read; missing: TOPIC-1"),
        ({"startingOffsets": '{"TOPIC": {"0": 1, "1": 1, "2": 1}}'}, "names what is not there or not selected: TOPIC-2"),
        ({"startingOffsets": '{"TOPIC": {"0": 0, "1": 7}}'}, "startingOffsets of TOPIC-1 is 7, which lies behind its end, 0"),
        ({"startingTimestamp": NOON + 9999}, "no record is as late .* TOPIC-0, TOPIC-1; .*Strategy=latest"),
        ({"subscribe": "TOPICs"}, "subscribe: there is no topic 'TOPICs'; did you mean TOPIC"),
        ({"subscribe": None, "assign": '{"TOPIC": [1, 5]}'}, "assign: there is no partition TOPIC-5"),
    ],
)  # fmt: skip
def test_where_a_query_cannot_begin(
    begin: Callable[..., Query], topic: Topic, options: dict[str, object], complaint: str
) -> None:
    query = begin(**{name: str(value).replace("TOPIC", topic.name) for name, value in options.items()})
    with pytest.raises(InvalidOption, match=complaint.replace("TOPIC", topic.name)):
        query.begin()


@pytest.mark.parametrize(
    ("options", "error", "complaint"),
    [
        ({"kafka__security__protocol": "SASL_SSL"}, InvalidClientProperty, "sasl.mechanism=GSSAPI"),
        ({"kafka__bootstrap__servers": "127.0.0.1:1"}, CannotConnect, "cannot connect to 127.0.0.1:1"),
    ],
)
def test_brokers_that_cannot_be_asked(
    begin: Callable[..., Query], options: dict[str, str], error: type[Exception], complaint: str
) -> None:
    with pytest.raises(error, match=complaint):
        begin(**options).begin()


def test_the_beginning_stays_in_one_run(begin: Callable[..., Query], topic: Topic) -> None:
    query = begin()
    start = query.begin()
    topic.send_values(range(4), partitions=2)
    assert query.begin() == start
    assert query.values(start, query.next(start)) == ["0", "1", "2", "3"]


@pytest.mark.parametrize("sent_before", [0, 3])
def test_a_first_batch_that_is_run_again_begins_where_it_began(
    begin: Callable[..., Query], topic: Topic, sent_before: int
) -> None:
    """After a crash in batch 0 Spark asks for the initial offset anew, and has the end that it logged."""
    topic.send_values(range(10))
    first = begin()
    start = first.begin()
    topic.send_values(range(sent_before))
    logged = first.next(start)
    assert logged != start
    topic.send_values(["late"])
    again = begin()
    assert again.values(again.begin(), logged) == [str(number) for number in range(sent_before)]
    assert again.values(logged, again.next(logged)) == ["late"]


def test_without_new_records_there_is_no_batch(query: Query, topic: Topic) -> None:
    topic.send_values(range(3))
    first = query.next(query.begin())
    assert query.next(first) == first
    topic.send_values(["next"])
    second = query.next(first)
    assert query.values(first, second) == ["next"]
    assert "@from" not in second
    assert query.next(second) == second
    assert query.reader.reportLatestOffset() == second


def test_a_limit_is_shared_by_the_partitions(begin: Callable[..., Query], topic: Topic) -> None:
    topic.send([Sent(0, b"a") for _ in range(30)] + [Sent(1, b"b") for _ in range(10)])
    query = begin(startingOffsets="earliest", maxOffsetsPerTrigger=8)
    limit = query.reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(8)
    start = query.begin()
    end = query.next(start, limit)
    assert end[topic.name] == {"0": 6, "1": 2}
    assert query.values(start, end) == ["a"] * 6 + ["b"] * 2
    # A trigger that reads all there is is not limited.
    assert query.next(start, ALL)[topic.name] == {"0": 30, "1": 10}


def test_a_minimum_is_waited_for_no_longer_than_is_allowed(begin: Callable[..., Query], topic: Topic) -> None:
    now = [0.0]
    options = source_options(
        topic.options | {"startingOffsets": "earliest", "minOffsetsPerTrigger": "5", "maxTriggerDelay": "10s"}
    )
    rows = begin().reader._rows
    reader = StreamReader(options, rows, clock=lambda: now[0])
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMinRows(5)
    topic.send_values(range(2))
    first = reader.latestOffset(reader.initialOffset(), limit)
    assert first[topic.name] == {"0": 2, "1": 0}, "the first batch waits for nothing"
    topic.send_values(range(4))
    assert reader.latestOffset(first, limit) == first
    topic.send_values(range(1))
    second = reader.latestOffset(first, limit)
    assert second[topic.name] == {"0": 7, "1": 0}
    topic.send_values(range(1))
    assert reader.latestOffset(second, limit) == second
    now[0] += 10
    assert reader.latestOffset(second, limit)[topic.name] == {"0": 8, "1": 0}
    reader.stop()


def test_a_query_of_what_is_available_now_ends_there(begin: Callable[..., Query], topic: Topic) -> None:
    topic.send_values(range(6), partitions=2)
    query = begin(startingOffsets="earliest", maxOffsetsPerTrigger=4, minOffsetsPerTrigger=3)
    limit = query.reader.getDefaultReadLimit()
    query.reader.prepareForTriggerAvailableNow()
    topic.send_values(["late"] * 9, partitions=2)
    start, read = query.begin(), []
    while (end := query.next(start, limit)) != start:
        read += query.values(start, end)
        start = end
    assert sorted(read) == ["0", "1", "2", "3", "4", "5"]


def test_a_query_of_what_is_available_now_may_begin_after_it(begin: Callable[..., Query], topic: Topic) -> None:
    query = begin()
    query.reader.prepareForTriggerAvailableNow()
    topic.send_values(["between"])
    start = query.begin()
    end = query.next(start)
    assert query.values(start, end) == []
    assert query.next(end) == end


@pytest.mark.both_backends
def test_new_partitions_are_read_from_their_beginning(query: Query, topic: Topic, topics: Topics) -> None:
    topic.send_values(["old"])
    first = query.next(query.begin())
    topics.add_partitions(topic, 4)
    producer = Producer({"bootstrap.servers": topic.bootstrap_servers, "log_level": 0})  # that does not remember two
    producer.produce(topic.name, b"new", partition=3)
    assert producer.flush(WAIT_SECONDS) == 0
    second = query.next(first)
    assert second[topic.name] == {"0": 1, "1": 0, "2": 0, "3": 1}
    assert second["@from"] == {topic.name: {"2": 0, "3": 0}}
    assert query.values(first, second) == ["new"]


def test_new_topics_that_match_are_read(begin: Callable[..., Query], topics: Topics, topic: Topic) -> None:
    topic.send_values(["one"])
    query = begin(subscribe=None, subscribePattern=f"{topic.name}.*", startingOffsets="earliest")
    first = query.next(query.begin())
    other = topics.create(f"{topic.name}-more")
    topics.create(f"not-{topic.name}").send_values(["other"])
    other.send_values(["two"])
    second = query.next(first)
    assert query.values(first, second) == ["two"]


def test_single_partitions_are_read(begin: Callable[..., Query], topic: Topic) -> None:
    topic.send_values(range(4), partitions=2)
    query = begin(subscribe=None, assign=f'{{"{topic.name}": [1]}}', startingOffsets="earliest")
    start = query.begin()
    assert query.values(start, query.next(start)) == ["1", "3"]


def test_offsets_of_sparks_own_source_are_read_on(query: Query, topic: Topic) -> None:
    topic.send_values(range(6), partitions=2)
    assert query.values({topic.name: {"0": 1}}, {topic.name: {"0": 3, "1": 2}}) == ["1", "2", "3", "4"]


def test_large_ranges_are_cut(begin: Callable[..., Query], topic: Topic) -> None:
    topic.send_values(range(10))
    query = begin(startingOffsets="earliest", minPartitions=4)
    start = query.begin()
    end = query.next(start)
    assert len(query.reader.partitions(start, end)) == 4
    assert query.values(start, end) == [str(number) for number in range(10)]


@pytest.mark.both_backends
def test_open_transactions_are_waited_for_and_aborted_ones_left_out(
    begin: Callable[..., Query], topics: Topics, topic: Topic
) -> None:
    query = begin(startingOffsets="earliest", kafka__isolation__level="read_committed")
    producer = Producer({"bootstrap.servers": topic.bootstrap_servers, "transactional.id": topic.name, "log_level": 0})
    producer.init_transactions(WAIT_SECONDS)
    start = query.begin()
    read: list[str] = []
    for ending in (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        producer.produce(topic.name, str(len(read)), partition=0)
        producer.flush(WAIT_SECONDS)
        meanwhile = query.next(start)
        assert query.values(start, meanwhile) == []
        ending(WAIT_SECONDS)
        end = eventually(partial(query.next, meanwhile), partial(ne, meanwhile))  # Kafka writes the marker later
        read += query.values(meanwhile, end) or ["aborted"]
        start = end
    assert read == ["0", "aborted", "2"]


@pytest.mark.parametrize("fail_on_data_loss", ["true", "false"])
def test_what_was_read_of_an_open_transaction_is_not_lost(
    begin: Callable[..., Query], topic: Topic, fail_on_data_loss: str
) -> None:
    """A query that read uncommitted records goes on with committed ones: it is ahead of them for a while."""
    topic.send_values(["old"])
    producer = Producer({"bootstrap.servers": topic.bootstrap_servers, "transactional.id": topic.name, "log_level": 0})
    producer.init_transactions(WAIT_SECONDS)
    producer.begin_transaction()
    producer.produce(topic.name, b"open", partition=0)
    producer.flush(WAIT_SECONDS)
    before = begin(startingOffsets="earliest")
    start = before.begin()
    read = before.next(start)
    assert before.values(start, read) == ["old", "open"]
    query = begin(kafka__isolation__level="read_committed", failOnDataLoss=fail_on_data_loss)
    assert query.next(read) == read
    at_once = begin(kafka__isolation__level="read_committed", failOnDataLoss=fail_on_data_loss)
    at_once.reader.prepareForTriggerAvailableNow()
    assert at_once.next(read) == read
    producer.commit_transaction(WAIT_SECONDS)
    topic.send_values(["new"])
    assert query.values(read, read) == []
    end = eventually(partial(query.next, read), lambda end: query.values(read, end) != [])
    assert query.values(read, end) == ["new"]


def test_what_expired_before_it_was_read_is_lost(begin: Callable[..., Query], topics: Topics, topic: Topic) -> None:
    topic.send_values(range(10))
    ends = [begin(startingOffsets="earliest"), begin(startingOffsets="earliest", failOnDataLoss="false")]
    start = ends[0].begin()
    end = ends[0].next(start)
    delete_records(topics, topic, before=4)
    for query in ends:
        if query is ends[0]:
            with pytest.raises(
                DataLost, match=rf"{topic.name}-0 was to be read from offset 0 to 10, but begins at 4 now"
            ):
                query.values(start, end)
        else:
            assert query.values(start, end) == ["4", "5", "6", "7", "8", "9"]


def test_what_expires_while_it_is_to_be_read_is_lost(begin: Callable[..., Query], topics: Topics, topic: Topic) -> None:
    topic.send_values(range(10))
    strict, lenient = (begin(startingOffsets="earliest", failOnDataLoss=choice) for choice in ("true", "false"))
    start = strict.begin()
    end = strict.next(start)
    planned = [(query, query.reader.partitions(start, end)) for query in (strict, lenient)]
    delete_records(topics, topic, before=4)
    with pytest.raises(DataLost, match=r"has offsets from 4 .*Set failOnDataLoss to false"):
        [list(strict.reader.read(task)) for task in planned[0][1]]
    read = [batch.num_rows for task in planned[1][1] for batch in lenient.reader.read(task)]
    assert sum(read) == 6


@pytest.mark.both_backends
def test_a_deleted_topic_is_lost(begin: Callable[..., Query], topics: Topics, topic: Topic) -> None:
    other = topics.create()
    both = {"subscribe": f"{topic.name},{other.name}", "startingOffsets": "earliest"}
    topic.send_values(range(3))
    other.send_values(["other"])
    query = begin(**both)
    start = query.next(query.begin())
    topics.delete(topic)
    with pytest.raises(DataLost, match=f"no longer a partition {topic.name}-"):
        query.next(start)
    lenient = begin(**both, failOnDataLoss="false")
    other.send_values(["more"])
    end = lenient.next(start)
    assert lenient.values(start, end) == ["more"]
    assert lenient.next(end) == end


def test_a_topic_that_was_made_anew_is_lost_and_read_from_its_beginning(
    begin: Callable[..., Query], topics: Topics, topic: Topic
) -> None:
    topic.send_values(range(10))
    query = begin(startingOffsets="earliest")
    start = query.next(query.begin())
    topics.delete(topic)
    again = topics.create(topic.name, partitions=2)
    again.send_values(["new"])
    with pytest.raises(DataLost, match=f"{topic.name}-0 was read up to offset 10 and now ends at 1"):
        query.next(start)
    lenient = begin(startingOffsets="earliest", failOnDataLoss="false")
    assert lenient.values(start, lenient.next(start)) == ["new"]


def delete_records(topics: Topics, topic: Topic, *, before: int) -> None:
    for done in topics.admin.delete_records([Place(topic.name, 0, before)]).values():
        done.result(WAIT_SECONDS)
