"""Schemas as FileDescriptorProto, both ways, beside what protoc makes of the same text."""

import base64
from importlib import import_module

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from stoker.registry.formats.protobuf import parse, well_known
from stoker.registry.formats.protobuf.printer import printed
from stoker.registry.formats.schema import InvalidSchema
from tests.registry.formats.protobuf.judge import compiled, pool_of

TEXTS = {
    "proto3": """syntax = "proto3";
      package p.q;
      option java_package = "j"; option java_multiple_files = true; option optimize_for = CODE_SIZE;
      message M {
        oneof o { string s = 3; M m = 4; }
        int32 a = 1 [deprecated = true, json_name = "x"];
        repeated N ns = 2 [packed = false];
        optional E e = 5;
        map<string, N> by_name_2 = 6;
        map<int64, double> numbers = 7;
        reserved 10, 12 to 14, 100 to max; reserved "old";
        message N { option deprecated = true; .p.q.M.N n = 1; }
      }
      enum E { option allow_alias = true; A = 0; B = 0 [deprecated = true]; C = -3; reserved 7 to 9; reserved "Z"; }
      service S { option deprecated = true;
        rpc R (M) returns (stream M.N) { option idempotency_level = IDEMPOTENT; } rpc T (stream M) returns (M); }""",
    "proto2": r"""syntax = "proto2";
      message M {
        required int32 a = 1 [default = -5];
        optional string s = 2 [default = "x\ty\"z"];
        optional bytes b = 3 [default = "\001\377é'"];
        optional E e = 4 [default = B];
        optional double d = 5 [default = inf];
        repeated int32 r = 6 [packed = true];
        extensions 100 to 199, 500;
        extend M { optional string nested = 101; }
      }
      enum E { A = 0; B = 1; }
      extend M { repeated E outer = 100; }""",
    "groups": """syntax = "proto2";
      message M { optional group Result = 1 { required string url = 2; optional M m = 3; } }""",
    "an edition": """edition = "2023";
      option features.field_presence = IMPLICIT;
      message M { int32 a = 1 [features.field_presence = EXPLICIT]; repeated string s = 2; reserved gone; }""",
    "imports": """syntax = "proto3";
      import "google/protobuf/timestamp.proto"; import public "google/protobuf/any.proto";
      message M { google.protobuf.Timestamp t = 1; google.protobuf.Any a = 2; }""",
}


def as_compared(file: FileDescriptorProto) -> str:
    """Without what a descriptor may say in two ways: its own name, JSON names that follow from names, the order of
    fields, and where the messages of maps are: ours are last, as Confluent's."""
    copy = FileDescriptorProto()
    copy.CopyFrom(file)
    copy.name = ""
    if copy.syntax == "proto2":
        copy.ClearField("syntax")
    messages = list(copy.message_type)
    while messages:
        message = messages.pop()
        messages.extend(message.nested_type)
        message.field.sort(key=lambda field: field.number)
        message.nested_type.sort(key=lambda nested: nested.options.map_entry)
        for field in message.field:
            if field.json_name == _json_name(field.name):
                field.ClearField("json_name")
        for extension in message.extension:
            extension.ClearField("json_name")
    for extension in copy.extension:
        extension.ClearField("json_name")
    return str(copy)


def _json_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def in_base64(file: FileDescriptorProto) -> str:
    return base64.b64encode(file.SerializeToString()).decode()


def of_base64(text: str) -> FileDescriptorProto:
    return FileDescriptorProto.FromString(base64.b64decode(text))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_serializes_as_protoc_compiles(text: str) -> None:
    expected = compiled(text).file[-1]
    assert as_compared(of_base64(parse(text).formatted("serialized"))) == as_compared(expected)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_reads_what_protoc_compiled(text: str) -> None:
    descriptor = compiled(text).file[-1]
    schema = parse(in_base64(descriptor))
    assert parse(schema.text).text == schema.text
    assert as_compared(of_base64(schema.formatted("serialized"))) == as_compared(descriptor)
    assert schema.incompatibilities(parse(text)) == []
    assert parse(text).incompatibilities(schema) == []


@pytest.mark.parametrize("name", [name for name in well_known.FILES if well_known.FILES[name]])
def test_reads_and_writes_the_built_in_files(name: str) -> None:
    descriptor = FileDescriptorProto.FromString(import_module(well_known.FILES[name]).DESCRIPTOR.serialized_pb)
    schema = parse(in_base64(descriptor))
    written = of_base64(schema.formatted("serialized"))
    assert [each.name for each in written.message_type] == [each.name for each in descriptor.message_type]
    if name != "google/protobuf/descriptor.proto":  # whose options of options are ours to leave out
        assert as_compared(written) == as_compared(descriptor)
    assert schema.normalized().incompatibilities(schema) == []


@pytest.mark.parametrize(
    "name", ["confluent/meta.proto", "confluent/type/decimal.proto", "confluent/type/variant.proto"]
)
def test_built_in_files_of_confluent_can_be_compiled(name: str) -> None:
    file = well_known.file(name)
    assert file is not None
    text = f'syntax = "proto3"; import "{name}";'
    pool_of(compiled(text, {name: printed(file)}))


def test_reads_confluents_annotations() -> None:
    text = """syntax = "proto3";

import "confluent/meta.proto";

message M {
  string a = 1 [(confluent.field_meta) = {
    doc: "d",
    params: [
      {
        value: "8",
        key: "precision"
      },
      {
        key: "k",
        value: "v"
      }
    ],
    tags: [
      "PII",
      "é"
    ]
  }];
}
"""
    serialized = parse(text).formatted("serialized")
    assert parse(serialized).text == text


def test_leaves_out_imports_that_no_reference_gives() -> None:
    text = 'syntax = "proto3"; import "buf/validate/validate.proto"; message M { string a = 1 [(buf.validate.x) = 1]; }'
    file = of_base64(parse(text).formatted("serialized"))
    assert list(file.dependency) == []
    pool_of([file])


def test_serialized_references_load_into_one_pool() -> None:
    dependencies = {"n.proto": 'syntax = "proto3"; package n; message N { int32 a = 1; }'}
    main = of_base64(
        parse('syntax = "proto3"; import "n.proto"; message M { n.N n = 1; }', dependencies).formatted("serialized")
    )
    reference = of_base64(parse(dependencies["n.proto"]).formatted("serialized"))
    reference.name = "n.proto"
    message = pool_of([reference, main]).FindMessageTypeByName("M")
    type_of_n = message.fields_by_name["n"].message_type
    assert type_of_n is not None
    assert type_of_n.full_name == "n.N"


@pytest.mark.parametrize("form", ["", "default", "nonsense"])
def test_other_forms_are_the_text(form: str) -> None:
    schema = parse('syntax = "proto3"; message M {}')
    assert schema.formatted(form) == schema.text


def test_form_without_extensions() -> None:
    text = """syntax = "proto2"; import "confluent/meta.proto"; option (o) = 1; option java_package = "p";
      message M { optional int32 a = 1 [(o) = 1, (confluent.field_meta).doc = "d"]; extensions 5; }
      extend M { optional int32 b = 5; } enum E { A = 0 [(o) = 1]; }"""
    assert parse(text).formatted("ignore_extensions") == (
        'syntax = "proto2";\n\nimport "confluent/meta.proto";\n\noption java_package = "p";\n\nmessage M {\n'
        '  optional int32 a = 1 [(confluent.field_meta).doc = "d"];\n}\nenum E {\n  A = 0;\n}\n'
    )


def test_base64_of_no_descriptor() -> None:
    with pytest.raises(InvalidSchema, match="no FileDescriptorProto"):
        parse(base64.b64encode(b"\x0a\xff\xff\xff").decode())
