"""Tasks that are run again, late, twice at once, by another run, with other rows: what is written once, and what is refused."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any
from uuid import uuid4

import pytest

from stoker.client.admin.group_offsets import committed_offsets, delete_committed_offsets
from stoker.client.admin.topics import create_topic, grow_topic, wait_until
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.client.transactions import Transaction
from stoker.spark import exactly_once, sink_runs, sink_transactions
from stoker.spark.errors import NotExactlyOnce, Overtaken
from stoker.spark.exactly_once import TaskOutcome
from stoker.spark.sink_markers import Names
from stoker.spark.sink_runs import Writer
from stoker.spark.sink_transactions import SinkTransactions
from tests.faults.exactly_once import read_committed
from tests.spark.faults.sink_tasks import PARTITIONS, SinkTask


class Query:
    """A query with a topic of its own. The numbers from 0 up are its rows."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.properties = client_properties(bootstrap_servers)
        self.cluster = Cluster(self.properties)
        self.topic = f"topic-{uuid4().hex[:12]}"
        self.sink_id = str(uuid4())
        create_topic(self.cluster, self.topic, partitions=PARTITIONS)
        wait_until(self.cluster, self.topic, lambda topic: topic is not None)

    def task(self, batch: int, task: int, numbers: Sequence[int], run: str | None = "first") -> SinkTask:
        return SinkTask(
            bootstrap_servers=self.bootstrap_servers,
            topic=self.topic,
            sink_id=self.sink_id,
            run=run,
            batch=batch,
            task=task,
            numbers=numbers,
        )

    def perform(self, batch: int, shares: Sequence[Sequence[int]], run: str | None = "first") -> list[TaskOutcome]:
        return [self.task(batch, task, numbers, run).perform() for task, numbers in enumerate(shares)]

    def finish(self, outcomes: Sequence[TaskOutcome]) -> None:
        exactly_once.finish(self.properties, outcomes)

    def opened(self, batch: int, task: int, run: str | None = "first") -> "ExitStackTask":
        return ExitStackTask(self, batch, task, run)

    def read(self, partitions: int = PARTITIONS) -> Counter[int]:
        return Counter(map(int, read_committed(self.bootstrap_servers, self.topic, partitions)))

    def forget_offsets(self) -> None:
        """What Kafka does when they expire."""
        group = Names(self.sink_id).run_place.group_id
        found = committed_offsets(self.cluster, group)
        assert found
        assert not any(delete_committed_offsets(self.cluster, group, found).values())


class ExitStackTask:
    """A task that is held open, to be overtaken."""

    def __init__(self, query: Query, batch: int, task: int, run: str | None) -> None:
        self._stack = ExitStack()
        self.task = self._stack.enter_context(
            exactly_once.task(
                query.properties, sink_id=query.sink_id, run=run, batch=batch, task=task, transaction_timeout_ms=60_000
            )
        )

    def commit(self) -> None:
        with self._stack:
            self.task.commit(0, 0, [])

    def write(self, numbers: SinkTask) -> Callable[[], None]:
        """All rows are acknowledged; what is left to do is to commit them."""
        with Cluster(client_properties(numbers.bootstrap_servers)) as cluster:
            partitions = numbers.write(cluster, self.task.producer)

        def commit() -> None:
            with self._stack:
                self.task.commit(len(numbers.numbers), numbers.digest, partitions)

        return commit


pytestmark = pytest.mark.both_backends


@pytest.fixture
def query(broker: str) -> Iterator[Query]:
    query = Query(broker)
    yield query
    query.cluster.close()


@pytest.fixture(params=[True, False], ids=["v2", "v1"])
def each_version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With transactions v2, and as before."""
    if not request.param:
        monkeypatch.setattr(sink_transactions, "speaks_v2", lambda cluster: False)


A, B, C, D = range(10), range(10, 20), range(20, 30), range(30, 40)


@pytest.mark.usefixtures("each_version")
def test_batches_of_tasks(query: Query) -> None:
    query.finish(query.perform(0, [A, B]))
    query.finish(query.perform(1, [C, D]))
    assert query.read() == Counter(range(40))


@pytest.mark.usefixtures("each_version")
def test_a_task_that_is_run_again_writes_nothing(query: Query) -> None:
    query.perform(0, [A, B])
    outcomes = query.perform(0, [A, B])
    assert [each.is_replay for each in outcomes] == [True, True]
    assert query.read() == Counter(range(20))


@pytest.mark.parametrize("others", [range(9), range(100, 110), []], ids=["fewer", "as many", "none"])
def test_other_rows_than_the_last_time(query: Query, others: Sequence[int]) -> None:
    query.perform(0, [A, B])
    with pytest.raises(NotExactlyOnce, match=r"task 1 of batch 0 of .* must give each task the same rows"):
        query.task(0, 1, others).perform()
    assert query.read() == Counter(range(20))


def test_a_checkpoint_that_is_older_than_what_was_written(query: Query) -> None:
    query.perform(0, [A])
    query.perform(1, [B])
    query.perform(2, [C])
    for run in ("first", "second"):
        with pytest.raises(NotExactlyOnce, match=r"task 0 has written batch 2 before: the checkpoint is older"):
            query.task(0, 0, A, run).perform()


def test_the_late_attempt_of_two(query: Query) -> None:
    """As with speculation: who begins last has the transaction, and whoever is refused has written nothing."""
    early = query.opened(0, 0)
    assert query.task(0, 0, A).perform().rows == 10
    with pytest.raises(Overtaken, match=r"task 0 of batch 0 .* lost its transaction"):
        early.commit()
    assert query.read() == Counter(A)


@pytest.mark.usefixtures("each_version")
def test_an_attempt_that_commits_while_the_next_one_begins(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its transaction was aborted by then: it must not go on with the rest of it, the marker, in another one."""
    commit = query.opened(0, 0).write(query.task(0, 0, A))
    begin = SinkTransactions.begin

    def begin_late(self: SinkTransactions, *given: Any, **named: Any) -> Transaction:
        with suppress(Overtaken):
            commit()
        return begin(self, *given, **named)

    monkeypatch.setattr(SinkTransactions, "begin", begin_late)
    query.task(0, 0, A).perform()
    assert query.read() == Counter(A)


def test_an_attempt_that_is_abandoned_holds_up_nobody(query: Query) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        exactly_once.task(
            query.properties, sink_id=query.sink_id, run="first", batch=0, task=0, transaction_timeout_ms=60_000
        ),
    ):
        raise ZeroDivisionError
    query.perform(0, [A])
    assert query.read() == Counter(A)


def test_a_batch_that_was_written_in_part(query: Query) -> None:
    """The next run writes what is missing, when it has shown that it has the same rows: the driver then commits it."""
    query.task(0, 1, B).perform()
    outcomes = query.perform(0, [A, B, C], run="second")
    assert [each.prepared is not None for each in outcomes] == [True, False, True]
    query.finish(outcomes)
    query.finish(query.perform(1, [D], run="second"))
    assert query.read() == Counter(range(40))


def test_fewer_tasks_than_the_last_time(query: Query) -> None:
    """Rows of tasks that are there no more are with others now: nothing is written until there are as many again."""
    query.task(0, 2, C).perform()
    outcomes = query.perform(0, [[*A, 20, 21, 22, 23, 24], [*B, 25, 26, 27, 28, 29]], run="second")
    with pytest.raises(NotExactlyOnce, match=r"task 2 wrote rows of it, and now there is no such task"):
        query.finish(outcomes)
    assert query.read() == Counter(C)
    query.finish(query.perform(0, [A, B, C], run="third"))
    assert query.read() == Counter(range(30))


def test_more_tasks_than_the_last_time(query: Query) -> None:
    query.task(0, 0, range(20)).perform()
    prepared = query.task(0, 1, range(10, 20), "second").perform()
    assert prepared.prepared is not None, "a task that has not written is not alone in deciding"
    with pytest.raises(NotExactlyOnce, match="has 10 rows, and when it was run before it wrote 20 rows"):
        query.task(0, 0, range(10), "second").perform()
    assert query.read() == Counter(range(20))


def test_a_batch_that_fails_leaves_nothing_open(query: Query) -> None:
    """What a task has prepared is aborted when another one fails, and written by the next run."""
    query.task(0, 0, range(10)).perform()
    prepared = query.task(0, 1, range(10, 20), "second").perform()
    assert prepared.prepared is not None
    exactly_once.abandon(query.properties, [None, prepared])
    assert query.read() == Counter(range(10))
    query.finish(query.perform(0, [range(10), range(10, 20)], "third"))
    assert query.read() == Counter(range(20))
    exactly_once.abandon(query.properties, [prepared])
    assert query.read() == Counter(range(20))


def test_another_number_of_tasks_for_the_next_batch(query: Query) -> None:
    query.finish(query.perform(0, [A]))
    query.finish(query.perform(1, [B, C, []]))
    query.finish(query.perform(2, [[], D], run="second"))
    assert query.read() == Counter(range(40))


def test_more_tasks_than_a_group_has_places(query: Query) -> None:
    for run in ("first", "second"):
        for task in (0, 14, 15, 40):
            assert query.task(0, task, range(task * 10, task * 10 + 10), run).perform().is_replay == (run == "second")
    assert query.read().total() == 40


@pytest.mark.usefixtures("each_version")
def test_a_process_of_an_earlier_run_that_is_still_alive(query: Query) -> None:
    """It has a task that the new run has not: nobody would take its transaction from it, but for the claim of the run."""
    query.task(0, 0, A).perform()
    alive = query.opened(1, 3)
    query.finish(query.perform(1, [B, C], run="second"))
    with pytest.raises(Overtaken):
        alive.commit()
    with pytest.raises(NotExactlyOnce, match=r"another run of query .* has taken over"):
        query.task(1, 3, B).perform()
    assert query.read() == Counter(range(30))


def test_a_claim_has_time_for_the_tasks_of_the_run_before(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that waits for it does not take it for abandoned, though its own number is low."""
    query.task(0, 300, A).perform()
    take_over, claiming = sink_runs._take_over, []

    def take_over_slowly(transactions: SinkTransactions, writer: Writer, *others: Any) -> Any:
        claiming.append(writer.task)
        time.sleep(1)
        return take_over(transactions, writer, *others)

    monkeypatch.setattr(sink_runs, "_take_over", take_over_slowly)
    monkeypatch.setattr(sink_runs, "_LONGEST_CLAIM_SECONDS", 0.2)
    tasks = [query.task(1, number, rows, "second") for number, rows in ((0, B), (10, C))]
    with ThreadPoolExecutor(2) as executor:
        assert [outcome.rows for outcome in executor.map(SinkTask.perform, tasks)] == [10, 10]
    assert claiming == [0]
    assert query.read() == Counter(range(30))


def test_two_queries_with_the_same_checkpoint(query: Query) -> None:
    query.perform(0, [A], run="original")
    query.perform(1, [B], run="copy")
    with pytest.raises(NotExactlyOnce, match="Two queries with the same checkpoint"):
        query.task(1, 0, B, "original").perform()
    assert query.read() == Counter(range(20))


def test_a_query_that_is_started_after_its_offsets_have_expired(query: Query) -> None:
    """What they said is in the topic too: a batch that was written in part is known again, however old it is."""
    query.finish(query.perform(0, [A, B]))
    query.task(1, 1, D).perform()
    query.forget_offsets()
    outcomes = query.perform(1, [C, D], run="second")
    assert [each.is_replay for each in outcomes] == [False, True]
    query.finish(outcomes)
    assert query.read() == Counter(range(40))


def test_offsets_that_expire_while_the_query_runs(query: Query) -> None:
    query.finish(query.perform(0, [A, B]))
    query.forget_offsets()
    query.finish(query.perform(1, [C, D]))
    assert query.read() == Counter(range(40))


def test_partitions_that_are_added_to_the_topic(query: Query) -> None:
    """What is written stays where it is, and what is not is written whole."""
    query.task(0, 0, A).perform()
    grow_topic(query.cluster, query.topic, PARTITIONS + 2)
    wait_until(query.cluster, query.topic, lambda topic: topic is not None and len(topic.partitions) == PARTITIONS + 2)
    query.finish(query.perform(0, [A, B], run="second"))
    assert query.read(PARTITIONS + 2) == Counter(range(20))


def test_a_write_that_is_no_query(query: Query) -> None:
    """Its tasks may be run again, but it is never started again: there is no run to claim."""
    for _ in range(2):
        query.finish(query.perform(0, [A, B], run=None))
    assert query.read() == Counter(range(20))
