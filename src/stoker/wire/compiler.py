"""Turns declared messages into straight-line Python, one function for each message and version.

What makes the functions fast: neighbouring fields of fixed width, with the length that follows them, are read or written
by one `struct` call; nested structures are inlined, so that a message costs one function call; one-byte varints, which
nearly all are, cost one comparison. What makes them safe: every length and count is compared with what is left of the
buffer first, and the number of array elements in one message is limited.

A failure inside such a function is explained by its line: each generated line knows the field that it handles.
"""

from collections.abc import Callable
from functools import lru_cache
from struct import Struct as Layout
from struct import error as struct_error
from typing import Any

from stoker.errors import MalformedMessage, UnencodableMessage
from stoker.wire.primitives import (
    Refused,
    array_layout,
    decode_long_uvarint,
    decode_uvarint,
    encode_uvarint,
    skip_tagged_fields,
    uuid_from_bytes,
)
from stoker.wire.schema import Buffer, Decoder, Encoder, Field, Message, Struct

MAX_ELEMENTS = 1_000_000
"""Array elements in one message. A hostile frame could else make a hundred bytes of objects out of each of its bytes."""

MAX_STRING_BYTES = 32767
"""Kafka's limit for strings, also where their compact length could say more."""

_FORMATS = {
    "bool": "?",
    "boolean": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
_layout = lru_cache(maxsize=None)(Layout)


def compile_decoder(message: type[Message], version: int) -> Decoder:
    """A function from (buffer, position) to the message; raises only MalformedMessage, naming the field."""
    source = _DecoderSource(message, version)
    decoder: Decoder = source.function("decode")
    return decoder


def compile_encoder(message: type[Message], version: int) -> Encoder:
    """A function that appends a message to a bytearray; raises only UnencodableMessage, naming the field."""
    source = _EncoderSource(message, version)
    encoder: Encoder = source.function("encode")
    return encoder


def compile_constructor(struct: type[Struct]) -> Callable[..., None]:
    """`__init__` with one keyword-only parameter a field; lists and structures are made anew for each instance."""
    names: dict[str, Any] = {"MISSING": object()}
    parameters = []
    lines = []
    for index, field in enumerate(struct.FIELDS):
        if _default_is_fresh(field):
            parameters.append(f"{field.name}=MISSING")
            value = f"{_fresh(field, index, names)} if {field.name} is MISSING else {field.name}"
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


def minimum_size(fields: tuple[Field, ...], version: int, flexible: bool) -> int:
    """The fewest bytes that a structure of these fields takes."""
    size = 1 if flexible else 0
    for field in fields:
        if field.exists_in(version) and field.tag is None:
            size += _minimum_field_size(field.kind, field, version, flexible)
    return size


def _minimum_field_size(kind: str, field: Field, version: int, flexible: bool) -> int:
    if kind in _FORMATS:
        return _layout(">" + _FORMATS[kind]).size
    if kind == "struct":
        if field.kind == "struct" and field.is_nullable_in(version):
            return 1
        assert field.struct is not None
        return minimum_size(field.struct.FIELDS, version, flexible)
    if flexible:
        return 1
    return 2 if kind == "string" else 4


def _default_is_fresh(field: Field) -> bool:
    return field.default == () and field.kind in ("array", "struct")


def _fresh(field: Field, key: object, names: dict[str, Any]) -> str:
    """An expression that makes a new default value."""
    if field.kind == "array":
        return "[]"
    names[f"Default{key}"] = field.struct
    return f"Default{key}()"


class _Source:
    """Lines of one generated function, and the field that each of them is about."""

    def __init__(self, message: type[Message], version: int) -> None:
        self.message = message
        self.version = version
        self.flexible = message.is_flexible(version)
        self.lines: list[str] = []
        self.fields: list[str] = []
        self.names: dict[str, Any] = {"struct_error": struct_error}
        self.path: list[str] = []
        self.depth = 2
        self.unique = 0
        # Fixed-width values that wait to be read or written together: (format, expression).
        self.run: list[tuple[str, str]] = []

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)
        self.fields.append(".".join(self.path))

    def number(self) -> int:
        self.unique += 1
        return self.unique

    def layout_name(self, formats: str, method: str) -> str:
        name = f"{method}_{formats.replace('?', 'bool')}"
        self.names[name] = getattr(_layout(">" + formats), method)
        return name

    def field_at(self, error: BaseException) -> str:
        """The field whose line raised `error`."""
        traceback = error.__traceback__
        line = traceback.tb_lineno if traceback is not None else 0
        # Line 1 is the def, line 2 the try.
        field = self.fields[line - 3] if 3 <= line < 3 + len(self.fields) else ""
        return f", field {field}" if field else ""

    def assemble(self, name: str, parameters: str, caught: str, handler: str) -> Any:
        text = "\n".join(
            (
                f"def {name}({parameters}):",
                "    try:",
                *self.lines,
                f"    except ({caught}) as error:",
                f"        {handler}",
            )
        )
        title = f"<{name} {self.message.__name__} v{self.version}>"
        exec(compile(text, title, "exec"), self.names)
        return self.names[name]


class _DecoderSource(_Source):
    """In the generated code: `b` is the buffer, `p` the position in it, `end` its length, `left` the element budget."""

    def __init__(self, message: type[Message], version: int) -> None:
        super().__init__(message, version)
        self.after_run: list[str] = []
        self.names.update(
            Refused=Refused,
            array_layout=array_layout,
            decode_long_uvarint=decode_long_uvarint,
            decode_uvarint=decode_uvarint,
            explain=self.explain,
            new=object.__new__,
            skip_tagged_fields=skip_tagged_fields,
            uuid_from_bytes=uuid_from_bytes,
        )

    def function(self, name: str) -> Any:
        self.emit("end = len(b)")
        self.emit(f"left = {MAX_ELEMENTS}")
        self.structure(self.message, "o")
        self.emit("return o")
        caught = "Refused, struct_error, IndexError, UnicodeDecodeError"
        return self.assemble(name, "b, p", caught, "raise explain(error, p, len(b)) from None")

    def explain(self, error: Exception, position: int, end: int) -> MalformedMessage:
        if isinstance(error, Refused):
            reason = str(error)
        elif isinstance(error, UnicodeDecodeError):
            reason = "is not UTF-8"
        else:
            reason = "ends too early"
        where = f"{self.message.__name__} v{self.version}{self.field_at(error)}, near byte {position} of {end}"
        return MalformedMessage(f"{where}: {reason}")

    def structure(self, struct: type[Struct], target: str) -> None:
        """Makes an instance and reads its fields; `target` is a local name."""
        class_name = f"{struct.__name__}_{self.number()}"
        self.names[class_name] = struct
        self.emit(f"{target} = new({class_name})")
        tagged = []
        for field in struct.FIELDS:
            exists = field.exists_in(self.version)
            if not exists or field.tag is not None:
                self.set_default(field, f"{target}.{field.name}")
            if exists and field.tag is not None:
                tagged.append(field)
        for field in struct.FIELDS:
            if field.exists_in(self.version) and field.tag is None:
                self.path.append(field.name)
                self.field(field, f"{target}.{field.name}")
                self.path.pop()
        if self.flexible:
            self.tagged_fields(tagged, target)
        else:
            self.flush()

    def set_default(self, field: Field, target: str) -> None:
        if _default_is_fresh(field):
            self.emit(f"{target} = {_fresh(field, self.number(), self.names)}")
        else:
            name = f"default{self.number()}"
            self.names[name] = field.default
            self.emit(f"{target} = {name}")

    def tagged_fields(self, tagged: list[Field], target: str) -> None:
        self.path.append("tagged fields")
        count = f"t{self.number()}"
        self.read(count, "B")
        self.flush()
        self.emit(f"if {count}:")
        self.depth += 1
        if not tagged:
            self.emit(f"p = skip_tagged_fields(b, p, {count})")
        else:
            self.emit(f"if {count} > 127: {count}, p = decode_long_uvarint(b, p, {count})")
            number = self.number()
            tag, stop = f"tag{number}", f"stop{number}"
            self.emit(f"for _ in range({count}):")
            self.depth += 1
            self.emit(f"{tag}, p = decode_uvarint(b, p)")
            self.emit(f"{stop}, p = decode_uvarint(b, p)")
            self.emit(f"{stop} += p")
            self.emit(f"if {stop} > end: raise Refused(f'takes {{{stop} - p}} bytes, {{end - p}} are left')")
            self.path.pop()
            for field in tagged:
                self.path.append(field.name)
                self.emit(f"if {tag} == {field.tag}:")
                self.depth += 1
                self.field(field, f"{target}.{field.name}")
                self.flush()
                self.emit(f"if p != {stop}: raise Refused('is not as long as its tag says')")
                self.depth -= 1
                self.path.pop()
            self.path.append("tagged fields")
            self.emit(f"p = {stop}")
            self.depth -= 1
        self.depth -= 1
        self.path.pop()

    def field(self, field: Field, target: str) -> None:
        nullable = field.is_nullable_in(self.version)
        if field.kind == "struct":
            assert field.struct is not None
            self.optional_structure(field.struct, target, nullable)
        elif field.kind == "array":
            self.array(field, target, nullable)
        else:
            self.scalar(field.kind, target, nullable)

    def scalar(self, kind: str, target: str, nullable: bool) -> None:
        if kind == "uuid":
            raw = f"u{self.number()}"
            self.read(raw, "16s")
            self.after_run.append(f"{target} = uuid_from_bytes({raw})")
        elif kind in _FORMATS:
            self.read(target, _FORMATS[kind])
        else:
            self.sized(kind, target, nullable)

    def optional_structure(self, struct: type[Struct], target: str, nullable: bool) -> None:
        local = f"o{self.number()}"
        if not nullable:
            self.flush()
            self.structure(struct, local)
            self.emit(f"{target} = {local}")
            return
        marker = f"m{self.number()}"
        self.read(marker, "b")
        self.flush()
        self.emit(f"if {marker} < 0: {target} = None")
        self.emit("else:")
        self.depth += 1
        self.structure(struct, local)
        self.emit(f"{target} = {local}")
        self.depth -= 1

    def length(self, size: str, plain_format: str, nullable: bool, null: str) -> None:
        """Reads a length or count into the name `size`, does `null` if it says so, and opens the block for the rest."""
        if self.flexible:
            self.read(size, "B")
            self.flush()
            self.emit(f"if {size} > 127: {size}, p = decode_long_uvarint(b, p, {size})")
            self.emit(f"{size} -= 1")
        else:
            self.read(size, plain_format)
            self.flush()
        self.emit(f"if {size} < 0:")
        self.depth += 1
        if nullable:
            if not self.flexible:
                self.emit(f"if {size} != -1: raise Refused(f'has length {{{size}}}')")
            self.emit(null)
        elif self.flexible:
            self.emit("raise Refused('is null and must not be')")
        else:
            self.emit(f"raise Refused('is null and must not be' if {size} == -1 else f'has length {{{size}}}')")
        self.depth -= 1
        self.emit("else:")
        self.depth += 1

    def sized(self, kind: str, target: str, nullable: bool) -> None:
        number = self.number()
        size, stop = f"n{number}", f"q{number}"
        self.length(size, "h" if kind == "string" else "i", nullable, f"{target} = None")
        self.emit(f"{stop} = p + {size}")
        self.emit(f"if {stop} > end: raise Refused(f'takes {{{size}}} bytes, {{end - p}} are left')")
        if kind == "string":
            if self.flexible:
                limit = f"is a string of {{{size}}} bytes, {MAX_STRING_BYTES} are allowed"
                self.emit(f"if {size} > {MAX_STRING_BYTES}: raise Refused(f'{limit}')")
            self.emit(f"{target} = str(b[p:{stop}], 'utf-8')")
        elif kind == "records":
            self.emit(f"{target} = b[p:{stop}]")
        else:
            self.emit(f"{target} = bytes(b[p:{stop}])")
        self.emit(f"p = {stop}")
        self.depth -= 1

    def array(self, field: Field, target: str, nullable: bool) -> None:
        number = self.number()
        count = f"n{number}"
        self.length(count, "i", nullable, f"{target} = None")
        least = max(1, _minimum_field_size(field.element, field, self.version, self.flexible))
        weight = count if least == 1 else f"{count} * {least}"
        self.emit(f"if {weight} > end - p: raise Refused(f'has {{{count}}} elements, {{end - p}} bytes are left')")
        self.emit(f"left -= {count}")
        self.emit(f"if left < 0: raise Refused('makes the message exceed {MAX_ELEMENTS} array elements')")
        format_ = _FORMATS.get(field.element)
        if format_ is not None and field.element != "uuid":
            self.emit(f"{target} = list(array_layout({format_!r}, {count}).unpack_from(b, p)) if {count} else []")
            self.emit(f"p += {weight}")
        else:
            items, item = f"items{number}", f"o{number}"
            self.emit(f"{items} = []")
            self.emit(f"for _ in range({count}):")
            self.depth += 1
            if field.element == "struct":
                assert field.struct is not None
                self.structure(field.struct, item)
            else:
                self.scalar("bytes" if field.element == "blob" else field.element, item, False)
                self.flush()
            self.emit(f"{items}.append({item})")
            self.depth -= 1
            self.emit(f"{target} = {items}")
        self.depth -= 1

    def read(self, target: str, format_: str) -> None:
        self.run.append((format_, target))

    def flush(self) -> None:
        """Emits the read of all values that wait."""
        if not self.run:
            return
        formats = "".join(format_ for format_, _ in self.run)
        if formats == "B":
            self.emit(f"{self.run[0][1]} = b[p]")
        else:
            targets = ", ".join(target for _, target in self.run) + ("," if len(self.run) == 1 else "")
            self.emit(f"{targets} = {self.layout_name(formats, 'unpack_from')}(b, p)")
        self.emit(f"p += {_layout('>' + formats).size}")
        self.run.clear()
        for line in self.after_run:
            self.emit(line)
        self.after_run.clear()


class _EncoderSource(_Source):
    """In the generated code: `o` is the message and `out` the bytearray it is appended to."""

    def __init__(self, message: type[Message], version: int) -> None:
        super().__init__(message, version)
        self.out = "out"
        self.names.update(
            Refused=Refused, array_layout=array_layout, encode_uvarint=encode_uvarint, explain=self.explain
        )

    def function(self, name: str) -> Any:
        self.structure(self.message, "o")
        self.emit("return")
        caught = "Refused, struct_error, AttributeError, TypeError, ValueError"
        return self.assemble(name, "o, out", caught, "raise explain(error) from error")

    def explain(self, error: Exception) -> UnencodableMessage:
        return UnencodableMessage(f"{self.message.__name__} v{self.version}{self.field_at(error)}: {error}")

    def structure(self, struct: type[Struct], source: str) -> None:
        tagged = []
        for field in struct.FIELDS:
            self.path.append(field.name)
            if not field.exists_in(self.version):
                if not field.ignorable:
                    differs = self.differs_from_default(field, f"{source}.{field.name}")
                    self.emit(f"if {differs}: raise Refused('is not in this version')")
            elif field.tag is not None:
                tagged.append(field)
            else:
                self.field(field, f"{source}.{field.name}")
            self.path.pop()
        if self.flexible:
            self.tagged_fields(sorted(tagged, key=lambda field: field.tag or 0), source)
        else:
            self.flush()

    def tagged_fields(self, tagged: list[Field], source: str) -> None:
        if not tagged:
            self.write("0", "B")
            self.flush()
            return
        self.flush()
        present = [(field, f"d{self.number()}") for field in tagged]
        for field, differs in present:
            self.path.append(field.name)
            self.emit(f"{differs} = {self.differs_from_default(field, f'{source}.{field.name}')}")
            self.path.pop()
        self.emit(f"{self.out}.append({' + '.join(f'({differs})' for _, differs in present)})")
        for field, differs in present:
            self.path.append(field.name)
            self.emit(f"if {differs}:")
            self.depth += 1
            outer, self.out = self.out, f"out{self.number()}"
            self.emit(f"{self.out} = bytearray()")
            self.field(field, f"{source}.{field.name}")
            self.flush()
            self.emit(f"{outer} += encode_uvarint({field.tag})")
            self.emit(f"{outer} += encode_uvarint(len({self.out}))")
            self.emit(f"{outer} += {self.out}")
            self.out = outer
            self.depth -= 1
            self.path.pop()

    def differs_from_default(self, field: Field, source: str) -> str:
        """An expression of type bool."""
        if field.default is None:
            return f"{source} is not None"
        if field.kind == "array":
            return f"{source} is None or len({source}) > 0"
        if field.kind == "struct":
            assert field.struct is not None
            parts = [self.differs_from_default(part, f"{source}.{part.name}") for part in field.struct.FIELDS]
            whole = " or ".join(f"({part})" for part in parts) or "False"
            return f"{source} is None or {whole}" if field.nullable[1] >= 0 else whole
        name = f"default{self.number()}"
        self.names[name] = field.default
        return f"{source} != {name}"

    def field(self, field: Field, source: str) -> None:
        nullable = field.is_nullable_in(self.version)
        if field.kind == "struct":
            assert field.struct is not None
            self.optional_structure(field.struct, source, nullable)
        elif field.kind == "array":
            self.array(field, source, nullable)
        else:
            self.scalar(field.kind, source, nullable)

    def scalar(self, kind: str, source: str, nullable: bool) -> None:
        if kind == "uuid":
            self.write(f"{source}.bytes", "16s")
        elif kind in _FORMATS:
            self.write(source, _FORMATS[kind])
        else:
            self.sized(kind, source, nullable)

    def optional_structure(self, struct: type[Struct], source: str, nullable: bool) -> None:
        local = f"o{self.number()}"
        if not nullable:
            self.emit(f"{local} = {source}")
            self.structure(struct, local)
            return
        self.flush()
        self.emit(f"{local} = {source}")
        self.emit(f"if {local} is None: {self.out}.append(255)")
        self.emit("else:")
        self.depth += 1
        self.write("1", "b")
        self.structure(struct, local)
        self.depth -= 1

    def length(self, size: str, plain_format: str) -> None:
        """Writes the length or count in the name `size`, which for compact ones is already one more, and 0 for null."""
        if not self.flexible:
            self.write(size, plain_format)
            self.flush()
            return
        waiting = list(self.run)
        self.emit(f"if {size} < 128:")
        self.depth += 1
        self.write(size, "B")
        self.flush()
        self.depth -= 1
        self.emit("else:")
        self.depth += 1
        self.run = waiting
        self.flush()
        self.emit(f"{self.out} += encode_uvarint({size})")
        self.depth -= 1

    def sized(self, kind: str, source: str, nullable: bool) -> None:
        number = self.number()
        size, value = f"n{number}", f"v{number}"
        self.emit(f"{value} = {source}")
        if nullable:
            self.emit(f"if {value} is None: {value} = b''; {size} = {0 if self.flexible else -1}")
            self.emit("else:")
            self.depth += 1
        if kind == "string":
            self.emit(f"{value} = {value}.encode()")
        self.emit(f"{size} = len({value}){' + 1' if self.flexible else ''}")
        if kind == "string":
            longest = MAX_STRING_BYTES + (1 if self.flexible else 0)
            self.emit(f"if {size} > {longest}: raise Refused('is longer than {MAX_STRING_BYTES} bytes')")
        if nullable:
            self.depth -= 1
        self.length(size, "h" if kind == "string" else "i")
        self.emit(f"{self.out} += {value}")

    def array(self, field: Field, source: str, nullable: bool) -> None:
        number = self.number()
        count, value, item = f"n{number}", f"v{number}", f"o{number}"
        self.emit(f"{value} = {source}")
        if nullable:
            self.emit(f"if {value} is None: {value} = (); {count} = {0 if self.flexible else -1}")
            self.emit(f"else: {count} = len({value}){' + 1' if self.flexible else ''}")
        else:
            self.emit(f"{count} = len({value}){' + 1' if self.flexible else ''}")
        self.length(count, "i")
        format_ = _FORMATS.get(field.element)
        if format_ is not None and field.element != "uuid":
            self.emit(f"if {value}: {self.out} += array_layout({format_!r}, len({value})).pack(*{value})")
            return
        self.emit(f"for {item} in {value}:")
        self.depth += 1
        if field.element == "struct":
            assert field.struct is not None
            self.structure(field.struct, item)
        else:
            self.scalar("bytes" if field.element == "blob" else field.element, item, False)
            self.flush()
        self.depth -= 1

    def write(self, expression: str, format_: str) -> None:
        self.run.append((format_, expression))

    def flush(self) -> None:
        """Emits the write of all values that wait."""
        if not self.run:
            return
        formats = "".join(format_ for format_, _ in self.run)
        if formats == "B":
            self.emit(f"{self.out}.append({self.run[0][1]})")
        else:
            values = ", ".join(value for _, value in self.run)
            self.emit(f"{self.out} += {self.layout_name(formats, 'pack')}({values})")
        self.run.clear()


__all__ = ["Buffer", "compile_constructor", "compile_decoder", "compile_encoder", "minimum_size"]
