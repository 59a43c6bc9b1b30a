"""From the text of a Protobuf schema to the descriptors of its messages, in a pool of its own."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from stoker.registry.formats.protobuf import well_known
from stoker.registry.formats.protobuf.names import Names
from stoker.registry.formats.protobuf.text import read
from stoker.registry.formats.protobuf.to_descriptor import descriptor_of
from stoker.registry.formats.schema import InvalidSchema
from stoker.spark.errors import UnusableSchema
from stoker.spark.schemas import RegisteredSchema

_FILE_NAME = "default"


def file_of(schema: RegisteredSchema) -> FileDescriptor:
    """Raises UnusableSchema."""
    try:
        return _file_of(schema.text, tuple(schema.dependencies.items()))
    except (InvalidSchema, TypeError) as problem:
        raise UnusableSchema(f"schema {schema.id} is no Protobuf schema: {problem}") from problem


@lru_cache(maxsize=128)
def _file_of(text: str, dependencies: tuple[tuple[str, str], ...]) -> FileDescriptor:
    texts = dict(dependencies)
    pool = DescriptorPool()
    added: set[str] = set()
    root = Names(read(text), texts)
    _add(pool, _FILE_NAME, root, texts, added)
    return pool.FindFileByName(_FILE_NAME)


def _add(pool: DescriptorPool, name: str, names: Names, texts: Mapping[str, str], added: set[str]) -> None:
    """The file, after all that it needs; a type may be used without an import, as in Confluent's."""
    added.add(name)
    descriptor = descriptor_of(names)
    descriptor.name = name
    for type_name in _type_names(descriptor):
        named = names.type(type_name.removeprefix("."))
        if named is not None and named.file is not None and named.file not in descriptor.dependency:
            descriptor.dependency.append(named.file)
    for needed in descriptor.dependency:
        if needed in added:
            continue
        file = read(texts[needed]) if needed in texts else well_known.file(needed)
        if file is None:
            raise InvalidSchema(f"it imports {needed!r}, which it has no reference to")
        _add(pool, needed, Names(file, {key: each for key, each in texts.items() if key != needed}), texts, added)
    pool.AddSerializedFile(descriptor.SerializeToString())


def _type_names(file: FileDescriptorProto) -> Iterator[str]:
    messages: list[DescriptorProto] = list(file.message_type)
    while messages:
        message = messages.pop()
        messages += message.nested_type
        yield from (field.type_name for field in message.field if field.type_name)


def message_named(schema: RegisteredSchema, name: str | None) -> Descriptor:
    """By its full name, or by that without the package; the first if there is no name. Raises UnusableSchema."""
    messages = dict(_messages(list(file_of(schema).message_types_by_name.values())))
    if not messages:
        raise UnusableSchema(f"schema {schema.id} has no message")
    if name is None:
        return next(iter(messages.values()))
    package = file_of(schema).package
    found = messages.get(name) or messages.get(f"{package}.{name}")
    if found is None:
        raise UnusableSchema(f"schema {schema.id} has no message {name!r}: it has {', '.join(messages)}")
    return found


def _messages(descriptors: list[Descriptor]) -> Iterator[tuple[str, Descriptor]]:
    for each in descriptors:
        yield each.full_name, each
        yield from _messages(_nested(each))


def _nested(message: Descriptor) -> list[Descriptor]:
    """As they are declared: maps have messages that nobody wrote."""
    return [each for each in message.nested_types if not each.GetOptions().map_entry]


def message_at(schema: RegisteredSchema, path: tuple[int, ...]) -> Descriptor | None:
    """The message that a record's header means: its place in the file, then in the message around it."""
    found: Descriptor | None = None
    candidates = list(file_of(schema).message_types_by_name.values())
    for index in path:
        if not 0 <= index < len(candidates):
            return None
        found = candidates[index]
        candidates = _nested(found)
    return found


def path_of(message: Descriptor) -> tuple[int, ...]:
    """Where `message_at` finds it."""
    path: list[int] = []
    while message.containing_type is not None:
        around = message.containing_type
        path.append(_nested(around).index(message))
        message = around
    path.append(list(message.file.message_types_by_name.values()).index(message))
    return tuple(reversed(path))
