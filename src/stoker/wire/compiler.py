"""Turns declared messages into straight-line Python, one function for each message and version.

What makes the functions fast: neighbouring fields of fixed width, with the length that follows them, are read or written
by one `struct` call; nested structures are inlined, so that a message costs one function call; one-byte varints, which
nearly all are, cost one comparison. What makes them safe: every length and count is compared with what is left of the
buffer first, and the number of array elements in one message is limited.

decoder_source.py and encoder_source.py write the functions. A failure inside one is explained by its line: each generated
line knows the field that it handles.
"""

from collections.abc import Callable
from typing import Any

from stoker.wire.decoder_source import DecoderSource
from stoker.wire.encoder_source import EncoderSource
from stoker.wire.schema import Decoder, Encoder, Message, Struct
from stoker.wire.source import default_is_fresh, fresh_default


def compile_decoder(message: type[Message], version: int) -> Decoder:
    """A function from (buffer, position) to the message; raises only MalformedMessage, naming the field."""
    source = DecoderSource(message, version)
    decoder: Decoder = source.function("decode")
    return decoder


def compile_encoder(message: type[Message], version: int) -> Encoder:
    """A function that appends a message to a bytearray; raises only UnencodableMessage, naming the field."""
    source = EncoderSource(message, version)
    encoder: Encoder = source.function("encode")
    return encoder


def compile_constructor(struct: type[Struct]) -> Callable[..., None]:
    """`__init__` with one keyword-only parameter a field; lists and structures are made anew for each instance."""
    names: dict[str, Any] = {"MISSING": object()}
    parameters = []
    lines = []
    for index, field in enumerate(struct.FIELDS):
        if default_is_fresh(field):
            parameters.append(f"{field.name}=MISSING")
            value = f"{fresh_default(field, index, names)} if {field.name} is MISSING else {field.name}"
        else:
            names[f"default{index}"] = field.default
            parameters.append(f"{field.name}=default{index}")
            value = field.name
        lines.append(f"    self.{field.name} = {value}\n")
    star = "*, " if parameters else ""
    text = f"def __init__(self, {star}{', '.join(parameters)}):\n" + ("".join(lines) or "    pass\n")
    exec(compile(text, f"<constructor of {struct.__name__}>", "exec"), names)
    constructor: Callable[..., None] = names["__init__"]
    constructor.__qualname__ = f"{struct.__qualname__}.__init__"
    return constructor
