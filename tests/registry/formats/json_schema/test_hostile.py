"""Texts made to be slow, deep or large: each is refused or read, within bounds and by InvalidSchema alone."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.registry.formats.json_schema import parse
from stoker.registry.formats.json_schema.comparison import MAX_QUESTIONS, MAX_REPORTED, Comparison, TooIntricate
from stoker.registry.formats.json_schema.loading import MAX_SCHEMA_DEPTH, MAX_SCHEMAS
from stoker.registry.formats.json_schema.rules import REFUSED
from stoker.registry.formats.schema import MAX_NESTING, InvalidSchema


def nested(before: str, levels: int, after: str = "}") -> str:
    return before * levels + "{}" + after * levels


REFUSED_TEXTS = {
    "brackets": ("[" * 1_000_000, f"nested deeper than {MAX_NESTING} levels at line 1, column {MAX_NESTING + 1}"),
    "objects": (nested('{"not":', 100_000), f"nested deeper than {MAX_NESTING} levels"),
    "enum": (f'{{"enum": [{"[" * 100_000}', f"nested deeper than {MAX_NESTING} levels"),
    "schemas": (nested('{"not":', MAX_SCHEMA_DEPTH + 1), f"nested deeper than {MAX_SCHEMA_DEPTH} schemas"),
    "keys": ('{"a' * 300_000, "nested deeper"),
    "quotes": ('"' * 999_999, "not JSON"),
    "backslashes": ('"' + "\\" * 999_999, "not JSON"),
    "many schemas": (f'{{"allOf": [{",".join(["{}"] * (MAX_SCHEMAS + 1))}]}}', "made of more than 100,000 schemas"),
    "digits": (f'{{"minimum": {"9" * 5000}}}', "a number of 5000 digits, more than 1000"),
    "decimals": (f'{{"minimum": 0.{"9" * 5000}}}', "a number of 5002 characters, more than 1000"),
    "exponent": ('{"minLength": 1e999999999}', "minLength is a whole number, not 1E+999999999"),
    "nul": ("\x00", "not JSON"),
    "mark": ("\ufeff{}", "not JSON"),
}


@pytest.mark.parametrize(("text", "said"), REFUSED_TEXTS.values(), ids=REFUSED_TEXTS)
def test_a_text_beyond_the_bounds_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidSchema) as refused:
        parse(text, {})

    assert said in str(refused.value)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("keyword", ['{"not":', '{"type":"array","items":', '{"type":"object","additionalProperties":'])
def test_schemas_as_deep_as_is_allowed_are_read_and_compared(keyword: str) -> None:
    schema = parse(nested(keyword, MAX_SCHEMA_DEPTH), {})

    assert schema.incompatibilities(schema) == []
    assert schema.normalized().incompatibilities(schema) == []


def chain(length: int, end: str) -> str:
    links = {
        f"link{number}": {"type": "object", "properties": {"next": {"$ref": f"#/definitions/link{number + 1}"}}}
        for number in range(length)
    }
    return json.dumps({"$ref": "#/definitions/link0", "definitions": {**links, f"link{length}": {"type": end}}})


def test_a_chain_of_references_is_no_deep_stack() -> None:
    strings, integers = parse(chain(5_000, "string"), {}), parse(chain(5_000, "integer"), {})

    assert strings.incompatibilities(strings) == []
    assert [each.rule for each in strings.incompatibilities(integers)] == ["TYPE_CHANGED"]
    direct = {f"link{number}": {"$ref": f"#/definitions/link{number + 1}"} for number in range(5_000)}
    plain = {"$ref": "#/definitions/link0", "definitions": {**direct, "link5000": {"type": "string"}}}
    assert parse(json.dumps(plain), {}).incompatibilities(parse('{"type": "string"}', {})) == []


def test_what_is_used_twice_at_sixty_levels_is_told_of_a_bounded_number_of_times() -> None:
    def doubled(kind: str) -> str:
        levels = {
            f"level{number}": {"properties": {key: {"$ref": f"#/definitions/level{number + 1}"} for key in "xy"}}
            for number in range(60)
        }
        return json.dumps({"$ref": "#/definitions/level0", "definitions": {**levels, "level60": {"type": kind}}})

    incompatible = parse(doubled("string"), {}).incompatibilities(parse(doubled("integer"), {}))

    assert len(incompatible) == MAX_REPORTED


def choices(number: int, **limit: int) -> str:
    each = [
        {"type": "object", "properties": {"kind": {"const": index}, "text": {"type": "string", **limit}}}
        for index in range(number)
    ]
    return json.dumps({"oneOf": each})


def test_three_thousand_alternatives_that_all_grew_are_compared() -> None:
    assert parse(choices(3_000), {}).incompatibilities(parse(choices(3_000, maxLength=5), {})) == []


def test_a_comparison_that_would_take_for_ever_is_given_up_with_a_reason() -> None:
    writer, reader = parse(choices(3_000), {}), parse(choices(3_000, maxLength=5), {})

    (given_up,) = reader.incompatibilities(writer)

    assert given_up.rule == "COMBINED_TYPE_SUBSCHEMAS_CHANGED"
    assert "comparing them was given up" in given_up.message
    comparison = Comparison(REFUSED)
    with pytest.raises(TooIntricate):
        comparison.differences(writer.root, reader.root)
    assert comparison._questions == MAX_QUESTIONS + 1


def test_a_megabyte_is_read_written_and_compared() -> None:
    properties = {f"property{number:05}": {"type": "string", "maxLength": 9} for number in range(20_000)}
    text = json.dumps({"type": "object", "properties": properties})
    assert len(text) > 1_000_000
    schema, narrower = parse(text, {}), parse(text.replace("9}", "5}"), {})

    assert len(schema.normalized().text) == len(schema.text)
    assert schema.incompatibilities(narrower) == []
    assert len(narrower.incompatibilities(schema)) == MAX_REPORTED


def test_a_pattern_made_to_be_slow_is_not() -> None:
    writer = parse(json.dumps({"type": "object", "properties": {"a" * 5_000 + "!": {}}}), {})
    reader = parse(json.dumps({"type": "object", "patternProperties": {"(a+)+$": {}, "((a{99}){99}){99}": {}}}), {})

    assert [each.rule for each in reader.incompatibilities(writer)] == ["PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL"]


def test_numbers_of_any_size_are_compared() -> None:
    small = parse('{"type": "number", "minimum": 1e-999999999, "multipleOf": 3}', {})
    large = parse('{"type": "number", "minimum": 1e999999999, "multipleOf": 3e999999999}', {})

    assert [each.rule for each in small.incompatibilities(large)] == ["MULTIPLE_OF_CHANGED"]
    assert [each.rule for each in large.incompatibilities(small)] == ["MINIMUM_INCREASED", "MULTIPLE_OF_CHANGED"]


KEYWORDS = [
    "type",
    "enum",
    "const",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
    "minProperties",
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "minContains",
    "uniqueItems",
    "maxItems",
    "unevaluatedItems",
    "minimum",
    "exclusiveMaximum",
    "multipleOf",
    "maxLength",
    "pattern",
    "format",
    "title",
    "description",
    "default",
    "$ref",
    "$id",
    "id",
    "$schema",
    "$defs",
    "definitions",
    "$anchor",
    "$dynamicRef",
    "$recursiveRef",
    "connect.type",
]
WORDS = [
    "string",
    "object",
    "array",
    "integer",
    "null",
    "#",
    "#/definitions/a",
    "#/properties/a",
    "#a",
    "a",
    "http://a/b",
    "./a",
    "(a+",
    "^a$",
    "bytes",
    "http://json-schema.org/draft-04/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
]
anything: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(WORDS)
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYWORDS) | st.sampled_from("ab"), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(anything, anything, anything)
def test_whatever_is_made_of_keywords_is_read_and_compared_or_refused(first: Any, second: Any, third: Any) -> None:
    read = []
    for value in (
        first,
        {"properties": {"a": first}},
        second,
        {"definitions": {"a": second}, "allOf": [first, second]},
    ):
        try:
            read.append(parse(json.dumps(value), {"a": json.dumps(third)}))
        except InvalidSchema:
            continue
    for reader in read:
        assert parse(reader.text, {"a": json.dumps(third)}).text == reader.text
        assert reader.incompatibilities(reader) == []
        assert reader.normalized().incompatibilities(reader) == []
        assert parse(reader.formatted("resolved"), {"a": "true"}).text
        for writer in read:
            assert all(each.message and each.path.startswith("#/") for each in reader.incompatibilities(writer))


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_garbage_is_refused(text: str) -> None:
    try:
        schema = parse(text, {})
    except InvalidSchema:
        return
    assert isinstance(json.loads(schema.text), dict | bool)
