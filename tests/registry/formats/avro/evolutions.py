"""Pairs of schemas as they come about when one is changed to the other, and data that use every part of a schema."""

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

Json = Any
Evolution = tuple[Json, Json]
"""What was written with, and what it is read with."""

PRIMITIVE_VALUES: dict[str, object] = {
    "null": None,
    "boolean": True,
    "int": 7,
    "long": 7 << 40,
    "float": 1.5,
    "double": 2.5,
    "bytes": b"bytes",
    "string": "text",
}
DEFAULTS: dict[str, Json] = {**PRIMITIVE_VALUES, "bytes": "bytes"}
PROMOTIONS = [
    ("int", "long"),
    ("int", "float"),
    ("int", "double"),
    ("long", "float"),
    ("long", "double"),
    ("float", "double"),
    ("string", "bytes"),
    ("bytes", "string"),
]


@st.composite
def evolutions(draw: st.DrawFn) -> Evolution:
    return Evolving(draw).any_type(3)


class Evolving:
    """Named types are numbered, so that no name is used twice; changed names are the exception, and aliases mend most."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._number = 0

    def any_type(self, depth: int, *, in_union: bool = False) -> Evolution:
        kinds = ["primitive", "promotion", "enum", "fixed", "named_twice"]
        if depth:
            kinds += ["array", "map", "record", "record"] + (
                [] if in_union else ["union", "into_union", "out_of_union"]
            )
        kind = self._draw(st.sampled_from(kinds))
        evolution: Evolution = getattr(self, kind)(depth - 1)
        return evolution

    def primitive(self, depth: int) -> Evolution:
        kind = self._draw(st.sampled_from(sorted(PRIMITIVE_VALUES)))
        return kind, kind if self._mostly() else self._draw(st.sampled_from(sorted(PRIMITIVE_VALUES)))

    def promotion(self, depth: int) -> Evolution:
        writer, reader = self._draw(st.sampled_from(PROMOTIONS))
        return (writer, reader) if self._mostly() else (reader, writer)

    def enum(self, depth: int) -> Evolution:
        writer, reader = self._named("enum")
        symbols = ["A", "B", "C", "D"]
        writer["symbols"] = reader["symbols"] = symbols[: self._draw(st.integers(1, 4))]
        if not self._mostly():
            reader["symbols"] = self._draw(st.permutations(symbols))[: self._draw(st.integers(1, 4))]
            if self._draw(st.booleans()):
                reader["default"] = reader["symbols"][0]
        return writer, reader

    def fixed(self, depth: int) -> Evolution:
        writer, reader = self._named("fixed")
        writer["size"] = reader["size"] = self._draw(st.integers(0, 3))
        if not self._mostly():
            reader["size"] = self._draw(st.integers(0, 3))
        return writer, reader

    def named_twice(self, depth: int) -> Evolution:
        """A type that is defined in one field, and named in another."""
        writer, reader = self._named("record")
        inner_writer, inner_reader = self.enum(depth)
        for record, inner in ((writer, inner_writer), (reader, inner_reader)):
            record["fields"] = [{"name": "one", "type": inner}, {"name": "two", "type": ["null", branch_name(inner)]}]
        return writer, reader

    def array(self, depth: int) -> Evolution:
        writer, reader = self.any_type(depth)
        return {"type": "array", "items": writer}, {"type": "array", "items": reader}

    def map(self, depth: int) -> Evolution:
        writer, reader = self.any_type(depth)
        return {"type": "map", "values": writer}, {"type": "map", "values": reader}

    def into_union(self, depth: int) -> Evolution:
        writer, reader = self.any_type(depth, in_union=True)
        return writer, self._with_null(reader)

    def out_of_union(self, depth: int) -> Evolution:
        writer, reader = self.any_type(depth, in_union=True)
        return ([writer] if self._mostly() else self._with_null(writer)), reader

    def union(self, depth: int) -> Evolution:
        writers: dict[str, Json] = {}
        readers: dict[str, Json] = {}
        for _ in range(self._draw(st.integers(1, 3))):
            writer, reader = self.any_type(depth, in_union=True)
            if not self._mostly():
                writer, reader = self._draw(st.sampled_from([(writer, None), (None, reader)]))
            if writer is not None:
                writers.setdefault(branch_name(writer), writer)
            if reader is not None:
                readers.setdefault(branch_name(reader), reader)
        writers = writers or {"null": "null"}
        readers = readers or {"null": "null"}
        return list(writers.values()), self._draw(st.permutations(list(readers.values())))

    def record(self, depth: int) -> Evolution:
        writer, reader = self._named("record")
        writer["fields"], reader["fields"] = [], []
        for index in range(self._draw(st.integers(0, 3))):
            self._field(writer["fields"], reader["fields"], f"f{index}", depth)
        if self._draw(st.booleans()):
            writer["fields"].append({"name": "next", "type": ["null", writer["name"]]})
            reader["fields"].append({"name": "next", "type": ["null", reader["name"]]})
        if self._draw(st.booleans()):
            reader["fields"].reverse()
        return writer, reader

    def _field(self, writers: list[Json], readers: list[Json], name: str, depth: int) -> None:
        change = self._draw(
            st.sampled_from(["same", "same", "same", "removed", "added", "defaulted", "renamed", "alias"])
        )
        writer_type, reader_type = self.any_type(depth)
        writer, reader = {"name": name, "type": writer_type}, {"name": name, "type": reader_type}
        if change == "renamed" or change == "alias":
            reader["name"] = f"new_{name}"
        if change == "alias":
            reader["aliases"] = [name]
        if change == "defaulted" or not self._mostly():
            primitive = self._draw(st.sampled_from(sorted(DEFAULTS)))
            reader = {"name": reader["name"], "type": primitive, "default": DEFAULTS[primitive]}
        if change not in ("added", "defaulted"):
            writers.append(writer)
        if change != "removed":
            readers.append(reader)

    def _named(self, kind: str) -> Evolution:
        self._number += 1
        writer: Json = {"type": kind, "name": f"{kind[0].upper()}{self._number}", "namespace": "n"}
        reader = dict(writer)
        if not self._mostly():
            reader["namespace"] = "elsewhere"
        if not self._mostly():
            reader["name"] += "_renamed"
            reader["aliases"] = self._draw(st.sampled_from([[f"n.{writer['name']}"], ["n.Other"], []]))
        return writer, reader

    def _with_null(self, type_: Json) -> Json:
        return [type_] if type_ == "null" else ["null", type_]

    def _mostly(self) -> bool:
        """Often enough that whole schemas stay compatible."""
        return self._draw(st.integers(0, 7)) != 7


def branch_name(type_: Json) -> str:
    """The name by which fastavro is told which branch of a union is written."""
    if isinstance(type_, str):
        return type_ if type_ in PRIMITIVE_VALUES or "." in type_ else f"n.{type_}"
    return f"{type_['namespace']}.{type_['name']}" if "name" in type_ else str(type_["type"])


def data(schema: Json) -> Iterator[object]:
    """Values that between them use every branch of every union, every symbol, and arrays and maps with and without content."""
    return _data(schema, {}, 0)


def _data(schema: Json, types: dict[str, Json], depth: int) -> Iterator[object]:
    if isinstance(schema, list):
        for branch in schema:
            if depth > 8 and isinstance(branch, str) and branch not in PRIMITIVE_VALUES:
                continue  # a list ends somewhere
            for value in _data(branch, types, depth + 1):
                yield branch_name(branch), value
        return
    if isinstance(schema, str):
        if schema in PRIMITIVE_VALUES:
            yield PRIMITIVE_VALUES[schema]
            return
        schema = types[schema.rpartition(".")[2]]
    kind = schema["type"]
    if "name" in schema:
        types[schema["name"]] = schema
    if kind == "enum":
        yield from schema["symbols"]
    elif kind == "fixed":
        yield b"x" * schema["size"]
    elif kind == "array":
        yield []
        yield from ([value] for value in _data(schema["items"], types, depth + 1))
    elif kind == "map":
        yield {}
        yield from ({"key": value} for value in _data(schema["values"], types, depth + 1))
    else:
        values = {each["name"]: list(_data(each["type"], types, depth + 1)) for each in schema["fields"]}
        first = {name: options[0] for name, options in values.items()}
        yield first
        for name, options in values.items():
            yield from ({**first, name: option} for option in options[1:])
