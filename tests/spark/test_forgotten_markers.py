"""A broker that calls transactions complete without having written all their markers, as Apache Kafka does when its only
node dies at the wrong moment: the sink writes those that are missing."""

from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any, NoReturn

import pytest

import stoker
from stoker.broker.transaction_service import TransactionService
from stoker.client.cluster import Cluster
from stoker.client.cluster_pool import close_idle_clusters
from stoker.client.topic_partition import TopicPartition
from stoker.client.transactions import OFFSETS_TOPIC, Transaction, end_transaction
from stoker.spark import sink_transactions
from stoker.spark.errors import NotExactlyOnce
from stoker.spark.exactly_once import Task
from stoker.spark.sink_markers import TOPIC, Names
from stoker.spark.sink_transactions import SinkTransactions
from tests.spark.test_exactly_once import A, B, Query

DATA = "the topic"
FORGOTTEN = [(DATA,), (OFFSETS_TOPIC,), (TOPIC,), (DATA, OFFSETS_TOPIC, TOPIC)]


class Died(Exception):
    """In place of the end of the process."""


class Forgetful:
    """Which topics get no markers from the coordinator."""

    def __init__(self) -> None:
        self.topics: frozenset[str] = frozenset()


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> Forgetful:
    forgetful = Forgetful()
    write = TransactionService._write_markers

    def forget(self: TransactionService, decided: Any, again: bool) -> Any:
        kept = frozenset(each for each in decided.partitions if each[0] not in forgetful.topics)
        return write(self, decided._replace(partitions=kept), again)

    monkeypatch.setattr(TransactionService, "_write_markers", forget)
    return forgetful


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with stoker.Broker(config={"offsets.topic.num.partitions": 4}) as broker:
        yield broker.bootstrap_servers
    close_idle_clusters()


@pytest.fixture
def query(address: str) -> Iterator[Query]:
    query = Query(address)
    query.perform(0, [[0]])  # the claim of the run is another matter
    yield query
    query.cluster.close()


def forget(forgetful: Forgetful, query: Query, topics: tuple[str, ...]) -> None:
    forgetful.topics = frozenset(query.topic if topic == DATA else topic for topic in topics)


@pytest.mark.parametrize("topics", FORGOTTEN, ids=str)
def test_a_commit_during_which_the_coordinator_was_away(
    query: Query, forgetful: Forgetful, monkeypatch: pytest.MonkeyPatch, topics: tuple[str, ...]
) -> None:
    def end_and_lose_the_connection(cluster: Cluster, transaction: Transaction, *, committed: bool) -> None:
        end_transaction(cluster, transaction, committed=committed)
        cluster.close()

    forget(forgetful, query, topics)
    monkeypatch.setattr(sink_transactions, "end_transaction", end_and_lose_the_connection)
    query.task(1, 0, range(1, 10)).perform()
    assert query.read() == Counter(A)


@pytest.mark.parametrize("topics", FORGOTTEN, ids=str)
def test_a_commit_during_which_partitions_had_no_leader(
    query: Query, forgetful: Forgetful, monkeypatch: pytest.MonkeyPatch, topics: tuple[str, ...]
) -> None:
    """Their broker died and came back, and the coordinator, another one, did not wait for it."""
    epochs = count()
    leaders = SinkTransactions._leaders

    def elected_anew(self: SinkTransactions, *given: Any) -> dict[TopicPartition, tuple[int, int]]:
        epoch = next(epochs)
        return {partition: (leader, epoch) for partition, (leader, _) in (leaders(self, *given) or {}).items()}

    forget(forgetful, query, topics)
    monkeypatch.setattr(SinkTransactions, "_leaders", elected_anew)
    query.task(1, 0, range(1, 10)).perform()
    assert query.read() == Counter(A)


@pytest.mark.parametrize("topics", FORGOTTEN, ids=str)
def test_a_task_that_died_when_it_had_committed(
    query: Query, forgetful: Forgetful, monkeypatch: pytest.MonkeyPatch, topics: tuple[str, ...]
) -> None:
    def end_and_die(cluster: Cluster, transaction: Transaction, *, committed: bool) -> NoReturn:
        end_transaction(cluster, transaction, committed=committed)
        raise Died

    forget(forgetful, query, topics)
    with monkeypatch.context() as dying:
        dying.setattr(sink_transactions, "end_transaction", end_and_die)
        dying.setattr(Task, "give_up", lambda self: None)
        with pytest.raises(Died):
            query.task(1, 0, range(1, 10)).perform()
    forgetful.topics = frozenset()
    for run in ("first", "second"):
        assert query.task(1, 0, range(1, 10), run).perform().is_replay
    query.perform(2, [B], run="second")
    assert query.read() == Counter([*A, *B])


@pytest.mark.parametrize("run", ["first", "second"])
@pytest.mark.parametrize("topics", FORGOTTEN, ids=str)
def test_a_task_that_was_aborted(
    query: Query, forgetful: Forgetful, monkeypatch: pytest.MonkeyPatch, topics: tuple[str, ...], run: str
) -> None:
    """Its rows must not be committed together with those of the next attempt, in the same partitions."""

    def die(*_: object, **__: object) -> NoReturn:
        raise Died

    forget(forgetful, query, topics)
    with monkeypatch.context() as dying:
        dying.setattr(sink_transactions.SinkTransactions, "commit", die)
        with pytest.raises(Died):
            query.task(1, 0, range(1, 10)).perform()
    forgetful.topics = frozenset()
    outcome = query.task(1, 0, range(1, 10), run).perform()
    assert not outcome.is_replay
    assert query.read() == Counter(A)


def test_an_outcome_that_nobody_knows_any_more(
    query: Query, forgetful: Forgetful, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody took over the transactional id without looking: the sink does not guess."""
    from stoker.client.admin.transactions import fence_producer
    from stoker.client.properties import client_properties

    def die(*_: object, **__: object) -> NoReturn:
        raise Died

    forget(forgetful, query, (OFFSETS_TOPIC,))
    with monkeypatch.context() as dying:
        dying.setattr(sink_transactions.SinkTransactions, "commit", die)
        with pytest.raises(Died):
            query.task(1, 0, range(1, 10)).perform()
    fence_producer(query.cluster, Names(query.sink_id).transactional_id(0), timeout_ms=1000)
    query.properties = client_properties(query.bootstrap_servers, {"default.api.timeout.ms": "500"})
    with pytest.raises(NotExactlyOnce, match=r"is Empty and yet not over .* whether it was committed is not known"):
        query.opened(1, 0)
