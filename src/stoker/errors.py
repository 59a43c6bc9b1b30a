"""Every exception Stoker raises on purpose.

StokerError
├── MalformedMessage        bytes that are not the Kafka message they claim to be
├── UnencodableMessage      a message that cannot be written in the version asked for
├── CorruptRecords          a record batch whose bytes contradict themselves
├── MalformedProperties     a properties file that is not one
├── ConnectionRefusedByBroker   a request that ends its connection
├── BrokerCannotStart       why a broker cannot start, and what to do
│   └── DataDirectoryUnusable   ... because of what is in its data directory
├── InvalidRegularExpression    coordinators/groups/subscription_patterns.py
├── LogError                log/errors.py
├── ConfigError             broker/config/errors.py
├── ClientError             client/errors.py
├── RegistryError           registry/errors.py
├── RegistryClientError     registry/client.py
├── InvalidSettings         settings/errors.py
├── ImpossiblePlan          capacity/load.py
├── SparkError              spark/errors.py
├── ClusterError            clusters/errors.py
├── JavaError, ToolEnds     kafka_tools/failure.py
└── CommandFailed           cli/failure.py
"""


class StokerError(Exception):
    """The root: catching it catches all that Stoker raises on purpose."""


class MalformedMessage(StokerError):
    """Bytes that are not the Kafka message they claim to be."""


class UnencodableMessage(StokerError):
    """A message that cannot be written in the version asked for: the caller's mistake, not the peer's."""


class CorruptRecords(StokerError):
    """A record batch whose bytes contradict themselves."""


class MalformedProperties(StokerError):
    """A properties file that cannot be read, with the number of the line."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line


class ConnectionRefusedByBroker(StokerError):
    """A request that ends its connection: an unknown API, or a version that is not served."""


class BrokerCannotStart(StokerError):
    """Why a broker cannot start or is not running, and what to do."""


class DataDirectoryUnusable(BrokerCannotStart):
    """A data directory whose content cannot be served; the message says what is wrong and what to do."""
