"""Regular expressions that a person has given, where Kafka's tool hands them to Java, and texts that they split."""

import re

from stoker.kafka_tools.failure import JavaError


def compiled(pattern: str) -> re.Pattern[str]:
    """Raises JavaError."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise JavaError("java.util.regex.PatternSyntaxException", f"{error}: {pattern}") from None


def split(pattern: re.Pattern[str], text: str) -> list[str]:
    """As Java's `String.split`: groups add nothing, and what is empty at the end falls away."""
    pieces: list[str] = []
    begin = 0
    for match in pattern.finditer(text):
        if match.end():  # nothing is cut off before the first letter
            pieces.append(text[begin : match.start()])
            begin = match.end()
    if not pieces:
        return [text]
    pieces.append(text[begin:])
    while pieces and not pieces[-1]:
        pieces.pop()
    return pieces
