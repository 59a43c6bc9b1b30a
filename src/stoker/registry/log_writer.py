"""Writes to the schemas' topic, as the only one who can: in transactions of one transactional id.

Who takes that id makes the broker refuse whatever an earlier holder still has in hand (KIP-98), and all that the earlier
one wrote is then either committed or gone. So two instances that both believe to be primary never both succeed, and an id
is given once.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from stoker.client.librdkafka import open_librdkafka
from stoker.errors import StokerError
from stoker.registry.records import RegistryRecord, encode_record

_TRANSACTION_SECONDS: Final = 10
_SLICE_SECONDS: Final = 0.5
_SILENT: Final = logging.Logger("librdkafka", level=logging.CRITICAL + 1)  # noqa: LOG001 - known to nobody else
"""All that matters of what librdkafka would print is raised too."""
_FENCED: Final = frozenset(
    {
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,  # also when nothing was written for a week (transactional.id.expiration.ms)
    }
)

_PURGED: Final = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})
"""Of records that were given up since something else had failed."""


class WriteError(StokerError):
    """Nothing was written, or it is not known whether it was. The writer is of no more use."""


class Fenced(WriteError):
    """Another instance has taken over."""


class RecordTooLarge(WriteError):
    """The broker does not take a record of this size. Nothing was written."""


class LogWriter:
    """One turn as the writer, from its making to the first error. Blocks, so it is called in a thread."""

    def __init__(
        self,
        properties: Mapping[str, str],
        topic: str,
        *,
        transactional_id: str,
        timeout: float,
        stopping: threading.Event,
    ) -> None:
        """From now on no earlier writer can write. Nothing is waited for once `stopping` is set. Raises WriteError and InvalidClientProperty."""
        self._topic = topic
        self._timeout = timeout
        self._stopping = stopping
        self._producer = open_librdkafka(
            Producer,
            {
                **properties,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": _TRANSACTION_SECONDS * 1000,
                "message.timeout.ms": _TRANSACTION_SECONDS * 1000,
                "message.max.bytes": 10 * 1024 * 1024,  # the broker's limit is the one that counts
                "linger.ms": 0,
                "allow.auto.create.topics": False,  # if the topic is gone, so are the schemas: that is for a person to mend
            },
            logger=_SILENT,
        )
        try:
            self._wait_for(self._producer.init_transactions)
        except KafkaException as problem:
            raise _write_error(problem.args[0]) from problem

    def append(self, records: Sequence[RegistryRecord]) -> int:
        """All or nothing; gives the offset of the last one when they are committed. Raises WriteError."""
        offsets: list[int] = []
        refusals: list[KafkaError] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                offsets.append(message.offset() or 0)
            else:
                refusals.append(error)

        try:
            self._producer.begin_transaction()
            for record in records:
                key, value = encode_record(record)
                self._producer.produce(self._topic, key=key, value=value, partition=0, on_delivery=delivered)
            self._wait_for(self._producer.commit_transaction)
        except KafkaException as problem:
            raise _write_error(problem.args[0], *refusals) from problem
        except BufferError as problem:
            raise WriteError(f"{len(records)} records at once are too many") from problem
        self._producer.poll(0)  # what it logged piles up otherwise
        return offsets[-1]

    def _wait_for(self, call: Callable[[float], None]) -> None:
        """A call that did not end in time is resumed by calling again."""
        deadline = time.monotonic() + self._timeout
        while True:
            left = deadline - time.monotonic()
            try:
                call(max(0.0, min(left, _SLICE_SECONDS)))
                return
            except KafkaException as problem:
                if self._stopping.is_set() or left <= _SLICE_SECONDS or not problem.args[0].retriable():
                    raise

    def close(self) -> None:
        """Whatever is open is given up; the broker aborts it when the next writer comes."""
        self._producer.purge()
        self._producer.flush(0)


def _write_error(error: KafkaError, *of_records: KafkaError) -> WriteError:
    """From what became of the transaction and of its records, one of which says why; the others may be consequences."""
    errors = [*of_records, error]
    codes = {each.code() for each in errors}
    if not codes.isdisjoint(_FENCED):
        return Fenced("another instance has taken over")
    if KafkaError.MSG_SIZE_TOO_LARGE in codes:
        return RecordTooLarge("the record is larger than the topic's max.message.bytes allows")
    return WriteError(next((each for each in errors if each.code() not in _PURGED), error).str())
