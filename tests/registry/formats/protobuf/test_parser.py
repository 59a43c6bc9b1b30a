"""Texts that are no schema: what is said of them, and where."""

import pytest

from stoker.registry.formats.protobuf import parse
from stoker.registry.formats.schema import Dependencies, InvalidSchema

PROTO3 = 'syntax = "proto3";\n'

INVALID = {
    "an unknown word": ("hello", "neither the text"),
    "a word and a sign": (
        "hello;",
        "message, enum, service, extend, import, package or option is expected here, not hello at line 1, column 1",
    ),
    "an unknown syntax": (
        'syntax = "proto4";',
        "unknown syntax 'proto4': there are proto2 and proto3 at line 1, column 10",
    ),
    "a syntax too late": (
        'package a; syntax = "proto3";',
        "'syntax' must be the first declaration of the file, and there only once at line 1, column 12",
    ),
    "no end": (
        PROTO3 + "message M {\n  int32 a = 1;",
        "the text ends where the type of a field is expected at line 3, column 15",
    ),
    "no semicolon": (PROTO3 + "message M {\n  int32 a = 1\n}", "';' is expected here, not } at line 4, column 1"),
    "no number": (PROTO3 + "message M {\n  int32 a;\n}", "'=' is expected here, not ; at line 3, column 10"),
    "number 0": (
        PROTO3 + "message M { int32 a = 0; }",
        "0 cannot be the number of a field: they go from 1 to 536870911 at line 2, column 23",
    ),
    "a large number": (PROTO3 + "message M { int32 a = 536870912; }", "536870912 cannot be the number"),
    "a huge number": (PROTO3 + "message M { int32 a = 99999999999999999999999; }", "must fit in 32 bits"),
    "Protobuf's own numbers": (PROTO3 + "message M { int32 a = 19500; }", "Protobuf keeps 19000 to 19999 for itself"),
    "a number twice": (
        PROTO3 + "message M {\n  int32 a = 1;\n  oneof o { int32 b = 1; }\n}",
        "'1' is there twice in 'M' at line 4, column 13",
    ),
    "a name twice": (
        PROTO3 + "message M { int32 a = 1; int32 a = 2; }",
        "'a' is there twice in 'M' at line 2, column 26",
    ),
    "a message twice": (PROTO3 + "message M {}\nmessage M {}", "'M' is there twice in the file at line 3, column 9"),
    "a name with a digit first": (PROTO3 + "message 1M {}", "'1M' cannot be the name of a message"),
    "no label in proto2": ("message M { int32 a = 1; }", "'int32' without optional, required or repeated"),
    "required in proto3": (PROTO3 + "message M { required int32 a = 1; }", "a field cannot be required in proto3"),
    "a label in a oneof": (
        PROTO3 + "message M { oneof o { repeated int32 a = 1; } }",
        "a field of a oneof can be neither",
    ),
    "a repeated map": (PROTO3 + "message M { repeated map<string, string> a = 1; }", "a map can be neither"),
    "a map by double": (
        PROTO3 + "message M { map<double, string> a = 1; }",
        "the keys of the map 'a' cannot be double",
    ),
    "an open string": (
        PROTO3 + 'option java_package = "a;\nmessage M {}',
        "a string that does not end on its line at line 2, column 23",
    ),
    "an open comment": (PROTO3 + "message M {} /* end", "a comment that does not end at line 2, column 14"),
    "a stray sign": (PROTO3 + "message M { % }", "the type of a field is expected here, not % at line 2, column 13"),
    "letters of no alphabet of ours": (PROTO3 + "message Ünit {}", "the name of a message is expected here, not Ü"),
    "an unknown type": (
        PROTO3 + "message M {\n  Order o = 1;\n}",
        "the type 'Order' of 'o' is not known; it is neither in the file nor in what it imports at line 3, column 3",
    ),
    "an import that no reference gives": (
        PROTO3 + 'import "o.proto"; message M { Order o = 1; }',
        "no reference gives the imported 'o.proto'",
    ),
    "an unknown type of a method": (
        PROTO3 + "service S { rpc A (B) returns (C); }",
        "the type 'B' of the method 'A' is not known",
    ),
    "an unknown message to extend": (PROTO3 + "extend B { int32 a = 1; }", "the type 'B' of an extension is not known"),
    "an edition that is none": ('edition = "";', "unknown edition ''"),
}


@pytest.mark.parametrize(("text", "reason"), INVALID.values(), ids=INVALID)
def test_says_what_is_wrong_and_where(text: str, reason: str) -> None:
    with pytest.raises(InvalidSchema) as error:
        parse(text)
    assert reason in str(error.value)


DEPENDENCIES: dict[str, tuple[str, Dependencies, str]] = {
    "one that is no schema": (
        PROTO3 + 'import "a.proto"; message M {}',
        {"a.proto": PROTO3 + "message {"},
        "in the reference 'a.proto': the name of a message is expected here, not { at line 2, column 9",
    ),
    "a circle": (
        PROTO3 + 'import "a.proto"; message M {}',
        {"a.proto": PROTO3 + 'import "b.proto";', "b.proto": PROTO3 + 'import "a.proto";'},
        "references go in a circle: a.proto imports b.proto imports a.proto",
    ),
    "one that imports itself": (
        PROTO3 + 'import "a.proto"; message M {}',
        {"a.proto": PROTO3 + 'import "a.proto";'},
        "references go in a circle: a.proto imports a.proto",
    ),
}


@pytest.mark.parametrize(("text", "dependencies", "reason"), DEPENDENCIES.values(), ids=DEPENDENCIES)
def test_says_what_is_wrong_with_references(text: str, dependencies: Dependencies, reason: str) -> None:
    with pytest.raises(InvalidSchema) as error:
        parse(text, dependencies)
    assert reason in str(error.value)


RESOLVED = {
    "innermost first": "package p; message N {} message M { message N { int32 a = 1; } N n = 1; }",
    "an outer one": "package p.q; message N {} message M { message O { N n = 1; } }",
    "in full": "package p.q; message N {} message M { .p.q.N n = 1; q.N o = 2; p.q.N r = 3; }",
    "nested": "message M { message N { message O {} } N.O o = 1; M.N.O p = 2; }",
    "itself": "message M { M m = 1; map<string, M> n = 2; }",
    "an import without use": 'import "buf/validate/validate.proto"; message M { string a = 1 [(buf.validate.field).required = true]; }',
    "a built-in type": 'import "google/protobuf/any.proto"; message M { google.protobuf.Any a = 1; }',
    "a built-in type of Google's": 'import "google/type/money.proto"; message M { google.type.Money a = 1; }',
    "a built-in type of Confluent's": 'import "confluent/type/decimal.proto"; message M { confluent.type.Decimal a = 1; }',
    "a built-in option": 'import "confluent/meta.proto"; message M { option (confluent.message_meta).doc = "d"; }',
}


@pytest.mark.parametrize("text", RESOLVED.values(), ids=RESOLVED)
def test_resolves_names(text: str) -> None:
    assert parse(PROTO3 + text).text.startswith(PROTO3)


def test_resolves_names_of_references() -> None:
    dependencies = {
        "a.proto": PROTO3 + "package a; message A {}",
        "b.proto": PROTO3 + 'package a.b; import "a.proto"; message B { A a = 1; }',
    }
    schema = parse(PROTO3 + 'package a.b.c; import "b.proto"; message C { B b = 1; A a = 2; }', dependencies)
    assert schema.normalized().text.endswith("  .a.b.B b = 1;\n  .a.A a = 2;\n}\n")
