"""A worker that reads, processes and writes in transactions: `python -m tests.faults.processing_worker SETTINGS`.

The loop is the one of the tutorials, with what they leave out: after an abort the input is read again from the committed
offsets, a call that may be repeated is, and a producer that is fenced makes room for a new process. What it does goes to a
file, line by line, so that a run that went wrong can be looked into.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

FENCED: Final = 3
"""The exit code of a worker whose producer can do no more."""
_CALL_SECONDS: Final = 10.0


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    """`commits_outside` breaks the guarantee on purpose: the offsets are not part of the transaction."""

    number: int
    bootstrap_servers: str
    source: str
    target: str
    group: str
    history: str
    is_static: bool
    batch: int = 20
    commits_outside: bool = False

    def as_text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Self:
        return cls(**json.loads(text))


class Worker:
    """One process of the group."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._name = f"worker-{settings.number}"
        self._history = os.open(settings.history, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._transaction = 0
        self._rebalances = 0
        self._must_stop = False
        signal.signal(signal.SIGTERM, lambda *_: self._stop())
        client = {
            "bootstrap.servers": settings.bootstrap_servers,
            "client.id": f"{self._name}-{os.getpid()}",
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 100,
            "retry.backoff.ms": 20,
            # Starting anew from the bootstrap servers librdkafka 2.16 forgets to commit offsets, for ever.
            "metadata.recovery.strategy": "none",
            "log_level": 0,
        }
        self._producer = Producer(client | {"transactional.id": self._name, "linger.ms": 0})
        self._consumer = Consumer(
            client
            | {
                "group.id": settings.group,
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 3_000,
                "heartbeat.interval.ms": 300,
                "fetch.wait.max.ms": 50,
            }
            | ({"group.instance.id": self._name} if settings.is_static else {})
        )

    def _stop(self) -> None:
        self._must_stop = True

    def _tell(self, what: str, **more: Any) -> None:
        line = {"at": time.monotonic(), "worker": self._name, "process": os.getpid(), "what": what, **more}
        os.write(self._history, (json.dumps(line) + "\n").encode())

    def run(self) -> None:
        """Until SIGTERM, or an error after which only a new process can go on."""
        self._tell("starts")
        self._repeat(self._producer.init_transactions, _CALL_SECONDS)
        self._tell("is the producer of its transactional id")
        # With callbacks a partition comes and goes while `consume` is called, and at no other time.
        self._consumer.subscribe([self._settings.source], on_assign=self._rebalanced, on_revoke=self._rebalanced)
        with closing(self._consumer):
            while not self._must_stop:
                rebalances = self._rebalances
                messages = [m for m in self._consumer.consume(self._settings.batch, 0.2) if m.error() is None]
                os.utime(self._settings.history)  # it lives, even if there is nothing to tell
                if messages and rebalances != self._rebalances:
                    self._rewind()  # some of them may be another worker's by now
                elif messages:
                    self._process(messages)
        self._tell("stops")

    def _rebalanced(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._rebalances += 1
        self._tell("rebalances", partitions=[each.partition for each in partitions])

    def _process(self, messages: list[Message]) -> None:
        self._transaction += 1
        offsets = {message.partition(): (message.offset() or 0) + 1 for message in messages}
        begins = {message.partition(): message.offset() for message in reversed(messages)}
        self._tell("begins", transaction=self._transaction, offsets=begins)
        try:
            self._producer.begin_transaction()
            for message in messages:
                self._producer.produce(self._settings.target, message.value(), key=message.value())
            if self._settings.commits_outside:
                self._commit_outside()
            else:
                self._repeat(
                    self._producer.send_offsets_to_transaction,
                    self._consumer.position(self._consumer.assignment()),
                    self._consumer.consumer_group_metadata(),
                    _CALL_SECONDS,
                )
            self._tell("commits", transaction=self._transaction, offsets=offsets)
            self._repeat(self._producer.commit_transaction, _CALL_SECONDS)
        except KafkaException as problem:
            error = problem.args[0]
            self._tell("fails", transaction=self._transaction, error=str(error))
            if error.fatal() or not error.txn_requires_abort():
                raise
            self._repeat(self._producer.abort_transaction, _CALL_SECONDS)
            self._tell("has aborted", transaction=self._transaction)
            self._rewind()
        else:
            self._tell("has committed", transaction=self._transaction)

    def _commit_outside(self) -> None:
        """The mistake: the offsets count, whatever becomes of the transaction."""
        self._producer.flush(_CALL_SECONDS)
        self._repeat(lambda: self._consumer.commit(asynchronous=False))

    def _rewind(self) -> None:
        """Read again what was read since the last commit."""
        committed = self._repeat(self._consumer.committed, self._consumer.assignment(), _CALL_SECONDS)
        for partition in committed:
            if partition.offset < 0:
                partition.offset = OFFSET_BEGINNING
            try:
                self._consumer.seek(partition)
            except KafkaException as problem:
                if problem.args[0].code() != KafkaError._STATE:
                    raise
                # It has not been read from yet, and will be from where it is committed.
        self._tell("reads again", offsets={each.partition: each.offset for each in committed})

    def _repeat(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Make a call until it is done, or fails so that repeating it does not help."""
        while True:
            try:
                return call(*arguments)
            except KafkaException as problem:
                error = problem.args[0]
                if error.fatal() or error.txn_requires_abort() or self._must_stop:
                    raise
                if not error.retriable() and error.code() not in _TRANSIENT:
                    raise
                self._tell("repeats", call=getattr(call, "__name__", str(call)), error=str(error))


_TRANSIENT: Final = frozenset({KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN})


if __name__ == "__main__":
    try:
        Worker(WorkerSettings.from_text(sys.argv[1])).run()
    except KafkaException:
        # The rest of its life would be spent waiting for a producer that can do no more.
        os._exit(FENCED)
