"""Schemas drawn at random, what may become of them, and data at the borders of what they allow.

The schemas are those in which Confluent's rules are exact: they refuse a change if and only if some datum is lost. What
makes a rule stricter or laxer than that is left out: `enum` read as its type, one limit that follows from another, `oneOf`.
"""

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]
NAMES = ("a", "b", "c")
UNKNOWN_NAME = "z"
PLAIN: tuple[Any, ...] = (
    None,
    True,
    0,
    1,
    -4,
    0.5,
    40,
    "",
    "x",
    "xxxxxxxxx",
    [],
    [None],
    [0, 0],
    {},
    {"a": None},
    {"a": [0]},
)


def _limits(lower: str, upper: str, low: range, high: range) -> st.SearchStrategy[Schema]:
    """With one, both or none of two limits that never cross."""
    return st.fixed_dictionaries({}, optional={lower: st.sampled_from(low), upper: st.sampled_from(high)})


strings = _limits("minLength", "maxLength", range(1, 3), range(3, 6)).map(lambda limits: {"type": "string", **limits})
number_limits = _limits("minimum", "maximum", range(-3, 1), range(12, 15))
numbers = st.builds(
    lambda limits: {"type": "integer", **limits},
    number_limits | st.fixed_dictionaries({"multipleOf": st.sampled_from([2, 3, 4, 6])}),
) | st.builds(
    lambda limits: {"type": "number", **limits},
    number_limits | st.fixed_dictionaries({"multipleOf": st.sampled_from([1.5, 4.5])}),
)
scalars = strings | numbers | st.sampled_from([{"type": "boolean"}, {"type": "null"}])


def nullable(schema: Schema) -> Schema:
    """The same, or null."""
    if not isinstance(schema["type"], str) or schema["type"] == "null":
        return schema
    return {**schema, "type": [schema["type"], "null"]}


def arrays(items: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.builds(
        lambda limits, inner: {"type": "array", **limits, **inner},
        _limits("minItems", "maxItems", range(1, 3), range(3, 5)),
        st.fixed_dictionaries({}, optional={"items": items})
        | st.just({"items": {"type": "string"}, "uniqueItems": True}),
    )


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    properties = draw(st.dictionaries(st.sampled_from(NAMES), inner, max_size=3))
    schema: Schema = {"type": "object", "properties": properties}
    schema["required"] = sorted(name for name in properties if draw(st.booleans()))
    for name in properties:
        if draw(st.integers(0, 3)) == 0:
            properties[name] = {**properties[name], "default": None}
    more = draw(st.none() | st.just(False) | inner)
    if more is not None:
        schema["additionalProperties"] = more
    return schema


schemas = st.recursive(scalars, lambda inner: arrays(inner) | objects(inner) | st.builds(nullable, inner), max_leaves=6)


@st.composite
def evolved(draw: st.DrawFn, schema: Schema) -> Schema:
    """The same schema, another one, or the same with something changed inside."""
    change = draw(st.sampled_from(["inside", "inside", "inside", "inside", "nothing", "all", "null"]))
    if change == "all":
        return draw(schemas)
    if change == "null":
        return nullable(schema)
    if change == "nothing" or not isinstance(schema["type"], str):
        return schema
    if schema["type"] == "object":
        return draw(_evolved_object(schema))
    if schema["type"] == "array":
        return draw(_evolved_array(schema))
    return draw(strings if schema["type"] == "string" else numbers if schema["type"] != "boolean" else scalars)


@st.composite
def _evolved_object(draw: st.DrawFn, schema: Schema) -> Schema:
    properties = {
        name: draw(evolved(inner)) for name, inner in schema["properties"].items() if draw(st.integers(0, 4)) > 0
    }
    if draw(st.integers(0, 2)) == 0:
        properties.setdefault(draw(st.sampled_from(NAMES)), draw(schemas))
    required = {name for name in properties if name in schema["required"]}
    if properties and draw(st.integers(0, 2)) == 0:
        required ^= {draw(st.sampled_from(sorted(properties)))}
    evolution: Schema = {"type": "object", "properties": properties, "required": sorted(required)}
    more = schema.get("additionalProperties")
    if draw(st.integers(0, 2)) == 0:
        more = draw(st.none() | st.just(False) | schemas)
    elif isinstance(more, dict):
        more = draw(evolved(more))
    if more is not None:
        evolution["additionalProperties"] = more
    return evolution


@st.composite
def _evolved_array(draw: st.DrawFn, schema: Schema) -> Schema:
    if schema.get("uniqueItems") or "items" not in schema or draw(st.booleans()):
        return draw(arrays(st.just(schema["items"])) if "items" in schema else arrays(schemas))
    return {**schema, "items": draw(evolved(schema["items"]))}


def border_data(writer: Schema, reader: Any) -> Iterator[Any]:
    """What the writer may write (and a little that it may not), at the borders of both: one that it surely may, first."""
    yield example(writer)
    yield from PLAIN
    kinds = writer["type"] if isinstance(writer["type"], list) else [writer["type"]]
    for kind in kinds:
        if kind == "string":
            yield from ("x" * length for length in range(8))
        elif kind in ("integer", "number"):
            yield from (number / 2 if number % 2 else number // 2 for number in range(-30, 60))
        elif kind == "array":
            yield from _border_arrays(writer, reader)
        elif kind == "object":
            yield from _border_objects(writer, reader)


def example(schema: Schema) -> Any:
    """A datum that the schema allows."""
    kind = schema["type"][0] if isinstance(schema["type"], list) else schema["type"]
    if kind == "string":
        return "x" * schema.get("minLength", 0)
    if kind == "array":
        least = schema.get("minItems", 0)
        if schema.get("uniqueItems"):
            return ["x" * (number + 1) for number in range(least)]
        return [example(schema["items"]) if "items" in schema else 0] * least
    if kind == "object":
        return {name: example(schema["properties"][name]) for name in schema["required"]}
    return {"integer": 0, "number": 0, "boolean": True, "null": None}[kind]


def _border_arrays(writer: Schema, reader: Any) -> Iterator[Any]:
    base = example(writer)
    inner = writer.get("items")
    if writer.get("uniqueItems"):
        yield from (["x" * (number + 1) for number in range(length)] for length in range(6))
        filler = list(base)
    for item in PLAIN if inner is None else border_data(inner, _inside(reader, "items")):
        yield from ([item] * length for length in range(1, 6))
        if writer.get("uniqueItems"):
            yield [item, *filler[:1]]


def _border_objects(writer: Schema, reader: Any) -> Iterator[Any]:
    base = example(writer)
    for name in (*NAMES, UNKNOWN_NAME):
        yield {key: value for key, value in base.items() if key != name}
        inner = writer["properties"].get(name, writer.get("additionalProperties"))
        read = _inside(reader, "properties", name) or _inside(reader, "additionalProperties")
        for value in border_data(inner, read) if isinstance(inner, dict) else PLAIN:
            yield {**base, name: value}


def _inside(schema: Any, *path: str) -> Any:
    for part in path:
        schema = schema.get(part) if isinstance(schema, dict) else None
    return schema
