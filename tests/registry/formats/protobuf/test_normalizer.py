"""The normal form: by example as Confluent's gives it, and the same for schemas that differ in order and spelling alone."""

import random

import pytest

from stoker.registry.formats.protobuf import parse
from stoker.registry.formats.protobuf.normalizer import plain_number

CASES = {
    "types in full, fields by number": (
        'syntax = "proto3"; package p; message N {} message M { N b = 2; string a = 1; map<string, N> c = 3; }',
        'syntax = "proto3";\npackage p;\n\nmessage N {}\nmessage M {\n  string a = 1;\n  .p.N b = 2;\n'
        "  map<string, .p.N> c = 3;\n}\n",
    ),
    "proto2 goes without saying": (
        'syntax = "proto2"; message M { optional int32 a = 1 [default = 1.50]; }',
        "\nmessage M {\n  optional int32 a = 1 [default = 1.5];\n}\n",
    ),
    "maps as descriptors write them": (
        """syntax = "proto3"; message M {
          repeated CountsEntry counts = 1;
          message CountsEntry { option map_entry = true; string key = 1; M value = 2; }
        }""",
        'syntax = "proto3";\n\nmessage M {\n  map<string, .M> counts = 1;\n}\n',
    ),
    "imports sorted": (
        'syntax = "proto3"; import "google/protobuf/type.proto"; import "google/protobuf/any.proto"; message M {}',
        'syntax = "proto3";\n\nimport "google/protobuf/any.proto";\nimport "google/protobuf/type.proto";\n\nmessage M {}\n',
    ),
    "reserved one by one": (
        'syntax = "proto3"; message M { reserved "b", "a"; reserved 9, 4 to 5, 7 to 7; }',
        'syntax = "proto3";\n\nmessage M {\n  reserved 4 to 5;\n  reserved 7;\n  reserved 9;\n  reserved "a";\n'
        '  reserved "b";\n}\n',
    ),
    "oneofs by number": (
        'syntax = "proto3"; message M { oneof b { int32 z = 4; int32 y = 3; } oneof a { int32 x = 1; } oneof c {} }',
        'syntax = "proto3";\n\nmessage M {\n  oneof a {\n    int32 x = 1;\n  }\n  oneof b {\n    int32 y = 3;\n'
        "    int32 z = 4;\n  }\n}\n",
    ),
    "options by name, numbers plain": (
        'syntax = "proto3"; option java_package = "p"; option go_package = "g"; '
        'message M { int32 a = 1 [json_name = "x", deprecated = true, (o) = 0x10]; }',
        'syntax = "proto3";\n\noption go_package = "g";\noption java_package = "p";\n\nmessage M {\n  int32 a = 1 [\n'
        '    deprecated = true,\n    json_name = "x",\n    (o) = 16\n  ];\n}\n',
    ),
    "parts of one option": (
        """syntax = "proto3"; import "confluent/meta.proto"; message M {
          string a = 1 [(confluent.field_meta).tags = "PII", (confluent.field_meta).doc = "d",
                        (confluent.field_meta).tags = "X"];
          string b = 2 [(confluent.field_meta) = { tags: ["PII"], doc: "d" }];
        }""",
        """syntax = "proto3";

import "confluent/meta.proto";

message M {
  string a = 1 [(confluent.field_meta) = {
    doc: "d",
    tags: [
      "PII",
      "X"
    ]
  }];
  string b = 2 [(confluent.field_meta) = {
    doc: "d",
    tags: "PII"
  }];
}
""",
    ),
    "enums by number, services in full": (
        'syntax = "proto3"; package p; enum E { B = 1; A = 0; } message M {} service S { rpc R (M) returns (M); }',
        'syntax = "proto3";\npackage p;\n\nmessage M {}\nenum E {\n  A = 0;\n  B = 1;\n}\n\nservice S {\n'
        "  rpc R (.p.M) returns (.p.M);\n}\n",
    ),
    "extensions together": (
        'syntax = "proto2"; message M { extensions 20, 10 to 12; } extend M { optional int32 b = 11; } '
        "extend .M { optional int32 a = 10; }",
        "\nmessage M {\n  extensions 10 to 12;\n  extensions 20;\n}\n\nextend .M {\n  optional int32 a = 10;\n"
        "  optional int32 b = 11;\n}\n",
    ),
}


@pytest.mark.parametrize(("text", "normal"), CASES.values(), ids=CASES)
def test_normalizes(text: str, normal: str) -> None:
    assert parse(text).normalized().text == normal
    assert parse(normal).normalized().text == normal


def test_order_and_spelling_make_no_difference() -> None:
    fields = ["string a = 1;", "N b = 2 [deprecated = true, json_name = 'x'];", "oneof o { int32 c = 3; int32 d = 4; }"]
    fields += ["oneof p { M e = 5; }", "reserved 10;", "reserved 20 to 30;", "map<int32, N> f = 6;"]
    seen = set()
    for seed in range(20):
        shuffled = random.Random(seed).sample(fields, k=len(fields))
        text = f'syntax = "proto3"; package p; message N {{}} message M {{ {" ".join(shuffled)} }}'
        seen.add(parse(text if seed % 2 else text.replace("N b", ".p.N b")).normalized().text)
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("1", "1"),
        ("-1.0", "-1"),
        ("0x1F", "31"),
        ("010", "8"),
        ("1.250", "1.25"),
        ("1e3", "1000"),
        ("1.5e-1", "0.15"),
        ("-inf", "-inf"),
        ("0.0001", "0.0001"),
        ("1e999999999", "1e999999999"),
        ("18446744073709551615", "18446744073709551615"),
    ],
)
def test_plain_number(written: str, plain: str) -> None:
    assert plain_number(written) == plain
