"""What the log refuses, and why.

StokerError
└── LogError
    ├── AppendRefused           records that may not, or cannot now, be appended
    ├── RecordsMustBeRead       a batch whose validation takes too long for the thread that asked
    ├── OffsetOutOfRange        an offset the log does not hold
    ├── LogDirectoryError       a log directory that may not be used
    │   └── LogDirectoryLocked  ... because another process uses it
    ├── CorruptCheckpoint       a checkpoint or snapshot file that cannot be read
    └── UnsupportedLog          a log written in a way this broker does not read
"""

from stoker.errors import StokerError
from stoker.wire.error_codes import ErrorCode, shortened


class LogError(StokerError):
    """The root of what this room raises on purpose."""


class AppendRefused(LogError):
    """Nothing was appended; `error_code` is what Kafka would answer, `record_errors` name the records by batch index.

    For a record without a message of its own, clients show the message of the batch.
    """

    def __init__(
        self, error_code: ErrorCode, message: str, record_errors: tuple[tuple[int, str | None], ...] = ()
    ) -> None:
        self.error_code = error_code
        self.message = shortened(message)
        super().__init__(self.message)
        self.record_errors = record_errors


class RecordsMustBeRead(LogError):
    """Validating the batch means reading its records, which is work for a worker thread: `PartitionLog.validate`."""


class OffsetOutOfRange(LogError):
    """The log does not hold this offset: it is below the log start or above the log end."""

    def __init__(self, offset: int, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(f"offset {offset} is outside the log, which holds [{log_start_offset}, {log_end_offset})")
        self.offset = offset
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset


class LogDirectoryError(LogError):
    """A log directory that may not be used; the message names it and says what to do."""


class LogDirectoryLocked(LogDirectoryError):
    """Another process holds the lock of this log directory."""


class CorruptCheckpoint(LogError):
    """A checkpoint or snapshot file whose content cannot be what was written."""


class UnsupportedLog(LogError):
    """A log written in a way this broker does not read, such as message formats before version 2."""
