"""A Protobuf schema that was read."""

from functools import cached_property
from typing import ClassVar

from stoker.registry.formats.protobuf.elements import Enum, Message, ProtoFile
from stoker.registry.formats.protobuf.names import Names, check_names
from stoker.registry.formats.protobuf.parser import parse_file
from stoker.registry.formats.protobuf.printer import printed
from stoker.registry.formats.protobuf.text import canonical_of_base64, is_base64
from stoker.registry.formats.schema import Dependencies, Incompatibility, InvalidSchema, ParsedSchema


class ProtobufSchema(ParsedSchema):
    """The elements are read and their names resolved when it is made; all else is made when it is asked for."""

    schema_type: ClassVar[str] = "PROTOBUF"

    def __init__(self, text: str, dependencies: Dependencies) -> None:
        if is_base64(text):
            text = canonical_of_base64(text)
        self.file: ProtoFile = parse_file(text)
        self.dependencies = dependencies
        self.names = Names(self.file, dependencies)
        check_names(self.names, text)

    @cached_property
    def text(self) -> str:
        return printed(self.file)

    @cached_property
    def name(self) -> str | None:
        """The full name of the first message, or else of the first enum. A file that has nothing but one `import public`
        is known by what it imports, as in Confluent's."""
        file = self._file_of_types()
        first = next((each for each in file.types if isinstance(each, Message)), None) or next(
            (each for each in file.types if isinstance(each, Enum)), None
        )
        if first is None:
            return None
        return f"{file.package}.{first.name}" if file.package else first.name

    def _file_of_types(self) -> ProtoFile:
        file = self.file
        if file.types or file.imports or file.services or file.extends or len(file.public_imports) != 1:
            return file
        imported = self.names.imported(file.public_imports[0])
        return imported if imported is not None and imported.types else file

    def normalized(self) -> "ProtobufSchema":
        from stoker.registry.formats.protobuf.normalizer import normalized

        text = printed(normalized(self.names))
        schema = ProtobufSchema(text, self.dependencies)
        # Its options are in the order of their names, which printing it anew would not keep.
        schema.text = text
        return schema

    def incompatibilities(self, writer: ParsedSchema) -> list[Incompatibility]:
        from stoker.registry.formats.protobuf.differences import differences
        from stoker.registry.formats.protobuf.rules import incompatible

        if not isinstance(writer, ProtobufSchema):
            raise InvalidSchema(f"a schema of {self.schema_type} cannot be compared with one of {writer.schema_type}")
        return incompatible(differences(writer.names, self.names))

    def formatted(self, form: str) -> str:
        """`serialized` is a FileDescriptorProto in base64, `ignore_extensions` the text without custom options."""
        form = form.strip().lower()
        if form == "serialized":
            from stoker.registry.formats.protobuf.to_descriptor import base64_of

            return base64_of(self.names)
        if form == "ignore_extensions":
            from stoker.registry.formats.protobuf.extension_stripper import without_extensions

            return printed(without_extensions(self.file))
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProtobufSchema) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)
