"""Writes to the schemas' topic, as the only one who can: in transactions of one transactional id.

Who takes that id makes the broker refuse whatever an earlier holder still has in hand (KIP-98), and all that the earlier
one wrote is then either committed or gone. So two instances that both believe to be primary never both succeed, and an id
is given once.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from stoker.errors import StokerError
from stoker.registry.records import RegistryRecord, encode_record

_TRANSACTION_SECONDS: Final = 10
_SILENT: Final = logging.Logger("librdkafka", level=logging.CRITICAL + 1)  # noqa: LOG001 - known to nobody else
"""All that matters of what librdkafka would print is raised too."""
_FENCED: Final = frozenset(
    {
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
    }
)


class WriteError(StokerError):
    """Nothing was written, or it is not known whether it was. The writer is of no more use."""


class Fenced(WriteError):
    """Another instance has taken over."""


class RecordTooLarge(WriteError):
    """The broker does not take a record of this size. Nothing was written."""


class LogWriter:
    """One turn as the writer, from its making to the first error. Blocks, so it is called in a thread."""

    def __init__(self, properties: Mapping[str, str], topic: str, *, transactional_id: str, timeout: float) -> None:
        """From now on no earlier writer can write. Raises WriteError."""
        self._topic = topic
        self._timeout = timeout
        self._producer = Producer(
            {
                **properties,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": _TRANSACTION_SECONDS * 1000,
                "message.timeout.ms": _TRANSACTION_SECONDS * 1000,
                "message.max.bytes": 10 * 1024 * 1024,  # the broker's limit is the one that counts
                "linger.ms": 0,
            },
            logger=_SILENT,
        )
        try:
            self._producer.init_transactions(timeout)
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
            self._producer.commit_transaction(self._timeout)
        except KafkaException as problem:
            raise _write_error(next(iter(refusals), problem.args[0])) from problem
        self._producer.poll(0)  # what it logged piles up otherwise
        return offsets[-1]

    def close(self) -> None:
        """Whatever is open is given up; the broker aborts it when the next writer comes."""
        self._producer.purge()
        self._producer.flush(0)


def _write_error(error: KafkaError) -> WriteError:
    if error.code() in _FENCED:
        return Fenced("another instance has taken over")
    if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
        return RecordTooLarge("the record is larger than the topic's max.message.bytes allows")
    return WriteError(error.str())
