"""Compaction beside a model in plain Python: whatever is appended, aborted, deleted, restarted and cleaned in between."""

import shutil
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from stoker.log.compaction.job import CleanedSegment
from stoker.log.compaction.known_offsets import KnownOffsets
from stoker.log.config import LogConfig
from stoker.log.partition import PartitionLog
from stoker.log.producer_state import AppendOrigin
from stoker.wire.record_batch import ControlType, Record, build_batch, build_end_transaction_batch
from tests.log.batches import FakeClock, new_log, read_records, reopen
from tests.log.compaction.compacting import LIMITS, answers_to, compact, job_for, table_of

PRODUCERS = (1, 2)
TRANSACTIONAL = (11, 12)
DELETE_RETENTION_MS = 1000


@dataclass
class Appended:
    """A record that was appended, and what is to be known of it."""

    record: Record
    producer_id: int = -1
    is_aborted: bool = False
    is_open: bool = False
    horizon_ms: int | None = None
    must_be_gone: bool = False


@dataclass
class Batch:
    producer_id: int
    sequence: int
    base_offset: int
    count: int


@dataclass
class Model:
    records: dict[int, Appended] = field(default_factory=dict)
    batches: list[Batch] = field(default_factory=list)

    def last_of(self, producer_id: int) -> Batch | None:
        return next((each for each in reversed(self.batches) if each.producer_id == producer_id), None)


class CompactionBesideTable(RuleBasedStateMachine):
    log: PartitionLog
    config: LogConfig

    def __init__(self) -> None:
        super().__init__()
        self.path = Path(tempfile.mkdtemp(prefix="stoker-compaction-"))
        self.clock = FakeClock()
        self.model = Model()
        self.end = 0
        self.start = 0
        self.cleaned_up_to: int | None = None

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.log.close(clean=False)
        shutil.rmtree(self.path)

    @initialize(
        segment_bytes=st.integers(300, 2000), interval=st.sampled_from([0, 100, 4096]), lag=st.sampled_from([0, 0, 50])
    )
    def create(self, segment_bytes: int, interval: int, lag: int) -> None:
        self.config = LogConfig(
            segment_bytes=segment_bytes,
            index_interval_bytes=interval,
            cleanup_policy=frozenset({"compact"}),
            delete_retention_ms=DELETE_RETENTION_MS,
            min_compaction_lag_ms=lag,
        )
        self.log = new_log(self.path, self.config, self.clock)

    # -- writing ----------------------------------------------------------------------------------------------------

    @rule(
        keys=st.lists(st.integers(0, 6), min_size=1, max_size=5),
        tombstones=st.integers(0, 31),
        codec=st.sampled_from([0, 0, 0, 1, 2, 3, 4]),
        producer_id=st.sampled_from((-1, *PRODUCERS)),
        headers=st.integers(0, 2),
    )
    def append(self, keys: list[int], tombstones: int, codec: int, producer_id: int, headers: int) -> None:
        self._append(keys, tombstones, codec, producer_id, headers, transactional=False)

    @rule(
        keys=st.lists(st.integers(0, 6), min_size=1, max_size=3),
        tombstones=st.integers(0, 7),
        producer_id=st.sampled_from(TRANSACTIONAL),
    )
    def append_in_transaction(self, keys: list[int], tombstones: int, producer_id: int) -> None:
        self._append(keys, tombstones, 0, producer_id, 0, transactional=True)

    def _append(
        self, keys: list[int], tombstones: int, codec: int, producer_id: int, headers: int, *, transactional: bool
    ) -> None:
        self.clock.advance(1)
        records = [
            Record(
                offset=self.end + number,
                timestamp=self.clock() + number % 2,
                key=b"key-%d" % key,
                value=None if tombstones >> number & 1 else b"%d" % (self.end + number) + b"." * 10,
                headers=(("h", None),) * (headers * number % 3),
            )
            for number, key in enumerate(keys)
        ]
        last = self.model.last_of(producer_id) if producer_id >= 0 else None
        sequence = -1 if producer_id < 0 else last.sequence + last.count if last else 0
        batch = build_batch(
            records,
            codec=codec,
            producer_id=producer_id,
            producer_epoch=min(producer_id, 0),
            base_sequence=sequence,
            transactional=transactional,
        )
        result = self.log.append(memoryview(bytearray(batch)), leader_epoch=0)
        assert result.base_offset == self.end
        self.model.batches.append(Batch(producer_id, sequence, self.end, len(keys)))
        for record in records:
            self.model.records[record.offset] = Appended(record, producer_id, is_open=transactional)
        self.end += len(keys)

    @rule(producer_id=st.sampled_from(TRANSACTIONAL), commits=st.booleans())
    def end_transaction(self, producer_id: int, commits: bool) -> None:
        mine = [each for each in self.model.records.values() if each.producer_id == producer_id and each.is_open]
        if not mine:
            return
        self.clock.advance(1)
        marker = build_end_transaction_batch(
            ControlType.COMMIT if commits else ControlType.ABORT,
            producer_id=producer_id,
            producer_epoch=0,
            timestamp=self.clock(),
        )
        self.log.append(memoryview(marker), leader_epoch=0, origin=AppendOrigin.COORDINATOR)
        self.end += 1
        for each in mine:
            each.is_open = False
            each.is_aborted = not commits

    @rule()
    def roll(self) -> None:
        self.log.roll(self.clock())

    @rule(milliseconds=st.integers(1, 700))
    def wait(self, milliseconds: int) -> None:
        self.clock.advance(milliseconds)

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        self.start = max(self.start, int(share * 0.3 * self.end))
        assert self.log.delete_records(self.start) == self.start
        self.log.apply_retention(self.clock()).remove()

    @rule(producer_id=st.sampled_from((*PRODUCERS, *TRANSACTIONAL)))
    def send_the_last_batch_again(self, producer_id: int) -> None:
        """The last sequence of every producer is remembered, whatever became of its records."""
        last = self.model.last_of(producer_id)
        if last is None or last.base_offset < self.start:
            return
        batch = build_batch(
            [Record(timestamp=self.clock(), key=b"again", value=b"") for _ in range(last.count)],
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=last.sequence,
            transactional=producer_id in TRANSACTIONAL,
        )
        result = self.log.append(memoryview(bytearray(batch)), leader_epoch=0)
        assert (result.base_offset, result.duplicate) == (last.base_offset, True)

    @rule(clean=st.booleans(), from_the_start=st.booleans(), policy_changes=st.booleans())
    def restart(self, clean: bool, from_the_start: bool, policy_changes: bool) -> None:
        """Recovery goes through compacted segments too, even if the topic is not compacted any more."""
        recovery_point = 0 if from_the_start and not clean else None
        if policy_changes:
            self.log.reconfigure(replace(self.config, cleanup_policy=frozenset({"delete"}), retention_ms=-1))
        self.log = reopen(self.log, clean=clean, recovery_point=recovery_point, was_compacted=self.log.was_compacted)
        self.log.reconfigure(self.config)

    # -- cleaning ---------------------------------------------------------------------------------------------------

    @rule(
        memory_bytes=st.sampled_from([1 << 20, 1 << 20, 300, 500]),
        remembers=st.sampled_from([True, True, True, False]),
        ends_transactions=st.booleans(),
        rolls=st.booleans(),
        looks_twice=st.booleans(),
    )
    def clean(
        self, memory_bytes: int, remembers: bool, ends_transactions: bool, rolls: bool, looks_twice: bool
    ) -> None:
        """With little memory only some of the dirty part is cleaned; a lost checkpoint means to begin anew."""
        if ends_transactions:
            for producer_id in TRANSACTIONAL:
                self.end_transaction(producer_id, commits=producer_id % 2 == 0)
        if rolls:
            self.log.roll(self.clock())
        limits = LIMITS._replace(dedupe_buffer_bytes=memory_bytes)
        before = self.log.size_bytes
        first_active = self.log.segments[-1].base_offset
        with patch.object(KnownOffsets, "fit", lambda *_: not looks_twice):
            done = compact(self.log, self.cleaned_up_to if remembers else None, limits=limits)
        if done is None:
            return
        event("less is left" if done.records_kept < done.records_read else "all is left")
        assert done.end_offset <= min(first_active, self.log.last_stable_offset)
        assert memory_bytes < 1000 or done.end_offset > (self.cleaned_up_to or 0) or not remembers
        assert self.log.size_bytes <= before + 12 * len(self.model.records)
        self._account_for_cleaning(done.end_offset, done.end_offset)
        self.cleaned_up_to = done.end_offset

    def _account_for_cleaning(self, known_end: int, cleaned_end: int) -> None:
        """The rules of compaction, once more, over single records: all keys below one offset, cleaned below another."""
        newest = {
            each.record.key: offset
            for offset, each in sorted(self.model.records.items())
            if offset < known_end and not each.is_aborted
        }
        for offset, each in self.model.records.items():
            if offset >= cleaned_end or each.must_be_gone:
                continue
            if each.is_aborted or newest[each.record.key] != offset:
                each.must_be_gone = True
            elif each.record.value is None:
                if each.horizon_ms is None:
                    each.horizon_ms = self.clock() + DELETE_RETENTION_MS
                elif self.clock() >= each.horizon_ms:
                    each.must_be_gone = True

    @rule(at=st.integers(0, 2))
    def stop_cleaning_half_way(self, at: int) -> None:
        """Worker or broker die when some segments are replaced and others are not: nothing is remembered of it."""
        self.log.roll(self.clock())
        job = job_for(self.log, self.cleaned_up_to, self.clock())
        if job is None:
            return
        touched_end = 0
        for number, answer in enumerate(answers_to(job)):
            if number == at:
                break
            if isinstance(answer, CleanedSegment):
                self.log.replace_segments(answer).remove()
                following = [s.base_offset for s in self.log.segments if s.base_offset > answer.base_offset]
                touched_end = following[0]
        self._account_for_cleaning(job.first_uncleanable_offset, touched_end)

    # -- what must hold ---------------------------------------------------------------------------------------------

    @precondition(lambda self: hasattr(self, "log"))
    @rule(share=st.floats(0, 1), max_bytes=st.integers(1, 3000))
    def read(self, share: float, max_bytes: int) -> None:
        """A reader may begin at any offset, also at one that is gone."""
        offset = self.start + int(share * (self.end - self.start))
        assert self._data(read_records(self.log, offset, max_bytes=max_bytes)) == self._expected(offset)

    @precondition(lambda self: hasattr(self, "log"))
    @rule(back_ms=st.integers(-5, 300))
    def find_by_timestamp(self, back_ms: int) -> None:
        timestamp = self.clock() - back_ms
        found = self.log.offset_for_timestamp(timestamp)
        everything = [record for record in read_records(self.log) if record.timestamp >= timestamp]
        assert (found and (found.offset, found.timestamp)) == (
            (everything[0].offset, everything[0].timestamp) if everything else None
        )
        newest = self.log.max_timestamp_offset()
        timestamps = [record.timestamp for record in read_records(self.log)]
        if self.start == 0:
            assert (newest and newest.timestamp) == (max(timestamps) if timestamps else None)

    def _data(self, records: list[Record]) -> list[Record]:
        return [record for record in records if record.offset in self.model.records]

    def _expected(self, offset: int) -> list[Record]:
        return [
            each.record for at, each in sorted(self.model.records.items()) if at >= offset and not each.must_be_gone
        ]

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "log"):
            return
        assert (self.log.log_start_offset, self.log.log_end_offset) == (self.start, self.end)
        records = read_records(self.log)
        assert self._data(records) == self._expected(self.start)
        if self.start == 0:
            everything = [each for _, each in sorted(self.model.records.items()) if not each.is_aborted]
            kept = [each for each in everything if not each.must_be_gone]
            assert table_of([each.record for each in kept]) == table_of([each.record for each in everything])
        files = sum(path.stat().st_size for path in Path(self.log.directory).glob("*.log"))
        assert files == self.log.size_bytes
        assert not list(Path(self.log.directory).glob("*.swap"))


TestCompactionBesideTable = CompactionBesideTable.TestCase
TestCompactionBesideTable.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
