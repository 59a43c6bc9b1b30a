"""How a reader takes what a writer wrote: Avro's rules of schema resolution, made into nodes once for each pair.

As in Java's readers, what cannot be resolved matters only for records that have it: a branch of a union that no record
took does no harm. Logical types are the reader's; the writer's are not looked at.
"""

import numpy as np
import pyarrow as pa
from pyspark.sql.types import ArrayType, DataType, LongType, MapType, StructType

from stoker.registry.formats.avro.compatibility import READABLE_AS, are_named_alike, fields_for
from stoker.registry.formats.avro.model import (
    ABSENT,
    PLAIN,
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    Primitive,
    Record,
    Type,
    Union,
    described,
)
from stoker.spark.columns import ByteColumn
from stoker.spark.formats.avro_containers import ArrayNode, Branch, MapNode, RecordNode, Step, UnionNode
from stoker.spark.formats.avro_cursor import Cursor, Records
from stoker.spark.formats.avro_defaults import InvalidDefault, encoded_default
from stoker.spark.formats.avro_nodes import (
    Boolean,
    Constant,
    DecimalNumber,
    FixedBytes,
    Floating,
    Integer,
    Node,
    Nothing,
    Symbol,
    Text,
    Unreadable,
)
from stoker.spark.formats.avro_skipping import entry_skip, skip_of
from stoker.spark.formats.avro_types import arrow_type, logical_type, member_names, without_null
from stoker.wire.varint_columns import PADDING

_NUMBERS: dict[str, type[np.generic]] = {"int": np.int32, "long": np.int64, "float": np.float32, "double": np.float64}


def resolve(writer: Type, reader: Type, wanted: DataType, path: str) -> Node:
    """What reads the writer's bytes as a column of type `wanted`, which is the reader's or a part of it."""
    if isinstance(writer, Union) or isinstance(reader, Union):
        return _union(writer, reader, wanted, path)
    type_ = arrow_type(wanted)
    if isinstance(writer, Record) and isinstance(reader, Record) and isinstance(wanted, StructType):
        if are_named_alike(reader, writer):
            return _record(writer, reader, wanted, path)
    elif isinstance(writer, Array) and isinstance(reader, Array) and isinstance(wanted, ArrayType):
        item = resolve(writer.items, reader.items, wanted.elementType, f"{path}[]")
        return ArrayNode(type_, path, skip_of(writer.items, f"{path}[]"), item)
    elif isinstance(writer, Map) and isinstance(reader, Map) and isinstance(wanted, MapType):
        value = resolve(writer.values, reader.values, wanted.valueType, f"{path}{{}}")
        return MapNode(type_, path, entry_skip(writer, path), value)
    elif isinstance(writer, Enum) and isinstance(reader, Enum):
        if are_named_alike(reader, writer):
            symbols = [symbol if symbol in reader.symbols else reader.default for symbol in writer.symbols]
            return Symbol(type_, path, symbols)
    elif isinstance(writer, Fixed) and isinstance(reader, Fixed):
        if are_named_alike(reader, writer) and reader.size == writer.size:
            is_decimal = logical_type(reader) == "decimal"
            return DecimalNumber(type_, path, reader.size) if is_decimal else FixedBytes(type_, path, reader.size)
    elif isinstance(writer, Primitive) and isinstance(reader, Primitive) and reader.kind in READABLE_AS[writer.kind]:
        return _primitive(writer, reader, type_, path)
    return Unreadable(type_, path, f"the writer's {described(writer)} cannot be read as {described(reader)}")


def _primitive(writer: Primitive, reader: Primitive, type_: pa.DataType, path: str) -> Node:
    if writer.kind in ("int", "long"):
        is_millis = (logical_type(reader) or "").endswith("timestamp-millis")
        return Integer(type_, path, is_int=writer.kind == "int", as_type=_NUMBERS[reader.kind], is_millis=is_millis)
    if writer.kind in ("float", "double"):
        return Floating(type_, path, is_float=writer.kind == "float")
    if writer.kind == "boolean":
        return Boolean(type_, path)
    if writer.kind == "null":
        return Nothing(type_, path)
    return DecimalNumber(type_, path, None) if logical_type(reader) == "decimal" else Text(type_, path)


def _record(writer: Record, reader: Record, wanted: StructType, path: str) -> Node:
    slots: dict[str, tuple[int, Field]] = {}
    missing: list[tuple[int, Node]] = []
    for slot, wanted_field in enumerate(wanted.fields):
        field = reader.fields[wanted_field.name]
        inner = f"{path}.{field.name}"
        found = fields_for(reader, field, writer)
        if len(found) == 1:
            slots[found[0].name] = slot, field
        elif found:
            names = " and ".join(each.name for each in found)
            reason = f"with its aliases it stands for several fields of the writer's: {names}"
            missing.append((slot, Unreadable(arrow_type(wanted_field.dataType), inner, reason)))
        else:
            missing.append((slot, _default(field, wanted_field.dataType, inner)))
    steps = []
    for written in writer.fields.values():
        if written.name in slots:
            slot, field = slots[written.name]
            inner_type = wanted.fields[slot].dataType
            steps.append(Step(slot, resolve(written.type, field.type, inner_type, f"{path}.{field.name}")))
        else:
            steps.append(Step(None, skip_of(written.type, f"{path}.{written.name}")))
    return RecordNode(arrow_type(wanted), path, steps, missing)


def _default(field: Field, wanted: DataType, path: str) -> Node:
    type_ = arrow_type(wanted)
    if field.default is ABSENT:
        return Unreadable(type_, path, "the writer does not have it, and it has no default")
    try:
        encoded = encoded_default(field.type, field.default)
    except InvalidDefault as error:
        return Unreadable(type_, path, f"the writer does not have it, and its default is none: {error}")
    data = np.frombuffer(encoded + bytes(PADDING), dtype=np.uint8)
    starts, lengths = np.zeros(1, dtype=np.int64), np.array([len(encoded)])
    records = Records(ByteColumn(data, starts, np.maximum(lengths, 1 << 20)))
    column = resolve(field.type, field.type, wanted, path).read(
        Cursor(records, np.zeros(1, dtype=np.int64), starts, lengths), None
    )
    _, reasons = records.bad()
    if reasons:
        return Unreadable(type_, path, f"the writer does not have it, and its default is none: {reasons[0]}")
    return Constant(column, path)


def _union(writer: Type, reader: Type, wanted: DataType, path: str) -> Node:
    type_ = arrow_type(wanted)
    written = writer.branches if isinstance(writer, Union) else [writer]
    readable: list[Type] = without_null(reader) if isinstance(reader, Union) else [reader]
    names = member_names(readable)
    is_struct = names is not None
    branches = []
    if names is not None:
        assert isinstance(wanted, StructType)
        slots = {readable[names.index(field.name)]: slot for slot, field in enumerate(wanted.fields)}
        members = [field.type for field in type_]
    else:
        slots = dict.fromkeys(readable, 0)
        members = [type_] if readable else []
    for branch in written:
        chosen = choose(reader, branch) if isinstance(reader, Union) else reader
        if chosen is None:
            reason = f"no type in the reader's {described(reader)} reads the writer's {described(branch)}"
            # Where there is no column to put it, it is bad all the same.
            branches.append(Branch(None, False, Unreadable(pa.null(), path, reason)))
        elif chosen.kind == "null" and isinstance(reader, Union):
            branches.append(Branch(None, True, skip_of(branch, path)))
        elif chosen not in slots:
            branches.append(Branch(None, False, skip_of(branch, path)))
        else:
            slot = slots[chosen]
            if is_struct:
                assert isinstance(wanted, StructType)
                inner, inner_path = wanted.fields[slot].dataType, f"{path}.{wanted.fields[slot].name}"
            else:
                inner, inner_path = wanted, path
                if len(readable) > 1:  # int and long are read as long, float and double as double
                    chosen = PLAIN["long" if isinstance(wanted, LongType) else "double"]
            branches.append(Branch(slot, False, resolve(branch, chosen, inner, inner_path)))
    return UnionNode(type_, path, branches, members, is_struct=is_struct, has_choice=isinstance(writer, Union))


def choose(union: Union, writer: Type) -> Type | None:
    """The branch of the reader's union that takes a type of the writer's: the first that is the same, else the first that
    it may be promoted to."""
    if isinstance(writer, Record | Enum | Fixed):
        named = [branch for branch in union.branches if isinstance(branch, Record | Enum | Fixed)]
        alike = [branch for branch in named if branch.kind == writer.kind]
        same = [branch for branch in alike if branch.full_name == writer.full_name]
        same += [branch for branch in alike if writer.full_name in branch.aliases]
        same += [branch for branch in alike if branch.name == writer.name]
        return same[0] if same else None
    for branch in union.branches:
        if branch.kind == writer.kind:
            return branch
    if isinstance(writer, Primitive):
        for branch in union.branches:
            if isinstance(branch, Primitive) and branch.kind in READABLE_AS[writer.kind]:
                return branch
    return None
