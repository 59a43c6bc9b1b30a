"""Which run of a streaming query may write.

Each start of a query is a run. The first task of a run that wants to write claims the sink for it: it takes the
transactional ids of all tasks away from earlier runs, of which some process may still be alive, and looks whether they have
written anything of the batch that this run begins with. From then on whoever belongs to another run is refused.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from random import uniform
from typing import Final, NamedTuple

from stoker.client.admin.group_offsets import CommittedOffset
from stoker.client.errors import KafkaRefused
from stoker.client.producing import ProducerIdentity
from stoker.client.topic_partition import TopicPartition
from stoker.client.transactions import Transaction, Unstable, add_partitions, commit_offsets
from stoker.spark.errors import NotExactlyOnce
from stoker.spark.sink_log import ensure_topic, log_partition, log_run, read_log
from stoker.spark.sink_markers import LONGEST_METADATA, Marker, Names, Place, RunMarker, room_for
from stoker.spark.sink_transactions import OVERTAKEN, SinkTransactions

CLAIM_TIMEOUT_MS: Final = 60_000
_TURN_SECONDS: Final = 0.03
"""So much later than the task before it a task tries to claim: the first has mostly done it by then."""
_LATEST_TURN_SECONDS: Final = 0.6
_LONGEST_CLAIM_SECONDS: Final = 3.0
_SECONDS_A_TASK: Final = 0.02
_POLL_SECONDS: Final = 0.01


class Writer(NamedTuple):
    """Who wants to write."""

    names: Names
    run: str
    batch: int
    task: int


def current_run(
    transactions: SinkTransactions, writer: Writer, *, clock: Callable[[], float] = time.monotonic
) -> RunMarker:
    """The claim of the run this task belongs to, made if nobody has made it. Raises NotExactlyOnce, ClientError."""
    place = writer.names.run_place
    begun = clock()
    patience = min(_TURN_SECONDS * writer.task, _LATEST_TURN_SECONDS)
    slowness, is_awaited = 1, False
    while True:
        offset = transactions.read([place])[place]
        if isinstance(offset, Unstable):
            if not is_awaited:
                is_awaited = True
                patience = max(patience, slowness * _longest_claim_seconds(transactions, writer))
        else:
            found = run_marker(offset)
            if found is not None and is_claimed(found, writer):
                return found
        if clock() - begun >= patience:
            try:
                return _claim(transactions, writer)
            except KafkaRefused as refused:
                if refused.error_code not in OVERTAKEN:
                    raise
                begun, patience, is_awaited = clock(), uniform(0.05, 0.5), False  # another task claims too
                slowness *= 2  # it may have taken this one for dead, and is not to be taken for so itself
        time.sleep(_POLL_SECONDS)


def _longest_claim_seconds(transactions: SinkTransactions, writer: Writer) -> float:
    """A claim that takes longer is one of a process that has died: it has to do with all tasks of the run before it."""
    place = writer.names.run_place
    before = run_marker(transactions.read([place], pending_too=True)[place])
    tasks = max(room_for(writer.task), before.tasks if before is not None else 0)
    return _LONGEST_CLAIM_SECONDS + _SECONDS_A_TASK * tasks


def is_claimed(found: RunMarker, writer: Writer) -> bool:
    """Whether this task may write. Raises NotExactlyOnce if it never may again."""
    if writer.run in found.earlier_runs:
        raise NotExactlyOnce(
            f"another run of query {writer.names.sink_id} has taken over (run {found.run}, since batch {found.batch}), so this one, "
            f"{writer.run}, must not write any more. Two queries with the same checkpoint, or a copy of it, cannot write "
            "at the same time: stop one of them, and give a copy a new checkpoint"
        )
    if found.run != writer.run and writer.batch < found.batch:
        raise NotExactlyOnce(
            f"this is batch {writer.batch}, and run {found.run} of query {writer.names.sink_id} began with batch {found.batch}: the "
            "checkpoint is older than what was written. Go on from the newest checkpoint, or begin anew with an empty one "
            "and an empty topic"
        )
    return found.run == writer.run and writer.task < found.tasks


def _claim(transactions: SinkTransactions, writer: Writer) -> RunMarker:
    """Raises KafkaRefused with an OVERTAKEN code if another task claims at the same time."""
    names, place = writer.names, writer.names.run_place
    ensure_topic(transactions.cluster)
    transactions.settle(names.run_transactional_id, place)
    transaction = transactions.begin(names.run_transactional_id, timeout_ms=CLAIM_TIMEOUT_MS)
    found = run_marker(transactions.settle(names.run_transactional_id, place).offset)
    if found is not None and is_claimed(found, writer):
        return found
    claim = RunMarker(run=writer.run, batch=writer.batch, redoes=False, tasks=room_for(writer.task))
    # While this is pending nobody can find out who may write: who is late waits, and who was early is taken care of below.
    _commit(transactions, transaction, {place: (claim.batch, claim.text())})
    try:
        if found is not None and found.run == writer.run:
            claim = replace(found, tasks=max(claim.tasks, found.tasks))
            forgotten: dict[int, Marker] = {}
        else:
            claim, forgotten = _take_over(transactions, writer, claim, found)
    except NotExactlyOnce:
        transactions.abort(transaction)
        raise
    identity = ProducerIdentity(
        transaction.producer_id,
        transaction.producer_epoch,
        transaction.transactional_id,
        None if transaction.is_v2 else lambda partitions: add_partitions(transactions.cluster, transaction, partitions),
    )
    log_run(transactions.cluster, identity, names.sink_id, claim)
    offsets = {
        names.place(task): (each.next_batch, each.text(limit=LONGEST_METADATA)) for task, each in forgotten.items()
    }
    _commit(transactions, transaction, {**offsets, place: (claim.batch, claim.text())})
    transactions.commit(transaction, [log_partition(names.sink_id)], place)
    return claim


def _take_over(
    transactions: SinkTransactions, writer: Writer, claim: RunMarker, found: RunMarker | None
) -> tuple[RunMarker, dict[int, Marker]]:
    """The claim as it is to be, and the markers that Kafka has forgotten. Raises NotExactlyOnce."""
    names = writer.names
    remembered = read_log(transactions.cluster, names.sink_id) if found is None else None
    known = found or (remembered.run if remembered is not None else None)
    tasks = max(claim.tasks, known.tasks if known is not None else 0)
    # Who comes from the past is told so before anybody is disturbed.
    places = {names.place(task): task for task in range(tasks)}
    for place, offset in transactions.read(places, pending_too=True).items():
        check_order(task_marker(offset), writer.batch, places[place])
    markers: dict[int, Marker] = {}
    for task in range(tasks):
        transactional_id = names.transactional_id(task)
        settled = transactions.settle(transactional_id, names.place(task))
        if settled.coordinated is not None:
            transactions.begin(transactional_id, timeout_ms=CLAIM_TIMEOUT_MS)
            settled = transactions.settle(transactional_id, names.place(task))
        marker = task_marker(settled.offset)
        if marker is not None:
            markers[task] = marker
    forgotten = {}
    if remembered is not None:
        # Read again: somebody may have committed before the id was taken from him.
        remembered = read_log(transactions.cluster, names.sink_id)
        forgotten = {task: marker for task, marker in remembered.tasks.items() if task not in markers}
        markers |= forgotten
    for task, marker in markers.items():
        check_order(marker, writer.batch, task)
    earlier = (*known.earlier_runs, known.run) if known is not None else ()
    claim = RunMarker(
        run=writer.run,
        batch=writer.batch,
        redoes=any(is_of_an_earlier_run(marker, writer.batch, writer.run) for marker in markers.values()),
        tasks=tasks,
        earlier_runs=tuple(run for run in earlier if run != writer.run),
    )
    return claim, forgotten


def check_order(marker: Marker | None, batch: int, task: int) -> None:
    """Raises NotExactlyOnce if later batches have been written."""
    if marker is not None and marker.next_batch > batch + 1:
        raise NotExactlyOnce(
            f"this is batch {batch}, and task {task} has written batch {marker.next_batch - 1} before: the checkpoint is older than "
            "what was written, so it cannot be told which rows are in the topic. Go on from the newest checkpoint, or "
            "begin anew with an empty one and an empty topic"
        )


def is_of_an_earlier_run(marker: Marker, batch: int, run: str) -> bool:
    return marker.next_batch == batch + 1 and marker.run != run


def task_marker(offset: CommittedOffset | Unstable | None) -> Marker | None:
    """Raises NotExactlyOnce if it cannot be read."""
    if offset is None:
        return None
    assert not isinstance(offset, Unstable)
    try:
        return Marker.from_text(offset.offset, offset.metadata)
    except ValueError as error:
        raise NotExactlyOnce(f"a marker of the sink is not one that this version reads: {error}") from None


def run_marker(offset: CommittedOffset | Unstable | None) -> RunMarker | None:
    """Likewise."""
    if offset is None:
        return None
    assert not isinstance(offset, Unstable)
    try:
        return RunMarker.from_text(offset.offset, offset.metadata)
    except ValueError as error:
        raise NotExactlyOnce(f"the marker of the run is not one that this version reads: {error}") from None


def _commit(transactions: SinkTransactions, transaction: Transaction, offsets: dict[Place, tuple[int, str]]) -> None:
    groups: dict[str, dict[TopicPartition, tuple[int, str]]] = {}
    for place, offset in offsets.items():
        groups.setdefault(place.group_id, {})[place.partition] = offset
    for group_id, committed in groups.items():
        commit_offsets(transactions.cluster, transaction, group_id, committed)
