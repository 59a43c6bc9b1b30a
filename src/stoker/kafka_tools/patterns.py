"""Regular expressions that a person has given, where Kafka's tool hands them to Java."""

import re

from stoker.kafka_tools.failure import JavaError


def compiled(pattern: str) -> re.Pattern[str]:
    """Raises JavaError."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise JavaError("java.util.regex.PatternSyntaxException", f"{error}: {pattern}") from None
