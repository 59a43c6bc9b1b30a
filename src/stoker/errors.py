"""Every exception Stoker raises on purpose.

StokerError
├── MalformedMessage        bytes that are not the Kafka message they claim to be
├── UnencodableMessage      a message that cannot be written in the version asked for
├── CorruptRecords          a record batch whose bytes contradict themselves
├── ConnectionRefusedByBroker   a request that ends its connection
├── BrokerCannotStart       why a broker cannot start, and what to do
│   └── DataDirectoryUnusable   ... because of what is in its data directory
├── LogError                log/errors.py
└── ConfigError             broker/config/errors.py
"""


class StokerError(Exception):
    """The root: catching it catches all that Stoker raises on purpose."""


class MalformedMessage(StokerError):
    """Bytes that are not the Kafka message they claim to be."""


class UnencodableMessage(StokerError):
    """A message that cannot be written in the version asked for: the caller's mistake, not the peer's."""


class CorruptRecords(StokerError):
    """A record batch whose bytes contradict themselves."""


class ConnectionRefusedByBroker(StokerError):
    """A request that ends its connection: an unknown API, or a version that is not served."""


class BrokerCannotStart(StokerError):
    """Why a broker cannot start or is not running, and what to do."""


class DataDirectoryUnusable(BrokerCannotStart):
    """A data directory whose content cannot be served; the message says what is wrong and what to do."""
