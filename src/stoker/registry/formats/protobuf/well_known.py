"""The files that every schema may import without a reference: Google's and Confluent's common types.

Google's come as descriptors with the packages protobuf and googleapis-common-protos, imported when the first schema uses
one. Confluent's are short and stand here.
"""

from importlib import import_module

from stoker.registry.formats.protobuf.elements import ProtoFile
from stoker.registry.formats.protobuf.parser import parse_file

_GOOGLE_PROTOBUF = [
    "any",
    "api",
    "descriptor",
    "duration",
    "empty",
    "field_mask",
    "source_context",
    "struct",
    "timestamp",
    "type",
    "wrappers",
]
_GOOGLE_TYPE = [
    "calendar_period",
    "color",
    "date",
    "datetime",
    "dayofweek",
    "decimal",
    "expr",
    "fraction",
    "interval",
    "latlng",
    "money",
    "month",
    "phone_number",
    "postal_address",
    "quaternion",
    "timeofday",
]

_CONFLUENT_META = """syntax = "proto3";
package confluent;

import "google/protobuf/descriptor.proto";

option java_package = "io.confluent.protobuf";
option java_outer_classname = "MetaProto";

message Meta {
  string doc = 1;
  map<string, string> params = 2;
  repeated string tags = 3;
  repeated .confluent.Rule rules = 4;
}
message Rule {
  string name = 1;
  string doc = 2;
  string expr = 3;
  string sql = 4;
}

extend .google.protobuf.FileOptions {
  .confluent.Meta file_meta = 1088;
}
extend .google.protobuf.MessageOptions {
  .confluent.Meta message_meta = 1088;
}
extend .google.protobuf.FieldOptions {
  .confluent.Meta field_meta = 1088;
}
extend .google.protobuf.EnumOptions {
  .confluent.Meta enum_meta = 1088;
}
extend .google.protobuf.EnumValueOptions {
  .confluent.Meta enum_value_meta = 1088;
}
"""
_CONFLUENT_DECIMAL = """syntax = "proto3";
package confluent.type;

option java_package = "io.confluent.protobuf.type";
option java_outer_classname = "DecimalProto";
option java_multiple_files = true;

message Decimal {
  bytes value = 1;
  uint32 precision = 2;
  int32 scale = 3;
}
"""
_CONFLUENT_VARIANT = """syntax = "proto3";
package confluent.type;

option java_package = "io.confluent.protobuf.type";
option java_outer_classname = "VariantProto";
option java_multiple_files = true;

message Variant {
  bytes metadata = 1;
  bytes value = 2;
}
"""
_TEXTS = {
    "confluent/meta.proto": _CONFLUENT_META,
    "confluent/type/decimal.proto": _CONFLUENT_DECIMAL,
    "confluent/type/variant.proto": _CONFLUENT_VARIANT,
}

FILES: dict[str, str] = (
    {f"google/protobuf/{each}.proto": f"google.protobuf.{each}_pb2" for each in _GOOGLE_PROTOBUF}
    | {f"google/type/{each}.proto": f"google.type.{each}_pb2" for each in _GOOGLE_TYPE}
    | dict.fromkeys(_TEXTS, "")
)
"""The names of the files, and the modules that hold their descriptors."""

FILES_OF_PACKAGE = {
    "google.protobuf": [name for name in FILES if name.startswith("google/protobuf/")],
    "google.type": [name for name in FILES if name.startswith("google/type/")],
    "confluent": list(_TEXTS),
}
PREFIXES = tuple(f"{package}." for package in FILES_OF_PACKAGE)
"""Of the full names of all types of these files."""


def file(name: str) -> ProtoFile | None:
    """The elements of a file; None if it is not built in."""
    if name in _TEXTS:
        return parse_file(_TEXTS[name])
    if name not in FILES:
        return None
    # Here and not at the top, as it brings the protobuf package with it.
    from stoker.registry.formats.protobuf.from_descriptor import file_of_bytes

    serialized: bytes = import_module(FILES[name]).DESCRIPTOR.serialized_pb
    return file_of_bytes(serialized)
