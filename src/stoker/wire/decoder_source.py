"""Writes the source of decoders."""

from typing import Any

from stoker.errors import MalformedMessage
from stoker.wire.primitives import (
    Refused,
    array_layout,
    decode_long_uvarint,
    decode_uvarint,
    skip_tagged_fields,
    uuid_from_bytes,
)
from stoker.wire.schema import Field, Message, Request, Struct
from stoker.wire.source import (
    FORMATS,
    MAX_STRING_BYTES,
    Source,
    default_is_fresh,
    fresh_default,
    layout,
    minimum_field_size,
)

MAX_ELEMENTS = 100_000
"""Array elements in one request. A hostile frame could else make a hundred bytes of objects out of each of its bytes, and
have each of them answered before others have their turn."""
MAX_RESPONSE_ELEMENTS = 10_000_000
"""... and in one response, or one record of the metadata log. The settings of ten thousand topics are half a million."""


class DecoderSource(Source):
    """In the generated code: `b` is the buffer, `p` the position in it, `end` its length, `left` the element budget."""

    def __init__(self, message: type[Message], version: int) -> None:
        super().__init__(message, version)
        self.max_elements = MAX_ELEMENTS if issubclass(message, Request) else MAX_RESPONSE_ELEMENTS
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
        self.emit(f"left = {self.max_elements}")
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
        if default_is_fresh(field):
            self.emit(f"{target} = {fresh_default(field, self.number(), self.names)}")
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
            self.optional_structure(field.struct, target, nullable, tagged=field.tag is not None)
        elif field.kind == "array":
            self.array(field, target, nullable)
        else:
            self.scalar(field.kind, target, nullable)

    def scalar(self, kind: str, target: str, nullable: bool) -> None:
        if kind == "uuid":
            raw = f"u{self.number()}"
            self.read(raw, "16s")
            self.after_run.append(f"{target} = uuid_from_bytes({raw})")
        elif kind in FORMATS:
            self.read(target, FORMATS[kind])
        else:
            self.sized(kind, target, nullable)

    def optional_structure(self, struct: type[Struct], target: str, nullable: bool, tagged: bool) -> None:
        # Before one that may be null stands a byte, 1 if it is not; null is -1, or 0 if the field is tagged.
        local = f"o{self.number()}"
        if not nullable:
            self.flush()
            self.structure(struct, local)
            self.emit(f"{target} = {local}")
            return
        marker = f"m{self.number()}"
        self.read(marker, "b")
        self.flush()
        self.emit(f"if {marker} < {int(tagged)}: {target} = None")
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
        least = max(1, minimum_field_size(field.element, field, self.version, self.flexible))
        weight = count if least == 1 else f"{count} * {least}"
        self.emit(f"if {weight} > end - p: raise Refused(f'has {{{count}}} elements, {{end - p}} bytes are left')")
        self.emit(f"left -= {count}")
        self.emit(f"if left < 0: raise Refused('makes the message exceed {self.max_elements} array elements')")
        format_ = FORMATS.get(field.element)
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
        self.emit(f"p += {layout('>' + formats).size}")
        self.run.clear()
        for line in self.after_run:
            self.emit(line)
        self.after_run.clear()
