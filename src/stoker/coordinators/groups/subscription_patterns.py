"""Subscriptions by regular expression (KIP-848): which topics a pattern that a consumer sent stands for.

The syntax is RE2's, as in Kafka. That is also what makes it safe to let a stranger's pattern run in the broker: RE2 does not
backtrack, so the time is in proportion to the length of a name. How large that proportion can be is limited here.
"""

from collections.abc import Iterable
from typing import Any, Final

from stoker.errors import StokerError

MAX_PATTERN_LENGTH: Final = 4096
MAX_PROGRAM_SIZE: Final = 5000
"""Instructions of the compiled pattern. The names of 100 topics take some 2,000; `(a?b?){1000}`, made to be slow, 4,000."""


class InvalidRegularExpression(StokerError):
    """A pattern that RE2 refuses, with its reason, or that is too large to be run for anybody who asks."""


class Pattern:
    """A compiled pattern. Each may take some megabytes while it is used: not to be kept for long."""

    __slots__ = ("_compiled", "text")

    def __init__(self, text: str, compiled: Any) -> None:
        self.text = text
        self._compiled = compiled

    def matches(self, name: str) -> bool:
        """Whether it matches the whole name."""
        return self._compiled.fullmatch(name) is not None


def compile_pattern(text: str) -> Pattern:
    """Raises InvalidRegularExpression, in the words of Kafka's answer to the consumer."""
    if len(text) > MAX_PATTERN_LENGTH:
        excerpt = f"{text[:40]}..."
        raise _invalid(excerpt, f"it has {len(text)} characters, more than {MAX_PATTERN_LENGTH}")
    # Imported here because most brokers never meet a pattern.
    import re2  # type: ignore[import-untyped]  # it ships without types

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        compiled = re2.compile(text, options)
    except re2.error as refused:
        raise _invalid(text, refused.args[0].decode(errors="replace")) from None
    except UnicodeEncodeError:
        raise _invalid(text, "it is not Unicode text") from None
    finally:
        # The module remembers the last 128 patterns, with all their memory.
        re2.purge()
    if compiled.programsize > MAX_PROGRAM_SIZE:
        raise _invalid(text, f"it compiles to {compiled.programsize} instructions, more than {MAX_PROGRAM_SIZE}")
    return Pattern(text, compiled)


def matching_topics(pattern: Pattern, names: Iterable[str]) -> set[str]:
    """The names that the pattern matches whole. Internal topics are names like any other, as in Kafka 4.3."""
    return {name for name in names if pattern.matches(name)}


def _invalid(text: str, reason: str) -> InvalidRegularExpression:
    return InvalidRegularExpression(f"SubscribedTopicRegex `{text}` is not a valid regular expression: {reason}.")
