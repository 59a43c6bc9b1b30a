"""Text from outside: whatever it is, it is read or refused with InvalidSchema, soon, and comparisons end."""

import json
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from stoker.registry.formats import avro
from stoker.registry.formats.avro.compatibility import MAX_STEPS
from stoker.registry.formats.schema import MAX_NESTING, InvalidSchema

Json = Any
MEGABYTE = 1_000_000


def nested(depth: int) -> str:
    return '{"type":"array","items":' * depth + '"int"' + "}" * depth


def union_of_records(count: int, fields: str = "", *, name: str = "R{n}") -> str:
    return (
        "["
        + ",".join(f'{{"type":"record","name":"{name.format(n=n)}","fields":[{fields}]}}' for n in range(count))
        + "]"
    )


TOO_MUCH = {
    "nested a little too deep": nested(MAX_NESTING),
    "nested far too deep": nested(40_000),
    "brackets": "[" * MEGABYTE,
    "braces": '{"type":' * (MEGABYTE // 8),
    "records in records": '{"type":"record","name":"R","fields":[{"name":"f","type":' * 500 + '"int"' + "}]}" * 500,
    "a deep property": '{"type":"string","p":' + "[" * 500 + "]" * 500 + "}",
    "a deep default": f'{{"type":"record","name":"R","fields":[{{"name":"f","type":"int","default":{"[" * 500}{"]" * 500}}}]}}',
    "a number of many digits": f'{{"type":"string","p":{"9" * MEGABYTE}}}',
    "a string without end": '"' + "x" * MEGABYTE,
    "a comment without end": "/*" + "x" * MEGABYTE,
    "quotes": '"' * MEGABYTE,
    "backslashes": '"' + "\\" * MEGABYTE,
    "comments without end": "/*x" * (MEGABYTE // 3),
    "comments with strings without end": '//\n"' + '\\"' * (MEGABYTE // 2) + "\\",
    "slashes": "/" * MEGABYTE,
    "stars": "/*" * (MEGABYTE // 2),
    "too many named types": union_of_records(10_001),
    "zero bytes": "\0" * MEGABYTE,
    "types that are inlined, each in the one before": "["
    + ",".join(f'{{"type":"record","name":"R{n}","fields":[{{"name":"f","type":"R{n + 1}"}}]}}' for n in range(1_000))
    + ',{"type":"record","name":"R1000","fields":[]}]',
    "defaults made of defaults, each of the one after it": "["
    + ",".join(
        f'{{"type":"record","name":"R{n}","fields":[{{"name":"f","type":"R{n + 1}","default":{{}}}}]}}'
        for n in range(1_000)
    )
    + ',{"type":"record","name":"R1000","fields":[]}]',
}


@pytest.mark.parametrize("text", TOO_MUCH.values(), ids=TOO_MUCH.keys())
def test_too_much_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchema) as raised:
        avro.parse(text, {})
    assert len(str(raised.value)) < 200


MUCH = {
    "nested as deep as may be": nested(MAX_NESTING - 1),
    "records in records, as deep as may be": "".join(
        f'{{"type":"record","name":"R{n}","fields":[{{"name":"f","type":' for n in range(MAX_NESTING - 1)
    )
    + '"int"'
    + "}]}" * (MAX_NESTING - 1),
    "many fields": '{"type":"record","name":"R","fields":['
    + ",".join(f'{{"name":"field_{n}","type":["null","string"],"default":null}}' for n in range(MEGABYTE // 80))
    + "]}",
    "many named types": union_of_records(10_000),
    "many symbols": json.dumps({"type": "enum", "name": "E", "symbols": [f"S{n}" for n in range(MEGABYTE // 12)]}),
    "much documentation": json.dumps({"type": "record", "name": "R", "doc": "é" * MEGABYTE, "fields": []}),
    "each type made of the one before, twice": "["
    + ",".join(
        f'{{"type":"record","name":"R{n + 1}","fields":['
        f'{{"name":"a","type":"R{n}","default":{{}}}},{{"name":"b","type":"R{n}","default":{{}}}}]}}'
        for n in range(1_000)
    )
    .replace('"R0"', '{"type":"record","name":"R0","fields":[]}', 1)
    .replace('"type":"R0"', '"type":"R0"')
    + "]",
    "the same type defined over and over": '{"type":"record","name":"R","fields":['
    + ",".join(
        f'{{"name":"f{n}","type":{{"type":"record","name":"N","fields":[{{"name":"r","type":"R"}}]}}}}'
        for n in range(10_000)
    )
    + "]}",
    "fields that all have the aliases of each other": json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": f"f{n}", "type": "int", "aliases": [f"a{m}" for m in range(200)]} for n in range(500)],
        }
    ),
}


@pytest.mark.parametrize("text", MUCH.values(), ids=MUCH.keys())
def test_much_is_read_and_compared(text: str) -> None:
    schema = avro.parse(text, {})
    assert avro.parse(schema.text, {}).incompatibilities(schema.normalized()) == []


def test_a_comparison_ends_when_every_type_may_be_every_other() -> None:
    """Records of one name in many namespaces are all candidates for each other: four million pairs."""
    writer = avro.parse(union_of_records(2_000, '{"name":"a","type":"int"}', name="w{n}.R"), {})
    reader = avro.parse(union_of_records(2_000, '{"name":"a","type":"string"}', name="r{n}.R"), {})
    (reason,) = reader.incompatibilities(writer)
    assert reason == (
        "COMPARISON_TOO_LARGE",
        "/",
        f"the schemas are too large to be compared: it takes more than {MAX_STEPS:,} steps",
    )


def test_cycles_of_different_lengths_are_compared() -> None:
    """Each of 83 types meets each of 89, along one path: deeper than any stack."""

    def cycle(length: int, last: str) -> avro.AvroSchema:
        types = [
            f'{{"type":"record","name":"n{n}.R","fields":[{{"name":"next","type":["null","n{(n + 1) % length}.R"]}}'
            + (last if n == length - 1 else "")
            + "]}"
            for n in range(length)
        ]
        return avro.parse(f"[{','.join(types)}]", {})

    writer, reader = cycle(83, ""), cycle(89, "")
    assert reader.incompatibilities(writer) == []
    unreadable = cycle(89, ',{"name":"value","type":"int"}')
    assert {reason.rule for reason in unreadable.incompatibilities(writer)} == {"MISSING_UNION_BRANCH"}


KEYS = [
    "type",
    "name",
    "namespace",
    "fields",
    "items",
    "values",
    "symbols",
    "size",
    "default",
    "aliases",
    "order",
    "doc",
]
WORDS = [
    "record",
    "enum",
    "fixed",
    "array",
    "map",
    "string",
    "null",
    "double",
    "error",
    "R",
    "n.R",
    "",
    ".",
    "R.",
    "\ud800",
]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=3)


def containers(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)


@hypothesis.given(document=st.recursive(LEAVES, containers, max_leaves=15), is_new=st.booleans())
def test_any_document_is_a_schema_or_refused(document: Json, is_new: bool) -> None:
    try:
        schema = avro.parse(json.dumps(document), {}, is_new=is_new)
    except InvalidSchema:
        hypothesis.event("refused")
    else:
        hypothesis.event("read")
        assert avro.parse(schema.text, {}, is_new=is_new).text == schema.text
        schema.normalized().text.encode()


@hypothesis.given(text=st.text() | st.text(alphabet='{}[]",:/*\\ntrue10.e-'))
def test_any_text_is_a_schema_or_refused(text: str) -> None:
    try:
        avro.parse(text, {})
    except InvalidSchema:
        hypothesis.event("refused")
