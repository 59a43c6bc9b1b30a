"""Each rule by its cases: what the writer had, what the reader has, and all that must be found."""

from types import MappingProxyType
from typing import NamedTuple

import pytest

from stoker.registry.formats.protobuf import parse
from stoker.registry.formats.protobuf.differences import differences
from stoker.registry.formats.protobuf.rules import COMPATIBLE, INCOMPATIBLE
from stoker.registry.formats.schema import Dependencies

PROTO2, PROTO3 = 'syntax = "proto2";\n', 'syntax = "proto3";\n'

NONE: Dependencies = MappingProxyType({})


class Case(NamedTuple):
    what: str
    writer: str
    reader: str
    found: list[str]
    """Rule and path of each change."""
    writer_dependencies: Dependencies = NONE
    reader_dependencies: Dependencies = NONE


def proto3(what: str, writer: str, reader: str, *found: str) -> Case:
    """Both as the body of the message M."""
    return Case(what, f"{PROTO3}message M {{ {writer} }}", f"{PROTO3}message M {{ {reader} }}", list(found))


def proto2(what: str, writer: str, reader: str, *found: str) -> Case:
    return Case(what, f"{PROTO2}message M {{ {writer} }}", f"{PROTO2}message M {{ {reader} }}", list(found))


def files(what: str, writer: str, reader: str, *found: str) -> Case:
    return Case(what, PROTO3 + writer, PROTO3 + reader, list(found))


PACKAGES_AND_TYPES = [
    files("same package", "package a; message M {}", "package a; message M {}"),
    files("other package", "package a; message M {}", "package b; message M {}", "PACKAGE_CHANGED #/"),
    files("new package", "message M {}", "package b; message M {}", "PACKAGE_CHANGED #/"),
    files("message removed", "message M {} message N {}", "message M {}", "MESSAGE_REMOVED #/N"),
    files("message added", "message M {}", "message M {} message N {}", "MESSAGE_ADDED #/N"),
    files(
        "messages in another order",
        "message M {} message N {}",
        "message N {} message M {}",
        "MESSAGE_MOVED #/M",
        "MESSAGE_MOVED #/N",
    ),
    proto3("nested message removed", "message N {} int32 a = 1;", "int32 a = 1;", "MESSAGE_REMOVED #/M/N"),
    proto3(
        "field of a nested message",
        "message N { int32 a = 1; } N n = 1;",
        "message N { string a = 1; } N n = 1;",
        "FIELD_SCALAR_KIND_CHANGED #/M/N/1",
    ),
    files("enum removed", "enum E { A = 0; } message M {}", "message M {}", "ENUM_REMOVED #/E"),
    files("enum added", "message M {}", "enum E { A = 0; } message M {}", "ENUM_ADDED #/E"),
    files("constant added", "enum E { A = 0; }", "enum E { A = 0; B = 1; }", "ENUM_CONST_ADDED #/E/1"),
    files("constant removed", "enum E { A = 0; B = 1; }", "enum E { A = 0; }", "ENUM_CONST_REMOVED #/E/1"),
    files("constant renamed", "enum E { A = 0; B = 1; }", "enum E { A = 0; C = 1; }", "ENUM_CONST_CHANGED #/E/1"),
]

FIELDS = [
    proto3("nothing changed", "int32 a = 1;", "int32 a = 1;"),
    proto3("field added", "int32 a = 1;", "int32 a = 1; int32 b = 2;", "FIELD_ADDED #/M/2"),
    proto3("field removed", "int32 a = 1; int32 b = 2;", "int32 a = 1;", "FIELD_REMOVED #/M/2"),
    proto3("field renamed", "int32 a = 1;", "int32 b = 1;", "FIELD_NAME_CHANGED #/M/1"),
    proto3("field renumbered", "int32 a = 1;", "int32 a = 2;", "FIELD_REMOVED #/M/1", "FIELD_ADDED #/M/2"),
    proto3("field reserved", "int32 a = 1; int32 b = 2;", "reserved 2; int32 a = 1;", "FIELD_REMOVED #/M/2"),
    proto2("required added", "", "required int32 a = 1;", "REQUIRED_FIELD_ADDED #/M/1"),
    proto2("required removed", "required int32 a = 1;", "", "REQUIRED_FIELD_REMOVED #/M/1"),
    proto2("optional added", "", "optional int32 a = 1;", "FIELD_ADDED #/M/1"),
    proto2(
        "a string becomes required",
        "optional string a = 1;",
        "required string a = 1;",
        "FIELD_STRING_OR_BYTES_LABEL_CHANGED #/M/1",
        "REQUIRED_FIELD_ADDED #/M/1",
    ),
    proto2(
        "a message becomes required",
        "message N {} optional N a = 1;",
        "message N {} required N a = 1;",
        "REQUIRED_FIELD_ADDED #/M/1",
    ),
    proto2(
        "a string is no more required",
        "required string a = 1;",
        "optional string a = 1;",
        "FIELD_STRING_OR_BYTES_LABEL_CHANGED #/M/1",
    ),
    proto2(
        "a number is no more required",
        "required int32 a = 1;",
        "optional int32 a = 1;",
        "FIELD_NUMERIC_LABEL_CHANGED #/M/1",
    ),
    proto3(
        "a number is repeated", "optional int32 a = 1;", "repeated int32 a = 1;", "FIELD_NUMERIC_LABEL_CHANGED #/M/1"
    ),
    proto3(
        "a string is repeated",
        "optional string a = 1;",
        "repeated string a = 1;",
        "FIELD_STRING_OR_BYTES_LABEL_CHANGED #/M/1",
    ),
    proto3("a number without a label is repeated", "int32 a = 1;", "repeated int32 a = 1;"),
    proto3("packed numbers become one", "repeated int32 a = 1;", "int32 a = 1;", "FIELD_NUMERIC_LABEL_CHANGED #/M/1"),
    proto3("strings become one", "repeated string a = 1;", "string a = 1;"),
    proto3("a message is repeated", "message N {} optional N a = 1;", "message N {} repeated N a = 1;"),
]

TYPES = [
    proto3("a varint stays one", "int32 a = 1; uint32 b = 2; bool c = 3;", "int64 a = 1; bool b = 2; uint64 c = 3;"),
    proto3("a zigzag varint stays one", "sint32 a = 1;", "sint64 a = 1;"),
    proto3("four bytes stay four", "fixed32 a = 1; fixed64 b = 2;", "sfixed32 a = 1; sfixed64 b = 2;"),
    proto3("string and bytes", "string a = 1; bytes b = 2;", "bytes a = 1; string b = 2;"),
    files(
        "an enum is a varint",
        "message M { int32 a = 1; }",
        "message M { E a = 1; } enum E { A = 0; }",
        "ENUM_ADDED #/E",
    ),
    proto3("zigzag", "int32 a = 1;", "sint32 a = 1;", "FIELD_SCALAR_KIND_CHANGED #/M/1"),
    proto3("varint to string", "int32 a = 1;", "string a = 1;", "FIELD_SCALAR_KIND_CHANGED #/M/1"),
    proto3("fixed to varint", "fixed32 a = 1;", "uint32 a = 1;", "FIELD_SCALAR_KIND_CHANGED #/M/1"),
    proto3("four bytes to eight", "fixed32 a = 1;", "fixed64 a = 1;", "FIELD_SCALAR_KIND_CHANGED #/M/1"),
    proto3("float to double", "float a = 1;", "double a = 1;", "FIELD_SCALAR_KIND_CHANGED #/M/1"),
    proto3("float to fixed32", "float a = 1;", "fixed32 a = 1;", "FIELD_SCALAR_KIND_CHANGED #/M/1"),
    proto3("scalar to message", "message N {} string a = 1;", "message N {} N a = 1;", "FIELD_KIND_CHANGED #/M/1"),
    proto3("message to map", "message N {} N a = 1;", "message N {} map<string, N> a = 1;", "FIELD_KIND_CHANGED #/M/1"),
    proto3(
        "another message",
        "message N {} message O {} N a = 1;",
        "message N {} message O {} O a = 1;",
        "FIELD_NAMED_TYPE_CHANGED #/M/1",
    ),
    files(
        "the name in full",
        "package p; message N {} message M { N a = 1; }",
        "package p; message N {} message M { .p.N a = 1; }",
    ),
    proto3("a map's value widened", "map<string, int32> a = 1;", "map<string, int64> a = 1;"),
    proto3(
        "a map's key and value",
        "map<string, int32> a = 1;",
        "map<int32, string> a = 1;",
        "FIELD_SCALAR_KIND_CHANGED #/M/1",
        "FIELD_SCALAR_KIND_CHANGED #/M/1",
    ),
    proto3(
        "a map as descriptors write it",
        "map<string, int32> a = 1;",
        "repeated AEntry a = 1; message AEntry { option map_entry = true; string key = 1; int32 value = 2; }",
    ),
]

ONEOFS = [
    proto3("one field moves into a oneof", "int32 a = 1;", "oneof o { int32 a = 1; }", "ONEOF_ADDED #/M/o"),
    proto3(
        "one field and a new one",
        "int32 a = 1;",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "ONEOF_ADDED #/M/o",
        "ONEOF_FIELD_ADDED #/M/o/2",
    ),
    proto3(
        "two fields move into a oneof",
        "int32 a = 1; int32 b = 2;",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "MULTIPLE_FIELDS_MOVED_TO_ONEOF #/M/o",
        "ONEOF_ADDED #/M/o",
    ),
    proto3(
        "a field joins a oneof",
        "int32 a = 1; oneof o { int32 b = 2; }",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "FIELD_MOVED_TO_EXISTING_ONEOF #/M/o",
    ),
    proto3(
        "two oneofs become one",
        "oneof o { int32 a = 1; } oneof p { int32 b = 2; }",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "FIELD_MOVED_TO_EXISTING_ONEOF #/M/o",
        "ONEOF_REMOVED #/M/p",
    ),
    proto3(
        "a field leaves a oneof",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "oneof o { int32 a = 1; } int32 b = 2;",
        "ONEOF_FIELD_MOVED_TO_TOP_LEVEL #/M/2",
    ),
    proto3(
        "a field of a oneof is removed",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "oneof o { int32 a = 1; }",
        "ONEOF_FIELD_REMOVED #/M/o/2",
    ),
    proto3("a oneof is removed with its fields", "oneof o { int32 a = 1; }", "", "ONEOF_REMOVED #/M/o"),
    proto3(
        "a oneof is renamed",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "oneof p { int32 a = 1; int32 b = 2; }",
        "ONEOF_REMOVED #/M/o",
        "ONEOF_ADDED #/M/p",
    ),
    proto3(
        "a type changes in a renamed oneof",
        "oneof o { int32 a = 1; }",
        "oneof p { string a = 1; }",
        "ONEOF_REMOVED #/M/o",
        "ONEOF_ADDED #/M/p",
        "FIELD_SCALAR_KIND_CHANGED #/M/p/1",
    ),
]

MAIN = f'{PROTO3}import "n.proto"; message M {{ n.N a = 1; n.N b = 2; }}'


def imported(what: str, writer: str, reader: str, *found: str) -> Case:
    """The schema is the same; what it imports is not."""
    return Case(what, MAIN, MAIN, list(found), {"n.proto": PROTO3 + writer}, {"n.proto": PROTO3 + reader})


IMPORTS = [
    imported("the same", "package n; message N { int32 a = 1; }", "package n; message N { int32 a = 1; }"),
    imported(
        "harmless",
        "package n; message N { int32 a = 1; }",
        "package n; message N { int32 a = 1; int32 b = 2; }",
        "FIELD_ADDED #/N/2",
    ),
    imported(
        "incompatible",
        "package n; message N { int32 a = 1; }",
        "package n; message N { string a = 1; }",
        "FIELD_SCALAR_KIND_CHANGED #/N/1",
        "FIELD_NAMED_TYPE_CHANGED #/M/1",
        "FIELD_NAMED_TYPE_CHANGED #/M/2",
    ),
    imported(
        "incompatible, two steps away and in a circle",
        "package n; message N { O o = 1; } message O { N n = 1; int32 a = 2; }",
        "package n; message N { O o = 1; } message O { N n = 1; string a = 2; }",
        "FIELD_SCALAR_KIND_CHANGED #/O/2",
        "FIELD_NAMED_TYPE_CHANGED #/N/1",
        "FIELD_NAMED_TYPE_CHANGED #/O/1",
        "FIELD_NAMED_TYPE_CHANGED #/M/1",
        "FIELD_NAMED_TYPE_CHANGED #/M/2",
    ),
    Case(
        "a message moves to an import",
        f"{PROTO3}package p; message N {{ int32 a = 1; }} message M {{ N n = 1; }}",
        f'{PROTO3}package p; import "n.proto"; message M {{ N n = 1; }}',
        ["MESSAGE_REMOVED #/N", "MESSAGE_MOVED #/M"],
        NONE,
        {"n.proto": f"{PROTO3}package p; message N {{ int32 a = 1; }}"},
    ),
    files(
        "a built-in message",
        'import "google/protobuf/timestamp.proto"; message M { google.protobuf.Timestamp a = 1; }',
        'import "google/protobuf/timestamp.proto"; message M { .google.protobuf.Timestamp a = 1; }',
    ),
]

CASES = PACKAGES_AND_TYPES + FIELDS + TYPES + ONEOFS + IMPORTS


@pytest.mark.acceptance("B126")
@pytest.mark.parametrize("case", CASES, ids=[case.what for case in CASES])
def test_finds(case: Case) -> None:
    """Protobuf: rename, add, remove and renumber fields, and each rule with the verdict it leads to"""
    writer = parse(case.writer, case.writer_dependencies)
    reader = parse(case.reader, case.reader_dependencies)
    assert sorted(f"{each.rule} {each.path}" for each in differences(writer.names, reader.names)) == sorted(case.found)
    refused = reader.incompatibilities(writer)
    assert sorted(f"{each.rule} {each.path}" for each in refused) == sorted(
        each for each in case.found if each.split()[0] in INCOMPATIBLE
    )


def test_every_rule_has_a_case() -> None:
    assert {each.split()[0] for case in CASES for each in case.found} == INCOMPATIBLE | COMPATIBLE
    assert not INCOMPATIBLE & COMPATIBLE


@pytest.mark.acceptance("B125")
@pytest.mark.parametrize(("writer", "reader", "is_compatible"), [("int32", "string", False), ("int32", "int64", True)])
def test_changed_type(writer: str, reader: str, is_compatible: bool) -> None:
    """Protobuf: int32 to string is refused, int32 to int64 is not"""
    old, new = (parse(f"{PROTO3}message M {{ {each} a = 1; }}") for each in (writer, reader))
    assert bool(new.incompatibilities(old)) is not is_compatible


def test_messages_name_both_sides() -> None:
    writer = parse(f"{PROTO3}package a; message Order {{ int32 amount = 1; oneof o {{ int32 x = 2; int32 y = 3; }} }}")
    reader = parse(f"{PROTO3}package b; message Order {{ string amount = 1; oneof o {{ int32 x = 2; }} }}")
    assert [each.message for each in reader.incompatibilities(writer)] == [
        "the package is 'b' for the reader and 'a' for the writer",
        "the field is int32 (a varint) for the writer and string (a string) for the reader",
        "the writer has the field 'y' (3) in the oneof 'o' and the reader lacks it",
    ]
