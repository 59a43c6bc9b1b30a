"""A schema as it comes: the text of a .proto file, or a FileDescriptorProto in base64."""

import re
from base64 import b64decode

from stoker.registry.formats.protobuf.elements import ProtoFile
from stoker.registry.formats.protobuf.parser import parse_file
from stoker.registry.formats.protobuf.printer import printed
from stoker.registry.formats.schema import InvalidSchema

# No .proto text that declares anything is made of these alone: it has at least a brace, a quote or a semicolon.
_BASE64 = re.compile(r"\s*+[A-Za-z0-9+/]++={0,2}\s*+\Z")


def is_base64(text: str) -> bool:
    return _BASE64.match(text) is not None


def read(text: str) -> ProtoFile:
    """The elements of a schema in either form. Raises InvalidSchema."""
    return parse_file(canonical_of_base64(text) if is_base64(text) else text)


def canonical_of_base64(text: str) -> str:
    """The canonical text of a FileDescriptorProto in base64. It is yet to be parsed: a descriptor can name anything."""
    try:
        serialized = b64decode(text.strip(), validate=True)
    except ValueError:
        raise InvalidSchema(
            "the schema is neither the text of a .proto file nor a FileDescriptorProto in base64"
        ) from None
    # Here and not at the top, as it brings the protobuf package with it.
    from stoker.registry.formats.protobuf.from_descriptor import file_of_bytes

    return printed(file_of_bytes(serialized))
