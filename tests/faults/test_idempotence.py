"""What a broker remembers of producers, across kill -9."""

import time
from pathlib import Path
from typing import Final

import pytest

from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.init_producer_id import InitProducerIdRequest
from tests.faults.broker_process import BrokerProcess
from tests.faults.records import read_all
from tests.raw_connection import RawConnection, batch_of

TOPIC: Final = "orders"


def new_producer_id(connection: RawConnection) -> int:
    response = connection.call(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1_000), 5)
    assert response.error_code == ErrorCode.NONE
    producer_id: int = response.producer_id
    return producer_id


def batch(producer_id: int, sequence: int, *, epoch: int = 0) -> bytes:
    # Of today: who wrote nothing since yesterday is forgotten, and records of the past count as written in the past.
    return batch_of(
        b"%d" % sequence,
        timestamp=time.time_ns() // 1_000_000,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )


@pytest.mark.acceptance("B059", "B060", "B061", "B062")
@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "stopped"])
def test_duplicates_are_known_after_a_restart(tmp_path: Path, is_killed: bool) -> None:
    """A batch sent again after kill -9 gets its old offset and is not written; gaps, old epochs stay refused."""
    with BrokerProcess(tmp_path / "data") as broker:
        with RawConnection(broker.bootstrap_servers) as connection:
            connection.create_topic(TOPIC)
            producer_id = new_producer_id(connection)
            for sequence in range(8):
                assert connection.produce(TOPIC, batch(producer_id, sequence)) == (ErrorCode.NONE, sequence)
        if is_killed:
            broker.kill()
        else:
            broker.stop()
        broker.start()
        with RawConnection(broker.bootstrap_servers) as connection:
            for sequence in range(3, 8):
                assert connection.produce(TOPIC, batch(producer_id, sequence)) == (ErrorCode.NONE, sequence)
            refused = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            assert connection.produce(TOPIC, batch(producer_id, 9))[0] == refused, "a gap"
            assert connection.produce(TOPIC, batch(producer_id, 2))[0] == refused, "older than the five remembered"
            assert connection.produce(TOPIC, batch(producer_id, 8)) == (ErrorCode.NONE, 8)
            assert connection.produce(TOPIC, batch(producer_id, 0, epoch=1)) == (ErrorCode.NONE, 9)
            assert connection.produce(TOPIC, batch(producer_id, 9))[0] == ErrorCode.INVALID_PRODUCER_EPOCH

            another = new_producer_id(connection)
            assert another != producer_id, "an id was given twice"
            assert connection.produce(TOPIC, batch(another, 0)) == (ErrorCode.NONE, 10), "another session is another"
        written = [value for _, value in read_all(broker.bootstrap_servers, TOPIC)]
        assert written == [b"%d" % number for number in (*range(9), 0, 0)]


def test_producer_ids_are_never_given_twice(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        given: list[int] = []
        for _ in range(4):
            with RawConnection(broker.bootstrap_servers) as connection:
                given += [new_producer_id(connection) for _ in range(30)]
            broker.kill()
            broker.start()
    assert len(set(given)) == len(given)
