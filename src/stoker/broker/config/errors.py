"""What the configuration refuses, and why.

StokerError
└── ConfigError
    ├── InvalidConfig           a value that Kafka would refuse, or that Stoker cannot serve
    └── ConfigRefused    a request to show or change configs that is answered with an error code
"""

from stoker.errors import StokerError
from stoker.wire.error_codes import ErrorCode, shortened


class ConfigError(StokerError):
    """The root of what this room raises on purpose."""


class InvalidConfig(ConfigError):
    """A value, alone or beside others, that may not be. The message is Kafka's where Kafka has one."""

    def __init__(self, name: str, value: str | None, reason: str, *, message: str | None = None) -> None:
        super().__init__(message or f"Invalid value {value} for configuration {name}: {reason}")
        self.name = name
        self.value = value
        self.reason = reason

    def at(self, place: str) -> "InvalidConfig":
        """The same with the place where the value was written, such as a file and a line."""
        return InvalidConfig(self.name, self.value, self.reason, message=f"{place}: {self}")


class ConfigRefused(ConfigError):
    """A request that Kafka answers with `error_code` and this message."""

    def __init__(self, error_code: ErrorCode, message: str) -> None:
        self.error_code = error_code
        self.message = shortened(message)
        super().__init__(self.message)
