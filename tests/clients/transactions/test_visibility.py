"""Who sees the records of a transaction, and when."""

import itertools
from dataclasses import replace
from functools import partial

import pytest

from tests.clients.client import Codec, Record, eventually, fresh_topic
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.transactions.kinds import CLIENTS, KINDS, NEEDS, READERS_TO_THE_END
from tests.clients.transactions.transactional_client import ISOLATIONS, TransactionalClient

END = Record(value=b"end")
"""A record outside of any transaction, behind all others: who has read it has seen whatever there is to be seen before it."""


WRITERS_AND_READERS = [
    pytest.param(writer, reader, marks=[NEEDS[each] for each in {writer, reader} & NEEDS.keys()])
    for writer in KINDS
    for reader in KINDS
    if reader in (writer, KINDS[0]) or writer is KINDS[0]
]
"""Each with itself, and the first of them with all others."""


@pytest.mark.acceptance("B099", "B103", "B104")
@pytest.mark.parametrize(("client", "reader"), WRITERS_AND_READERS, indirect=True)
def test_committed_records_are_seen_and_aborted_ones_are_not(
    client: TransactionalClient, reader: TransactionalClient, topic: str, confluent: ConfluentKafka
) -> None:
    """Whoever wrote them: read_committed gives what was committed, read_uncommitted the aborted records too, neither a marker."""
    producer = client.producer(fresh_topic("writer"))
    producer.begin()
    assert producer.send(topic, [b"committed 1", b"committed 2"]) == [0, 1]
    producer.commit()
    producer.begin()
    assert producer.send(topic, [b"aborted"]) == [3]  # behind the marker of the commit
    producer.abort()
    producer.begin()
    assert producer.send(topic, [b"committed 3"]) == [5]
    producer.commit()
    confluent.produce(topic, [END])
    committed = [b"committed 1", b"committed 2", b"committed 3", b"end"]
    assert reader.read(topic, isolation="read_committed", count=4) == committed
    everything = [b"committed 1", b"committed 2", b"aborted", b"committed 3", b"end"]
    assert reader.read(topic, isolation="read_uncommitted", count=5) == everything


@pytest.mark.acceptance("B103", "B104")
@pytest.mark.parametrize("reader", READERS_TO_THE_END, indirect=True)
@pytest.mark.parametrize("end", ["commit", "abort"])
def test_an_open_transaction_hides_what_comes_after_it(
    reader: TransactionalClient, topic: str, confluent: ConfluentKafka, end: str
) -> None:
    """Readers of committed records end at the last stable offset, ListOffsets says so too; when the transaction ends they go on."""
    confluent.produce(topic, [Record(value=b"before")])
    producer = reader.producer(fresh_topic("writer"))
    producer.begin()
    producer.send(topic, [b"in the transaction"])
    confluent.produce(topic, [Record(value=b"after")])
    assert [reader.end(topic, isolation=each) for each in ISOLATIONS] == [1, 3]
    assert reader.read_to_end(topic, isolation="read_committed") == [b"before"]
    assert reader.read_to_end(topic, isolation="read_uncommitted") == [b"before", b"in the transaction", b"after"]

    getattr(producer, end)()
    ends = eventually(lambda: [reader.end(topic, isolation=each) for each in ISOLATIONS], [4, 4].__eq__)
    assert ends == [4, 4]
    seen = [b"before", b"in the transaction", b"after"] if end == "commit" else [b"before", b"after"]
    assert reader.read_to_end(topic, isolation="read_committed") == seen
    assert reader.read_to_end(topic, isolation="read_uncommitted") == [b"before", b"in the transaction", b"after"]


@pytest.mark.acceptance("B103")
@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_interleaved_transactions(client: TransactionalClient, topic: str) -> None:
    """The last stable offset is that of the first open transaction; each is committed or aborted for itself."""
    first, second = (client.producer(fresh_topic("writer")) for _ in range(2))
    first.begin()
    first.send(topic, [b"first 1"])
    second.begin()
    second.send(topic, [b"second 1"])
    first.send(topic, [b"first 2"])
    second.commit()
    second.begin()
    second.send(topic, [b"second 2"])
    first.abort()
    second.send(topic, [b"second 3"])
    second.commit()
    assert client.read(topic, isolation="read_committed", count=3) == [b"second 1", b"second 2", b"second 3"]
    everything = [b"first 1", b"second 1", b"first 2", b"second 2", b"second 3"]
    assert client.read(topic, isolation="read_uncommitted", count=5) == everything


@pytest.mark.acceptance("B099")
@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_a_transaction_over_many_partitions_and_topics(client: TransactionalClient, confluent: ConfluentKafka) -> None:
    """Every partition of every topic has its records and one marker, of the commit and of the abort."""
    topics = [fresh_topic("many") for _ in range(3)]
    for topic in topics:
        confluent.create_ready_topic(topic, partitions=4)
    producer = client.producer(fresh_topic("writer"))
    for end in (producer.commit, producer.abort):
        producer.begin()
        for topic, partition in itertools.product(topics, range(4)):
            producer.send(topic, [f"{topic}-{partition}".encode()], partition=partition)
        end()
    for topic, partition in itertools.product(topics, range(4)):
        ends = eventually(partial(confluent.offset_range, topic, partition), (0, 4).__eq__)
        assert ends == (0, 4)
        confluent.produce(topic, [replace(END, partition=partition)])
        seen = confluent.read(
            topic, partition, count=2
        )  # librdkafka reads what is committed unless it is told otherwise
        assert [each.value for each in seen] == [f"{topic}-{partition}".encode(), b"end"]


@pytest.mark.acceptance("B099")
@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_many_transactions_after_each_other(client: TransactionalClient, topic: str, confluent: ConfluentKafka) -> None:
    """Thirty in a row by one producer, some of them empty: none disturbs the next."""
    producer = client.producer(fresh_topic("writer"))
    committed = []
    for number in range(30):
        producer.begin()
        if number % 5 != 4:
            producer.send(topic, [f"{number} {each}".encode() for each in range(3)])
        if number % 3 == 2:
            producer.abort()
        else:
            producer.commit()
            committed += [f"{number} {each}".encode() for each in range(3) if number % 5 != 4]
    confluent.produce(topic, [END])
    assert client.read(topic, isolation="read_committed", count=len(committed) + 1) == [*committed, b"end"]


@pytest.mark.parametrize(
    ("client", "codec"),
    [
        pytest.param(kind, codec, marks=NEEDS.get(kind, ()))
        for kind in KINDS
        for codec in kind.codecs
        if codec != "none"
    ],
    indirect=["client"],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_compressed_transactions(client: TransactionalClient, codec: Codec, topic: str) -> None:
    """Whatever the codec, the transaction is in the batch's header: committed is told from aborted."""
    producer = client.producer(fresh_topic("writer"), codec=codec)
    aborted, committed = ([f"{kind} {number}".encode() * 10 for number in range(20)] for kind in ("aborted", "kept"))
    producer.begin()
    producer.send(topic, aborted)
    producer.abort()
    producer.begin()
    producer.send(topic, committed)
    producer.commit()
    assert client.read(topic, isolation="read_committed", count=20) == committed
    assert client.read(topic, isolation="read_uncommitted", count=40) == aborted + committed
