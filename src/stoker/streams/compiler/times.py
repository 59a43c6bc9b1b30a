"""Which records move the time of a node, and how far it is behind them."""

from collections.abc import Iterator

from stoker.streams.nodes import Node, Rekey, StreamJoin, Suppress, TableLookup, TopicSource, windowed_by
from stoker.streams.windows import HoppingWindow, SessionWindow, SlidingWindow, Window


def time_sources(node: Node) -> list[TopicSource]:
    """Those whose records become rows of the node, one of each topic: a table that is only looked into moves no time."""
    return list({each.topic: each for each in _sources(node)}.values())


def _sources(node: Node) -> Iterator[TopicSource]:
    if isinstance(node, TopicSource):
        yield node
    for each in _parents(node):
        yield from _sources(each)


def _parents(node: Node) -> tuple[Node, ...]:
    return (node.left,) if isinstance(node, TableLookup) else node.parents


def delay_before(node: Node) -> int:
    """How long after its time a row may come to a node, since others hold it back until a window closes."""
    return max((_delay(each) + delay_before(each) for each in _parents(node)), default=0)


def _delay(node: Node) -> int:
    if isinstance(node, Suppress):
        aggregate = windowed_by(node)
        assert aggregate is not None, "only windows can be waited for"
        assert aggregate.window is not None
        return closes_after(aggregate.window) + length(aggregate.window)
    if isinstance(node, StreamJoin) and node.how != "inner":
        return max(node.before, node.after) + node.grace + 1
    return 0


def closes_after(window: Window) -> int:
    """How long after its end a window is closed: when stream time is so far, nothing changes it any more."""
    if isinstance(window, HoppingWindow):
        return window.grace
    # A sliding window includes its end, and a session may go on at the very end of its gap.
    return window.grace + 1 + (window.gap if isinstance(window, SessionWindow) else 0)


def length(window: Window) -> int:
    """From the first to the last moment; a session has none of its own."""
    match window:
        case HoppingWindow():
            return window.size
        case SlidingWindow():
            return window.difference
        case _:
            return 0


def keeps_partitions(node: Node) -> bool:
    """Whether the rows of a key come from one partition: nothing between the topic and the node has changed the keys."""
    if isinstance(node, Rekey) or getattr(node, "keys", None) is not None:
        return False
    return all(keeps_partitions(each) for each in _parents(node))
