"""Regular expressions that a person has given, where Kafka's tool hands them to Java, and texts that they split."""

import re

from stoker.kafka_tools.failure import JavaError


def compiled(pattern: str) -> re.Pattern[str]:
    """Raises JavaError."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise JavaError("java.util.regex.PatternSyntaxException", f"{error}: {pattern}") from None


def pieces(pattern: re.Pattern[str], text: str) -> list[str]:
    """What is between the matches, without their groups; nothing is cut off before the first letter."""
    found: list[str] = []
    begin = 0
    for match in pattern.finditer(text):
        if match.end():
            found.append(text[begin : match.start()])
            begin = match.end()
    return [*found, text[begin:]]


def split(pattern: re.Pattern[str], text: str) -> list[str]:
    """As Java's `String.split`: what is empty at the end falls away."""
    found = pieces(pattern, text)
    if len(found) == 1:
        return found
    while found and not found[-1]:
        found.pop()
    return found


def scan(pattern: re.Pattern[str], text: str) -> list[str]:
    """As Java's `Scanner`: one delimiter before the first and one behind the last part delimit nothing."""
    found = pieces(pattern, text)
    if not found[0]:
        found = found[1:]
    return found if not found or found[-1] else found[:-1]
