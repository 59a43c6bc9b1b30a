"""The escape hatch: a class of your own, with state and timers for each key.

class Alarm(Processor):
    def process(self, key, record, context):
        context.state["seen"] = context.state.get("seen", 0) + 1
        context.schedule(context.timestamp + 60_000)
        if context.state["seen"] == 3:
            context.forward({"alarm": f"{key} for the third time"})

    def on_timer(self, key, time, context):
        context.state.clear()
"""

from typing import Any


class Context:
    """What a processor works with, for one key. Times are milliseconds since 1970."""

    def __init__(self, state: dict[str, Any], timers: list[int]) -> None:
        self.state = state
        """Of this key, kept between records: anything that JSON can hold. Clear it, and the key is forgotten."""
        self.timestamp = 0
        """Of the record, or of the timer."""
        self.stream_time = 0
        """The largest event time so far; of a timer, its own time."""
        self.timers = set(timers)
        self.forwarded: list[tuple[int, int, dict[str, Any]]] = []
        """With their times, and the stream times at which they were handed on."""

    def forward(self, record: dict[str, Any], *, timestamp: int | None = None) -> None:
        """Hand a record on, with the columns that `process(schema=...)` names."""
        self.forwarded.append((self.timestamp if timestamp is None else timestamp, self.stream_time, record))

    def schedule(self, at: int) -> None:
        """Have `on_timer` called when stream time has reached it. The same time twice is one timer."""
        self.timers.add(at)

    def cancel(self, at: int) -> None:
        """Take a timer back."""
        self.timers.discard(at)


class Processor:
    """Made anew for each key and micro-batch: what is to last belongs into `context.state`."""

    def process(self, key: Any, record: dict[str, Any], context: Context) -> None:
        """One record, in the order of its partition."""
        raise NotImplementedError

    def on_timer(self, key: Any, time: int, context: Context) -> None:
        """A timer of this key. Timers come in order, before the record that moves stream time past them."""
