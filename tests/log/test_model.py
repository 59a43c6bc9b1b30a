"""A log beside a plain list: whatever is done to both, they hold the same records."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from stoker.log.config import LogConfig
from stoker.log.files import FileCache
from stoker.log.opening import open_partition_log
from stoker.wire.record_batch import HEADER_SIZE, Record, crc_is_valid
from tests.log.batches import NOW_MS, FakeClock, batch, headers_in, last_log_file, new_log, read_records

PRODUCER_IDS = (1, 2, 3)


class LogBesideList(RuleBasedStateMachine):
    """The list has (offset, timestamp, value) of each record, the dictionary each producer's next sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.path = Path(tempfile.mkdtemp(prefix="stoker-log-model-"))
        self.clock = FakeClock()
        self.records: list[tuple[int, int, bytes]] = []
        self.batches: list[tuple[int, int, int, int]] = []
        """Producer id, base sequence, base offset and count of each batch."""
        self.start = 0
        self.end = 0

    def teardown(self) -> None:
        self.log.close(clean=False)
        shutil.rmtree(self.path)

    @initialize(
        segment_bytes=st.integers(300, 3000),
        index_interval_bytes=st.sampled_from([0, 50, 200, 4096]),
        is_compacted=st.booleans(),
    )
    def create(self, segment_bytes: int, index_interval_bytes: int, is_compacted: bool) -> None:
        self.config = LogConfig(
            segment_bytes=segment_bytes,
            index_interval_bytes=index_interval_bytes,
            cleanup_policy=frozenset({"compact", "delete"} if is_compacted else {"delete"}),
            retention_ms=-1,
        )
        self.log = new_log(self.path, self.config, self.clock)

    @rule(
        count=st.integers(1, 4),
        size=st.integers(0, 40),
        producer_id=st.sampled_from((-1, *PRODUCER_IDS)),
        codec=st.sampled_from([0, 0, 0, 4]),
        late_ms=st.integers(0, 50),
    )
    def append(self, count: int, size: int, producer_id: int, codec: int, late_ms: int) -> None:
        self.clock.advance(1)
        timestamp = self.clock() - late_ms
        values = [b"%d" % (self.end + number) + b"." * size for number in range(count)]
        sequence = self.next_sequence(producer_id)
        records = batch(
            *values,
            timestamp=timestamp,
            codec=codec,
            producer_id=producer_id,
            producer_epoch=min(producer_id, 0),
            base_sequence=sequence,
        )
        result = self.log.append(records, leader_epoch=len(self.batches) // 20)
        assert result == (self.end, self.end + count - 1, -1, self.start, False)
        self.batches.append((producer_id, sequence, self.end, count))
        self.records.extend((self.end + number, timestamp + number, value) for number, value in enumerate(values))
        self.end += count

    def next_sequence(self, producer_id: int) -> int:
        if producer_id < 0:
            return -1
        last = [each for each in self.batches if each[0] == producer_id][-1:]
        return last[0][1] + last[0][3] if last else 0

    @rule(producer_id=st.sampled_from(PRODUCER_IDS), back=st.integers(1, 5))
    def append_again(self, producer_id: int, back: int) -> None:
        """Any of a producer's last five batches, even those whose records are deleted meanwhile."""
        mine = [each for each in self.batches if each[0] == producer_id]
        if len(mine) < back or mine[-back][2] < self.remembered_from:
            return
        _, sequence, base_offset, count = mine[-back]
        records = batch(*[b"again"] * count, producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
        result = self.log.append(records, leader_epoch=len(self.batches) // 20)
        assert result == (base_offset, base_offset + count - 1, -1, self.start, True)

    remembered_from = 0
    """Batches from here on must be remembered; a restart may forget those that are not in the log any more."""

    @precondition(lambda self: self.end > self.start)
    @rule(share=st.floats(0, 1), max_bytes=st.integers(1, 2000))
    def read(self, share: float, max_bytes: int) -> None:
        offset = self.start + int(share * (self.end - self.start - 1))
        assert _plain(read_records(self.log, offset, max_bytes=max_bytes)) == self.records_from(offset)

    def records_from(self, offset: int) -> list[tuple[int, int, bytes]]:
        return [record for record in self.records if record[0] >= offset]

    @rule()
    def roll(self) -> None:
        self.log.roll(self.clock())

    @rule()
    def flush(self) -> None:
        assert self.log.flush() == self.end

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        self.start = max(self.start, int(share * self.end))
        assert self.log.delete_records(int(share * self.end)) == self.start

    @rule(retention_bytes=st.integers(0, 4000))
    def retain_by_size(self, retention_bytes: int) -> None:
        segments = self.log.segments
        following = [*(segment.base_offset for segment in segments[1:]), self.end + 1]
        before = sum(segment.size for segment, end in zip(segments, following, strict=True) if end > self.start)
        self.log.reconfigure(
            LogConfig(
                segment_bytes=self.config.segment_bytes,
                index_interval_bytes=self.config.index_interval_bytes,
                retention_bytes=retention_bytes,
                retention_ms=-1,
            )
        )
        self.log.apply_retention(self.clock()).remove()
        self.log.reconfigure(self.config)
        self.start = self.log.log_start_offset
        assert self.log.size_bytes >= min(before, retention_bytes) or self.start == self.end
        assert self.log.size_bytes <= retention_bytes + self.config.segment_bytes

    @rule(age_ms=st.integers(0, 100))
    def retain_by_time(self, age_ms: int) -> None:
        self.log.reconfigure(
            LogConfig(
                segment_bytes=self.config.segment_bytes,
                index_interval_bytes=self.config.index_interval_bytes,
                retention_ms=age_ms,
            )
        )
        self.log.apply_retention(self.clock()).remove()
        self.log.reconfigure(self.config)
        removed = [record for record in self.records_from(self.start) if record[0] < self.log.log_start_offset]
        assert all(timestamp < self.clock() - age_ms for _, timestamp, _ in removed)
        self.start = self.log.log_start_offset

    @rule(timestamp=st.integers(NOW_MS - 60, NOW_MS + 200))
    def find_by_timestamp(self, timestamp: int) -> None:
        found = self.log.offset_for_timestamp(timestamp)
        expected = next((record for record in self.records_from(self.start) if record[1] >= timestamp), None)
        assert (found and (found.offset, found.timestamp)) == (expected and expected[:2])

    @rule(
        damage=st.sampled_from(["none", "none", "missing", "cut", "garbage", "zeros"]),
        suffix=st.sampled_from(["*.index", "*.timeindex", "*.snapshot"]),
    )
    def restart_cleanly(self, damage: str, suffix: str) -> None:
        self.log.close()
        if suffix != "*.snapshot":
            # Who shut down cleanly trusts the snapshot; only a wrong checksum makes it look further.
            self.damage_files(damage, suffix)
        self.reopen(had_clean_shutdown=True)

    @rule(
        lost_bytes=st.integers(0, 400),
        tail=st.sampled_from(["", "zeros", "garbage"]),
        damage=st.sampled_from(["none", "missing", "cut", "garbage"]),
        suffix=st.sampled_from(["*.index", "*.timeindex", "*.snapshot"]),
    )
    def crash(self, lost_bytes: int, tail: str, damage: str, suffix: str) -> None:
        """The end of the last segment is lost, torn at any byte, or followed by what was never written."""
        self.log.close(clean=False)
        path = last_log_file(self.log)
        content = path.read_bytes()
        content = content[: max(0, len(content) - lost_bytes)]
        content += {"": b"", "zeros": bytes(100), "garbage": b"\x5a" * 100}[tail]
        path.write_bytes(content)
        whole = int(path.stem)
        for position, header in headers_in(content):
            # If all that was lost were zeros, zeros bring it back.
            if not crc_is_valid(memoryview(content), position, header):
                break
            whole = header.next_offset
        self.damage_files(damage, suffix)
        self.end = whole
        self.start = min(self.start, self.end)
        self.records = [record for record in self.records if record[0] < self.end]
        self.batches = [each for each in self.batches if each[2] < self.end]
        self.reopen(had_clean_shutdown=False)

    def damage_files(self, damage: str, suffix: str) -> None:
        for path in Path(self.log.directory).glob(suffix):
            content = path.read_bytes()
            match damage:
                case "missing":
                    path.unlink()
                case "cut":
                    path.write_bytes(content[: len(content) // 2])
                case "garbage":
                    path.write_bytes(bytes((91 * number + 17) % 256 for number in range(len(content))))
                case "zeros":
                    path.write_bytes(bytes(len(content)))

    def reopen(self, *, had_clean_shutdown: bool) -> None:
        recovery_point = min(self.log.recovery_point, self.end)
        first_offset = min(int(path.stem) for path in Path(self.log.directory).glob("*.log"))
        self.remembered_from = max(self.remembered_from, first_offset)
        self.log = open_partition_log(
            self.log.directory,
            topic="topic",
            partition=0,
            config=self.config,
            files=FileCache(4),
            clock=self.clock,
            had_clean_shutdown=had_clean_shutdown,
            recovery_point=recovery_point,
            log_start_offset=self.start,
        )

    @invariant()
    def ends_agree(self) -> None:
        if hasattr(self, "log"):
            assert (self.log.log_start_offset, self.log.log_end_offset) == (self.start, self.end)

    @invariant()
    def sizes_agree(self) -> None:
        if hasattr(self, "log"):
            files = sum(path.stat().st_size for path in Path(self.log.directory).glob("*.log"))
            assert files == self.log.size_bytes
            assert all(segment.size == 0 or segment.size >= HEADER_SIZE for segment in self.log.segments)


def _plain(records: list[Record]) -> list[tuple[int, int, bytes | None]]:
    return [(record.offset, record.timestamp, record.value) for record in records]


TestLogBesideList = LogBesideList.TestCase
TestLogBesideList.settings = settings(max_examples=60, stateful_step_count=40)
