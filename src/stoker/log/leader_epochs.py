"""Which leader epoch began at which offset: Kafka's leader-epoch-checkpoint."""

from bisect import bisect_right
from typing import NamedTuple

from stoker.log.checkpoints import format_entries, read_entries
from stoker.log.errors import CorruptCheckpoint
from stoker.log.files import replace_file

LEADER_EPOCH_FILE = "leader-epoch-checkpoint"
UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class EpochEntry(NamedTuple):
    epoch: int
    start_offset: int


class LeaderEpochs:
    """Epochs rise, and so do their start offsets.

    In memory it is always complete. The file follows when the log is flushed: entries past the recovery point are in
    the batches themselves, and recovery reads them there.
    """

    __slots__ = ("entries", "is_dirty")

    def __init__(self, entries: list[EpochEntry] | None = None) -> None:
        self.entries = entries or []
        self.is_dirty = False

    @classmethod
    def load(cls, path: str) -> "LeaderEpochs":
        """Read the checkpoint; none if there is no file. Raises CorruptCheckpoint."""
        epochs = cls()
        for line in read_entries(path):
            try:
                epoch, start_offset = map(int, line.split(" "))
            except ValueError:
                raise CorruptCheckpoint(f"{path} has a malformed line: {line!r}") from None
            epochs.assign(epoch, start_offset)
        epochs.is_dirty = False
        return epochs

    def save(self, path: str, *, sync: bool) -> None:
        if self.is_dirty:
            self.is_dirty = False
            entries = list(self.entries)
            try:
                replace_file(path, format_entries(f"{epoch} {start}" for epoch, start in entries), sync=sync)
            except OSError:
                self.is_dirty = True
                raise

    @property
    def latest(self) -> int:
        return self.entries[-1].epoch if self.entries else UNDEFINED_EPOCH

    def assign(self, epoch: int, start_offset: int) -> None:
        """The epoch begins here, unless it already began earlier; what contradicts it goes."""
        entries = self.entries
        if entries and entries[-1].epoch == epoch and entries[-1].start_offset <= start_offset:
            return
        while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
            entries.pop()
        entries.append(EpochEntry(epoch, start_offset))
        self.is_dirty = True

    def end_offset_for(self, requested_epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The largest epoch not above the requested one, and where it ended; (-1, -1) if that is not known."""
        entries = self.entries
        if requested_epoch == UNDEFINED_EPOCH or not entries or requested_epoch > entries[-1].epoch:
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        if requested_epoch == entries[-1].epoch:
            return requested_epoch, log_end_offset
        higher = bisect_right(entries, requested_epoch, key=lambda entry: entry.epoch)
        if higher == 0:
            # All of the requested epoch is gone from the log: what follows it begins where the first known one does.
            return requested_epoch, entries[0].start_offset
        return entries[higher - 1].epoch, entries[higher].start_offset

    def epoch_of(self, offset: int) -> int:
        """The epoch the record at this offset was written in."""
        slot = bisect_right(self.entries, offset, key=lambda entry: entry.start_offset)
        return self.entries[slot - 1].epoch if slot else UNDEFINED_EPOCH

    def truncate_from_start(self, log_start_offset: int) -> None:
        """Forget epochs that ended before the log start; the one that spans it now begins there."""
        entries = self.entries
        count = bisect_right(entries, log_start_offset, key=lambda entry: entry.start_offset)
        if count == 0 or (count == 1 and entries[0].start_offset == log_start_offset):
            return
        entries[:count] = [EpochEntry(entries[count - 1].epoch, log_start_offset)]
        self.is_dirty = True

    def truncate_from_end(self, log_end_offset: int) -> None:
        """Forget epochs that begin at or past the log end."""
        while self.entries and self.entries[-1].start_offset >= log_end_offset:
            self.entries.pop()
            self.is_dirty = True
