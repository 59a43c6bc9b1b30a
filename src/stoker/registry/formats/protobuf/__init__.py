"""Protobuf: `parse` reads the text of a .proto file or a FileDescriptorProto in base64.

text.py             which of the two it is
tokens.py, options.py, parser.py    text -> elements.py
from_descriptor.py, to_descriptor.py    elements <-> FileDescriptorProto
printer.py          elements -> the canonical text
names.py, well_known.py     what a name means, and the files that are built in
normalizer.py       the form that is the same whatever the order and spelling
differences.py, rules.py    what changed, and which changes break readers
"""

from typing import TYPE_CHECKING

from stoker.registry.formats.schema import Dependencies

if TYPE_CHECKING:
    from stoker.registry.formats.protobuf.schema import ProtobufSchema


def parse(text: str, dependencies: Dependencies | None = None) -> "ProtobufSchema":
    """The schema that the text says. Raises InvalidSchema if it is none, or if it names types which neither it nor the
    dependencies have."""
    # On first use: a registry without a Protobuf schema need not read all this.
    from stoker.registry.formats.protobuf.schema import ProtobufSchema

    return ProtobufSchema(text, dependencies or {})
