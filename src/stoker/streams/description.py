"""A topology for people: as a drawing, and with Spark's plans."""

from typing import TYPE_CHECKING

from stoker.streams.nodes import Node, SinkNode, TableNode, TopicSource
from stoker.streams.topology import Topology

if TYPE_CHECKING:
    from stoker.streams.compiler.batch import Batch

_MARKS = {TopicSource: "▶", SinkNode: "■", TableNode: "▦"}


def drawing(topology: Topology, name: str) -> str:
    """Sources at the left, and below each what is made of it; a node with two parents is drawn once and pointed to then."""
    children: dict[Node, list[Node]] = {}
    for node in topology.nodes:
        for parent in node.parents:
            children.setdefault(parent, []).append(node)
    numbers = {node: number for number, node in enumerate(topology.nodes, start=1)}
    drawn: set[Node] = set()
    lines = [f"{name}: {len(topology.sources)} sources, {len(topology.stores)} stores, {len(topology.sinks)} sinks"]

    def draw(node: Node, indent: str, is_last: bool, is_top: bool) -> None:
        branch = "" if is_top else ("└─ " if is_last else "├─ ")
        seen = node in drawn
        lines.append(f"{indent}{branch}{_mark(node)} {numbers[node]} {node.describe()}{' (see above)' if seen else ''}")
        if seen:
            return
        drawn.add(node)
        below = children.get(node, [])
        for place, child in enumerate(below):
            draw(child, indent + ("" if is_top else "   " if is_last else "│  "), place == len(below) - 1, False)

    for source in topology.sources:
        draw(source, "", True, True)
    return "\n".join(lines)


def _mark(node: Node) -> str:
    return next((mark for kind, mark in _MARKS.items() if isinstance(node, kind)), "·")


def plans(topology: Topology, batch: "Batch") -> str:
    """For each node that is written somewhere, Spark's plan of a micro-batch."""
    from stoker.streams.compiler.outputs import output_rows

    parts = []
    for root in topology.roots:
        parent = root.parent if isinstance(root, SinkNode) else root
        frame, _ = output_rows(batch, parent)
        plan = frame._jdf.queryExecution().simpleString()
        parts.append(f"== {root.describe()}\n{plan.strip()}")
    return "\n\n".join(parts)
