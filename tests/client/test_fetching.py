"""Ranges of real partitions, on Stoker and on Apache Kafka: all of it, once, in order, ahead of the reader."""

import os
import random
import threading
from collections.abc import Iterator

import pytest

from stoker.client import cluster_pool, fetching
from stoker.client.admin.records import delete_records
from stoker.client.admin.topics import create_topic, delete_topics, wait_until
from stoker.client.cluster import Cluster
from stoker.client.cluster_pool import borrow_cluster, close_idle_clusters, return_cluster
from stoker.client.errors import OffsetsGone, TopicGone
from stoker.client.fetching import Fetched, Isolation, PartitionRange, fetch_range
from stoker.client.properties import ClientProperties, client_properties
from stoker.client.range_fetcher import RangeFetcher, fetch_settings
from stoker.client.topic_partition import TopicPartition
from stoker.wire.compression import Codec
from stoker.wire.error_codes import ErrorCode
from stoker.wire.record_batch import Record, build_batch, iterate_records
from tests.client.written_batches import write_batches
from tests.clients.client import eventually
from tests.raw_transactional_producer import TransactionalProducer

BATCHES = 60
IN_A_BATCH = 20
VALUES = [random.Random(number).randbytes(500) for number in range(IN_A_BATCH)]
"""That no codec makes smaller."""
WHOLE = BATCHES * IN_A_BATCH


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name == "stoker-fetch"] == []
    close_idle_clusters()


@pytest.fixture
def properties(address: str) -> ClientProperties:
    """Little at a time, so that there are many answers."""
    return client_properties(address, {"max.partition.fetch.bytes": "30000"})


@pytest.fixture
def filled(cluster: Cluster, topic: str) -> str:
    codecs = list(Codec)
    write_batches(
        cluster,
        topic,
        *[
            build_batch([Record(value=value) for value in VALUES], codec=codecs[number % len(codecs)])
            for number in range(BATCHES)
        ],
    )
    return topic


def offsets_of(fetched: Fetched) -> list[int]:
    data = fetched.batches.data
    return [
        record.offset
        for position in fetched.batches.positions.tolist()
        for record in iterate_records(data[position:], 1 << 20)
    ]


def read(properties: ClientProperties, wanted: PartitionRange, isolation: Isolation) -> list[int]:
    """The offsets of all batches, whatever was asked for."""
    return [
        offset for fetched in fetch_range(properties, wanted, isolation=isolation) for offset in offsets_of(fetched)
    ]


@pytest.mark.parametrize(
    ("start", "end", "first", "last"),
    [(0, WHOLE, 0, WHOLE), (0, 1, 0, None), (25, 30, 20, None), (WHOLE - 1, WHOLE, WHOLE - 20, WHOLE)],
)
def test_all_of_a_range(
    properties: ClientProperties, filled: str, start: int, end: int, first: int, last: int | None
) -> None:
    """From the batch of its first record to the batch of its last, or further."""
    offsets = read(properties, PartitionRange(filled, 0, start, end), Isolation.READ_COMMITTED)
    assert offsets[0] == first
    assert offsets == list(range(first, offsets[-1] + 1))
    assert offsets[-1] + 1 == last if last is not None else offsets[-1] >= end - 1


def test_a_range_of_nothing_asks_nobody() -> None:
    nobody = client_properties("localhost:1")
    assert list(fetch_range(nobody, PartitionRange("orders", 0, 5, 5), isolation=Isolation.READ_COMMITTED)) == []


def test_a_reader_that_stops_early_leaves_nothing(properties: ClientProperties, filled: str) -> None:
    """`nothing_left` says so."""
    for taken in (1, 2):
        answers = fetch_range(properties, PartitionRange(filled, 0, 0, WHOLE), isolation=Isolation.READ_COMMITTED)
        for _ in range(taken):
            next(answers)
        assert any(thread.name == "stoker-fetch" for thread in threading.enumerate())
        answers.close()  # type: ignore[attr-defined]


def test_a_slow_reader_is_not_flooded(
    properties: ClientProperties, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most one answer waits while another is on its way."""
    asked: list[int] = []
    fetch = RangeFetcher.next

    def counting(fetcher: RangeFetcher) -> Fetched | None:
        asked.append(fetcher.position)
        return fetch(fetcher)

    monkeypatch.setattr(RangeFetcher, "next", counting)
    offsets: list[int] = []
    wanted = PartitionRange(filled, 0, 0, WHOLE)
    for number, fetched in enumerate(fetch_range(properties, wanted, isolation=Isolation.READ_COMMITTED)):
        offsets += offsets_of(fetched)
        if len(asked) > number + 1:
            eventually(lambda least=number + 3: len(asked) >= least or asked[-1] > WHOLE - 60, bool)  # type: ignore[misc]
        assert len(asked) <= number + 3
    assert offsets == list(range(WHOLE))
    assert len(asked) > 10


def test_connections_are_kept_for_the_next_range(properties: ClientProperties, filled: str) -> None:
    close_idle_clusters()
    for _ in range(3):
        read(properties, PartitionRange(filled, 0, 0, WHOLE), Isolation.READ_COMMITTED)
    [[cluster]] = cluster_pool._idle.values()
    assert [connection.is_open for connection in cluster._connections.values()][-1]
    assert borrow_cluster(properties) is cluster
    return_cluster(cluster)


def test_nobody_interrupts_a_connection_that_was_given_back(
    properties: ClientProperties, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader may stop in the very moment in which the last answer has come: the next one has the connection then."""
    interrupted: list[RangeFetcher] = []
    readers: list[fetching._ReadAhead] = []
    monkeypatch.setattr(RangeFetcher, "interrupt", interrupted.append)

    def stop_late(cluster: Cluster) -> None:
        readers[0]._stop()
        cluster.close()

    monkeypatch.setattr(fetching, "return_cluster", stop_late)
    wanted = PartitionRange(filled, 0, 0, WHOLE)
    cluster = borrow_cluster(properties)
    fetcher = RangeFetcher(cluster, wanted, Isolation.READ_COMMITTED, fetch_settings(properties))
    first = fetcher.next()
    assert first is not None
    readers.append(fetching._ReadAhead(cluster, fetcher, first))
    assert sum(len(fetched.batches) for fetched in readers[0].iterate()) == BATCHES
    assert interrupted == []


def test_a_child_process_has_connections_of_its_own(properties: ClientProperties, filled: str) -> None:
    read(properties, PartitionRange(filled, 0, 0, WHOLE), Isolation.READ_COMMITTED)
    assert cluster_pool._idle
    child = os.fork()
    if child == 0:
        os._exit(len(cluster_pool._idle))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert cluster_pool._idle


def test_no_more_are_kept_than_are_needed(address: str) -> None:
    close_idle_clusters()
    properties = client_properties(address)
    borrowed = [borrow_cluster(properties) for _ in range(9)]
    for cluster in borrowed:
        cluster.metadata([])
        return_cluster(cluster)
    assert sum(map(len, cluster_pool._idle.values())) == 4


@pytest.mark.parametrize("isolation", list(Isolation))
def test_aborted_transactions_are_named(
    properties: ClientProperties, cluster: Cluster, topic: str, isolation: Isolation
) -> None:
    """With read_committed only, and nothing of one that is still open is given out."""
    partition = TopicPartition(topic, 0)
    aborting, committing = (TransactionalProducer(cluster, f"{topic}-{each}") for each in ("aborting", "committing"))
    for producer in (aborting, committing):
        producer.add(partition)
    for producer in (aborting, committing, aborting):
        producer.produce(partition)
        producer.produce(partition)
    committing.commit()
    assert aborting.end(committed=False) is ErrorCode.NONE
    answers = list(fetch_range(properties, PartitionRange(topic, 0, 0, 8), isolation=isolation))
    assert [offset for fetched in answers for offset in offsets_of(fetched)] == list(range(8))
    wanted = {(aborting.producer_id, 0)} if isolation is Isolation.READ_COMMITTED else set()
    assert {tuple(each) for fetched in answers for each in fetched.aborted} == wanted


def test_what_was_deleted_in_the_middle(properties: ClientProperties, cluster: Cluster, filled: str) -> None:
    """The answers that were on their way come; then the reader hears what is left."""
    answers = fetch_range(properties, PartitionRange(filled, 0, 0, WHOLE), isolation=Isolation.READ_COMMITTED)
    offsets = offsets_of(next(answers))
    assert delete_records(cluster, {TopicPartition(filled, 0): WHOLE - 5})[TopicPartition(filled, 0)] == WHOLE - 5
    with pytest.raises(OffsetsGone, match=f"from {WHOLE - 5} up to before {WHOLE}") as gone:
        offsets.extend(offset for fetched in answers for offset in offsets_of(fetched))
    assert offsets == list(range(gone.value.offset))
    assert (gone.value.log_start_offset, gone.value.end_offset) == (WHOLE - 5, WHOLE)


def test_a_range_beyond_the_end(address: str, filled: str) -> None:
    impatient = client_properties(address, {"default.api.timeout.ms": "700"})
    with pytest.raises(
        OffsetsGone, match=f"from 0 up to before {WHOLE}: the records from {WHOLE + 5} on are not there"
    ):
        read(impatient, PartitionRange(filled, 0, WHOLE + 5, WHOLE + 9), Isolation.READ_COMMITTED)
    with pytest.raises(OffsetsGone, match=f"the records from {WHOLE} on are not there, or not yet committed"):
        read(impatient, PartitionRange(filled, 0, WHOLE - 5, WHOLE + 9), Isolation.READ_COMMITTED)


def test_a_topic_that_is_deleted_in_the_middle(address: str, cluster: Cluster, filled: str) -> None:
    properties = client_properties(address, {"max.partition.fetch.bytes": "30000", "default.api.timeout.ms": "1500"})
    answers = fetch_range(properties, PartitionRange(filled, 0, 0, WHOLE), isolation=Isolation.READ_COMMITTED)
    next(answers)
    delete_topics(cluster, [filled])
    wait_until(cluster, filled, lambda topic: topic is None)
    with pytest.raises(TopicGone, match=f"no partition 0 of topic '{filled}'"):
        list(answers)


def test_a_topic_that_is_deleted_and_created_anew_in_the_middle(
    properties: ClientProperties, cluster: Cluster, filled: str
) -> None:
    answers = fetch_range(properties, PartitionRange(filled, 0, 0, WHOLE), isolation=Isolation.READ_COMMITTED)
    next(answers)
    delete_topics(cluster, [filled])
    wait_until(cluster, filled, lambda topic: topic is None)
    create_topic(cluster, filled, partitions=1)
    wait_until(cluster, filled, lambda topic: topic is not None)
    write_batches(cluster, filled, build_batch([Record(value=b"another")] * WHOLE))
    with pytest.raises(TopicGone, match="deleted and created anew"):
        list(answers)


def test_a_partition_that_is_not_there(address: str, filled: str) -> None:
    properties = client_properties(address, {"default.api.timeout.ms": "300"})
    with pytest.raises(TopicGone, match="no partition 7"):
        read(properties, PartitionRange(filled, 7, 0, 5), Isolation.READ_COMMITTED)


def test_a_batch_that_is_larger_than_what_is_asked_for(address: str, cluster: Cluster, topic: str) -> None:
    write_batches(cluster, topic, build_batch([Record(value=b"x" * 900_000)]))
    small = client_properties(address, {"max.partition.fetch.bytes": "1"})
    assert read(small, PartitionRange(topic, 0, 0, 1), Isolation.READ_UNCOMMITTED) == [0]
