"""Which schemas the records of a topic may have, where `confluent.value.schema.validation` or the same of keys is on.

The registry keeps its schemas in `_schemas`, a topic of this broker, so nobody has to be asked: the log is read when
the first such topic is written to, and from then on what was added to it is read before the next batch is judged. As for
a `read_committed` consumer, what is in an open or aborted transaction does not count.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from logging import getLogger
from typing import Any, Final

from stoker.broker.log_replay import batches_in
from stoker.broker.partitions import Partitions
from stoker.broker.schema_id_check import check_schema_ids, is_quickly_checked
from stoker.broker.schema_ids import SchemaIds, SchemaRule, SchemaRules, Subjects
from stoker.errors import CorruptRecords
from stoker.log.config import RECORD_NAME_STRATEGY, TOPIC_NAME_STRATEGY, LogConfig
from stoker.log.errors import AppendRefused, LogError, RecordsMustBeRead
from stoker.log.partition import LogSlice, PartitionLog
from stoker.log.transaction_index import AbortedTransaction
from stoker.log.validation import MAX_DECOMPRESSED_BYTES
from stoker.wire.error_codes import ErrorCode
from stoker.wire.record_batch import BatchHeader, iterate_records

logger = getLogger("stoker.broker")

SCHEMAS_TOPIC: Final = "_schemas"
_READ_BYTES: Final = 1024 * 1024


class SchemaValidation:
    """The schemas that this broker knows of, and which of them a topic takes.

    Belongs to the event loop's thread, but what is new in `_schemas` is read, and taken in, on a worker. That is one work
    at a time, and until it is done the loop sees that it is behind, and looks at nothing.
    """

    def __init__(self, partitions: Partitions, read_records: Callable[[Callable[[], Any]], Awaitable[Any]]) -> None:
        """`read_records` is to do work on another thread, one at a time."""
        self._partitions = partitions
        self._read_records = read_records
        self._log: PartitionLog | None = None
        self._schemas = SchemaIds()
        self._next_offset = 0
        """All that is before it in the log is taken in."""
        self._rules_of_topics: dict[str, tuple[LogConfig, SchemaRules]] = {}
        """By topic, with the settings they follow from. Forgotten when there is something new in `_schemas`."""
        self._catching_up = asyncio.Lock()

    def validate_at_once(self, log: PartitionLog, records: memoryview) -> tuple[memoryview, BatchHeader]:
        """As `validate`; raises RecordsMustBeRead, before the batch is written into, if that takes more than milliseconds."""
        rules = self._rules_at_once(log)
        if not is_quickly_checked(records):
            raise RecordsMustBeRead
        return _validated(log, records, rules, at_once=True)

    async def validate(self, log: PartitionLog, records: memoryview) -> tuple[memoryview, BatchHeader]:
        """What `PartitionLog.validate` gives of a batch whose schemas are known as well. Raises AppendRefused."""
        rules = await self._rules(log)
        valid: tuple[memoryview, BatchHeader] = await self._read_records(partial(_validated, log, records, rules))
        return valid

    def _rules_at_once(self, log: PartitionLog) -> SchemaRules:
        """What a batch for this log must be. Raises RecordsMustBeRead, or AppendRefused."""
        schemas_log = self._schemas_log(log)
        if schemas_log is not self._log or schemas_log.last_stable_offset != self._next_offset:
            raise RecordsMustBeRead
        config, rules = self._rules_of_topics.get(log.topic, (None, ()))
        if config is not log.config:
            raise RecordsMustBeRead
        return rules

    async def _rules(self, log: PartitionLog) -> SchemaRules:
        """The same, by all that was in `_schemas` when this was called. Raises AppendRefused."""
        async with self._catching_up:
            schemas_log = self._schemas_log(log)
            try:
                await self._catch_up(schemas_log)
            except (OSError, LogError, CorruptRecords) as error:
                logger.error("the schemas in %s cannot be read: %s", SCHEMAS_TOPIC, error)
                raise AppendRefused(
                    ErrorCode.KAFKA_STORAGE_ERROR, f"{_why_looked_at(log)}, but {SCHEMAS_TOPIC} cannot be read: {error}"
                ) from error
            config = log.config
            remembered_config, rules = self._rules_of_topics.get(log.topic, (None, ()))
            if remembered_config is not config:
                rules = await self._read_records(partial(_rules_of, log.topic, config, self._schemas))
                self._rules_of_topics[log.topic] = config, rules
            return rules

    def _schemas_log(self, log: PartitionLog) -> PartitionLog:
        partition = self._partitions.find(SCHEMAS_TOPIC, 0)
        if partition is None:
            raise AppendRefused(
                ErrorCode.INVALID_RECORD,
                f"{_why_looked_at(log)}, but no schema is known: this broker has no topic {SCHEMAS_TOPIC}. Start a schema "
                f"registry that keeps its schemas on this broker, or set {' and '.join(_settings_of(log.config))} to false",
            )
        if partition.log is None:
            raise AppendRefused(
                ErrorCode.KAFKA_STORAGE_ERROR, f"{_why_looked_at(log)}, but the log directory of {partition} is offline"
            )
        return partition.log

    async def _catch_up(self, log: PartitionLog) -> None:
        if log is not self._log:  # the first time, or the topic was deleted and made again
            self._log, self._schemas, self._next_offset = log, SchemaIds(), log.log_start_offset
            self._rules_of_topics.clear()
        stable = log.last_stable_offset
        if self._next_offset < stable:
            self._rules_of_topics.clear()
        while self._next_offset < stable:
            offset = max(self._next_offset, log.log_start_offset)
            piece = log.read(offset, _READ_BYTES, at_least_one_batch=True, up_to_offset=stable)
            aborted = log.aborted_transactions(offset, stable)
            if not piece.length:
                self._next_offset = stable  # compaction has left nothing between here and the end
                return
            take_in = partial(_take_in, self._schemas, piece, offset, aborted, log.directory)
            self._next_offset = await self._read_records(take_in)
            if self._next_offset <= offset:
                raise CorruptRecords(f"{log.directory} has no whole batch at offset {offset}")


def _validated(
    log: PartitionLog, records: memoryview, rules: SchemaRules, *, at_once: bool = False
) -> tuple[memoryview, BatchHeader]:
    valid, header = log.validate(records, at_once=at_once)
    check_schema_ids(valid, header, rules)
    return valid, header


def _take_in(
    schemas: SchemaIds, piece: LogSlice, offset: int, aborted: Sequence[AbortedTransaction], directory: str
) -> int:
    """Replay what is committed in a piece of the log from this offset on; gives the offset after it."""
    left_out = 0
    for header, batch in batches_in(memoryview(piece.read()), directory):
        if header.next_offset <= offset:
            continue
        offset = header.next_offset
        if header.is_control or _is_aborted(header, aborted):
            continue
        try:
            for record in iterate_records(batch, MAX_DECOMPRESSED_BYTES):
                left_out += not schemas.replay(record.key, record.value)
        except CorruptRecords as problem:
            logger.warning("a batch of %s is left out: %s", SCHEMAS_TOPIC, problem)
    if left_out:
        logger.warning(
            "%d records of %s before offset %d are none of a registry: left out", left_out, SCHEMAS_TOPIC, offset
        )
    return offset


def _is_aborted(header: BatchHeader, aborted: Sequence[AbortedTransaction]) -> bool:
    return header.is_transactional and any(
        each.producer_id == header.producer_id and each.first_offset <= header.base_offset <= each.last_offset
        for each in aborted
    )


def _rules_of(topic: str, config: LogConfig, schemas: SchemaIds) -> SchemaRules:
    rules = []
    if config.confluent_key_schema_validation:
        subjects = _subjects(topic, "key", config.confluent_key_subject_name_strategy)
        rules.append(SchemaRule(True, subjects, schemas.known(subjects)))
    if config.confluent_value_schema_validation:
        subjects = _subjects(topic, "value", config.confluent_value_subject_name_strategy)
        rules.append(SchemaRule(False, subjects, schemas.known(subjects)))
    return tuple(rules)


def _subjects(topic: str, what: str, strategy: str) -> Subjects:
    """The names of records are in the schemas, which nobody reads here: any that fits the rest will do."""
    if strategy == TOPIC_NAME_STRATEGY:
        return Subjects(f"{topic}-{what}")
    return Subjects("" if strategy == RECORD_NAME_STRATEGY else f"{topic}-", is_prefix=True)


def _settings_of(config: LogConfig) -> list[str]:
    keys, values = config.confluent_key_schema_validation, config.confluent_value_schema_validation
    return ["confluent.key.schema.validation"] * keys + ["confluent.value.schema.validation"] * values


def _why_looked_at(log: PartitionLog) -> str:
    return f"the topic {log.topic} has {' and '.join(f'{name}=true' for name in _settings_of(log.config))}"
