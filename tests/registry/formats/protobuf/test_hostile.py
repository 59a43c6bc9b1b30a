"""Input that means harm is refused as InvalidSchema, or read, in time that grows with its length alone."""

import base64
import random

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from hypothesis import given
from hypothesis import strategies as st

from stoker.registry.formats.protobuf import parse
from stoker.registry.formats.schema import InvalidSchema

PROTO3 = 'syntax = "proto3";\n'
MEGABYTE = 1 << 20


def fill(piece: str, before: str = "", after: str = "") -> str:
    return before + piece * (MEGABYTE // len(piece)) + after


def in_descriptors(depth: int) -> str:
    file = FileDescriptorProto(name="a", syntax="proto3")
    message = file.message_type.add(name="M")
    for _ in range(depth):
        message = message.nested_type.add(name="M")
    return base64.b64encode(file.SerializeToString()).decode()


REFUSED = {
    "messages in messages": PROTO3 + "message M {" * 100_000,
    "messages in messages, closed": PROTO3 + "message M {" * 1_000 + "}" * 1_000,
    "maps in options": PROTO3 + "option (o) = " + "{a:" * 100_000,
    "lists in options": PROTO3 + "option (o) = " + "[" * 100_000,
    "parts of the name of an option": PROTO3 + "option (o)" + ".a" * 100 + " = 1;",
    "open comments": fill("/*"),
    "open strings": fill("\"'"),
    "quotes": fill("'a\" "),
    "backslashes": fill("\\", 'option a = "'),
    "slashes": fill("/ "),
    "braces": fill("{"),
    "one long name": fill("a", PROTO3 + "message ", " {}"),
    "one long package": fill("a.", PROTO3 + "package ", "a;"),
    "one long number": fill("1", PROTO3 + "message M { int32 a = ", "; }"),
    "many messages": "".join(f"message M{i} {{}}" for i in range(60_000)),
    "a type that is not there, in a deep package": PROTO3
    + "package "
    + ".".join(["a"] * 32)
    + "; message M {"
    + "".join(f"B{i} b{i} = {i};" for i in range(1, 18_000))
    + "}",
    "base64 of nothing": "AAAA",
    "base64 of anything": base64.b64encode(random.Random(1).randbytes(MEGABYTE)).decode(),
    "base64 of messages in messages": in_descriptors(90),
    "half of base64": base64.b64encode(b"\x0a\x09a.pro").decode(),
    "a megabyte of letters": fill("a"),
    "nulls": fill("\0"),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchema):
        parse(text)


def many_fields() -> str:
    return PROTO3 + "message M {" + "".join(f"int32 a{i}={i};" for i in range(1, 18_900)) + "}"


def many_references() -> str:
    types = "".join(f"message M{i}{{ M{(i * 7) % 9_000} m=1; }}" for i in range(9_000))
    return f"{PROTO3}package {'.'.join(['a'] * 32)};{types}"


READ = {
    "many fields": many_fields(),
    "many references": many_references(),
    "parts of one option": PROTO3
    + 'import "confluent/meta.proto";'
    + "".join(f'option (confluent.file_meta).tags = "{i}";' for i in range(20_000)),
    "a large exponent": 'syntax = "proto2"; message M { optional double a = 1 [default = 1e999999999]; }',
    "comments": fill("// a\n"),
    "comments with stars": fill("/***/"),
    "semicolons": PROTO3 + ";" * 300_000,
    "strings next to each other": PROTO3 + 'option java_package = "" ' + '"a" ' * 200_000 + ";",
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("text", READ.values(), ids=READ)
def test_is_read_and_compared(text: str) -> None:
    schema = parse(text)
    assert parse(schema.text).text == schema.text
    assert schema.normalized().normalized().text == schema.normalized().text
    assert schema.incompatibilities(parse(text)) == []


@pytest.mark.timeout(30)
def test_types_that_lead_to_each_other_twice_are_compared_once() -> None:
    types = "".join(f"message M{i} {{ M{i + 1} a = 1; M{i + 1} b = 2; }}" for i in range(5_000))
    writer = {"n.proto": f"{PROTO3}package n; {types} message M5000 {{ int32 a = 1; }}"}
    reader = {"n.proto": f"{PROTO3}package n; {types} message M5000 {{ string a = 1; }}"}
    text = f'{PROTO3}import "n.proto"; message M {{ n.M0 m = 1; }}'
    found = parse(text, reader).incompatibilities(parse(text, writer))
    assert found[0].path == "#/M5000/1"
    assert found[-1][:2] == ("FIELD_NAMED_TYPE_CHANGED", "#/M/1")
    assert len(found) == 1 + 2 * 5_000 + 1


PIECES = st.sampled_from(
    [
        "syntax",
        "=",
        '"proto3"',
        ";",
        "message",
        "M",
        "{",
        "}",
        "int32",
        "a",
        "=",
        "1",
        "enum",
        "E",
        "oneof",
        "o",
        "map",
        "<",
        "string",
        ",",
        ">",
        "[",
        "]",
        "(",
        ")",
        ".",
        "option",
        "reserved",
        "to",
        "max",
        "extend",
        "extensions",
        "service",
        "rpc",
        "returns",
        "stream",
        "group",
        "optional",
        "required",
        "repeated",
        "import",
        "public",
        "package",
        "default",
        '"x"',
        "'",
        "//",
        "/*",
        "*/",
        "\n",
        "-",
        "0x",
        "9999999999",
        "{a:1}",
        "google.protobuf.Any",
        "edition",
    ]
)


@given(
    st.lists(PIECES, max_size=40).map(" ".join)
    | st.text(max_size=60)
    | st.binary(max_size=60).map(lambda raw: base64.b64encode(raw).decode())
)
def test_garbage_raises_nothing_else(text: str) -> None:
    try:
        schema = parse(text)
    except InvalidSchema:
        return
    assert parse(schema.text).text == schema.text
    for form in ("serialized", "ignore_extensions"):
        assert isinstance(schema.formatted(form), str)
    assert schema.normalized().text == schema.normalized().normalized().text
