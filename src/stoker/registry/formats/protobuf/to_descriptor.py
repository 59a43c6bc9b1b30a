"""Writes elements as a FileDescriptorProto, the form in which Protobuf's own libraries take a schema (`format=serialized`).

Names of types are written in full. Custom options are left out, but Confluent's are kept: as in Confluent's.
"""

from base64 import b64encode

from google.protobuf import text_encoding, text_format
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    Edition,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    ServiceDescriptorProto,
)
from google.protobuf.message import Message as ProtobufMessage

from stoker.registry.formats.protobuf.descriptor_classes import file_descriptor_class, pool
from stoker.registry.formats.protobuf.elements import (
    SCALARS,
    Enum,
    Field,
    Group,
    Message,
    Numbers,
    Option,
    OptionKind,
    OptionValue,
    Primitive,
    Service,
    map_types,
)
from stoker.registry.formats.protobuf.names import Names, Scopes, inside, scopes_of
from stoker.registry.formats.protobuf.option_merger import as_map
from stoker.registry.formats.schema import InvalidSchema

_FILE_NAME = "default"
"""As Confluent's: the registry does not know what the file was called."""

_LABELS = {
    "optional": FieldDescriptorProto.LABEL_OPTIONAL,
    "required": FieldDescriptorProto.LABEL_REQUIRED,
    "repeated": FieldDescriptorProto.LABEL_REPEATED,
}


def base64_of(names: Names) -> str:
    return b64encode(descriptor_of(names).SerializeToString(deterministic=True)).decode()


def descriptor_of(names: Names) -> FileDescriptorProto:
    return _Writer(names).file()


class _Writer:
    def __init__(self, names: Names) -> None:
        self.names = names
        self.is_proto3 = names.file.syntax == "proto3"

    def file(self) -> FileDescriptorProto:
        file = self.names.file
        descriptor = file_descriptor_class()(name=_FILE_NAME)
        if file.syntax is not None:
            descriptor.syntax = file.syntax
        if file.edition is not None:
            try:
                descriptor.edition = Edition.Value(f"EDITION_{file.edition}")
            except ValueError:
                raise InvalidSchema(f"no descriptor can be made of the unknown edition '{file.edition}'") from None
        if file.package is not None:
            descriptor.package = file.package
        self._imports(descriptor)
        scopes = scopes_of(file.package)
        for each in file.types:
            if isinstance(each, Message):
                self._message(descriptor.message_type.add(), each, scopes)
            else:
                _enum(descriptor.enum_type.add(), each)
        for service in file.services:
            self._service(descriptor.service.add(), service, scopes)
        for extend in file.extends:
            for field in extend.fields:
                self._field(descriptor.extension.add(), field, scopes, extendee=extend.name)
        _set_options(descriptor, file.options)
        return descriptor

    def _imports(self, descriptor: FileDescriptorProto) -> None:
        """Those that are there: a file that no reference gives is needed by no type, and no pool could load it."""
        file = self.names.file
        for kind in (file.imports, file.public_imports, file.weak_imports):
            for name in kind:
                if not self.names.has_import(name):
                    continue
                if kind is file.public_imports:
                    descriptor.public_dependency.append(len(descriptor.dependency))
                elif kind is file.weak_imports:
                    descriptor.weak_dependency.append(len(descriptor.dependency))
                descriptor.dependency.append(name)

    def _message(self, descriptor: DescriptorProto, message: Message, outer: Scopes) -> None:
        descriptor.name = message.name
        scopes = inside(outer, message.name)
        for each in message.types:
            if isinstance(each, Message):
                self._message(descriptor.nested_type.add(), each, scopes)
            else:
                _enum(descriptor.enum_type.add(), each)
        for index, oneof in enumerate(message.oneofs):
            _set_options(descriptor.oneof_decl.add(name=oneof.name), oneof.options)
            for field in oneof.fields:
                self._field(descriptor.field.add(oneof_index=index), field, scopes)
            for group in oneof.groups:
                self._group(descriptor, group, scopes).oneof_index = index
        for field in message.fields:
            self._field_of_message(descriptor, field, scopes)
        for group in message.groups:
            self._group(descriptor, group, scopes)
        self._numbers_and_extensions(descriptor, message, scopes)
        _set_options(descriptor, message.options)

    def _field_of_message(self, descriptor: DescriptorProto, field: Field, scopes: Scopes) -> None:
        written = descriptor.field.add()
        self._field(written, field, scopes)
        key_and_value = map_types(field.type)
        if key_and_value is not None:
            entry = descriptor.nested_type.add(name=_entry_name(field.name))
            entry.options.map_entry = True
            for number, (name, type_name) in enumerate(zip(("key", "value"), key_and_value, strict=True), start=1):
                self._field(entry.field.add(), Field("optional", type_name, name, number), scopes)
            written.label = FieldDescriptorProto.LABEL_REPEATED
            written.type = FieldDescriptorProto.TYPE_MESSAGE
            written.type_name = f".{scopes[0]}{entry.name}"
        if self.is_proto3 and field.label == "optional":
            written.proto3_optional = True
            written.oneof_index = len(descriptor.oneof_decl)
            descriptor.oneof_decl.add(name=f"_{field.name}")

    def _group(self, descriptor: DescriptorProto, group: Group, scopes: Scopes) -> FieldDescriptorProto:
        inner = inside(scopes, group.name)
        nested = descriptor.nested_type.add(name=group.name)
        for field in group.fields:
            self._field_of_message(nested, field, inner)
        return descriptor.field.add(
            name=group.name.lower(),
            number=group.number,
            label=_LABELS[group.label or "optional"],
            type=FieldDescriptorProto.TYPE_GROUP,
            type_name=f".{inner[0][:-1]}",
        )

    def _field(
        self, descriptor: FieldDescriptorProto, field: Field, scopes: Scopes, extendee: str | None = None
    ) -> None:
        descriptor.name = field.name
        descriptor.number = field.number
        descriptor.label = _LABELS[field.label or "optional"]
        if extendee is not None:
            descriptor.extendee = self._full_name(extendee, scopes)
        if field.type in SCALARS:
            descriptor.type = FieldDescriptorProto.Type.Value(f"TYPE_{field.type.upper()}")
        elif map_types(field.type) is None:
            descriptor.type_name = self._full_name(field.type, scopes)
            named = self.names.type(descriptor.type_name[1:])
            is_enum = named is not None and isinstance(named.element, Enum)
            descriptor.type = FieldDescriptorProto.TYPE_ENUM if is_enum else FieldDescriptorProto.TYPE_MESSAGE
        if field.default is not None:
            descriptor.default_value = _escaped(field.default) if field.type == "bytes" else _text(field.default)
        if field.json_name is not None:
            descriptor.json_name = _text(field.json_name)
        _set_options(descriptor, field.options)

    def _full_name(self, name: str, scopes: Scopes) -> str:
        resolved = self.names.resolved(name, scopes)
        return name if resolved is None else f".{resolved}"

    def _numbers_and_extensions(self, descriptor: DescriptorProto, message: Message, scopes: Scopes) -> None:
        for reserved in message.reserved:
            for value in reserved.values:
                if isinstance(value, str):
                    descriptor.reserved_name.append(_text(value))
                else:
                    first, last = _first_and_last(value)
                    descriptor.reserved_range.add(start=first, end=last + 1)
        for extensions in message.extensions:
            for numbers in extensions.values:
                first, last = _first_and_last(numbers)
                _set_options(descriptor.extension_range.add(start=first, end=last + 1), extensions.options)
        for extend in message.extends:
            for field in extend.fields:
                self._field(descriptor.extension.add(), field, scopes, extendee=extend.name)

    def _service(self, descriptor: ServiceDescriptorProto, service: Service, scopes: Scopes) -> None:
        descriptor.name = service.name
        for rpc in service.rpcs:
            method = descriptor.method.add(
                name=rpc.name,
                input_type=self._full_name(rpc.request, scopes),
                output_type=self._full_name(rpc.response, scopes),
            )
            if rpc.request_streams:
                method.client_streaming = True
            if rpc.response_streams:
                method.server_streaming = True
            _set_options(method, rpc.options)
        _set_options(descriptor, service.options)


def _enum(descriptor: EnumDescriptorProto, enum: Enum) -> None:
    descriptor.name = enum.name
    for constant in enum.constants:
        _set_options(descriptor.value.add(name=constant.name, number=constant.number), constant.options)
    for reserved in enum.reserved:
        for value in reserved.values:
            if isinstance(value, str):
                descriptor.reserved_name.append(_text(value))
            else:
                first, last = _first_and_last(value)
                descriptor.reserved_range.add(start=first, end=last)
    _set_options(descriptor, enum.options)


def _first_and_last(numbers: Numbers) -> tuple[int, int]:
    return (numbers, numbers) if isinstance(numbers, int) else numbers


def _entry_name(field: str) -> str:
    """As protoc names the messages of maps."""
    return "".join(part[:1].upper() + part[1:] for part in field.split("_")) + "Entry"


def _escaped(value: str) -> str:
    """With all that is not printable escaped byte by byte, as in a descriptor's default of a `bytes` field."""
    escaped: str = text_encoding.CEscape(value.encode(errors="surrogateescape"), as_utf8=False)
    return escaped


def _text(value: str) -> str:
    """A string, whose bytes must be UTF-8 in a descriptor."""
    return value.encode(errors="surrogateescape").decode(errors="replace")


def _set_options(descriptor: ProtobufMessage, options: list[Option]) -> None:
    """Sets those that Protobuf or Confluent define; others are left out, and so are values that do not fit."""
    for option in options:
        try:
            text_format.Merge(
                f"options {{ {_in_text_format(as_map(option))} }}",
                descriptor,
                allow_unknown_extension=True,
                allow_unknown_field=True,
                descriptor_pool=pool(),
            )
        except text_format.ParseError:
            continue


def _in_text_format(option: Option) -> str:
    name = f"[{option.name.lstrip('.')}]" if option.custom else option.name
    if not option.custom and "." in name:
        first, _, rest = name.partition(".")
        return f"{first} {{ {_in_text_format(Option(rest, option.kind, option.value))} }}"
    if isinstance(option.value, str) and option.kind is not OptionKind.STRING:
        return f"{name}: {option.value}"
    return f"{name}: {_text_value(option.value)}"


def _text_value(value: OptionValue) -> str:
    if isinstance(value, str):
        return f'"{_escaped(value)}"'
    if isinstance(value, Primitive):
        return value.value
    if isinstance(value, dict):
        return f"{{ {' '.join(f'{key}: {_text_value(each)}' for key, each in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text_value, value))}]"
    return f"{{ {_in_text_format(value)} }}"
