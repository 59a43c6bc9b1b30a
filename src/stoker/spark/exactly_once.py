"""Writing each row once: the transaction of a task, and the marker in it by which a task that is run again is recognised.

with exactly_once.task(properties, sink_id=query_id, run=run_id, batch=7, task=3, transaction_timeout_ms=900_000) as task:
    if task.committed is not None:
        task.check_replay(rows, digest)     # the same rows again: nothing is to be written
    else:
        ...                                 # write as task.producer
        task.commit(rows, digest, partitions)
    task.outcome                            # for the driver

exactly_once.finish(properties, outcomes)   # in the driver, when all tasks are done
exactly_once.abandon(properties, outcomes)  # or when one of them failed

docs/adr/0013-exactly-once-sink.md says why it is done so, and in which order.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from stoker.client.admin.producers import ActiveProducer
from stoker.client.admin.transactions import COMPLETE_COMMIT, TransactionDescription
from stoker.client.cluster_pool import borrow_cluster, return_cluster
from stoker.client.errors import ClientError, KafkaRefused
from stoker.client.producing import ProducerIdentity
from stoker.client.properties import ClientProperties, client_properties
from stoker.client.topic_partition import TopicPartition
from stoker.client.transactions import Transaction, Unstable, add_partitions, commit_offsets
from stoker.spark.errors import NotExactlyOnce, Overtaken
from stoker.spark.sink_log import ensure_topic, log_marker, log_partition, read_log
from stoker.spark.sink_markers import LONGEST_METADATA, Marker, Names
from stoker.spark.sink_runs import (
    Writer,
    check_order,
    current_run,
    is_claimed,
    is_of_an_earlier_run,
    run_marker,
    task_marker,
)
from stoker.spark.sink_transactions import OVERTAKEN, SinkTransactions

_QUICK: Final = {"retry.backoff.ms": "4", "retry.backoff.max.ms": "250"}
"""What is waited for here takes milliseconds."""


class TaskOutcome(NamedTuple):
    """What a task tells the driver."""

    sink_id: str
    run: str | None
    batch: int
    task: int
    rows: int
    is_replay: bool = False
    """It has found its rows written, and has seen that they are the same."""
    prepared: "Prepared | None" = None


class Prepared(NamedTuple):
    """A transaction that lacks nothing but the decision, which is the driver's."""

    transaction: Transaction
    partitions: tuple[TopicPartition, ...]


@contextmanager
def task(
    properties: ClientProperties,
    *,
    sink_id: str,
    task: int,
    batch: int,
    transaction_timeout_ms: int,
    run: str | None = None,
) -> Iterator["Task"]:
    """The transaction of a task that has rows to write. Whatever goes wrong within aborts it.

    `sink_id`, `batch` and `task` are the same when the task is run again; `run` is another one whenever the query is
    started, and None for a write that is no query, which cannot be started again. Raises NotExactlyOnce, Overtaken,
    ClientError.
    """
    with _connected(properties) as transactions, _explained(sink_id, batch, task):
        opened = Task(transactions, Names(sink_id), run, batch, task, transaction_timeout_ms)
        try:
            opened.open()
            yield opened
        except BaseException:
            opened.give_up()
            raise


def nothing_to_write(
    properties: ClientProperties, *, sink_id: str, task: int, batch: int, run: str | None = None
) -> TaskOutcome:
    """For a task without rows: it must have had none the last time either. Raises NotExactlyOnce, ClientError."""
    names = Names(sink_id)
    with _connected(properties) as transactions:
        offset = transactions.settle(names.transactional_id(task), names.place(task)).offset
    marker = task_marker(offset)
    if marker is not None:
        check_order(marker, batch, task)
        if marker.next_batch == batch + 1:
            _check_same(marker, 0, 0, sink_id, batch, task)
    return TaskOutcome(sink_id, run, batch, task, 0, is_replay=marker is not None and marker.next_batch == batch + 1)


def finish(properties: ClientProperties, outcomes: Sequence[TaskOutcome | None]) -> None:
    """In the driver, when all tasks of a batch are done: commit what they have prepared.

    They do so when an earlier run of the query has written a part of the batch. Before anything is committed, each task that
    wrote then must have had the same rows now. Raises NotExactlyOnce, Overtaken, ClientError.
    """
    prepared = [each for each in outcomes if each is not None and each.prepared is not None]
    if not prepared:
        return
    sink_id, run, batch = prepared[0].sink_id, prepared[0].run, prepared[0].batch
    assert run is not None
    names = Names(sink_id)
    with _connected(properties) as transactions:
        written = _written_by_earlier_runs(transactions, names, run, batch)
        missing = sorted(written - {each.task for each in outcomes if each is not None and each.is_replay})
        if missing:
            _abort_prepared(transactions, prepared)
            raise NotExactlyOnce(
                f"batch {batch} of query {sink_id} was written in part by a run with more tasks: task {missing[0]} wrote rows of it, and now "
                f"there is no such task or it has no rows. {_SAME_ROWS}"
            )
        for each in prepared:
            assert each.prepared is not None
            with _explained(sink_id, batch, each.task):
                transactions.commit(each.prepared.transaction, each.prepared.partitions, names.place(each.task))


def abandon(properties: ClientProperties, outcomes: Sequence[TaskOutcome | None]) -> None:
    """In the driver, when a batch has failed: let nobody wait for what its tasks have prepared."""
    if any(each is not None and each.prepared is not None for each in outcomes):
        with suppress(ClientError), _connected(properties) as transactions:
            _abort_prepared(transactions, outcomes)


def _abort_prepared(transactions: SinkTransactions, outcomes: Sequence[TaskOutcome | None]) -> None:
    """One that was committed meanwhile stays so: it is refused."""
    for each in outcomes:
        if each is not None and each.prepared is not None:
            with suppress(ClientError):
                transactions.abort(each.prepared.transaction)


class Task:
    """As `task` gives it."""

    def __init__(
        self, transactions: SinkTransactions, names: Names, run: str | None, batch: int, task: int, timeout_ms: int
    ) -> None:
        self._transactions = transactions
        self._names = names
        self._run = run
        self._batch = batch
        self._task = task
        self._timeout_ms = timeout_ms
        self._place = names.place(task)
        self._transaction: Transaction | None = None
        self._prepares = False
        self._known: Marker | None = None
        self._is_suspect = False
        self._checked_topics: set[str] = set()
        self.committed: Marker | None = None
        """Not None if an earlier attempt has written this batch."""
        self.outcome = TaskOutcome(names.sink_id, run, batch, task, 0)

    @property
    def producer(self) -> ProducerIdentity:
        """Who writes. Not for a task that is `committed`."""
        transaction = self._transaction
        assert transaction is not None
        return ProducerIdentity(
            transaction.producer_id,
            transaction.producer_epoch,
            transaction.transactional_id,
            None if transaction.is_v2 else lambda new: add_partitions(self._transactions.cluster, transaction, new),
            self._check_partitions if self._is_suspect else None,
        )

    def open(self) -> None:
        """Find out whether there is something to do, and begin. Raises NotExactlyOnce, ClientError."""
        transactional_id = self._names.transactional_id(self._task)
        if self._run is None:
            settled = self._transactions.settle(transactional_id, self._place)
            ensure_topic(self._transactions.cluster)
        else:
            settled = self._transactions.settle(transactional_id, self._place, beside=self._names.run_place)
            writer = Writer(self._names, self._run, self._batch, self._task)
            claim = None if isinstance(settled.beside, Unstable) else run_marker(settled.beside)
            if claim is None or not is_claimed(claim, writer):
                claim = current_run(self._transactions, writer)
                settled = self._transactions.settle(transactional_id, self._place)
            self._prepares = claim.redoes and claim.batch == self._batch
        if not self._is_done(task_marker(settled.offset)):
            self._transaction = self._transactions.begin(transactional_id, timeout_ms=self._timeout_ms)
            self._look_again()
            self._is_suspect = not _is_clean(settled.coordinated, self._known)

    def check_replay(self, rows: int, digest: int) -> None:
        """The rows of a task that is `committed` must be those that it has written. Raises NotExactlyOnce."""
        assert self.committed is not None
        _check_same(self.committed, rows, digest, self._names.sink_id, self._batch, self._task)
        self.outcome = self.outcome._replace(rows=rows, is_replay=True)

    def commit(self, rows: int, digest: int, partitions: Sequence[TopicPartition]) -> None:
        """All rows are acknowledged: write the marker, and commit. When this returns, readers see them.

        Raises Overtaken if somebody else has ended the transaction, NotExactlyOnce, ClientError.
        """
        transaction, cluster = self._transaction, self._transactions.cluster
        assert transaction is not None
        log = log_partition(self._names.sink_id)
        marker = Marker(
            next_batch=self._batch + 1,
            rows=rows,
            digest=digest,
            run=self._run,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            partitions=(*partitions, log),
        )
        text = marker.text(limit=LONGEST_METADATA)
        if self._run is not None or text != marker.text():
            log_marker(cluster, self.producer, self._names.sink_id, self._task, marker)
        commit_offsets(cluster, transaction, self._place.group_id, {self._place.partition: (marker.next_batch, text)})
        touched = marker.partitions or ()
        self.outcome = self.outcome._replace(rows=rows)
        if self._prepares:
            self.outcome = self.outcome._replace(prepared=Prepared(transaction, touched))
        else:
            self._transactions.commit(transaction, touched, self._place)
        self._transaction = None

    def give_up(self) -> None:
        """Let nobody wait for a transaction that will not be committed."""
        if self._transaction is not None:
            with suppress(ClientError):
                self._transactions.abort(self._transaction)

    def _is_done(self, marker: Marker | None) -> bool:
        self._known = marker
        if marker is None:
            return False
        check_order(marker, self._batch, self._task)
        if marker.next_batch <= self._batch:
            return False
        self._transactions.end_everywhere(self._partitions_of(marker), self._outcome_of)
        self.committed = marker
        return True

    def _look_again(self) -> None:
        """Who had the transactional id before may have gone on until it was taken from him."""
        places = [self._place] if self._run is None else [self._place, self._names.run_place]
        for attempt in self._transactions.cluster.attempts():
            found = self._transactions.read(places)
            if not any(isinstance(offset, Unstable) for offset in found.values()):
                break
            if attempt.is_last:
                raise NotExactlyOnce(
                    f"the markers of task {self._task} of sink {self._names.sink_id} do not come to rest"
                )
        run = None if self._run is None else run_marker(found[self._names.run_place])
        if self._run is not None and (run is None or run.run != self._run):
            raise Overtaken(f"another run of query {self._names.sink_id} has begun to write")
        self._is_done(task_marker(found[self._place]))

    def _partitions_of(self, marker: Marker) -> tuple[TopicPartition, ...]:
        if marker.partitions is not None:
            return marker.partitions
        remembered = read_log(self._transactions.cluster, self._names.sink_id).tasks.get(self._task)
        if remembered is None or remembered.partitions is None or remembered.next_batch != marker.next_batch:
            raise NotExactlyOnce(
                f"where task {self._task} of sink {self._names.sink_id} wrote batch {self._batch} is not known"
            )
        return remembered.partitions

    def _check_partitions(self, partitions: Sequence[TopicPartition]) -> None:
        """Before they are written to: a transaction that an earlier attempt left open there would end with this one."""
        topics = {each.topic for each in partitions} - self._checked_topics
        for topic in self._transactions.cluster.metadata(sorted(topics)).topics if topics else ():
            every = [TopicPartition(topic.name or "", each.partition_index) for each in topic.partitions]
            self._transactions.end_everywhere(every, self._outcome_of)
        self._checked_topics |= topics

    def _outcome_of(self, producer: ActiveProducer) -> bool | None:
        """Of a transaction of an earlier attempt: the marker was a part of it, so it was committed if that is there."""
        known, transaction = self._known, self._transaction
        found = (producer.producer_id, producer.producer_epoch)
        if known is not None and found == (known.producer_id, known.producer_epoch):
            return True
        if transaction is not None and producer.producer_id == transaction.producer_id:
            return False if producer.producer_epoch < transaction.producer_epoch else None
        if known is not None and producer.producer_id == known.producer_id:
            return False if producer.producer_epoch < known.producer_epoch else None
        return None


_SAME_ROWS: Final = (
    "A batch that is run again must give each task the same rows: start the query with the number of partitions, the options and "
    "the query that it had, and by the schemas that it had (value.schema.version, if a newer one was registered), and change "
    "them when the batch is done. Nothing was written twice"
)


def _check_same(marker: Marker, rows: int, digest: int, sink_id: str, batch: int, task: int) -> None:
    if (marker.rows, marker.digest) != (rows, digest):
        there = f"{marker.rows} rows" if marker.rows != rows else f"{rows} rows, but others"
        raise NotExactlyOnce(
            f"task {task} of batch {batch} of {sink_id} has {rows} rows, and when it was run before it wrote {there}. {_SAME_ROWS}"
        )


def _is_clean(found: TransactionDescription | None, marker: Marker | None) -> bool:
    """Whether nothing has happened since the marker, whose task has returned only when all was over."""
    if found is None:
        return True
    if marker is None or found.state != COMPLETE_COMMIT or found.producer_id != marker.producer_id:
        return False
    return found.producer_epoch in (marker.producer_epoch, marker.producer_epoch + 1)


def _written_by_earlier_runs(transactions: SinkTransactions, names: Names, run: str, batch: int) -> set[int]:
    place = names.run_place
    claim = run_marker(transactions.read([place], pending_too=True)[place])
    if claim is None or claim.run != run:
        raise Overtaken(f"another run of query {names.sink_id} has begun to write")
    places = {names.place(task): task for task in range(claim.tasks)}
    found = transactions.read(places, pending_too=True)
    markers = {places[each]: task_marker(offset) for each, offset in found.items()}
    return {task for task, each in markers.items() if each is not None and is_of_an_earlier_run(each, batch, run)}


@contextmanager
def _connected(properties: ClientProperties) -> Iterator[SinkTransactions]:
    cluster = borrow_cluster(client_properties(None, {**_QUICK, **properties.given}))
    try:
        yield SinkTransactions(cluster)
    except BaseException:
        cluster.close()
        raise
    return_cluster(cluster)


@contextmanager
def _explained(sink_id: str, batch: int, task: int) -> Iterator[None]:
    try:
        yield
    except KafkaRefused as refused:
        if refused.error_code not in OVERTAKEN:
            raise
        raise Overtaken(
            f"task {task} of batch {batch} of {sink_id} lost its transaction ({refused}). Spark runs it again. If it happens again and "
            "again: the task may take longer than kafka.transaction.timeout.ms, spark.speculation may be on, or another query "
            "runs with the same checkpoint"
        ) from refused
