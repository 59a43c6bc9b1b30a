"""Which topics a tool means: Kafka's regular expressions for topics, where a comma is an or."""

import re
from collections.abc import Iterable
from typing import Final

from stoker.kafka_tools.failure import JavaError

INTERNAL_TOPICS: Final = frozenset(["__consumer_offsets", "__transaction_state", "__share_group_state"])


class TopicFilter:
    """Kafka's `IncludeList`."""

    def __init__(self, expression: str) -> None:
        """Raises JavaError."""
        text = expression.strip().replace(",", "|").replace(" ", "")
        self.expression = re.sub(r"[\"']+$", "", re.sub(r"^[\"']+", "", text))
        try:
            self._pattern = re.compile(self.expression)
        except re.error:
            raise JavaError("java.lang.RuntimeException", f"{self.expression} is an invalid regex.") from None

    def allows(self, topic: str, *, exclude_internal: bool = False) -> bool:
        return self._pattern.fullmatch(topic) is not None and not (exclude_internal and topic in INTERNAL_TOPICS)


def is_matched(topic: str, pattern: re.Pattern[str]) -> bool:
    """As Java's consumer understands a pattern: by the whole name, and for no internal topic."""
    return topic not in INTERNAL_TOPICS and pattern.fullmatch(topic) is not None


def filtered(topics: Iterable[str], expression: str | None, *, exclude_internal: bool) -> list[str]:
    """Those that match the expression, if there is one."""
    if expression is None:
        return [topic for topic in topics if not (exclude_internal and topic in INTERNAL_TOPICS)]
    wanted = TopicFilter(expression)
    return [topic for topic in topics if wanted.allows(topic, exclude_internal=exclude_internal)]
