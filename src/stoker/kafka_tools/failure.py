"""How a tool ends when it does not do what it was asked.

StokerError
├── JavaError           what Kafka's tool would have thrown: the Java class and the message
└── ToolEnds            what ends it at once, wherever it is
    ├── UsageAsked      a message and the help on stderr, exit code 1
    ├── VersionAsked    Kafka's version on stdout, exit code 0
    └── ToolExit        lines on stdout or stderr, and an exit code
"""

from typing import TYPE_CHECKING, Final

from stoker.errors import StokerError

if TYPE_CHECKING:
    from stoker.kafka_tools.options import OptionParser

KAFKA_VERSION: Final = "4.3.0"
"""The Kafka whose tools these are."""

ILLEGAL_ARGUMENT: Final = "java.lang.IllegalArgumentException"
COMMAND_FAILED: Final = "org.apache.kafka.tools.AdminCommandFailedException"
_ERRORS: Final = "org.apache.kafka.common.errors"
OPERATION_FAILED: Final = "org.apache.kafka.tools.AdminOperationException"


class JavaError(StokerError):
    """Something that Kafka's tool would have thrown. `str` is the message alone."""

    def __init__(self, java_class: str, message: str) -> None:
        super().__init__(message)
        self.java_class = java_class
        self.message = message

    @property
    def described(self) -> str:
        """As Java's `toString`."""
        return f"{self.java_class}: {self.message}"


class ToolEnds(StokerError):
    """Not to be told of as a failure is: `running.py` knows what to do."""


class UsageAsked(ToolEnds):
    """A message and the help of the tool go to stderr, and it ends with 1."""

    def __init__(self, message: str, parser: "OptionParser") -> None:
        super().__init__(message)
        self.message = message
        self.parser = parser


class VersionAsked(ToolEnds):
    """`--version`."""


class ToolExit(ToolEnds):
    """The tool ends here."""

    def __init__(self, code: int, *, output: str | None = None, error: str | None = None) -> None:
        super().__init__(error or output or "")
        self.code = code
        self.output = output
        self.error = error


def java_error(error: StokerError) -> JavaError:
    """What Kafka's own client would have thrown where ours raised `error`."""
    from stoker.client.errors import (
        CannotConnect,
        ConnectionLost,
        InvalidClientProperty,
        KafkaRefused,
        NotKafka,
        NotTrusted,
        RequestTimedOut,
        UnsupportedByBroker,
    )
    from stoker.kafka_tools.java_errors import java_exception

    if isinstance(error, JavaError):
        return error
    if isinstance(error, KafkaRefused):
        java_class, _, message = java_exception(error).partition(": ")
        return JavaError(java_class, message)
    if isinstance(error, InvalidClientProperty):
        return JavaError("org.apache.kafka.common.config.ConfigException", str(error))
    if isinstance(error, UnsupportedByBroker):
        return JavaError(f"{_ERRORS}.UnsupportedVersionException", str(error))
    if isinstance(error, NotTrusted):
        return JavaError(f"{_ERRORS}.SslAuthenticationException", str(error))
    if isinstance(error, (CannotConnect, ConnectionLost, NotKafka, RequestTimedOut)):
        return JavaError(f"{_ERRORS}.TimeoutException", str(error))
    return JavaError("org.apache.kafka.common.KafkaException", str(error))
