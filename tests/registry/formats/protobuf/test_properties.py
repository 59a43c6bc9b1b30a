"""Verdicts against Protobuf itself: protoc compiles both schemas, and the protobuf package writes and reads the data.

When the rules find nothing, all that the writer wrote is read back by the reader as Protobuf promises for such a change. When
they do, the pair that the rule names has data that the reader does not read, or takes for something else.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.registry.formats.protobuf import parse
from stoker.registry.formats.protobuf.rules import INCOMPATIBLE
from tests.registry.formats.protobuf.judge import message_class

VARINTS = {"int32": 32, "uint32": 32, "int64": 64, "uint64": 64, "bool": 1, "E": 32}
ZIGZAGS = {"sint32": 32, "sint64": 64}
FIXED = {"fixed32": 32, "sfixed32": 32, "fixed64": 64, "sfixed64": 64}
SIGNED = ("int32", "int64", "sint32", "sint64", "sfixed32", "sfixed64", "E")
SCALARS = [*VARINTS, *ZIGZAGS, *FIXED, "float", "double", "string", "bytes"]


class Declared(NamedTuple):
    """A field of the message M."""

    number: int
    label: str
    type: str
    in_oneof: bool

    def __str__(self) -> str:
        return f"{self.label} {self.type} f{self.number} = {self.number};"


Schema = list[Declared]


def text_of(schema: Schema) -> str:
    alone = " ".join(str(each) for each in schema if not each.in_oneof)
    together = " ".join(str(each) for each in schema if each.in_oneof)
    oneof = f"oneof o {{ {together} }}" if together else ""
    return (
        f'syntax = "proto3"; message M {{ {alone} {oneof} }} message N {{ int32 a = 1; string b = 2; }} '
        "message O { string b = 1; } enum E { A = 0; B = 1; C = 2; }"
    )


@st.composite
def declared(draw: st.DrawFn, number: int) -> Declared:
    in_oneof = draw(st.booleans()) and number > 2
    type_name = draw(st.sampled_from([*SCALARS, "N", "O", "map<string, int32>", "map<string, int64>"]))
    is_map = type_name.startswith("map")
    label = "" if in_oneof or is_map else draw(st.sampled_from(["", "", "optional", "repeated"]))
    return Declared(number, label, type_name, in_oneof and not is_map)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    return [draw(declared(number)) for number in draw(st.sets(st.integers(1, 5), min_size=1))]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Schema, Schema]:
    """A schema and one that was made of it by a few changes."""
    writer = draw(schemas())
    by_number = {each.number: each for each in writer}
    for number in draw(st.sets(st.integers(1, 5), max_size=2)):
        changed = draw(st.none() | declared(number))
        before = by_number.pop(number, None)
        if changed is not None:
            # Most changes of a type are refused at once; these are the ones to look at closely.
            kin = [each for kinds in (VARINTS, ZIGZAGS, FIXED) if before and before.type in kinds for each in kinds]
            keeps_kind = draw(st.booleans())
            if kin and keeps_kind and not changed.type.startswith("map"):
                changed = changed._replace(type=draw(st.sampled_from(kin)))
            by_number[number] = changed
    return writer, sorted(by_number.values())


def integers(type_name: str) -> st.SearchStrategy[int]:
    bits = {**VARINTS, **ZIGZAGS, **FIXED}[type_name]
    if type_name in SIGNED:
        return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) | st.sampled_from([0, 1, -1])
    return st.integers(0, (1 << bits) - 1)


def values(type_name: str) -> st.SearchStrategy[Any]:
    if type_name == "bool":
        return st.booleans()
    if type_name in ("float", "double"):
        return st.floats(width=32, allow_nan=False)
    if type_name == "string":
        return st.text(max_size=5)
    if type_name == "bytes":  # a string may become bytes and the other way round, as long as it is UTF-8
        return st.text(max_size=5).map(str.encode)
    if type_name == "N":
        return st.fixed_dictionaries({"a": integers("int32"), "b": st.text(max_size=3)})
    if type_name == "O":
        return st.fixed_dictionaries({"b": st.text(max_size=3)})
    if type_name.startswith("map"):
        return st.dictionaries(st.text(max_size=2), integers(type_name[12:-1]), max_size=2)
    return integers(type_name)


def written(schema: Schema, message: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> dict[int, Any]:
    """Sets fields of the message; returns what was set, by number."""
    chosen: dict[int, Any] = {}
    for field in schema:
        if field.in_oneof and any(each.in_oneof and each.number in chosen for each in schema):
            continue
        name = f"f{field.number}"
        if not draw(st.booleans()):
            continue
        if field.label == "repeated":
            drawn: Any = draw(st.lists(values(field.type), min_size=1, max_size=3))
            if field.type in ("N", "O"):
                for each in drawn:
                    getattr(message, name).add(**each)
            else:
                getattr(message, name).extend(drawn)
        else:
            drawn = draw(values(field.type))
            if field.type.startswith("map"):
                getattr(message, name).update(drawn)
            elif field.type in ("N", "O"):
                getattr(message, name).CopyFrom(type(getattr(message, name))(**drawn))
            else:
                setattr(message, name, drawn)
        # A default is not written where proto3 does not tell it from nothing.
        if drawn or field.label or field.in_oneof or field.type in ("N", "O"):
            chosen[field.number] = drawn
    return chosen


def converted(value: Any, writer: str, reader: str) -> Any:
    """What Protobuf's documentation says a reader of one type makes of a value of another that it can read."""
    if writer == reader:
        return value
    if writer in VARINTS:
        raw = int(value) & (1 << 64) - 1
        return raw != 0 if reader == "bool" else narrowed(raw, reader, VARINTS[reader])
    if writer in ZIGZAGS:
        raw = (value << 1 ^ value >> 63) & (1 << ZIGZAGS[reader]) - 1
        return raw >> 1 ^ -(raw & 1)
    if writer in FIXED:
        return narrowed(value & (1 << FIXED[writer]) - 1, reader, FIXED[reader])
    if writer.startswith("map"):
        return {key: converted(each, writer[12:-1], reader[12:-1]) for key, each in value.items()}
    return value.encode() if reader == "bytes" else value.decode()


def narrowed(raw: int, type_name: str, bits: int) -> int:
    low = raw & (1 << bits) - 1
    return low - (1 << bits) if type_name in SIGNED and low >> bits - 1 else low


def expected(value: Any, writer: Declared, reader: Declared) -> Any:
    many = value if writer.label == "repeated" else [value]
    read = [converted(each, writer.type, reader.type) for each in many]
    if reader.type in ("N", "O"):
        read = [{name: each for name, each in one.items() if each} for one in read]
        if reader.label != "repeated":  # messages that are there several times are merged
            return {name: each for one in read for name, each in one.items()}
    return read if reader.label == "repeated" else read[-1]


def shown(message: Any, field: Declared) -> Any:
    """What a reader sees of a field."""
    value = getattr(message, f"f{field.number}")
    if field.type.startswith("map"):
        return dict(value)
    if field.type not in ("N", "O"):
        return list(value) if field.label == "repeated" else value
    if field.label == "repeated":
        return [{each.name: inner for each, inner in one.ListFields()} for one in value]
    return {each.name: inner for each, inner in value.ListFields()}


@given(pairs(), st.data())
@settings(max_examples=300)
def test_what_is_compatible_decodes(pair: tuple[Schema, Schema], data: st.DataObject) -> None:
    writer_schema, reader_schema = pair
    writer_text, reader_text = text_of(writer_schema), text_of(reader_schema)
    if parse(reader_text).incompatibilities(parse(writer_text)):
        return
    message = message_class(writer_text, "M")()
    chosen = written(writer_schema, message, data.draw)
    read = message_class(reader_text, "M").FromString(message.SerializeToString())
    before = {each.number: each for each in writer_schema}
    for field in reader_schema:
        if field.number in chosen:
            assert shown(read, field) == expected(chosen[field.number], before[field.number], field)


@cache
def class_of_one_field(type_name: str, label: str) -> Any:
    return message_class(text_of([Declared(1, label, type_name, in_oneof=False)]), "M")


SMALL: dict[str, list[Any]] = {
    "bool": [True],
    "float": [1.0, 1.5],
    "double": [1.0, 1.5],
    "string": ["a"],
    "bytes": [b"a"],
}
"""Data that any type which can read them at all reads as what they are; numbers are 1 and 2."""

REFUSED_WITHOUT_NEED = {("sint32", "bool"), ("sint64", "bool")}
"""Any zigzag varint but 0 is read as true."""


def is_same(value: Any, read: Any) -> bool:
    if isinstance(read, bool):
        return not isinstance(value, str | bytes) and read == bool(value)
    if isinstance(value, str) and isinstance(read, bytes):
        return value.encode() == read
    if isinstance(value, bytes) and isinstance(read, str):
        return value == read.encode()
    return type(value) in (type(read), bool) and bool(value == read)


def reads_back(writer: str, reader: str, label: str) -> bool:
    """Whether Protobuf itself reads small data of the one type as the other."""
    for value in SMALL.get(writer, [1, 2]):
        written = class_of_one_field(writer, label)(f1=[value] if label == "repeated" else value).SerializeToString()
        try:
            read = class_of_one_field(reader, label).FromString(written).f1
        except DecodeError:
            return False
        values = list(read) if label == "repeated" else [read]
        if len(values) != 1 or not is_same(value, values[0]):
            return False
    return True


@pytest.mark.parametrize("label", ["", "optional", "repeated"])
@pytest.mark.parametrize("writer", SCALARS)
def test_verdicts_on_types_are_those_of_the_wire(writer: str, label: str) -> None:
    old = parse(text_of([Declared(1, label, writer, in_oneof=False)]))
    for reader in SCALARS:
        if (writer, reader) in REFUSED_WITHOUT_NEED:
            continue
        new = parse(text_of([Declared(1, label, reader, in_oneof=False)]))
        assert (not new.incompatibilities(old)) is reads_back(writer, reader, label), reader


class Witness(NamedTuple):
    """An incompatible pair, and a datum of the writer's that shows it."""

    rule: str
    writer: str
    reader: str
    data: dict[str, Any]
    is_lost: Callable[[Any, Any], bool]
    """Of the message as written and as read."""


PROTO2, PROTO3 = 'syntax = "proto2"; ', 'syntax = "proto3"; '
WITNESSES = [
    Witness(
        "FIELD_SCALAR_KIND_CHANGED",
        PROTO3 + "message M { int32 a = 1; }",
        PROTO3 + "message M { sint32 a = 1; }",
        {"a": 1},
        lambda written, read: read.a != written.a,
    ),
    Witness(
        "FIELD_SCALAR_KIND_CHANGED",
        PROTO3 + "message M { int32 a = 1; }",
        PROTO3 + "message M { string a = 1; }",
        {"a": 1},
        lambda written, read: read.a == "",
    ),
    Witness(
        "FIELD_SCALAR_KIND_CHANGED",
        PROTO3 + "message M { float a = 1; }",
        PROTO3 + "message M { fixed32 a = 1; }",
        {"a": 1.5},
        lambda written, read: read.a != written.a,
    ),
    Witness(
        "FIELD_KIND_CHANGED",
        PROTO3 + "message M { string a = 1; }",
        PROTO3 + "message M { M a = 1; }",
        {"a": "\x7f"},
        lambda written, read: False,
    ),
    Witness(
        "FIELD_NAMED_TYPE_CHANGED",
        PROTO3 + "message M { N a = 1; } message N { int32 a = 1; } message O { string b = 1; }",
        PROTO3 + "message M { O a = 1; } message N { int32 a = 1; } message O { string b = 1; }",
        {"a": {"a": 5}},
        lambda written, read: read.a.b == "",
    ),
    Witness(
        "FIELD_NUMERIC_LABEL_CHANGED",
        PROTO3 + "message M { repeated int32 a = 1; }",
        PROTO3 + "message M { optional int32 a = 1; }",
        {"a": [5]},
        lambda written, read: not read.HasField("a"),
    ),
    Witness(
        "FIELD_NUMERIC_LABEL_CHANGED",
        PROTO3 + "message M { repeated int32 a = 1; }",
        PROTO3 + "message M { int32 a = 1; }",
        {"a": [5]},
        lambda written, read: read.a != 5,
    ),
    Witness(
        "REQUIRED_FIELD_ADDED",
        PROTO2 + "message M { }",
        PROTO2 + "message M { required int32 a = 1; }",
        {},
        lambda written, read: False,
    ),
    Witness(
        "REQUIRED_FIELD_ADDED",
        PROTO2 + "message M { optional string a = 1; }",
        PROTO2 + "message M { required string a = 1; }",
        {},
        lambda written, read: False,
    ),
    Witness(
        "REQUIRED_FIELD_REMOVED",
        PROTO2 + "message M { required int32 a = 1; }",
        PROTO2 + "message M { }",
        {"a": 5},
        lambda written, read: not read.ListFields(),
    ),
    Witness(
        "ONEOF_FIELD_REMOVED",
        PROTO3 + "message M { oneof o { int32 a = 1; int32 b = 2; } }",
        PROTO3 + "message M { oneof o { int32 a = 1; } }",
        {"b": 5},
        lambda written, read: read.WhichOneof("o") is None,
    ),
    Witness(
        "MULTIPLE_FIELDS_MOVED_TO_ONEOF",
        PROTO3 + "message M { int32 a = 1; int32 b = 2; }",
        PROTO3 + "message M { oneof o { int32 a = 1; int32 b = 2; } }",
        {"a": 5, "b": 6},
        lambda written, read: read.a != 5,
    ),
    Witness(
        "FIELD_MOVED_TO_EXISTING_ONEOF",
        PROTO3 + "message M { int32 a = 1; oneof o { int32 b = 2; } }",
        PROTO3 + "message M { oneof o { int32 a = 1; int32 b = 2; } }",
        {"a": 5, "b": 6},
        lambda written, read: read.a != 5,
    ),
]
OF_NAMES = {"PACKAGE_CHANGED": "package p;", "MESSAGE_REMOVED": "message N {}"}
"""Rules under which the reader does not find the writer's message by its name; what the writer has besides."""


@pytest.mark.parametrize("witness", WITNESSES, ids=[f"{each.rule} {each.reader[20:50]}" for each in WITNESSES])
def test_what_is_incompatible_loses_a_datum(witness: Witness) -> None:
    refused = parse(witness.reader).incompatibilities(parse(witness.writer))
    assert [each.rule for each in refused] == [witness.rule]
    written = message_class(witness.writer, "M")(**witness.data)
    try:
        read = message_class(witness.reader, "M").FromString(written.SerializeToString())
    except DecodeError:
        return
    assert not read.IsInitialized() or witness.is_lost(written, read)


@pytest.mark.parametrize(("rule", "besides"), OF_NAMES.items())
def test_what_is_incompatible_by_name_is_not_found(rule: str, besides: str) -> None:
    writer, reader = f"{PROTO3}{besides} message M {{}}", f"{PROTO3}message M {{}}"
    assert [each.rule for each in parse(reader).incompatibilities(parse(writer))] == [rule]
    name = "p.M" if rule == "PACKAGE_CHANGED" else "N"
    assert message_class(writer, name).DESCRIPTOR.full_name == name
    with pytest.raises(KeyError):
        message_class(reader, name)


def test_every_incompatible_rule_has_a_witness() -> None:
    assert {each.rule for each in WITNESSES} | OF_NAMES.keys() == INCOMPATIBLE


@pytest.mark.parametrize("invalid", [b"\xff", b"\xc3"])
def test_bytes_that_become_a_string_must_be_utf_8(invalid: bytes) -> None:
    """Protobuf calls the change compatible "as long as the bytes are valid UTF-8", and so do the rules."""
    writer, reader = PROTO3 + "message M { bytes a = 1; }", PROTO3 + "message M { string a = 1; }"
    assert parse(reader).incompatibilities(parse(writer)) == []
    written = message_class(writer, "M")(a=invalid).SerializeToString()
    with pytest.raises(DecodeError):
        message_class(reader, "M").FromString(written)
