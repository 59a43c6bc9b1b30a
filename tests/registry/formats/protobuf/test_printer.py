"""The canonical text, as Confluent's registry returns it for the same schema."""

import pytest

from stoker.registry.formats.protobuf import parse

CASES = {
    "nothing": ("", ""),
    "no syntax": ("message A{}", "\nmessage A {}\n"),
    "comments and space go": (
        '// a\nsyntax="proto3" ; /* b */ package  a.b; message A { /* c */ string b=1; // d\n}',
        'syntax = "proto3";\npackage a.b;\n\nmessage A {\n  string b = 1;\n}\n',
    ),
    "imports": (
        'syntax = "proto3"; import public "b.proto"; import "c.proto"; import "a.proto"; message A {}',
        'syntax = "proto3";\n\nimport "c.proto";\nimport "a.proto";\nimport public "b.proto";\n\nmessage A {}\n',
    ),
    "messages before enums, all parts of a message": (
        """syntax = "proto2";
        enum E { option allow_alias = true; reserved 5, 7 to 9, 11 to max; reserved "X"; A = 0; B = 0 [deprecated = true]; C = -1; }
        message M {
          enum I { Z = 0; }
          message N { optional int32 a = 1; oneof p { int32 b = 2; } }
          extensions 100 to 199, 300;
          optional group G = 5 { required int32 g = 1; }
          oneof o { option deprecated = true; string s = 3; bytes t = 4; }
          map<string, N> m = 2;
          required E e = 1 [default = A];
          option deprecated = true;
          reserved 20, 30 to 40, "gone";
          extend N { optional int32 x = 100; }
        }""",
        """syntax = "proto2";

message M {
  reserved 20, 30 to 40, "gone";

  option deprecated = true;

  map<string, N> m = 2;
  required E e = 1 [default = A];

  oneof o {
    option deprecated = true;
{two_spaces}
    string s = 3;
    bytes t = 4;
  }

  optional group G = 5 {
    required int32 g = 1;
  }

  extensions 100 to 199, 300;

  extend N {
    optional int32 x = 100;
  }

  message N {
    optional int32 a = 1;
{two_spaces}
    oneof p {
      int32 b = 2;
    }
  }
  enum I {
    Z = 0;
  }
}
enum E {
  reserved 5, 7 to 9, 11 to max;
  reserved "X";
  option allow_alias = true;
  A = 0;
  B = 0 [deprecated = true];
  C = -1;
}
""".replace("{two_spaces}", "  "),
    ),
    "options of fields": (
        """syntax = "proto3"; message A {
          int32 a = 1 [json_name = "x", deprecated = true];
          int32 b = 2 [(o) = { doc: "d", tags: ["t", 'u'], n { k: 1 }, n { k: 2 } }];
          int32 c = 3 [(o).doc = "d", (o).(p.q).r = FOO];
          int32 d = 4 [(l) = [1, 2], (k) = ["x"], (e) = {}];
        }""",
        """syntax = "proto3";

message A {
  int32 a = 1 [
    deprecated = true,
    json_name = "x"
  ];
  int32 b = 2 [(o) = {
    doc: "d",
    tags: [
      "t",
      "u"
    ],
    n: [
      {
        k: 1
      },
      {
        k: 2
      }
    ]
  }];
  int32 c = 3 [
    (o).doc = "d",
    (o).(p.q).r = FOO
  ];
  int32 d = 4 [
    (l) = [
      1,
      2
    ],
    (k) = ["x"],
    (e) = {
    }
  ];
}
""",
    ),
    "services": (
        """syntax = "proto3"; option java_package = "p"; message A {}
        service S { option deprecated = true; rpc One (A) returns (stream A); rpc Two (stream .A) returns (A) {
          option idempotency_level = IDEMPOTENT; } rpc Three(A) returns (A) {} }
        service Empty {}""",
        """syntax = "proto3";

option java_package = "p";

message A {}

service S {
  option deprecated = true;

  rpc One (A) returns (stream A);
  rpc Two (stream .A) returns (A) {
    option idempotency_level = IDEMPOTENT;
  };
  rpc Three (A) returns (A);
}
service Empty {}
""",
    ),
    "strings": (
        r"""syntax = "proto3"; option java_package = 'a' "b\n\t\"\'\\\x41\101é"; message A {}""",
        'syntax = "proto3";\n\noption java_package = "ab\\n\\t\\"\\\'\\\\AAé";\n\nmessage A {}\n',
    ),
    "bytes in strings": (
        r'syntax = "proto3"; option java_package = "\303\251\377\u00e9"; message A {}',
        'syntax = "proto3";\n\noption java_package = "é\\377é";\n\nmessage A {}\n',
    ),
    "numbers of other bases": (
        'syntax = "proto3"; message A { int32 a = 0x10; }',
        'syntax = "proto3";\n\nmessage A {\n  int32 a = 16;\n}\n',
    ),
    "keywords as names": (
        'syntax = "proto3"; message A { string message = 1; int32 option = 2; } enum E { option = 0; reserved = 1; }',
        'syntax = "proto3";\n\nmessage A {\n  string message = 1;\n  int32 option = 2;\n}\n'
        "enum E {\n  option = 0;\n  reserved = 1;\n}\n",
    ),
    "an edition": (
        'edition = "2023"; message A { reserved gone; int32 a = 1 [features.field_presence = IMPLICIT]; }',
        'edition = "2023";\n\nmessage A {\n  reserved gone;\n\n  int32 a = 1 [features.field_presence = IMPLICIT];\n}\n',
    ),
    "the default of bytes stays a string": (
        'syntax = "proto2"; message A { optional bytes a = 1 [default = "x y"]; }',
        'syntax = "proto2";\n\nmessage A {\n  optional bytes a = 1 [default = "x y"];\n}\n',
    ),
}


@pytest.mark.parametrize(("written", "canonical"), CASES.values(), ids=CASES)
def test_prints(written: str, canonical: str) -> None:
    dependencies = dict.fromkeys(("a.proto", "b.proto", "c.proto"), 'syntax = "proto3";')
    schema = parse(written, dependencies)
    assert schema.text == canonical
    assert parse(canonical, dependencies).text == canonical
    assert schema == parse(canonical, dependencies)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('syntax = "proto3"; package p.q; enum E { A = 0; } message M {} message N {}', "p.q.M"),
        ('syntax = "proto3"; enum E { A = 0; }', "E"),
        ('syntax = "proto3";', None),
        ('syntax = "proto3"; import public "google/protobuf/timestamp.proto";', "google.protobuf.Timestamp"),
    ],
)
def test_name(text: str, name: str | None) -> None:
    assert parse(text).name == name
