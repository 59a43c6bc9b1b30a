"""The classes of descriptors, in a pool of our own in which Confluent's options are known.

Python's default pool is the application's: a second `confluent/meta.proto` in it would be refused when confluent-kafka brings
its own. This module imports the protobuf package, so it is itself imported only when a descriptor is read or written.
"""

from functools import cache
from typing import TYPE_CHECKING, Any, cast

from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message

if TYPE_CHECKING:
    from google.protobuf.descriptor import FieldDescriptor

_OPTIONS_WITH_META = {
    "google.protobuf.FileOptions": "file_meta",
    "google.protobuf.MessageOptions": "message_meta",
    "google.protobuf.FieldOptions": "field_meta",
    "google.protobuf.EnumOptions": "enum_meta",
    "google.protobuf.EnumValueOptions": "enum_value_meta",
}
_META_NUMBER = 1088


@cache
def pool() -> DescriptorPool:
    """Descriptors and Confluent's `Meta`."""
    made = DescriptorPool()
    made.AddSerializedFile(descriptor_pb2.DESCRIPTOR.serialized_pb)
    made.Add(_meta_file())
    return made


@cache
def file_descriptor_class() -> type[descriptor_pb2.FileDescriptorProto]:
    """FileDescriptorProto of that pool: typed as the one of the default pool, and of the same fields."""
    found = message_factory.GetMessageClass(pool().FindMessageTypeByName("google.protobuf.FileDescriptorProto"))
    return cast("type[descriptor_pb2.FileDescriptorProto]", found)


@cache
def meta_extension(options: str) -> "tuple[str, FieldDescriptor] | None":
    """The full name and the descriptor of the extension by which Confluent annotates options of that full name."""
    name = _OPTIONS_WITH_META.get(options)
    if name is None:
        return None
    return f"confluent.{name}", pool().FindExtensionByName(f"confluent.{name}")


def meta_of(options: Message) -> tuple[str, Any] | None:
    """The name and value of Confluent's annotation, if the options have it."""
    extension = meta_extension(options.DESCRIPTOR.full_name)
    if extension is None or not options.HasExtension(cast(Any, extension[1])):
        return None
    return extension[0], options.Extensions[cast(Any, extension[1])]


def _meta_file() -> descriptor_pb2.FileDescriptorProto:
    """confluent/meta.proto, but with the parameters as a list of pairs: the same bytes, and their order is kept."""
    types = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="confluent/meta.proto",
        package="confluent",
        syntax="proto3",
        dependency=["google/protobuf/descriptor.proto"],
    )
    messages = {
        "Meta": ["doc", "params:Param", "tags*", "rules:Rule"],
        "Param": ["key", "value"],
        "Rule": ["name", "doc", "expr", "sql"],
    }
    for message_name, fields in messages.items():
        message = file.message_type.add(name=message_name)
        for number, each in enumerate(fields, start=1):
            name, _, element = each.rstrip("*").partition(":")
            repeated = each.endswith("*") or element
            message.field.add(
                name=name,
                number=number,
                label=types.LABEL_REPEATED if repeated else types.LABEL_OPTIONAL,
                type=types.TYPE_MESSAGE if element else types.TYPE_STRING,
                type_name=f".confluent.{element}" if element else None,
            )
    for extendee, name in _OPTIONS_WITH_META.items():
        file.extension.add(
            name=name,
            number=_META_NUMBER,
            label=types.LABEL_OPTIONAL,
            type=types.TYPE_MESSAGE,
            type_name=".confluent.Meta",
            extendee=f".{extendee}",
        )
    return file
