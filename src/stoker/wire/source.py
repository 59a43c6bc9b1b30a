"""What generated encoders and decoders have in common: lines that know their field, and the widths of types."""

from functools import cache
from struct import Struct as Layout
from struct import error as struct_error
from typing import Any

from stoker.wire.schema import Field, Message

FORMATS = {
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

MAX_STRING_BYTES = 32767
"""Kafka's limit for strings, also where their compact length could say more."""


@cache
def layout(format_: str) -> Layout:
    """The layout of a run of fields; many messages share each."""
    return Layout(format_)


def minimum_size(fields: tuple[Field, ...], version: int, flexible: bool) -> int:
    """The fewest bytes that a structure of these fields takes."""
    size = 1 if flexible else 0
    for field in fields:
        if field.exists_in(version) and field.tag is None:
            size += minimum_field_size(field.kind, field, version, flexible)
    return size


def minimum_field_size(kind: str, field: Field, version: int, flexible: bool) -> int:
    if kind in FORMATS:
        return layout(">" + FORMATS[kind]).size
    if kind == "struct":
        if field.kind == "struct" and field.is_nullable_in(version):
            return 1
        assert field.struct is not None
        return minimum_size(field.struct.FIELDS, version, flexible)
    if flexible:
        return 1
    return 2 if kind == "string" else 4


def default_is_fresh(field: Field) -> bool:
    return field.default == () and field.kind in ("array", "struct")


def fresh_default(field: Field, key: object, names: dict[str, Any]) -> str:
    """An expression that makes a new default value."""
    if field.kind == "array":
        return "[]"
    names[f"Default{key}"] = field.struct
    return f"Default{key}()"


class Source:
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
        self.names[name] = getattr(layout(">" + formats), method)
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
