"""What the state of an application was made for, so that a changed topology is found before it meets an old state."""

from collections.abc import Mapping
from typing import Any

from stoker.streams import nodes
from stoker.streams.errors import TopologyChanged
from stoker.streams.expressions import text
from stoker.streams.topology import Topology


def fingerprint(topology: Topology) -> dict[str, Any]:
    """For each store what its rows mean. What comes before it may change: filters, columns, topics."""
    return {
        "stores": {name: _meaning(node) for name, node in topology.stores.items()},
        "topics": topology.topics,
        "sinks": {sink.name: sink.describe() for sink in topology.sinks},
    }


def check_unchanged(before: Mapping[str, Any], now: Mapping[str, Any], application: str) -> list[str]:
    """What is different and does no harm, for the log. Raises TopologyChanged for what does."""
    changed = []
    for name, meaning in now["stores"].items():
        known = before["stores"].get(name)
        if known is not None and known != meaning:
            parts = [
                f"{each} was {known.get(each)}, is {meaning.get(each)}"
                for each in meaning
                if known.get(each) != meaning[each]
            ]
            changed.append(f"store {name}: {'; '.join(parts) or 'other things are kept in it'}")
    if changed:
        raise TopologyChanged(
            f"application {application} has state that this topology cannot use:\n  " + "\n  ".join(changed) + "\n"
            "Nothing was started. Give what changed a new name (store=...), and it begins empty; or begin all anew by "
            "reset(), which forgets state and offsets; or use another application name"
        )
    added = [f"store {name} is new, and begins empty" for name in now["stores"] if name not in before["stores"]]
    gone = [f"store {name} is no longer used" for name in before["stores"] if name not in now["stores"]]
    topics = [
        f"topic {name} is new, and is read from its beginning" for name in now["topics"] if name not in before["topics"]
    ]
    return [*added, *gone, *topics]


def _meaning(node: nodes.Node) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": type(node).__name__}
    if isinstance(node, nodes.TopicSource):
        found["topic"] = node.topic
    if isinstance(node, nodes.Aggregate | nodes.TableAggregate):
        found["by"] = None if node.keys is None else [text(each) for each in node.keys]
        found["aggregates"] = dict(node.aggregates)
    if isinstance(node, nodes.Aggregate):
        found["window"] = None if node.window is None else str(node.window)
        found["state"] = None if node.fold is None else node.fold.schema
    if isinstance(node, nodes.StreamJoin):
        found["within"] = [node.before, node.after]
    if isinstance(node, nodes.TableJoin):
        found["by"] = None if node.foreign_key is None else text(node.foreign_key)
    if isinstance(node, nodes.Deduplicate):
        found["by"] = [text(each) for each in node.by]
    if isinstance(node, nodes.Process):
        found["processor"] = node.processor.__qualname__
    return found
