"""Reads a FileDescriptorProto into elements, as Confluent's registry does.

That is how compiled schemas come: confluent-kafka's serializer for Protobuf registers the descriptor of the generated class,
in base64. Custom options other than Confluent's cannot be read, as their extensions are not known, and are left out.
"""

from typing import Any

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    Edition,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    ServiceDescriptorProto,
)
from google.protobuf.message import DecodeError
from google.protobuf.message import Message as ProtobufMessage

from stoker.registry.formats.protobuf.descriptor_classes import file_descriptor_class, meta_of
from stoker.registry.formats.protobuf.elements import (
    Enum,
    EnumConstant,
    Extend,
    Extensions,
    Field,
    Group,
    Message,
    OneOf,
    Option,
    OptionKind,
    OptionValue,
    Primitive,
    ProtoFile,
    Reserved,
    Rpc,
    Service,
)
from stoker.registry.formats.protobuf.tokens import unquoted
from stoker.registry.formats.schema import InvalidSchema

# Confluent's writes these options, in this order, and no others.
_FILE_OPTIONS = [
    "java_package",
    "java_outer_classname",
    "java_multiple_files",
    "java_generate_equals_and_hash",
    "java_string_check_utf8",
    "optimize_for",
    "go_package",
    "cc_generic_services",
    "java_generic_services",
    "py_generic_services",
    "deprecated",
    "cc_enable_arenas",
    "objc_class_prefix",
    "csharp_namespace",
    "swift_prefix",
    "php_class_prefix",
    "php_namespace",
    "php_metadata_namespace",
    "ruby_package",
    "features",
]
_MESSAGE_OPTIONS = ["no_standard_descriptor_accessor", "deprecated", "map_entry", "features"]
_FIELD_OPTIONS = [
    "ctype",
    "packed",
    "jstype",
    "deprecated",
    "debug_redact",
    "retention",
    "targets",
    "edition_defaults",
    "features",
    "feature_support",
]
_ENUM_OPTIONS = ["allow_alias", "deprecated", "features"]
_ENUM_VALUE_OPTIONS = ["deprecated", "debug_redact", "features", "feature_support"]
_EXTENSION_RANGE_OPTIONS = ["declaration", "features", "verification"]
_SERVICE_OPTIONS = ["deprecated", "features"]
_METHOD_OPTIONS = ["deprecated", "idempotency_level", "features"]

_LABELS = {
    FieldDescriptorProto.LABEL_OPTIONAL: "optional",
    FieldDescriptorProto.LABEL_REQUIRED: "required",
    FieldDescriptorProto.LABEL_REPEATED: "repeated",
}
_MAX_NESTED_MESSAGES = 32


def file_of_bytes(serialized: bytes) -> ProtoFile:
    """The elements of a serialized FileDescriptorProto. Raises InvalidSchema if it is none."""
    descriptor = file_descriptor_class()()
    try:
        descriptor.ParseFromString(serialized)
    except (DecodeError, UnicodeDecodeError):
        raise InvalidSchema("the bytes in base64 are no FileDescriptorProto") from None
    if not descriptor.ListFields():
        raise InvalidSchema("the bytes in base64 are an empty FileDescriptorProto")
    return _Reader(descriptor).file()


class _Reader:
    def __init__(self, descriptor: FileDescriptorProto) -> None:
        self.descriptor = descriptor
        self.is_proto3 = descriptor.syntax == "proto3"
        self.has_edition = descriptor.syntax == "editions"

    def file(self) -> ProtoFile:
        descriptor = self.descriptor
        syntax = descriptor.syntax if descriptor.syntax in ("proto2", "proto3", "editions") else None
        public, weak = set(descriptor.public_dependency), set(descriptor.weak_dependency)
        dependencies = list(enumerate(descriptor.dependency))
        return ProtoFile(
            syntax=syntax,
            edition=self._edition() if self.has_edition else None,
            package=descriptor.package or None,
            imports=[name for index, name in dependencies if index not in public and index not in weak],
            public_imports=[name for index, name in dependencies if index in public],
            weak_imports=[name for index, name in dependencies if index in weak and index not in public],
            options=_options(descriptor.options, _FILE_OPTIONS),
            types=[
                *(self._message(each, 1, f".{descriptor.package}") for each in descriptor.message_type),
                *(_enum(each) for each in descriptor.enum_type),
            ],
            extends=self._extends(descriptor.extension),
            services=[_service(each) for each in descriptor.service],
        )

    def _edition(self) -> str:
        try:
            return Edition.Name(self.descriptor.edition).removeprefix("EDITION_")
        except ValueError:
            raise InvalidSchema(f"unknown edition {self.descriptor.edition}") from None

    def _message(self, descriptor: DescriptorProto, depth: int, scope: str) -> Message:
        if depth > _MAX_NESTED_MESSAGES:
            raise InvalidSchema(f"messages are nested more than {_MAX_NESTED_MESSAGES} deep")
        full_name = f"{scope}.{descriptor.name}" if scope != "." else f".{descriptor.name}"
        nested = {f"{full_name}.{each.name}": each for each in descriptor.nested_type}
        oneofs = [OneOf(each.name, options=_options(each.options, ["features"])) for each in descriptor.oneof_decl]
        message = Message(
            descriptor.name,
            options=_options(descriptor.options, _MESSAGE_OPTIONS),
            reserved=[
                *(Reserved([_numbers(each.start, each.end - 1)]) for each in descriptor.reserved_range),
                *(Reserved([name]) for name in descriptor.reserved_name),
            ],
            extensions=[
                Extensions(
                    [_numbers(each.start, each.end - 1)],
                    _options(each.options, _EXTENSION_RANGE_OPTIONS),
                )
                for each in descriptor.extension_range
            ],
            extends=self._extends(descriptor.extension),
        )
        for each in descriptor.field:
            in_oneof = each.HasField("oneof_index") and not each.proto3_optional
            if in_oneof and not 0 <= each.oneof_index < len(oneofs):
                raise InvalidSchema(f"the field '{each.name}' of '{descriptor.name}' is in a oneof that is not there")
            into: Message | OneOf = oneofs[each.oneof_index] if in_oneof else message
            if each.type == FieldDescriptorProto.TYPE_GROUP and each.type_name in nested:
                group = nested.pop(each.type_name)
                label = None if in_oneof else self._label(each)
                fields = [self._field(inner, in_oneof=False) for inner in group.field]
                into.groups.append(Group(label, group.name, each.number, fields))
            else:
                into.fields.append(self._field(each, in_oneof))
        message.oneofs = [each for each in oneofs if each.fields or each.groups]
        message.types = [
            *(self._message(each, depth + 1, full_name) for each in nested.values()),
            *(_enum(each) for each in descriptor.enum_type),
        ]
        return message

    def _field(self, descriptor: FieldDescriptorProto, in_oneof: bool) -> Field:
        has_default = descriptor.HasField("default_value") and not self.is_proto3
        default = descriptor.default_value if has_default else None
        if default is not None and descriptor.type == FieldDescriptorProto.TYPE_BYTES:
            default = unquoted(f'"{default}"')
        return Field(
            None if in_oneof else self._label(descriptor),
            descriptor.type_name or _type_name(descriptor),
            descriptor.name,
            descriptor.number,
            _options(descriptor.options, _FIELD_OPTIONS),
            default,
            descriptor.json_name if descriptor.HasField("json_name") else None,
        )

    def _label(self, descriptor: FieldDescriptorProto) -> str | None:
        if descriptor.proto3_optional:
            return "optional"
        label = _LABELS[descriptor.label]
        return None if label != "repeated" and (self.is_proto3 or self.has_edition) else label

    def _extends(self, descriptors: Any) -> list[Extend]:
        extends: dict[str, Extend] = {}
        for each in descriptors:
            extend = extends.setdefault(each.extendee, Extend(each.extendee))
            extend.fields.append(self._field(each, in_oneof=False))
        return list(extends.values())


def _type_name(descriptor: FieldDescriptorProto) -> str:
    name = FieldDescriptorProto.Type.Name(descriptor.type)
    return name.removeprefix("TYPE_").lower()


def _enum(descriptor: EnumDescriptorProto) -> Enum:
    return Enum(
        descriptor.name,
        [
            EnumConstant(each.name, each.number, _options(each.options, _ENUM_VALUE_OPTIONS))
            for each in descriptor.value
        ],
        _options(descriptor.options, _ENUM_OPTIONS),
        [
            *(Reserved([_numbers(each.start, each.end)]) for each in descriptor.reserved_range),
            *(Reserved([name]) for name in descriptor.reserved_name),
        ],
    )


def _service(descriptor: ServiceDescriptorProto) -> Service:
    rpcs = [
        Rpc(
            each.name,
            each.input_type,
            each.output_type,
            each.client_streaming,
            each.server_streaming,
            _options(each.options, _METHOD_OPTIONS),
        )
        for each in descriptor.method
    ]
    return Service(descriptor.name, rpcs, _options(descriptor.options, _SERVICE_OPTIONS))


def _numbers(first: int, last: int) -> int | tuple[int, int]:
    return first if first == last else (first, last)


def _options(options: ProtobufMessage, names: list[str]) -> list[Option]:
    if not options.ByteSize():
        return []
    found: list[Option] = []
    for name in names:
        field = options.DESCRIPTOR.fields_by_name.get(name)
        if field is None:
            continue
        if field.is_repeated:
            found.extend(_option(name, field, each) for each in getattr(options, name))
        elif options.HasField(name):
            found.append(_option(name, field, getattr(options, name)))
    annotation = meta_of(options)
    if annotation is not None and (entries := _meta(annotation[1])):
        found.append(Option(annotation[0], OptionKind.MAP, entries, custom=True))
    return found


def _option(name: str, field: Any, value: Any) -> Option:
    converted = _value(field, value)
    if isinstance(converted, Primitive):
        return Option(name, converted.kind, converted.value)
    return Option(name, OptionKind.STRING if isinstance(converted, str) else OptionKind.MAP, converted)


def _value(field: Any, value: Any) -> OptionValue:
    if isinstance(value, ProtobufMessage):
        fields = [(each, inner) for each, inner in value.ListFields() if not each.is_extension]
        # In the order of their numbers, but Confluent's writes the edition before the value that it has there.
        fields.sort(key=lambda pair: pair[0].name != "edition")
        return {each.name: _value(each, inner) for each, inner in fields}
    if isinstance(value, bool):
        return Primitive(OptionKind.BOOLEAN, "true" if value else "false")
    if isinstance(value, str):
        return value
    if field.enum_type is not None:
        constant = field.enum_type.values_by_number.get(value)
        return Primitive(OptionKind.ENUM, constant.name if constant is not None else str(value))
    return Primitive(OptionKind.NUMBER, str(value))


def _meta(meta: Any) -> dict[str, OptionValue]:
    """Confluent's annotation: a text, parameters, tags and rules."""
    entries: dict[str, OptionValue] = {}
    if meta.doc:
        entries["doc"] = meta.doc
    if meta.params:
        entries["params"] = [_parameter(each.key, each.value) for each in meta.params]
    if meta.tags:
        entries["tags"] = list(meta.tags)
    rules: list[OptionValue] = []
    for rule in meta.rules:
        written: dict[str, OptionValue] = {
            name: getattr(rule, name) for name in ("name", "doc", "expr", "sql") if getattr(rule, name)
        }
        if written:
            rules.append(written)
    if rules:
        entries["rules"] = rules
    return entries


def _parameter(key: str, value: str) -> OptionValue:
    # As in Confluent's, which once wrote these two the other way round and keeps to it.
    return {"value": value, "key": key} if key in ("precision", "scale") else {"key": key, "value": value}
