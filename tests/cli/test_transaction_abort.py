"""When `stoker transactions abort` does nothing: states that a test cannot hold a broker in."""

import pytest

from stoker.cli.failure import CommandFailed
from stoker.cli.transaction_abort import abort_of_ids, check_hangs
from stoker.client.admin.hanging_transactions import OpenTransaction
from stoker.client.admin.producers import ActiveProducer
from stoker.client.admin.transactions import TransactionDescription
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.client.topic_partition import TopicPartition

HERE = TopicPartition("orders", 0)
ELSEWHERE = TopicPartition("orders", 1)


def in_state(state: str, *partitions: TopicPartition) -> TransactionDescription:
    return TransactionDescription(
        transactional_id="payments-1",
        coordinator=1,
        producer_id=7,
        producer_epoch=0,
        state=state,
        timeout_ms=60_000,
        start_time_ms=0,
        partitions=partitions,
    )


def is_refused(coordinated: TransactionDescription) -> str:
    """Why a marker is not written by hand; empty if it is."""
    producer = ActiveProducer(7, 0, 0, 3, 0, 12)
    try:
        check_hangs(OpenTransaction(HERE, producer, coordinated), coordinated)
    except CommandFailed as failed:
        return str(failed)
    return ""


@pytest.mark.parametrize("state", ["Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "Empty"])
def test_what_hangs_may_be_aborted_whatever_the_coordinator_does_elsewhere(state: str) -> None:
    assert is_refused(in_state(state, ELSEWHERE)) == ""


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("Ongoing", "`stoker transactions abort payments-1` aborts it in all its partitions"),
        ("PrepareCommit", "knows it as 'payments-1', PrepareCommit; it is being committed"),
        ("PrepareAbort", ""),
        ("PrepareEpochFence", ""),
    ],
)
def test_what_the_coordinator_will_end_here(state: str, words: str) -> None:
    """Only in the way in which it will end it anyway."""
    why = is_refused(in_state(state, HERE, ELSEWHERE))
    assert bool(why) == bool(words)
    assert words in why


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("PrepareCommit", "is being committed: it is PrepareCommit"),
        ("PrepareAbort", "is being aborted already: it is PrepareAbort"),
        ("PrepareEpochFence", "is being aborted already"),
        ("CompleteAbort", "has no open transaction: it is CompleteAbort"),
    ],
)
def test_an_id_whose_transaction_is_decided(state: str, words: str) -> None:
    """No broker is asked for anything."""
    nowhere = Cluster(client_properties("127.0.0.1:1"))
    with pytest.raises(CommandFailed, match=words):
        abort_of_ids(nowhere, [in_state("Ongoing", HERE), in_state(state, HERE)], yes=True)
