"""A Protobuf schema with every shape, and random messages of it by Google's library."""

from typing import Any

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st

from stoker.spark.formats.protobuf_descriptors import message_named
from stoker.spark.schemas import RegisteredSchema

SHAPES = """
syntax = "proto3";
package shapes;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";

message Empty {}
message Shapes {
  int32 i32 = 1; int64 i64 = 2; uint32 u32 = 3; uint64 u64 = 4; sint32 s32 = 5; sint64 s64 = 6;
  fixed32 f32 = 7; fixed64 f64 = 8; sfixed32 sf32 = 9; sfixed64 sf64 = 10;
  float flt = 11; double dbl = 12; bool flag = 13; string text = 14; bytes raw = 15;
  Color color = 16; Point point = 17; optional int32 maybe = 18; optional string maybe_text = 19;
  oneof choice { int64 number = 20; string word = 21; Point place = 22; bool yes = 23; }
  repeated int32 numbers = 24; repeated sint64 zigzags = 25 [packed = false]; repeated double doubles = 26;
  repeated fixed32 fixeds = 27; repeated string words = 28; repeated bytes raws = 29; repeated Point points = 30;
  repeated Color colors = 31; repeated bool flags = 32;
  map<string, int64> counts = 33; map<int32, Point> places = 34; map<bool, Color> by_flag = 35;
  google.protobuf.Timestamp moment = 36; google.protobuf.Duration span = 37;
  google.protobuf.Int64Value wrapped = 38; repeated google.protobuf.Timestamp moments = 39;
  Empty nothing = 40; Node node = 5000;
  message Node { string name = 1; Leaf leaf = 2; repeated Leaf leaves = 3; message Leaf { sint32 depth = 1; optional bool last = 2; } }
}
message Point { double x = 1; sint32 y = 2; }
enum Color { NONE = 0; RED = 1; BLUE = 7; MINUS = -1; }
"""

SHAPES_2 = """
syntax = "proto2";
package shapes;
message Old {
  required int32 id = 1;
  optional string name = 2 [default = "nobody"];
  optional uint32 many = 3 [default = 4294967295];
  optional Color color = 4 [default = BLUE];
  repeated Color colors = 5;
  repeated int32 numbers = 6;
  optional bytes raw = 7 [default = "a\\377"];
  optional Inner inner = 8;
  oneof choice { Color either = 9; Inner or = 10; }
  optional uint64 most = 11 [default = 18446744073709551615];
  optional double ratio = 12 [default = 0.5];
  message Inner { optional int32 a = 1; optional int32 b = 2; }
  enum Color { RED = 1; BLUE = 2; }
}
"""
SCHEMA = RegisteredSchema(7, "PROTOBUF", SHAPES, {})
SCHEMA_2 = RegisteredSchema(8, "PROTOBUF", SHAPES_2, {})
HEADER = b"\0\0\0\0\7\2\2"
"""Of `Shapes`, the second message of the schema."""
HEADER_2 = b"\0\0\0\0\x08\0"

_SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "i32": st.integers(-(2**31), 2**31 - 1),
    "i64": st.integers(-(2**63), 2**63 - 1),
    "u32": st.integers(0, 2**32 - 1),
    "u64": st.integers(0, 2**64 - 1),
    "s32": st.integers(-(2**31), 2**31 - 1),
    "s64": st.integers(-(2**63), 2**63 - 1),
    "f32": st.integers(0, 2**32 - 1),
    "f64": st.integers(0, 2**64 - 1),
    "sf32": st.integers(-(2**31), 2**31 - 1),
    "sf64": st.integers(-(2**63), 2**63 - 1),
    "flt": st.floats(width=32),
    "dbl": st.floats(),
    "flag": st.booleans(),
    "text": st.text(max_size=5),
    "raw": st.binary(max_size=5),
    "color": st.sampled_from([0, 1, 7, -1, 5]),
}
_POINT = st.fixed_dictionaries({}, optional={"x": st.floats(), "y": st.integers(-100, 100)})
_LEAF = st.fixed_dictionaries({}, optional={"depth": st.integers(-5, 5), "last": st.booleans()})
_MOMENT = st.fixed_dictionaries(
    {}, optional={"seconds": st.integers(-62_000_000_000, 250_000_000_000), "nanos": st.integers(0, 999_999_999)}
)
_CHOICES: list[dict[str, st.SearchStrategy[Any]]] = [
    {"number": st.integers(-5, 5)},
    {"word": st.text(max_size=3)},
    {"place": _POINT},
    {"yes": st.booleans()},
]
_OTHERS: dict[str, st.SearchStrategy[Any]] = {
    "point": _POINT,
    "maybe": _SCALARS["i32"],
    "maybe_text": st.text(max_size=3),
    "numbers": st.lists(_SCALARS["i32"], max_size=4),
    "zigzags": st.lists(_SCALARS["s64"], max_size=4),
    "doubles": st.lists(st.floats(), max_size=4),
    "fixeds": st.lists(_SCALARS["f32"], max_size=4),
    "words": st.lists(st.text(max_size=3), max_size=4),
    "raws": st.lists(st.binary(max_size=3), max_size=4),
    "points": st.lists(_POINT, max_size=3),
    "colors": st.lists(_SCALARS["color"], max_size=3),
    "flags": st.lists(st.booleans(), max_size=3),
    "counts": st.dictionaries(st.text(max_size=2), st.integers(-5, 5), max_size=3),
    "places": st.dictionaries(st.integers(-3, 3), _POINT, max_size=3),
    "by_flag": st.dictionaries(st.booleans(), _SCALARS["color"], max_size=2),
    "moment": _MOMENT,
    "span": st.fixed_dictionaries({"seconds": st.integers(-1000, 1000)}),
    "wrapped": st.fixed_dictionaries({}, optional={"value": st.integers(-5, 5)}),
    "moments": st.lists(_MOMENT, max_size=2),
    "nothing": st.just({}),
    "node": st.fixed_dictionaries(
        {}, optional={"name": st.text(max_size=3), "leaf": _LEAF, "leaves": st.lists(_LEAF, max_size=3)}
    ),
}


def message_class(schema: RegisteredSchema, name: str) -> type[Message]:
    return GetMessageClass(message_named(schema, name))


ShapesMessage: Any = message_class(SCHEMA, "Shapes")
OldMessage: Any = message_class(SCHEMA_2, "Old")

fields_of_shapes = st.builds(
    lambda plain, choice: {**plain, **choice},
    st.fixed_dictionaries({}, optional=_SCALARS | _OTHERS),
    st.just({}) | st.one_of([st.fixed_dictionaries(each) for each in _CHOICES]),
)
shapes_messages = fields_of_shapes.map(lambda fields: ShapesMessage(**fields))

_INNER = st.fixed_dictionaries({}, optional={"a": st.integers(-5, 5), "b": st.integers(-5, 5)})
_OLD_COLOR = st.sampled_from([1, 2])
old_messages = st.fixed_dictionaries(
    {"id": st.integers(-5, 5)},
    optional={
        "name": st.text(max_size=3),
        "many": st.integers(0, 2**32 - 1),
        "color": _OLD_COLOR,
        "colors": st.lists(_OLD_COLOR, max_size=3),
        "numbers": st.lists(st.integers(-5, 5), max_size=3),
        "raw": st.binary(max_size=3),
        "inner": _INNER,
        "either": _OLD_COLOR,
        "most": st.integers(0, 2**64 - 1),
        "ratio": st.floats(),
    },
).map(lambda fields: OldMessage(**fields))
