"""What the state of an application was made for, so that a changed topology is found before it meets an old state."""

from collections.abc import Mapping
from typing import Any, Final

from stoker.streams import nodes
from stoker.streams.columns import BEFORE, KEY
from stoker.streams.errors import TopologyChanged
from stoker.streams.expressions import text
from stoker.streams.topology import Topology

_WIDER: Final = (("integer", "long"), ("short", "integer"), ("short", "long"), ("float", "double"))
"""What was written as the one can be read as the other."""


def fingerprint(topology: Topology, columns: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """For each store what its rows mean. What comes before it may change: filters, columns, topics.

    `columns` are the types of the stores' columns, as Spark gives them in JSON.
    """
    return {
        "stores": {name: _meaning(node) for name, node in topology.stores.items()},
        "columns": dict(columns or {}),
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
    for name, kind in now["columns"].items():
        changed += [f"store {name}: {line}" for line in _other_types(before["columns"].get(name), kind)]
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


def _other_types(before: Any, now: Any, path: str = "") -> list[str]:
    """Columns whose values cannot be read as what they are now; those that come or go do no harm."""
    if isinstance(before, dict) and isinstance(now, dict) and before["type"] == now["type"]:
        if now["type"] == "struct":
            known = {field["name"]: field["type"] for field in before["fields"]}
            return [
                line
                for field in now["fields"]
                if field["name"] in known and field["name"] != BEFORE
                for line in _other_types(known[field["name"]], field["type"], f"{path}.{field['name']}".lstrip("."))
            ]
        inner = [each for each in ("elementType", "keyType", "valueType") if each in now]
        return [line for each in inner for line in _other_types(before[each], now[each], path)]
    if before is None or before == now or (before, now) in _WIDER:
        return []
    return [f"{'the key' if path == KEY else f'column {path}'} was {_named(before)}, is {_named(now)}"]


def _named(kind: Any) -> str:
    return str(kind["type"] if isinstance(kind, dict) else kind)


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
