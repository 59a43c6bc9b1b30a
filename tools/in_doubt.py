"""A kill between the decision of a transaction and its markers: what Stoker, and what a single Apache Kafka node makes of it.

    python -m tools.in_doubt                10 kills each, about 3 minutes; prints the table of docs/transactions.md
    python -m tools.in_doubt --kills 30

Each kill is a SIGKILL while a transaction of 100 records in 4 partitions, with an offset of a group, is being committed;
the broker starts again at once, the client repeats its EndTxn as clients do, and then everybody is asked: the coordinator
whether the transaction is complete, the partitions whether it is still open there, a read_committed reader what it can see.

Both brokers are killed at the moment at which EndTxn is answered. Apache Kafka answers when the decision is written, and
writes the markers after that. Stoker answers when it is done, so that this kill hardly ever comes in between: it is killed
from inside too, at each append from the decision on.
"""

import argparse
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

from stoker.broker.coordinator_topic import java_hash
from stoker.coordinators.transactions.states import TransactionState
from stoker.wire.transaction_records import decode_transaction_record
from tests.apache_kafka import ApacheKafka
from tests.faults.doomed_broker import DoomedBroker
from tests.faults.kill_points import KillPoint, Step, When
from tests.faults.raw_transactions import (
    PROTOCOLS,
    RawTransactions,
    batches_in,
    open_producers,
    read_batches,
    state_of,
)
from tests.raw_connection import RawConnection

PARTITIONS: Final = 4
RECORDS: Final = 25
INTERNAL_PARTITIONS: Final = 4
SETTINGS: Final = {
    "offsets.topic.num.partitions": str(INTERNAL_PARTITIONS),
    "transaction.state.log.num.partitions": str(INTERNAL_PARTITIONS),
}
INPUT: Final = "input"
WAIT_SECONDS: Final = 60.0
GRACE_SECONDS: Final = 10.0
"""How long a partition may have a transaction open after its coordinator has called it complete."""


@dataclass
class Tally:
    """What became of the transactions of one broker."""

    kills: int = 0
    in_doubt: int = 0
    complete_without_markers: int = 0
    partitions_stuck: int = 0
    groups_stuck: int = 0
    records_lost: int = 0


HEADINGS: Final = {
    "kills": "kills",
    "in_doubt": "decided but not complete when killed",
    "complete_without_markers": "then called complete without all markers",
    "partitions_stuck": "partitions stuck",
    "groups_stuck": "groups stuck",
    "records_lost": "committed records that read_committed never sees",
}


class Peer(ABC):
    """A broker to be killed while a transaction ends."""

    name: str

    @property
    @abstractmethod
    def bootstrap_servers(self) -> str: ...

    @property
    @abstractmethod
    def data(self) -> Path: ...

    def aim(self, trial: int) -> None:
        """Before each transaction."""
        return

    @abstractmethod
    def kill(self, connection: RawConnection) -> None:
        """EndTxn was sent: kill it when the time has come."""

    @abstractmethod
    def start_again(self) -> None: ...


class Kafka(Peer):
    name = "Apache Kafka 4.3, one node, killed when it answers"

    def __init__(self, stack: ExitStack) -> None:
        self._kafka = stack.enter_context(ApacheKafka(properties=SETTINGS))

    @property
    def bootstrap_servers(self) -> str:
        return self._kafka.bootstrap_servers

    @property
    def data(self) -> Path:
        return self._kafka.data_directory

    def kill(self, connection: RawConnection) -> None:
        connection.receive_frame()
        self._kafka.kill()

    def start_again(self) -> None:
        self._kafka.start()


class Stoker(Peer):
    name = "Stoker, killed when it answers"

    def __init__(self, stack: ExitStack) -> None:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stoker-in-doubt-")))
        self._broker = DoomedBroker(directory / "data", kills=directory / "kills", options=SETTINGS)
        stack.enter_context(self._broker)

    @property
    def bootstrap_servers(self) -> str:
        return self._broker.bootstrap_servers

    @property
    def data(self) -> Path:
        assert self._broker.data_dir is not None
        return self._broker.data_dir

    def kill(self, connection: RawConnection) -> None:
        connection.receive_frame()
        self._broker.kill()

    def start_again(self) -> None:
        self._broker.doomed([]).start()


class StokerFromInside(Stoker):
    name = "Stoker, killed at each append"
    points = (
        KillPoint(step=Step.PREPARE_RECORD, when=When.AFTER),
        KillPoint(step=Step.OFFSETS_MARKER, when=When.AFTER),
        *(KillPoint(step=Step.DATA_MARKER, when=When.AFTER, count=count) for count in range(1, PARTITIONS + 1)),
        KillPoint(step=Step.OFFSETS_MARKER, when=When.TORN),
        KillPoint(step=Step.DATA_MARKER, when=When.TORN, count=2),
        KillPoint(step=Step.COMPLETE_RECORD, when=When.TORN),
    )

    def aim(self, trial: int) -> None:
        self._broker.stop()
        self._broker.doomed([self.points[trial % len(self.points)]]).start()

    def kill(self, connection: RawConnection) -> None:
        self._broker.wait()


def run(peer: Peer, kills: int, tally: Tally) -> None:
    for trial in range(kills):
        peer.aim(trial)
        kill_once(peer, trial, tally)


def kill_once(peer: Peer, trial: int, tally: Tally) -> None:
    topic, group, transactional_id = f"orders-{trial}", f"group-{trial}", f"processor-{trial}"
    with connected(peer) as connection:
        transactions = RawTransactions(connection, transactional_id, PROTOCOLS[trial % 2])
        if trial == 0:
            connection.create_topic(INPUT)
        connection.create_topic(topic, partitions=PARTITIONS)
        transactions.init()
        for partition in range(PARTITIONS):
            transactions.produce(topic, partition, *(b"order %d" % number for number in range(RECORDS)))
        transactions.commit_offset(group, INPUT, 0, 1)
        producer_id = transactions.producer_id
        connection.send(*transactions.end_request(commit=True))
        peer.kill(connection)
    tally.kills += 1
    tally.in_doubt += last_state(peer.data, transactional_id).is_decided
    peer.start_again()

    with connected(peer) as connection:
        transactions.connection = connection
        transactions.end(commit=True)
        wait_for(lambda: state_of(connection, transactional_id) == "CompleteCommit", WAIT_SECONDS)
        of_group = ("__consumer_offsets", java_hash(group) % INTERNAL_PARTITIONS)
        touched = [of_group, *((topic, partition) for partition in range(PARTITIONS))]
        wait_for(lambda: not any(producer_id in open_producers(connection, *each) for each in touched), GRACE_SECONDS)
        stuck = [each for each in touched if producer_id in open_producers(connection, *each)]
        seen = sum(
            header.record_count
            for partition in range(PARTITIONS)
            for header, _ in read_batches(connection, topic, partition, committed=True)
            if header.producer_id == producer_id and not header.is_control
        )
    tally.complete_without_markers += bool(stuck)
    tally.groups_stuck += of_group in stuck
    tally.partitions_stuck += len([each for each in stuck if each != of_group])
    tally.records_lost += PARTITIONS * RECORDS - seen
    said = f"open in {', '.join(f'{name}-{index}' for name, index in stuck)}" if stuck else "well"
    print(f"{peer.name}: kill {trial + 1}: {said}", file=sys.stderr, flush=True)


def connected(peer: Peer) -> RawConnection:
    """A broker that has just started may not listen yet."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return RawConnection(peer.bootstrap_servers, timeout=WAIT_SECONDS)
        except ConnectionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)


def last_state(data: Path, transactional_id: str) -> TransactionState:
    """What the files of a dead broker say; both lay them out in the same way."""
    partition = java_hash(transactional_id) % INTERNAL_PARTITIONS
    states = [
        TransactionState(decoded.value.transaction_status)
        for path in sorted(data.glob(f"__transaction_state-{partition}/*.log"))
        for _, records in batches_in(path.read_bytes())
        for record in records
        if (decoded := decode_transaction_record(record.key or b"", record.value)) is not None
        and decoded.transactional_id == transactional_id
        and decoded.value is not None
    ]
    return states[-1]


def table(tallies: Sequence[tuple[str, Tally]]) -> Iterator[str]:
    names = [each.name for each in fields(Tally)]
    yield f"| | {' | '.join(HEADINGS[name] for name in names)} |"
    yield f"|---|{'---:|' * len(names)}"
    for peer, tally in tallies:
        yield f"| {peer} | {' | '.join(str(getattr(tally, name)) for name in names)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=10, help="of each broker (default 10)")
    options = parser.parse_args()
    tallies: list[tuple[str, Tally]] = []
    for kind in (Kafka, Stoker, StokerFromInside):
        tallies.append((kind.name, Tally()))
        with ExitStack() as stack:
            run(kind(stack), options.kills, tallies[-1][1])
    print("\n".join(table(tallies)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
