"""Spark's optimized plan, which it tells as JSON, to steps on columns. What is not known here, by its name, is Spark's to do."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import pyarrow as pa

from stoker.streams.columnar import expressions as ex
from stoker.streams.columnar.expressions import Expression, Unsupported
from stoker.streams.columnar.steps import Lookup, Plan, Project, Scan, Step, Where
from stoker.streams.columns import KEY

_TYPES: Final = {
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
}
_PARSED: Final[Mapping[str, Callable[[str], Any]]] = {
    "byte": int,
    "short": int,
    "integer": int,
    "long": int,
    "float": float,
    "double": float,
    "string": str,
    "boolean": lambda text: text == "true",
}
_LEAVES: Final = ("LogicalRDD", "LocalRelation")
_NOW: Final = frozenset(
    {"CurrentTimestamp", "Now", "CurrentDate", "CurrentTime", "LocalTimestamp", "CurrentBatchTimestamp"}
)
_TIMES: Final = ("timestamp", "timestamp_ntz", "date", "time")
_SPECIAL: Final = re.compile(r"\s*(now|today|tomorrow|yesterday)\b", re.IGNORECASE)
"""Text that Spark takes for a time of today."""
_JOINS: Final = {"Inner$": False, "LeftOuter$": True}


class _Node(NamedTuple):
    name: str
    """Of the class, without its package."""
    content: Mapping[str, Any]
    children: "list[_Node]"


def plan_of(text: str) -> Plan:
    """Of the optimized plan of a sink's rows (`queryExecution.optimizedPlan.toJSON`). Raises Unsupported."""
    root = _tree(json.loads(text))
    table: list[tuple[Scan, tuple[Step, ...]]] = []
    scan, steps = _steps(root, table)
    output = tuple(_output(root))
    if not table:
        return Plan(scan=scan, steps=steps, output=output)
    (table_scan, table_steps), *others = table
    if others:
        raise Unsupported("more than one table")
    return Plan(scan=scan, steps=steps, output=output, table_scan=table_scan, table_steps=table_steps)


def check_lasting(text: str) -> None:
    """Of the plan before it was optimized (`queryExecution.analyzed.toJSON`): whether it means the same in every micro-batch.

    What depends on the time Spark computes while it optimizes: then it is a number or a text as any. Times that are written down
    are refused, too, since they may be `TIMESTAMP 'now'`. Raises Unsupported.
    """
    for name, content in _classes_in(json.loads(text)):
        if name in _NOW:
            raise Unsupported(f"what depends on the time: {name}")
        if name == "Literal" and content.get("value") is not None:
            kind, value = str(content["dataType"]), str(content["value"])
            if kind.split("(")[0] in _TIMES or (kind.startswith("string") and _SPECIAL.match(value)):
                raise Unsupported(f"what may depend on the time: {value}")


def _classes_in(found: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All plans and expressions, however deep, with the names of their classes."""
    if isinstance(found, dict):
        if "class" in found:
            yield str(found["class"]).rsplit(".", 1)[1], found
        found = list(found.values())
    if isinstance(found, list):
        for each in found:
            yield from _classes_in(each)


def _tree(nodes: list[Mapping[str, Any]]) -> _Node:
    """Of nodes that come each before its children."""
    ahead = iter(nodes)

    def next_one() -> _Node:
        content = next(ahead)
        name = str(content["class"]).rsplit(".", 1)[1]
        return _Node(name, content, [next_one() for _ in range(content["num-children"])])

    return next_one()


def _steps(node: _Node, tables: list[tuple[Scan, tuple[Step, ...]]]) -> tuple[Scan, tuple[Step, ...]]:
    if node.name in _LEAVES:
        return Scan({_number(each[0]): str(each[0]["name"]) for each in node.content["output"]}), ()
    if node.name == "Project":
        scan, steps = _steps(node.children[0], tables)
        columns = tuple((_number_of(each), _expression(each)) for each in map(_tree, node.content["projectList"]))
        return scan, (*steps, Project(columns))
    if node.name == "Filter":
        scan, steps = _steps(node.children[0], tables)
        return scan, (*steps, Where(_expression(_tree(node.content["condition"]))))
    if node.name == "Join":
        return _lookup(node, tables)
    raise Unsupported(node.name)


def _lookup(node: _Node, tables: list[tuple[Scan, tuple[Step, ...]]]) -> tuple[Scan, tuple[Step, ...]]:
    kind = str(node.content["joinType"]["object"]).rsplit(".", 1)[1]
    condition = _tree(node.content["condition"]) if node.content.get("condition") else None
    if kind not in _JOINS or condition is None or condition.name != "EqualTo":
        raise Unsupported(f"a join {kind}")
    scan, steps = _steps(node.children[0], tables)
    table_scan, table_steps = _steps(node.children[1], tables)
    if "offset" not in scan.names.values() or KEY not in table_scan.names.values():
        raise Unsupported("a join with something else than a table")
    sides = [_expression(each) for each in condition.children]
    of_table = {_number(each) for each in _output_attributes(node.children[1])}
    if ex.attributes(sides[0]) & of_table:
        sides.reverse()
    if not ex.attributes(sides[1]) <= of_table:
        raise Unsupported("a join by more than the key of the table")
    if not _is_key(sides[1], table_scan, table_steps):
        raise Unsupported("a join by something else than the key of the table")
    tables.append((table_scan, table_steps))
    return scan, (*steps, Lookup(sides[0], sides[1], keeps_all=_JOINS[kind]))


def _is_key(expression: Expression, scan: Scan, steps: tuple[Step, ...]) -> bool:
    """Whether it is the very key of the table, of which each is there once."""
    for step in (None, *reversed(steps)):
        if isinstance(step, Project) and isinstance(expression, ex.Attribute):
            expression = dict(step.columns)[expression.number]
    return isinstance(expression, ex.Attribute) and scan.names.get(expression.number) == KEY


def _output(node: _Node) -> list[tuple[int, str]]:
    return [(_number(each), str(each["name"])) for each in _output_attributes(node)]


def _output_attributes(node: _Node) -> list[Mapping[str, Any]]:
    """The columns that a plan gives: as attributes, or as aliases."""
    if node.name in _LEAVES:
        return [each[0] for each in node.content["output"]]
    if node.name == "Project":
        return [each[0] for each in node.content["projectList"]]
    if node.name == "Join":
        return [*_output_attributes(node.children[0]), *_output_attributes(node.children[1])]
    return _output_attributes(node.children[0])


def _number(content: Mapping[str, Any]) -> int:
    return int(content["exprId"]["id"])


def _number_of(node: _Node) -> int:
    if node.name not in ("Alias", "AttributeReference"):
        raise Unsupported(node.name)
    return _number(node.content)


def _expression(node: _Node) -> Expression:
    made = _MAKERS.get(node.name)
    if made is None:
        raise Unsupported(node.name)
    return made(node)


def _attribute(node: _Node) -> ex.Attribute:
    if "collat" in str(node.content["dataType"]).lower():  # of a field it is in the field's metadata: __COLLATIONS
        raise Unsupported("text with a collation")
    return ex.Attribute(_number(node.content))


def _literal(node: _Node) -> ex.Literal:
    kind, value = node.content["dataType"], node.content.get("value")
    if not isinstance(kind, str) or kind not in _TYPES or value is None:
        raise Unsupported(f"a literal of type {kind}")
    return ex.Literal(_PARSED[kind](value), _TYPES[kind])


def _field(node: _Node) -> ex.Field:
    struct = node.children[0]
    kind = struct.content.get("dataType")
    if not isinstance(kind, dict) or kind.get("type") != "struct":
        raise Unsupported("a field of something that is computed")
    return ex.Field(_expression(struct), str(kind["fields"][node.content["ordinal"]]["name"]))


def _struct(node: _Node) -> ex.Struct:
    names, values = node.children[::2], node.children[1::2]
    named = [(_literal(name).value, _expression(value)) for name, value in zip(names, values, strict=True)]
    return ex.Struct(tuple(named))


def _one_of(node: _Node) -> ex.OneOf:
    child, *listed = node.children
    if any(each.name != "Literal" for each in listed):
        raise Unsupported("IN with something that is computed")
    return ex.OneOf(_expression(child), tuple(map(_literal, listed)))


def _match(node: _Node) -> ex.Match:
    child, pattern = node.children
    if pattern.name != "Literal":
        raise Unsupported(f"{node.name} with something that is computed")
    return ex.Match(node.name, _expression(child), str(_literal(pattern).value))


def _cast(node: _Node) -> ex.Widened:
    kind = node.content["dataType"]
    if not isinstance(kind, str) or kind not in _TYPES:
        raise Unsupported(f"a cast to {kind}")
    return ex.Widened(_expression(node.children[0]), _TYPES[kind])


def _two(make: Callable[[Expression, Expression], Expression]) -> Callable[[_Node], Expression]:
    return lambda node: make(_expression(node.children[0]), _expression(node.children[1]))


def _named(make: Callable[[str, Expression, Expression], Expression]) -> Callable[[_Node], Expression]:
    return lambda node: make(node.name, _expression(node.children[0]), _expression(node.children[1]))


_MAKERS: Final[Mapping[str, Callable[[_Node], Expression]]] = {
    "AttributeReference": _attribute,
    "Alias": lambda node: _expression(node.children[0]),
    "Literal": _literal,
    "GetStructField": _field,
    "CreateNamedStruct": _struct,
    "And": _two(ex.Both),
    "Or": _two(ex.Either),
    "Not": lambda node: ex.Negation(_expression(node.children[0])),
    "IsNull": lambda node: ex.IsNull(_expression(node.children[0])),
    "IsNotNull": lambda node: ex.IsNull(_expression(node.children[0]), is_negated=True),
    "In": _one_of,
    "Coalesce": lambda node: ex.FirstValid(tuple(map(_expression, node.children))),
    "Cast": _cast,
    **{name: _named(ex.Comparison) for name in ex.COMPARISONS},
    **{name: _named(ex.Sum) for name in ex.SUMS},
    **dict.fromkeys(ex.TEXT, _match),
}
