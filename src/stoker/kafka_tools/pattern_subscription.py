"""What a group reads of topics by a pattern, which Java's consumer matches by itself: librdkafka's patterns are others."""

import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from confluent_kafka import Consumer

from stoker.client.errors import CannotConnect
from stoker.kafka_tools.rdkafka import Errors, first_metadata
from stoker.kafka_tools.topic_filter import is_matched

LOOK_SECONDS: Final = 1.0
"""How often it is looked for topics while there are none."""
_MAX_AGE_MS: Final = "300000"


def max_age_seconds(properties: Mapping[str, str]) -> float:
    """How often it is looked for new topics."""
    return int(properties.get("metadata.max.age.ms", _MAX_AGE_MS)) / 1000


class PatternSubscription:
    """A consumer's. `callbacks` are those that its `subscribe` takes."""

    def __init__(
        self,
        consumer: Consumer,
        errors: Errors,
        properties: Mapping[str, str],
        pattern: re.Pattern[str],
        **callbacks: Callable[..., None],
    ) -> None:
        self._consumer = consumer
        self._errors = errors
        self._address = properties["bootstrap.servers"]
        self._max_age = max_age_seconds(properties)
        self._pattern = pattern
        self._callbacks: dict[str, Any] = dict(callbacks)
        self._names: list[str] = []
        self._next_look = 0.0

    def begin(self) -> None:
        """Raises CannotConnect and JavaError."""
        topics = first_metadata(self._consumer, self._errors, self._address).topics
        names = sorted(name for name in topics if is_matched(name, self._pattern))
        if names and names != self._names:
            self._consumer.subscribe(names, **self._callbacks)
            self._names = names
        self._next_look = time.monotonic() + (self._max_age if self._names else LOOK_SECONDS)

    def renew(self) -> None:
        """Look again when it is time. Raises JavaError."""
        if time.monotonic() >= self._next_look:
            try:
                self.begin()
            except CannotConnect:  # the consumer waits for the brokers, too
                self._next_look = time.monotonic() + LOOK_SECONDS
