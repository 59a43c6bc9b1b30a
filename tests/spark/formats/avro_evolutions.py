"""Readers' schemas that can read what random writers' schemas wrote, and more than that."""

import copy
from typing import Any

import numpy as np
from hypothesis import strategies as st

Schema = Any

PROMOTIONS = {"int": ["long", "float", "double"], "long": ["float", "double"], "float": ["double"]}
NEW_FIELDS: list[tuple[Schema, Any]] = [
    ("int", -7),
    ("string", "größer"),
    ("double", 0.5),
    ("bytes", "\u00ff\u0000"),
    ("boolean", True),
    (["null", "int"], None),
    (["int", "null"], 3),
    ({"type": "array", "items": "string"}, ["a", "b"]),
    ({"type": "map", "values": "long"}, {"a": 1}),
    ({"type": "enum", "name": "{name}", "symbols": ["A", "B"]}, "B"),
    ({"type": "fixed", "name": "{name}", "size": 2}, "\u0001\u00fe"),
    ({"type": "record", "name": "{name}", "fields": [{"name": "x", "type": "int", "default": 5}]}, {}),
]


@st.composite
def evolved(draw: st.DrawFn, schema: Schema) -> Schema:
    """A reader's schema for a writer's: fields gone, new, moved and renamed, numbers promoted, types made nullable."""
    schema = copy.deepcopy(schema)
    if isinstance(schema, str):
        return draw(st.sampled_from([schema, *PROMOTIONS.get(schema, [])]))
    if isinstance(schema, list):
        return [draw(evolved(branch)) if branch != "null" else branch for branch in schema]
    if schema["type"] == "array":
        schema["items"] = draw(evolved(schema["items"]))
    elif schema["type"] == "map":
        schema["values"] = draw(evolved(schema["values"]))
    elif schema["type"] == "enum" and draw(st.booleans()):
        symbols = draw(st.permutations([*schema["symbols"], "Z"]))
        schema["symbols"] = symbols[: draw(st.integers(1, len(symbols)))]
        schema["default"] = draw(st.sampled_from(schema["symbols"]))
    elif schema["type"] == "record":
        fields = []
        for field in schema["fields"]:
            if draw(st.integers(0, 4)) == 0:
                continue
            field["type"] = draw(evolved(field["type"]))
            if draw(st.integers(0, 4)) == 0:
                field["aliases"], field["name"] = [field["name"]], f"{field['name']}_renamed"
            if not isinstance(field["type"], list) and draw(st.integers(0, 4)) == 0:
                field["type"] = ["null", field["type"]]
            fields.append(field)
        for index in range(draw(st.integers(0, 2))):
            type_, default = draw(st.sampled_from(NEW_FIELDS))
            type_ = copy.deepcopy(type_)
            if isinstance(type_, dict) and "name" in type_:
                type_["name"] = f"new_{schema['name']}_{index}"
            fields.append({"name": f"new{index}", "type": type_, "default": default})
        schema["fields"] = draw(st.permutations(fields))
    return schema


def shown(schema: Schema, value: Any) -> Any:
    """What fastavro read by a schema without general unions, as a column shows it."""
    if isinstance(schema, list):
        return None if value is None else shown(next(branch for branch in schema if branch != "null"), value)
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind == "array":
        return [shown(schema["items"], each) for each in value]
    if kind == "map":
        return [(key, shown(schema["values"], each)) for key, each in value.items()]
    if kind == "record":
        # Of a default, which fastavro leaves as it is in the schema, fields may be missing.
        whole = {**{field["name"]: field.get("default") for field in schema["fields"]}, **value}
        return {field["name"]: shown(field["type"], whole[field["name"]]) for field in schema["fields"]}
    if kind in ("float", "double"):
        return float(np.float32(value)) if kind == "float" else float(value)
    if (kind == "bytes" or kind == "fixed") and isinstance(value, str):
        return value.encode("latin-1")  # of a default, too
    return value
