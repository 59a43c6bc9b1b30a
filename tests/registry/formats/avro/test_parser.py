"""What is no schema is refused, with the reason and the place."""

import json

import pytest

from stoker.registry.formats import avro
from stoker.registry.formats.schema import InvalidSchema

INVALID = [
    # no JSON
    ("", "not JSON: the text is empty", 1, 1),
    ("string", "not JSON: expecting value", 1, 1),
    ('{"type":"string"', "not JSON: expecting ',' delimiter", 1, 17),
    ('{"type":\n"string",}', "not JSON: expecting property name enclosed in double quotes", 2, 10),
    ('{"type":"record","name":"Order",...}', "not JSON: expecting property name enclosed in double quotes", 1, 33),
    ('"string" "string"', "not JSON: extra data", 1, 10),
    ("// only\n/* comments */", "not JSON: expecting value", 2, 15),
    ('{"type":"string","p":NaN}', "not JSON that can be read: NaN is not a number of JSON", None, None),
    # no type
    ("null", "null is no type", 1, 1),
    ("5", "5 is no type", 1, 1),
    ("{}", 'a type has no "type"', 1, 1),
    ('{"type":null}', 'a type must have a "type" that is a string', 1, 1),
    ('{"type":{"type":"string"}}', 'a type must have a "type" that is a string', 1, 1),
    ('{"type":"array"}', 'the array has no "items"', 1, 1),
    ('{"type":"map","items":"int"}', 'the map has no "values"', 1, 1),
    # unions
    ('["null",["null"]]', "a union may not contain a union immediately", 1, 9),
    ('["int","string",\n "int"]', "the union contains int twice", 2, 2),
    ('[{"type":"array","items":"int"},{"type":"array","items":"string"}]', "the union contains array twice", 1, 33),
    # names
    ('"Nowhere"', "the type 'Nowhere' is not defined here nor in a reference", 1, 1),
    ('{"type":"Nowhere"}', "the type 'Nowhere' is not defined here nor in a reference", 1, 9),
    (
        '{"type":"record","name":"R","namespace":"n","fields":[\n  {"name":"a","type":["null","Nowhere"]}]}',
        "the type 'n.Nowhere' is not defined here nor in a reference",
        2,
        30,
    ),
    ('{"type":"record","fields":[]}', 'a type of kind record has no "name" that is a string', 1, 1),
    ('{"type":"record","name":5,"fields":[]}', 'a type of kind record has no "name" that is a string', 1, 1),
    ('{"type":"record","name":"","fields":[]}', "'' cannot be the name of a type: names consist of", 1, 25),
    ('{"type":"record","name":"a-b","fields":[]}', "'a-b' cannot be the name of a type: names consist of", 1, 25),
    ('{"type":"record","name":"Größe","fields":[]}', "'Größe' cannot be the name of a type: names consist of", 1, 25),
    (
        '{"type":"record","name":"R","namespace":"1.a","fields":[]}',
        "'1' in the namespace '1.a' is no name: names consist of",
        1,
        41,
    ),
    ('{"type":"record","name":"string","fields":[]}', "a type may not be named string", 1, 25),
    ('{"type":"record","name":"R","fields":[],"aliases":["1"]}', "'1' cannot be an alias", 1, 51),
    ('{"type":"record","name":"R","fields":[],"aliases":"x"}', '"aliases" is not an array of strings', 1, 51),
    # records
    ('{"type":"record","name":"R"}', 'record R has no "fields", which is an array', 1, 1),
    ('{"type":"record","name":"R","fields":{}}', 'record R has no "fields", which is an array', 1, 1),
    ('{"type":"record","name":"R","fields":["x"]}', 'a field of record R has no "name" that is a string', 1, 39),
    ('{"type":"record","name":"R","fields":[{"type":"int"}]}', 'a field of record R has no "name"', 1, 39),
    ('{"type":"record","name":"R","fields":[{"name":"a"}]}', 'field a of record R has no "type"', 1, 39),
    (
        '{"type":"record","name":"R","fields":[{"name":"1","type":"int"}]}',
        "'1' cannot be the name of a field",
        1,
        47,
    ),
    (
        '{"type":"record","name":"R","fields":[\n{"name":"a","type":"int"},\n{"type":"int","name":"a"}]}',
        "record R has two fields named a",
        3,
        22,
    ),
    (
        '{"type":"record","name":"R","fields":[{"name":"a","type":"int","order":"up"}]}',
        "field a has the order 'up': choose one of ['ascending', 'descending', 'ignore']",
        1,
        72,
    ),
    (
        '{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"record","name":"R","fields":[]}}]}',
        "R is defined inside of itself",
        1,
        58,
    ),
    (
        '[{"type":"record","name":"A","fields":[{"name":"a","type":{"type":"fixed","name":"F","size":1}}]},\n'
        '{"type":"record","name":"B","fields":[{"name":"a","type":{"type":"fixed","name":"F","size":2}}]}]',
        "F is defined twice, and differently",
        2,
        58,
    ),
    # enums and fixed
    ('{"type":"enum","name":"E"}', 'enum E has no "symbols", which is an array', 1, 1),
    ('{"type":"enum","name":"E","symbols":["A","b c"]}', "'b c' cannot be a symbol of enum E", 1, 42),
    ('{"type":"enum","name":"E","symbols":["A",5]}', "5 cannot be a symbol of enum E", 1, 42),
    ('{"type":"enum","name":"E","symbols":["A","A"]}', "enum E has the symbol A twice", 1, 42),
    ('{"type":"enum","name":"E","symbols":["A"],"default":"B"}', "the default 'B' of enum E is none of", 1, 53),
    ('{"type":"fixed","name":"F"}', 'fixed F has no "size" from 0 to 2147483639', 1, 1),
    ('{"type":"fixed","name":"F","size":-1}', 'fixed F has no "size" from 0 to 2147483639', 1, 35),
    ('{"type":"fixed","name":"F","size":2147483648}', 'fixed F has no "size" from 0 to 2147483639', 1, 35),
    ('{"type":"fixed","name":"F","size":1.0}', 'fixed F has no "size" from 0 to 2147483639', 1, 35),
    ('{"type":"fixed","name":"F","size":true}', 'fixed F has no "size" from 0 to 2147483639', 1, 35),
    # text that UTF-8 cannot hold
    ('{"type":"string","p":"\\ud800"}', "half of a surrogate pair: \\ud800", None, None),
]


@pytest.mark.parametrize(
    ("text", "reason", "line", "column"), INVALID, ids=[case[0][:60] or "empty" for case in INVALID]
)
def test_what_is_wrong_and_where(text: str, reason: str, line: int | None, column: int | None) -> None:
    with pytest.raises(InvalidSchema) as raised:
        avro.parse(text, {})
    assert raised.value.reason.startswith(reason)
    assert (raised.value.line, raised.value.column) == (line, column)


VALID_DEFAULTS = [
    ('"null"', "null"),
    ('"boolean"', "true"),
    ('"int"', "-2147483648"),
    ('"long"', "9223372036854775807"),
    ('"float"', "1"),
    ('"double"', "1.5"),
    ('"double"', '"NaN"'),
    ('"double"', '" 1.5e3f "'),
    ('"string"', '""'),
    ('"bytes"', '"x"'),
    ('{"type":"fixed","name":"F","size":2}', '"any string will do"'),
    ('{"type":"enum","name":"E","symbols":["A"]}', '"any string will do"'),
    ('["null","int"]', "null"),
    ('["null","int"]', "1"),
    ('["int","null"]', "null"),
    ('{"type":"array","items":["int","null"]}', "[1,null]"),
    ('{"type":"map","values":"int"}', '{"x":1}'),
    ('{"type":"record","name":"N","fields":[{"name":"x","type":"int"}]}', '{"x":1,"unknown":2}'),
    ('{"type":"record","name":"N","fields":[{"name":"x","type":"int","default":1}]}', "{}"),
    ('{"type":"record","name":"N","fields":[{"name":"x","type":["null","R"],"default":null}]}', "{}"),
]
INVALID_DEFAULTS = [
    ('"null"', "0", "null"),
    ('"boolean"', "1", "boolean"),
    ('"int"', "true", "int"),
    ('"int"', "null", "int"),
    ('"int"', "1.0", "int"),
    ('"int"', "2147483648", "int"),
    ('"long"', "9223372036854775808", "long"),
    ('"float"', "true", "float"),
    ('"string"', "1", "string"),
    ('{"type":"long","logicalType":"timestamp-millis"}', '"now"', "long"),
    ('{"type":"enum","name":"E","symbols":["A"]}', "0", "enum"),
    ('["null","int"]', '"x"', "null or int"),
    ('{"type":"array","items":"int"}', "{}", "array"),
    ('{"type":"array","items":"int"}', '["x"]', "array"),
    ('{"type":"map","values":"int"}', "[]", "map"),
    ('{"type":"map","values":"int"}', '{"x":null}', "map"),
    ('{"type":"record","name":"N","fields":[{"name":"x","type":"int"}]}', "{}", "record"),
    ('{"type":"record","name":"N","fields":[{"name":"x","type":"int"}]}', '{"x":"y"}', "record"),
]


def with_default(type_: str, default: str) -> str:
    return f'{{"type":"record","name":"R","fields":[{{"name":"f","type":{type_},\n"default":{default}}}]}}'


@pytest.mark.parametrize(("type_", "default"), VALID_DEFAULTS)
def test_a_default_is_of_the_type_of_its_field(type_: str, default: str) -> None:
    assert '"default":' in avro.parse(with_default(type_, default), {}).text


@pytest.mark.parametrize(("type_", "default", "shown"), INVALID_DEFAULTS)
def test_a_default_that_is_not_of_the_type_is_refused(type_: str, default: str, shown: str) -> None:
    text = with_default(type_, default)
    with pytest.raises(InvalidSchema) as raised:
        avro.parse(text, {})
    assert str(raised.value) == f"the default of field f is not a {shown} at line 2, column 11"
    # ... but what another registry let in is read.
    assert avro.parse(text, {}, is_new=False).text == json.dumps(json.loads(text), separators=(",", ":"))


def test_a_default_that_is_no_number() -> None:
    with pytest.raises(InvalidSchema, match=r"the default 'x' of field f is no number at line 2, column 11"):
        avro.parse(with_default('"double"', '"x"'), {})


@pytest.mark.parametrize("default", ["{}", '{"f":{}}'])
def test_a_default_without_end_is_refused(default: str) -> None:
    with pytest.raises(InvalidSchema, match="the default of field f contains itself without end at line 2"):
        avro.parse(with_default('"R"', default), {})


def test_names_that_other_registries_let_in() -> None:
    text = '{"type":"record","name":"Größe","namespace":"my-team","fields":[{"name":"höhe","type":"int"}]}'
    with pytest.raises(InvalidSchema):
        avro.parse(text, {})
    assert avro.parse(text, {}, is_new=False).text == text
    with pytest.raises(
        InvalidSchema, match="'1' cannot be the name of a field: names consist of letters, digits and _"
    ):
        avro.parse('{"type":"record","name":"R","fields":[{"name":"1","type":"int"}]}', {}, is_new=False)


CUSTOMER = '{"type":"record","name":"Customer","namespace":"people","fields":[{"name":"address","type":"Address"}]}'
ADDRESS = '{"type":"record","name":"Address","namespace":"people","fields":[]}'
ORDER = '{"type":"record","name":"Order","fields":[{"name":"customer","type":"people.Customer"}]}'


def test_a_reference_that_is_not_given() -> None:
    with pytest.raises(InvalidSchema) as raised:
        avro.parse(ORDER, {})
    assert str(raised.value) == "the type 'people.Customer' is not defined here nor in a reference at line 1, column 69"


def test_a_reference_that_refers_to_what_is_not_given() -> None:
    with pytest.raises(InvalidSchema) as raised:
        avro.parse(ORDER, {"customer.avsc": CUSTOMER})
    reason = "the type 'people.Address' is not defined here nor in a reference at line 1, column 92"
    assert str(raised.value) == f"reference 'customer.avsc': {reason}"
    assert avro.parse(ORDER, {"address.avsc": ADDRESS, "customer.avsc": CUSTOMER}).text == ORDER


def test_references_that_refer_to_each_other() -> None:
    """Whatever order they come in, the first refers to one that is not read yet."""
    circular = '{"type":"record","name":"Address","namespace":"people","fields":[{"name":"of","type":"Customer"}]}'
    for first, second in ((CUSTOMER, circular), (circular, CUSTOMER)):
        with pytest.raises(InvalidSchema, match=r"^reference 'first': the type 'people\.[A-Z][a-z]+' is not defined"):
            avro.parse(ORDER, {"first": first, "second": second})


def test_a_reference_that_the_schema_defines_differently() -> None:
    text = ADDRESS.replace("[]", '[{"name":"zip","type":"string"}]')
    with pytest.raises(InvalidSchema, match=r"people\.Address is defined twice, and differently at line 1, column 1"):
        avro.parse(text, {"address.avsc": ADDRESS})
