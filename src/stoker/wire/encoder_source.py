"""Writes the source of encoders."""

from typing import Any

from stoker.errors import UnencodableMessage
from stoker.wire.primitives import Refused, array_layout, encode_uvarint
from stoker.wire.schema import Field, Message, Struct
from stoker.wire.source import FORMATS, MAX_STRING_BYTES, Source


class EncoderSource(Source):
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
            self.optional_structure(field.struct, source, nullable, tagged=field.tag is not None)
        elif field.kind == "array":
            self.array(field, source, nullable)
        else:
            self.scalar(field.kind, source, nullable)

    def scalar(self, kind: str, source: str, nullable: bool) -> None:
        if kind == "uuid":
            self.write(f"{source}.bytes", "16s")
        elif kind in FORMATS:
            self.write(source, FORMATS[kind])
        else:
            self.sized(kind, source, nullable)

    def optional_structure(self, struct: type[Struct], source: str, nullable: bool, tagged: bool) -> None:
        local = f"o{self.number()}"
        if not nullable:
            self.emit(f"{local} = {source}")
            self.structure(struct, local)
            return
        self.flush()
        self.emit(f"{local} = {source}")
        self.emit(f"if {local} is None: {self.out}.append({0 if tagged else 255})")
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
        format_ = FORMATS.get(field.element)
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
