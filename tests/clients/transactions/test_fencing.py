"""One live producer a transactional id, transactions that take too long, and what an application is to do about each error."""

from collections.abc import Callable
from functools import partial

import pytest

from tests.clients.client import Record, eventually, fresh_topic
from tests.clients.conftest import Clients
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.transactions.confluent import ConfluentTransactions
from tests.clients.transactions.kinds import CLIENTS, transactions_of
from tests.clients.transactions.remote import JavaTransactions
from tests.clients.transactions.transactional_client import (
    TransactionalClient,
    TransactionalProducer,
    TransactionFailed,
)

SHORT_TIMEOUT_MS = 1_000
"""The shortest that librdkafka takes."""
TOO_LONG_MS = 900_001
"""Above transaction.max.timeout.ms."""

FENCED = {
    "confluent-kafka": {"send": "_FENCED", "send_offsets": "_FENCED", "commit": "_FENCED"},
    "java": {
        "send": "InvalidProducerEpochException",
        "send_offsets": "ProducerFencedException",
        "commit": "ProducerFencedException",
    },
    "kafkajs": dict.fromkeys(("send", "send_offsets", "commit"), "INVALID_PRODUCER_EPOCH"),
    "kafka-python": {
        "send": "InvalidProducerEpochError",
        "send_offsets": "ProducerFencedError",
        "commit": "ProducerFencedError",
    },
    "aiokafka": dict.fromkeys(("send", "send_offsets", "commit"), "ProducerFenced"),
}
"""What a fenced producer is told, by client and by what it tries first. Then an abort is refused too: it can only be closed."""
TIMED_OUT = {client: names["commit"] for client, names in FENCED.items()} | {"java": "InvalidTxnStateException"}
"""What a producer is told when it commits a transaction that the broker has aborted."""
TOO_LARGE = {
    "confluent-kafka": "MSG_SIZE_TOO_LARGE",
    "java": "RecordTooLargeException",
    "kafkajs": "MESSAGE_TOO_LARGE",
    "kafka-python": "MessageSizeTooLargeError",
    "aiokafka": "MessageSizeTooLargeError",
}
INVALID_TIMEOUT = {
    "confluent-kafka": "INVALID_TRANSACTION_TIMEOUT",
    "java": "KafkaException",
    "kafkajs": "INVALID_TRANSACTION_TIMEOUT",
    "kafka-python": "KafkaError",
    "aiokafka": "InvalidTransactionTimeout",
}


def failure(call: Callable[[], object]) -> str:
    """The name of the failure that the call must end with."""
    with pytest.raises(TransactionFailed) as failed:
        call()
    return failed.value.name


@pytest.mark.acceptance("B100", "B101")
@pytest.mark.parametrize("attempt", ["send", "send_offsets", "commit"])
@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_a_new_producer_fences_the_old_one(client: TransactionalClient, topic: str, attempt: str) -> None:
    """The open transaction of the old one is aborted at once, whatever it tries is refused, and the new one works."""
    transactional_id = fresh_topic("contested")
    old = client.producer(transactional_id)
    old.begin()
    old.send(topic, [b"old"])
    new = client.producer(transactional_id)
    new.begin()
    new.send(topic, [b"new"])
    new.commit()
    attempts: dict[str, Callable[[], object]] = {
        "send": partial(old.send, topic, [b"zombie"]),
        "send_offsets": partial(old.send_offsets, fresh_topic("nobody"), {(topic, 0): 1}),
        "commit": old.commit,
    }
    assert failure(attempts[attempt]) == FENCED[client.name][attempt]
    failure(old.abort)
    assert client.read(topic, isolation="read_committed", count=1) == [b"new"]
    assert client.read(topic, isolation="read_uncommitted", count=2) == [b"old", b"new"]


@pytest.mark.acceptance("B100")
@pytest.mark.java
@pytest.mark.parametrize(
    ("first", "second"), [(JavaTransactions, ConfluentTransactions), (ConfluentTransactions, JavaTransactions)]
)
def test_clients_of_both_protocols_fence_each_other(
    first: type[TransactionalClient], second: type[TransactionalClient], clients: Clients, topic: str
) -> None:
    """Transactions of version 2 and classic ones share their ids."""
    transactional_id = fresh_topic("contested")
    older, newer = transactions_of(first, clients), transactions_of(second, clients)
    with older.opened, newer.opened:
        old = older.producer(transactional_id)
        for end in (old.commit, old.abort):
            old.begin()
            old.send(topic, [b"old"])
            end()
        old.begin()
        old.send(topic, [b"left open"])
        new = newer.producer(transactional_id)
        new.begin()
        new.send(topic, [b"new"])
        assert failure(old.commit) == FENCED[older.name]["commit"]
        new.commit()
        assert newer.read(topic, isolation="read_committed", count=2) == [b"old", b"new"]


@pytest.mark.acceptance("B105")
@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_a_transaction_that_takes_too_long_is_aborted(
    client: TransactionalClient, topic: str, confluent: ConfluentKafka
) -> None:
    """After transaction.timeout.ms its records are aborted without anybody's doing, and its producer cannot commit them."""
    transactional_id = fresh_topic("slow")
    producer = client.producer(transactional_id, timeout_ms=SHORT_TIMEOUT_MS)
    producer.begin()
    producer.send(topic, [b"too slow"])
    confluent.produce(topic, [Record(value=b"after")])
    ends = eventually(lambda: confluent.offset_range(topic, 0), (0, 3).__eq__)
    assert ends == (0, 3), "no marker was written"
    assert client.read(topic, isolation="read_committed", count=1) == [b"after"]
    assert failure(producer.commit) == TIMED_OUT[client.name]
    write_one(client.producer(transactional_id), topic)
    assert client.read(topic, isolation="read_committed", count=2) == [b"after", b"goes on"]


@pytest.mark.acceptance("B101", "B105")
@pytest.mark.java
@pytest.mark.parametrize("attempt", ["send", "abort"])
def test_a_producer_of_version_2_goes_on_after_a_timeout(
    clients: Clients, topic: str, confluent: ConfluentKafka, attempt: str
) -> None:
    """Java hears that the epoch is old, aborts, and has the new epoch: the broker takes its abort as the one it has done."""
    client = transactions_of(JavaTransactions, clients)
    with client.opened:
        producer = client.producer(fresh_topic("slow"), timeout_ms=SHORT_TIMEOUT_MS)
        producer.begin()
        producer.send(topic, [b"too slow"])
        assert eventually(lambda: confluent.offset_range(topic, 0), (0, 2).__eq__) == (0, 2)
        if attempt == "send":
            assert failure(partial(producer.send, topic, [b"late"])) == FENCED["java"]["send"]
        producer.abort()
        write_one(producer, topic)
        assert client.read(topic, isolation="read_committed", count=1) == [b"goes on"]


@pytest.mark.acceptance("B101")
@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_after_other_errors_the_transaction_is_aborted_and_the_producer_goes_on(
    client: TransactionalClient, topic: str, confluent: ConfluentKafka
) -> None:
    """A record that the broker refuses costs the transaction, not the producer."""
    small = fresh_topic("small")
    confluent.create_ready_topic(small, configs={"max.message.bytes": "500"})
    producer = client.producer(fresh_topic("writer"))
    producer.begin()
    producer.send(topic, [b"aborted"])
    assert failure(partial(producer.send, small, [b"large" * 200])) == TOO_LARGE[client.name]
    producer.abort()
    write_one(producer, topic)
    assert client.read(topic, isolation="read_committed", count=1) == [b"goes on"]


@pytest.mark.acceptance("B101")
@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_a_timeout_above_that_of_the_broker_is_refused(client: TransactionalClient) -> None:
    """The producer is not initialised: transaction.max.timeout.ms is the broker's."""
    assert (
        failure(partial(client.producer, fresh_topic("long"), timeout_ms=TOO_LONG_MS)) == INVALID_TIMEOUT[client.name]
    )


def write_one(producer: TransactionalProducer, topic: str) -> None:
    producer.begin()
    producer.send(topic, [b"goes on"])
    producer.commit()
