"""Each rule of Confluent's by example: what a writer has, what a reader has, and what is found.

Where a rule refuses, `datum` is what the writer may write and the reader cannot read.
"""

from typing import Any, NamedTuple

from stoker.registry.formats.json_schema.rules import Rule

Schema = dict[str, Any] | bool
MODERN = "https://json-schema.org/draft/2020-12/schema"
NO_DATUM = object()


class Case(NamedTuple):
    rule: Rule
    path: str
    writer: Schema
    reader: Schema
    datum: Any = NO_DATUM
    also: tuple[str, ...] = ()
    """Other rules that apply to the same change."""


def closed(**properties: Schema) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def opened(**properties: Schema) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def partial(schema: Schema, **properties: Schema) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": schema}


def listed(*items: Schema, more: Schema = True) -> dict[str, Any]:
    return {"type": "array", "items": list(items), "additionalItems": more}


def modern(**keywords: Any) -> dict[str, Any]:
    return {"$schema": MODERN, **keywords}


STRING: dict[str, Any] = {"type": "string"}
INTEGER: dict[str, Any] = {"type": "integer"}
NUMBER: dict[str, Any] = {"type": "number"}
ARRAY: dict[str, Any] = {"type": "array"}
OBJECT: dict[str, Any] = {"type": "object"}
MODERN_ARRAY = modern(type="array")
MODERN_OBJECT = modern(type="object")

TYPES = [
    Case(Rule.TYPE_CHANGED, "#/", STRING, INTEGER, "a"),
    Case(Rule.TYPE_CHANGED, "#/", NUMBER, STRING, 1.5),
    Case(Rule.TYPE_CHANGED, "#/", {}, STRING, 1),
    Case(Rule.TYPE_CHANGED, "#/", STRING, {"type": "string", "enum": ["a"]}, "b"),
    Case(Rule.TYPE_CHANGED, "#/", STRING, {"type": ["integer", "null"]}, "a"),
    Case(Rule.TYPE_CHANGED, "#/", {"type": ["string", "null"]}, STRING, None),
    Case(Rule.TYPE_CHANGED, "#/properties/a", opened(a=STRING), opened(a=INTEGER), {"a": "x"}),
    Case(Rule.TYPE_EXTENDED, "#/", INTEGER, NUMBER),
    Case(Rule.TYPE_NARROWED, "#/", NUMBER, INTEGER, 1.5),
    Case(Rule.SCHEMA_ADDED, "#/items", ARRAY, {"type": "array", "items": STRING}, [1]),
    Case(Rule.SCHEMA_REMOVED, "#/items", {"type": "array", "items": STRING}, ARRAY),
]

STRINGS = [
    Case(Rule.MAX_LENGTH_ADDED, "#/maxLength", STRING, {"type": "string", "maxLength": 1}, "ab"),
    Case(Rule.MAX_LENGTH_REMOVED, "#/maxLength", {"type": "string", "maxLength": 1}, STRING),
    Case(
        Rule.MAX_LENGTH_INCREASED, "#/maxLength", {"type": "string", "maxLength": 1}, {"type": "string", "maxLength": 2}
    ),
    Case(
        Rule.MAX_LENGTH_DECREASED,
        "#/maxLength",
        {"type": "string", "maxLength": 2},
        {"type": "string", "maxLength": 1},
        "ab",
    ),
    Case(Rule.MIN_LENGTH_ADDED, "#/minLength", STRING, {"type": "string", "minLength": 1}, ""),
    Case(Rule.MIN_LENGTH_REMOVED, "#/minLength", {"type": "string", "minLength": 1}, STRING),
    Case(
        Rule.MIN_LENGTH_INCREASED,
        "#/minLength",
        {"type": "string", "minLength": 1},
        {"type": "string", "minLength": 2},
        "a",
    ),
    Case(
        Rule.MIN_LENGTH_DECREASED, "#/minLength", {"type": "string", "minLength": 2}, {"type": "string", "minLength": 1}
    ),
    Case(Rule.PATTERN_ADDED, "#/pattern", STRING, {"type": "string", "pattern": "^a"}, "b"),
    Case(Rule.PATTERN_REMOVED, "#/pattern", {"type": "string", "pattern": "^a"}, STRING),
    Case(
        Rule.PATTERN_CHANGED, "#/pattern", {"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^b"}, "a"
    ),
]


def _limit(keyword: str, prefix: str, *, upper: bool, low_datum: Any, high_datum: Any) -> list[Case]:
    """Of a limit of numbers, at 1 and at 2."""
    none, one, two = NUMBER, {"type": "number", keyword: 1}, {"type": "number", keyword: 2}
    tight, loose = (one, two) if upper else (two, one)
    raised, lowered = Rule[f"{prefix}_INCREASED"], Rule[f"{prefix}_DECREASED"]
    tightened, loosened = (lowered, raised) if upper else (raised, lowered)
    beyond = high_datum if upper else low_datum
    return [
        Case(Rule[f"{prefix}_ADDED"], f"#/{keyword}", none, tight, beyond),
        Case(Rule[f"{prefix}_REMOVED"], f"#/{keyword}", tight, none),
        Case(tightened, f"#/{keyword}", loose, tight, beyond),
        Case(loosened, f"#/{keyword}", tight, loose),
    ]


NUMBERS = [
    *_limit("maximum", "MAXIMUM", upper=True, low_datum=1, high_datum=2),
    *_limit("minimum", "MINIMUM", upper=False, low_datum=1, high_datum=2),
    *_limit("exclusiveMaximum", "EXCLUSIVE_MAXIMUM", upper=True, low_datum=1, high_datum=1.5),
    *_limit("exclusiveMinimum", "EXCLUSIVE_MINIMUM", upper=False, low_datum=1.5, high_datum=2),
    Case(Rule.MULTIPLE_OF_ADDED, "#/multipleOf", NUMBER, {"type": "number", "multipleOf": 2}, 1),
    Case(Rule.MULTIPLE_OF_REMOVED, "#/multipleOf", {"type": "number", "multipleOf": 2}, NUMBER),
    Case(
        Rule.MULTIPLE_OF_EXPANDED,
        "#/multipleOf",
        {"type": "number", "multipleOf": 0.5},
        {"type": "number", "multipleOf": 10},
        0.5,
    ),
    Case(
        Rule.MULTIPLE_OF_REDUCED,
        "#/multipleOf",
        {"type": "number", "multipleOf": 6},
        {"type": "number", "multipleOf": 3},
    ),
    Case(
        Rule.MULTIPLE_OF_CHANGED,
        "#/multipleOf",
        {"type": "number", "multipleOf": 2},
        {"type": "number", "multipleOf": 3},
        2,
    ),
    Case(Rule.ENUM_ARRAY_EXTENDED, "#/enum", {"enum": [1]}, {"enum": ["a", 1]}),
    Case(Rule.ENUM_ARRAY_NARROWED, "#/enum", {"enum": ["a", 1]}, {"enum": [1]}, "a"),
    Case(Rule.ENUM_ARRAY_CHANGED, "#/enum", {"enum": ["a", 1]}, {"enum": ["b", 1]}, "a"),
    Case(Rule.ENUM_ARRAY_CHANGED, "#/enum", {"enum": [1]}, {"enum": [True]}, 1),
    Case(Rule.ENUM_ARRAY_CHANGED, "#/const", {"const": {"a": 1}}, {"const": {"a": 2}}, {"a": 1}),
]

REQUIRED_A = {"required": ["a"]}
WITH_DEFAULT: dict[str, Any] = {"type": "string", "default": ""}

PROPERTIES = [
    Case(Rule.REQUIRED_ATTRIBUTE_ADDED, "#/required/a", opened(a=STRING), opened(a=STRING) | REQUIRED_A, {}),
    Case(
        Rule.REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED,
        "#/required/a",
        opened(a=STRING),
        opened(a=WITH_DEFAULT) | REQUIRED_A,
    ),
    Case(Rule.REQUIRED_ATTRIBUTE_REMOVED, "#/required/a", opened(a=STRING) | REQUIRED_A, opened(a=STRING)),
    Case(Rule.MAX_PROPERTIES_ADDED, "#/maxProperties", OBJECT, {"type": "object", "maxProperties": 0}, {"a": 1}),
    Case(Rule.MAX_PROPERTIES_REMOVED, "#/maxProperties", {"type": "object", "maxProperties": 0}, OBJECT),
    Case(
        Rule.MAX_PROPERTIES_INCREASED,
        "#/maxProperties",
        {"type": "object", "maxProperties": 0},
        {"type": "object", "maxProperties": 1},
    ),
    Case(
        Rule.MAX_PROPERTIES_DECREASED,
        "#/maxProperties",
        {"type": "object", "maxProperties": 1},
        {"type": "object", "maxProperties": 0},
        {"a": 1},
    ),
    Case(Rule.MIN_PROPERTIES_ADDED, "#/minProperties", OBJECT, {"type": "object", "minProperties": 1}, {}),
    Case(Rule.MIN_PROPERTIES_REMOVED, "#/minProperties", {"type": "object", "minProperties": 1}, OBJECT),
    Case(
        Rule.MIN_PROPERTIES_INCREASED,
        "#/minProperties",
        {"type": "object", "minProperties": 1},
        {"type": "object", "minProperties": 2},
        {"a": 1},
    ),
    Case(
        Rule.MIN_PROPERTIES_DECREASED,
        "#/minProperties",
        {"type": "object", "minProperties": 2},
        {"type": "object", "minProperties": 1},
    ),
    Case(Rule.ADDITIONAL_PROPERTIES_ADDED, "#/additionalProperties", closed(), opened()),
    Case(Rule.ADDITIONAL_PROPERTIES_ADDED, "#/additionalProperties", closed(), partial(STRING)),
    Case(Rule.ADDITIONAL_PROPERTIES_REMOVED, "#/additionalProperties", opened(), closed(), {"a": 1}),
    Case(Rule.ADDITIONAL_PROPERTIES_REMOVED, "#/additionalProperties", partial(STRING), closed(), {"a": "x"}),
    Case(Rule.ADDITIONAL_PROPERTIES_EXTENDED, "#/additionalProperties", partial(STRING), opened()),
    Case(Rule.ADDITIONAL_PROPERTIES_NARROWED, "#/additionalProperties", opened(), partial(STRING), {"a": 1}),
    Case(Rule.TYPE_CHANGED, "#/additionalProperties", partial(STRING), partial(INTEGER), {"a": "x"}),
]

CONTENT_MODELS = [
    Case(
        Rule.REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL,
        "#/properties/a",
        opened(),
        opened(a=STRING) | REQUIRED_A,
        {},
    ),
    Case(
        Rule.REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL,
        "#/properties/a",
        opened(),
        opened(a=WITH_DEFAULT) | REQUIRED_A,
        {"a": 1},
    ),
    Case(Rule.OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL, "#/properties/a", opened(), opened(a=STRING), {"a": 1}),
    Case(Rule.PROPERTY_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL, "#/properties/a", opened(), opened(a={})),
    Case(Rule.PROPERTY_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL, "#/properties/a", opened(), opened(a=True)),
    Case(
        Rule.REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL,
        "#/properties/a",
        closed(),
        closed(a=STRING) | REQUIRED_A,
        {},
    ),
    Case(
        Rule.REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_UNOPEN_CONTENT_MODEL,
        "#/properties/a",
        closed(),
        closed(a=WITH_DEFAULT) | REQUIRED_A,
    ),
    Case(Rule.OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL, "#/properties/a", closed(), closed(a=STRING)),
    Case(
        Rule.PROPERTY_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL,
        "#/properties/a",
        partial(INTEGER),
        partial(INTEGER, a=NUMBER),
        also=(
            "TYPE_EXTENDED #/properties/a",
            "OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/a",
        ),
    ),
    Case(
        Rule.PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL,
        "#/properties/a",
        partial(INTEGER),
        partial(INTEGER, a=STRING),
        {"a": 1},
        also=(
            "TYPE_CHANGED #/properties/a",
            "OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/a",
        ),
    ),
    Case(Rule.PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL, "#/properties/a", opened(a=STRING), opened()),
    Case(Rule.PROPERTY_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL, "#/properties/a", closed(a=False), closed()),
    Case(Rule.PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL, "#/properties/a", closed(a=STRING), closed(), {"a": "x"}),
    Case(
        Rule.PROPERTY_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL,
        "#/properties/a",
        partial(NUMBER, a=INTEGER),
        partial(NUMBER),
        also=("TYPE_EXTENDED #/properties/a",),
    ),
    Case(
        Rule.PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL,
        "#/properties/a",
        partial(NUMBER, a=STRING),
        partial(NUMBER),
        {"a": "x"},
        also=("TYPE_CHANGED #/properties/a",),
    ),
    Case(
        Rule.PROPERTY_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL,
        "#/properties/a_1",
        closed(a_1=STRING) | {"patternProperties": {"^a_": STRING}},
        closed() | {"patternProperties": {"^a_": STRING}},
    ),
    Case(
        Rule.PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL,
        "#/properties/b",
        closed(b=STRING) | {"patternProperties": {"^a_": STRING}},
        closed() | {"patternProperties": {"^a_": STRING}},
        {"b": "x"},
    ),
]

DEPENDENCIES = [
    Case(Rule.DEPENDENCY_ARRAY_ADDED, "#/dependencies/a", OBJECT, OBJECT | {"dependencies": {"a": ["b"]}}, {"a": 1}),
    Case(Rule.DEPENDENCY_ARRAY_REMOVED, "#/dependencies/a", OBJECT | {"dependencies": {"a": ["b"]}}, OBJECT),
    Case(
        Rule.DEPENDENCY_ARRAY_EXTENDED,
        "#/dependencies/a",
        OBJECT | {"dependencies": {"a": ["b"]}},
        OBJECT | {"dependencies": {"a": ["b", "c"]}},
        {"a": 1, "b": 1},
    ),
    Case(
        Rule.DEPENDENCY_ARRAY_NARROWED,
        "#/dependencies/a",
        OBJECT | {"dependencies": {"a": ["b", "c"]}},
        OBJECT | {"dependencies": {"a": ["b"]}},
    ),
    Case(
        Rule.DEPENDENCY_ARRAY_CHANGED,
        "#/dependencies/a",
        OBJECT | {"dependencies": {"a": ["b"]}},
        OBJECT | {"dependencies": {"a": ["c"]}},
        {"a": 1, "b": 1},
    ),
    Case(
        Rule.DEPENDENCY_SCHEMA_ADDED,
        "#/dependencies/a",
        OBJECT,
        OBJECT | {"dependencies": {"a": {"required": ["b"]}}},
        {"a": 1},
    ),
    Case(Rule.DEPENDENCY_SCHEMA_REMOVED, "#/dependencies/a", OBJECT | {"dependencies": {"a": {}}}, OBJECT),
    Case(
        Rule.DEPENDENCY_ARRAY_ADDED,
        "#/dependencies/a",
        MODERN_OBJECT,
        MODERN_OBJECT | {"dependentRequired": {"a": ["b"]}},
        {"a": 1},
    ),
    Case(
        Rule.MAX_PROPERTIES_DECREASED,
        "#/dependencies/a/maxProperties",
        MODERN_OBJECT | {"dependentSchemas": {"a": {"maxProperties": 2}}},
        MODERN_OBJECT | {"dependentSchemas": {"a": {"maxProperties": 1}}},
        {"a": 1, "b": 1},
    ),
]


def _unevaluated(prefix: str, keyword: str, base: dict[str, Any], integer: Any, text: Any) -> list[Case]:
    path = f"#/{keyword}"
    return [
        Case(Rule[f"{prefix}_ADDED"], path, base | {keyword: False}, base | {keyword: STRING}),
        Case(Rule[f"{prefix}_ADDED"], path, base | {keyword: False}, base),
        Case(Rule[f"{prefix}_REMOVED"], path, base | {keyword: STRING}, base | {keyword: False}, text),
        Case(Rule[f"{prefix}_REMOVED"], path, base, base | {keyword: False}, text),
        Case(Rule[f"{prefix}_EXTENDED"], path, base | {keyword: STRING}, base | {keyword: True}),
        Case(Rule[f"{prefix}_EXTENDED"], path, base | {keyword: True}, base),
        Case(Rule[f"{prefix}_NARROWED"], path, base | {keyword: True}, base | {keyword: STRING}, integer),
        Case(Rule[f"{prefix}_NARROWED"], path, base, base | {keyword: STRING}, integer),
        Case(Rule.TYPE_CHANGED, path, base | {keyword: INTEGER}, base | {keyword: STRING}, integer),
    ]


UNEVALUATED = [
    *_unevaluated("UNEVALUATED_PROPERTIES", "unevaluatedProperties", MODERN_OBJECT, {"a": 1}, {"a": "x"}),
    *_unevaluated("UNEVALUATED_ITEMS", "unevaluatedItems", MODERN_ARRAY, [1], ["x"]),
    Case(
        Rule.PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL,
        "#/properties/a",
        MODERN_OBJECT | {"properties": {"a": STRING}, "unevaluatedProperties": False},
        MODERN_OBJECT | {"unevaluatedProperties": False},
        {"a": "x"},
    ),
]


def _array(**keywords: Any) -> dict[str, Any]:
    return {"type": "array", **keywords}


def _contains(**keywords: Any) -> dict[str, Any]:
    return MODERN_ARRAY | {"contains": INTEGER, **keywords}


ARRAYS = [
    Case(Rule.MAX_ITEMS_ADDED, "#/maxItems", ARRAY, _array(maxItems=1), [1, 2]),
    Case(Rule.MAX_ITEMS_REMOVED, "#/maxItems", _array(maxItems=1), ARRAY),
    Case(Rule.MAX_ITEMS_INCREASED, "#/maxItems", _array(maxItems=1), _array(maxItems=2)),
    Case(Rule.MAX_ITEMS_DECREASED, "#/maxItems", _array(maxItems=2), _array(maxItems=1), [1, 2]),
    Case(Rule.MIN_ITEMS_ADDED, "#/minItems", ARRAY, _array(minItems=1), []),
    Case(Rule.MIN_ITEMS_REMOVED, "#/minItems", _array(minItems=1), ARRAY),
    Case(Rule.MIN_ITEMS_INCREASED, "#/minItems", _array(minItems=1), _array(minItems=2), [1]),
    Case(Rule.MIN_ITEMS_DECREASED, "#/minItems", _array(minItems=2), _array(minItems=1)),
    Case(Rule.UNIQUE_ITEMS_ADDED, "#/uniqueItems", ARRAY, _array(uniqueItems=True), [1, 1]),
    Case(Rule.UNIQUE_ITEMS_REMOVED, "#/uniqueItems", _array(uniqueItems=True), ARRAY),
    Case(Rule.MAX_CONTAINS_ADDED, "#/maxContains", _contains(), _contains(maxContains=1), [1, 2]),
    Case(Rule.MAX_CONTAINS_REMOVED, "#/maxContains", _contains(maxContains=1), _contains()),
    Case(Rule.MAX_CONTAINS_INCREASED, "#/maxContains", _contains(maxContains=1), _contains(maxContains=2)),
    Case(Rule.MAX_CONTAINS_DECREASED, "#/maxContains", _contains(maxContains=2), _contains(maxContains=1), [1, 2]),
    Case(Rule.MIN_CONTAINS_ADDED, "#/minContains", MODERN_ARRAY, _contains(), []),
    Case(Rule.MIN_CONTAINS_REMOVED, "#/minContains", _contains(), MODERN_ARRAY),
    Case(Rule.MIN_CONTAINS_INCREASED, "#/minContains", _contains(), _contains(minContains=2), [1]),
    Case(Rule.MIN_CONTAINS_DECREASED, "#/minContains", _contains(minContains=2), _contains()),
    Case(Rule.ADDITIONAL_ITEMS_ADDED, "#/additionalItems", listed(STRING, more=False), listed(STRING)),
    Case(Rule.ADDITIONAL_ITEMS_REMOVED, "#/additionalItems", listed(STRING), listed(STRING, more=False), ["a", 1]),
    Case(Rule.ADDITIONAL_ITEMS_EXTENDED, "#/additionalItems", listed(STRING, more=STRING), listed(STRING)),
    Case(Rule.ADDITIONAL_ITEMS_NARROWED, "#/additionalItems", listed(STRING), listed(STRING, more=STRING), ["a", 1]),
    Case(
        Rule.TYPE_CHANGED,
        "#/additionalItems",
        MODERN_ARRAY | {"prefixItems": [STRING], "items": STRING},
        MODERN_ARRAY | {"prefixItems": [STRING], "items": INTEGER},
        ["a", "b"],
    ),
    Case(Rule.TYPE_CHANGED, "#/items/0", listed(STRING), listed(INTEGER), ["a"]),
    Case(Rule.ITEM_ADDED_TO_OPEN_CONTENT_MODEL, "#/items/1", listed(STRING), listed(STRING, STRING), ["a", 1]),
    Case(Rule.ITEM_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL, "#/items/1", listed(STRING), listed(STRING, {})),
    Case(
        Rule.ITEM_ADDED_TO_CLOSED_CONTENT_MODEL,
        "#/items/1",
        listed(STRING, more=False),
        listed(STRING, STRING, more=False),
    ),
    Case(
        Rule.ITEM_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL,
        "#/items/1",
        listed(STRING, more=INTEGER),
        listed(STRING, NUMBER, more=INTEGER),
        also=("TYPE_EXTENDED #/items/1",),
    ),
    Case(
        Rule.ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL,
        "#/items/1",
        listed(STRING, more=INTEGER),
        listed(STRING, STRING, more=INTEGER),
        ["a", 1],
        also=("TYPE_CHANGED #/items/1",),
    ),
    Case(Rule.ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL, "#/items/1", listed(STRING, STRING), listed(STRING)),
    Case(
        Rule.ITEM_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL,
        "#/items/1",
        listed(STRING, False, more=False),
        listed(STRING, more=False),
    ),
    Case(
        Rule.ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL,
        "#/items/1",
        listed(STRING, STRING, more=False),
        listed(STRING, more=False),
        ["a", "b"],
    ),
    Case(
        Rule.ITEM_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL,
        "#/items/1",
        listed(STRING, INTEGER, more=NUMBER),
        listed(STRING, more=NUMBER),
        also=("TYPE_EXTENDED #/items/1",),
    ),
    Case(
        Rule.ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL,
        "#/items/1",
        listed(STRING, STRING, more=NUMBER),
        listed(STRING, more=NUMBER),
        ["a", "b"],
        also=("TYPE_CHANGED #/items/1",),
    ),
]

COMBINED = [
    Case(Rule.COMBINED_TYPE_EXTENDED, "#/", {"oneOf": [STRING, INTEGER]}, {"anyOf": [STRING, INTEGER]}),
    Case(Rule.COMBINED_TYPE_EXTENDED, "#/", {"allOf": [STRING]}, {"oneOf": [STRING]}),
    Case(
        Rule.COMBINED_TYPE_CHANGED,
        "#/",
        {"anyOf": [{"maxLength": 3}, {"minLength": 1}]},
        {"allOf": [{"maxLength": 3}, {"minLength": 1}]},
        "",
    ),
    Case(
        Rule.COMBINED_TYPE_CHANGED,
        "#/",
        {"anyOf": [NUMBER, INTEGER]},
        {"oneOf": [NUMBER, INTEGER]},
        1,
    ),
    Case(
        Rule.COMBINED_TYPE_SUBSCHEMAS_CHANGED,
        "#/",
        {"oneOf": [STRING, INTEGER]},
        {"oneOf": [STRING, {"type": "boolean"}]},
        1,
    ),
    Case(
        Rule.PRODUCT_TYPE_EXTENDED,
        "#/",
        {"allOf": [{"maxLength": 3}]},
        {"allOf": [{"maxLength": 3}, {"type": "string"}]},
        1,
    ),
    Case(Rule.PRODUCT_TYPE_NARROWED, "#/", {"allOf": [{"maxLength": 3}, STRING]}, {"allOf": [STRING]}),
    Case(Rule.PRODUCT_TYPE_NARROWED, "#/", {"type": "string", "enum": ["a"]}, STRING),
    Case(Rule.SUM_TYPE_EXTENDED, "#/", {"anyOf": [STRING]}, {"anyOf": [STRING, INTEGER]}),
    Case(Rule.SUM_TYPE_EXTENDED, "#/", STRING, {"type": ["null", "string"]}),
    Case(Rule.SUM_TYPE_NARROWED, "#/", {"anyOf": [STRING, INTEGER]}, {"anyOf": [STRING]}, 1),
    Case(Rule.SUM_TYPE_NARROWED, "#/", {"type": ["string", "null", "integer"]}, {"type": ["string", "null"]}, 1),
    Case(Rule.NOT_TYPE_NARROWED, "#/not", {"not": NUMBER}, {"not": INTEGER}),
    Case(Rule.NOT_TYPE_EXTENDED, "#/not", {"not": INTEGER}, {"not": NUMBER}, 1.5),
]

CASES = [
    *TYPES,
    *STRINGS,
    *NUMBERS,
    *PROPERTIES,
    *CONTENT_MODELS,
    *DEPENDENCIES,
    *UNEVALUATED,
    *ARRAYS,
    *COMBINED,
]
