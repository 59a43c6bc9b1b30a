"""Every exception Stoker raises on purpose.

StokerError
├── MalformedMessage        bytes that are not the Kafka message they claim to be
├── UnencodableMessage      a message that cannot be written in the version asked for
└── CorruptRecords          a record batch whose bytes contradict themselves
"""


class StokerError(Exception):
    """The root: catching it catches all that Stoker raises on purpose."""


class MalformedMessage(StokerError):
    """Bytes that are not the Kafka message they claim to be."""


class UnencodableMessage(StokerError):
    """A message that cannot be written in the version asked for: the caller's mistake, not the peer's."""


class CorruptRecords(StokerError):
    """A record batch whose bytes contradict themselves."""
