"""What may change between two versions of a Protobuf schema: Confluent's names, and which of the changes break a reader.

Each rule is a small function of what the writer had and what the reader has: None if nothing changed that it speaks of, else
the finding. Where in the schemas to apply which is the matter of differences.py.
"""

from collections.abc import Iterable
from typing import NamedTuple

from stoker.registry.formats.protobuf.elements import EnumConstant, Field, OneOf
from stoker.registry.formats.schema import Incompatibility

INCOMPATIBLE = frozenset(
    {
        "PACKAGE_CHANGED",
        "MESSAGE_REMOVED",
        "FIELD_KIND_CHANGED",
        "FIELD_SCALAR_KIND_CHANGED",
        "FIELD_NAMED_TYPE_CHANGED",
        "FIELD_NUMERIC_LABEL_CHANGED",
        "REQUIRED_FIELD_ADDED",
        "REQUIRED_FIELD_REMOVED",
        "ONEOF_FIELD_REMOVED",
        "MULTIPLE_FIELDS_MOVED_TO_ONEOF",
        "FIELD_MOVED_TO_EXISTING_ONEOF",
    }
)
COMPATIBLE = frozenset(
    {
        "MESSAGE_ADDED",
        "MESSAGE_MOVED",
        "ENUM_ADDED",
        "ENUM_REMOVED",
        "ENUM_CONST_ADDED",
        "ENUM_CONST_CHANGED",
        "ENUM_CONST_REMOVED",
        "FIELD_ADDED",
        "FIELD_REMOVED",
        "FIELD_NAME_CHANGED",
        "FIELD_STRING_OR_BYTES_LABEL_CHANGED",
        "ONEOF_ADDED",
        "ONEOF_REMOVED",
        "ONEOF_FIELD_ADDED",
        "ONEOF_FIELD_MOVED_TO_TOP_LEVEL",
    }
)

ENUM = "enum"
"""In place of the type of a field, for any enum: all of them are written as int32 is."""

_SCALAR_KINDS = {
    "int32": "a varint",
    "int64": "a varint",
    "uint32": "a varint",
    "uint64": "a varint",
    "bool": "a varint",
    ENUM: "a varint",
    "sint32": "a zigzag varint",
    "sint64": "a zigzag varint",
    "string": "a string",
    "bytes": "a string",
    "fixed32": "4 bytes",
    "sfixed32": "4 bytes",
    "fixed64": "8 bytes",
    "sfixed64": "8 bytes",
    "float": "a float",
    "double": "a double",
}
"""How the wire carries scalars: within a kind they can be exchanged (protobuf.dev/programming-guides/proto3/#updating)."""


class Finding(NamedTuple):
    rule: str
    message: str


class Change(NamedTuple):
    """A finding and its place."""

    rule: str
    path: str
    message: str


def incompatible(changes: Iterable[Change]) -> list[Incompatibility]:
    """Those of the changes because of which the reader cannot read."""
    return [Incompatibility(*each) for each in changes if each.rule in INCOMPATIBLE]


def package(writer: str | None, reader: str | None) -> Finding | None:
    if writer == reader:
        return None
    return Finding(
        "PACKAGE_CHANGED", f"the package is {_quoted(reader)} for the reader and {_quoted(writer)} for the writer"
    )


def message_removed(name: str) -> Finding:
    return Finding("MESSAGE_REMOVED", f"the writer has the message '{name}' and the reader does not")


def message_added(name: str) -> Finding:
    return Finding("MESSAGE_ADDED", f"the reader has the message '{name}' and the writer does not")


def message_moved(name: str, writer: int, reader: int) -> Finding | None:
    # Compatible: the index of a message that serializers write is that in the writer's schema.
    if writer == reader:
        return None
    return Finding(
        "MESSAGE_MOVED", f"the message '{name}' is number {reader} for the reader and {writer} for the writer"
    )


def enum_removed(name: str) -> Finding:
    return Finding("ENUM_REMOVED", f"the writer has the enum '{name}' and the reader does not")


def enum_added(name: str) -> Finding:
    return Finding("ENUM_ADDED", f"the reader has the enum '{name}' and the writer does not")


def enum_constant(writer: EnumConstant | None, reader: EnumConstant | None) -> Finding | None:
    if reader is None and writer is not None:
        return Finding("ENUM_CONST_REMOVED", f"the writer has the constant '{writer.name}' and the reader does not")
    if writer is None and reader is not None:
        return Finding("ENUM_CONST_ADDED", f"the reader has the constant '{reader.name}' and the writer does not")
    if writer is not None and reader is not None and writer.name != reader.name:
        return Finding(
            "ENUM_CONST_CHANGED", f"the constant is '{reader.name}' for the reader and '{writer.name}' before"
        )
    return None


def field_removed(writer: Field) -> Finding:
    if writer.label == "required":
        return Finding(
            "REQUIRED_FIELD_REMOVED", f"the writer requires the field {_field(writer)} and the reader lacks it"
        )
    return Finding("FIELD_REMOVED", f"the writer has the field {_field(writer)} and the reader does not")


def field_added(reader: Field) -> Finding:
    if reader.label == "required":
        return Finding(
            "REQUIRED_FIELD_ADDED", f"the reader requires the field {_field(reader)} and the writer lacks it"
        )
    return Finding("FIELD_ADDED", f"the reader has the field {_field(reader)} and the writer does not")


def field_name(writer: Field, reader: Field) -> Finding | None:
    if writer.name == reader.name:
        return None
    return Finding(
        "FIELD_NAME_CHANGED",
        f"field {reader.number} is '{reader.name}' for the reader and '{writer.name}' for the writer",
    )


def oneof_removed(name: str) -> Finding:
    return Finding("ONEOF_REMOVED", f"the writer has the oneof '{name}' and the reader does not")


def oneof_added(name: str) -> Finding:
    return Finding("ONEOF_ADDED", f"the reader has the oneof '{name}' and the writer does not")


def oneof_field_removed(oneof: str, writer: Field) -> Finding:
    return Finding(
        "ONEOF_FIELD_REMOVED",
        f"the writer has the field {_field(writer)} in the oneof '{oneof}' and the reader lacks it",
    )


def oneof_field_added(oneof: str, reader: Field) -> Finding:
    return Finding("ONEOF_FIELD_ADDED", f"the reader has the field {_field(reader)} in the oneof '{oneof}' besides")


def moved_to_top_level(oneof: str, reader: Field) -> Finding:
    return Finding(
        "ONEOF_FIELD_MOVED_TO_TOP_LEVEL", f"the field {_field(reader)} has left the writer's oneof '{oneof}'"
    )


def moved_into_oneof(oneof: OneOf, writer: dict[int, Field], writer_oneofs: dict[int, str]) -> Finding | None:
    """Fields that a writer could set together and of which the reader keeps only the last."""
    origins = {_origin(each.number, writer_oneofs) for each in oneof.fields if each.number in writer}
    if len(origins) < 2:
        return None
    alone = [each for each in oneof.fields if each.number in writer and each.number not in writer_oneofs]
    if len(alone) > 1:
        fields = ", ".join(_field(each) for each in alone)
        return Finding(
            "MULTIPLE_FIELDS_MOVED_TO_ONEOF",
            f"the fields {fields} are in the reader's oneof '{oneof.name}', not in the writer's",
        )
    moved = _field(alone[0]) if alone else "of several oneofs of the writer"
    return Finding(
        "FIELD_MOVED_TO_EXISTING_ONEOF",
        f"the reader's oneof '{oneof.name}' has with others the field {moved}, which the writer can set beside them",
    )


def kind(writer: str, reader: str, writer_kind: str, reader_kind: str) -> Finding | None:
    """Scalars (with enums), messages and maps are three kinds."""
    if writer_kind == reader_kind:
        return None
    return Finding(
        "FIELD_KIND_CHANGED",
        f"the field is {writer} ({writer_kind}) for the writer and {reader} ({reader_kind}) for the reader",
    )


def scalar_kind(writer: str, reader: str, shown: tuple[str, str]) -> Finding | None:
    """`shown` are the types as the schemas have them, where ENUM stands for an enum."""
    if _SCALAR_KINDS[writer] == _SCALAR_KINDS[reader]:
        return None
    return Finding(
        "FIELD_SCALAR_KIND_CHANGED",
        f"the field is {shown[0]} ({_SCALAR_KINDS[writer]}) for the writer and {shown[1]} ({_SCALAR_KINDS[reader]}) "
        "for the reader",
    )


def label(scalar: str, writer: str | None, reader: str | None) -> Finding | None:
    """Confluent's compares labels only where both schemas write one. It lets a repeated number become a field without a
    label, as proto3 has them: the numbers are packed then, and the reader would lose them. That is refused here."""
    is_string = _SCALAR_KINDS[scalar] == _SCALAR_KINDS["string"]
    loses_packed = writer == "repeated" and reader is None and not is_string
    if writer == reader or ((writer is None or reader is None) and not loses_packed):
        return None
    rule = "FIELD_STRING_OR_BYTES_LABEL_CHANGED" if is_string else "FIELD_NUMERIC_LABEL_CHANGED"
    return Finding(
        rule, f"the field is {reader or 'singular'} for the reader and {writer or 'singular'} for the writer"
    )


def became_required(writer: Field, reader: Field) -> Finding | None:
    """Confluent's looks at fields that are new, or numbers. But a reader refuses any message that lacks a required field,
    and a writer to whom it was optional may leave it out."""
    if reader.label != "required" or writer.label == "required":
        return None
    return Finding(
        "REQUIRED_FIELD_ADDED", f"the reader requires the field {_field(reader)}, which the writer may leave out"
    )


def named_type(writer: str, reader: str) -> Finding | None:
    """Of the names without packages."""
    if writer == reader:
        return None
    return Finding(
        "FIELD_NAMED_TYPE_CHANGED", f"the field is the message {writer} for the writer and {reader} for the reader"
    )


def imported_type_changed(name: str) -> Finding:
    return Finding("FIELD_NAMED_TYPE_CHANGED", f"the reader's imported message {name} cannot read the writer's")


def _origin(number: int, oneofs: dict[int, str]) -> tuple[str, int]:
    """What a field was exclusive with: a oneof, or nothing but itself."""
    return (oneofs[number], 0) if number in oneofs else ("", number)


def _field(field: Field) -> str:
    return f"'{field.name}' ({field.number})"


def _quoted(text: str | None) -> str:
    return "none" if text is None else f"'{text}'"
