"""The form of a schema without what extends it: custom options but Confluent's own, and extensions (`ignore_extensions`)."""

from dataclasses import replace

from stoker.registry.formats.protobuf.elements import Enum, Field, Message, OneOf, Option, ProtoFile


def without_extensions(file: ProtoFile) -> ProtoFile:
    return replace(
        file,
        options=_options(file.options),
        types=_types(file.types),
        extends=[],
        services=[
            replace(
                service,
                options=_options(service.options),
                rpcs=[replace(each, options=_options(each.options)) for each in service.rpcs],
            )
            for service in file.services
        ],
    )


def _options(options: list[Option]) -> list[Option]:
    return [each for each in options if not each.custom or each.name.startswith("confluent.")]


def _fields(fields: list[Field]) -> list[Field]:
    return [replace(each, options=_options(each.options)) if each.options else each for each in fields]


def _types(types: list[Message | Enum]) -> list[Message | Enum]:
    return [_message(each) if isinstance(each, Message) else _enum(each) for each in types]


def _message(message: Message) -> Message:
    return replace(
        message,
        fields=_fields(message.fields),
        oneofs=[_oneof(each) for each in message.oneofs],
        groups=[replace(each, fields=_fields(each.fields)) for each in message.groups],
        types=_types(message.types),
        options=_options(message.options),
        extensions=[],
        extends=[],
    )


def _oneof(oneof: OneOf) -> OneOf:
    groups = [replace(each, fields=_fields(each.fields)) for each in oneof.groups]
    return replace(oneof, fields=_fields(oneof.fields), groups=groups, options=_options(oneof.options))


def _enum(enum: Enum) -> Enum:
    constants = [replace(each, options=_options(each.options)) for each in enum.constants]
    return replace(enum, constants=constants, options=_options(enum.options))
