"""Writes elements as the one text by which Confluent's registry knows a schema, character by character.

Where that text would not be read back, ours differs: the default of a `bytes` field stays in quotes, `import weak` and the
edition stay, and what must be escaped in a reserved name is.
"""

from collections.abc import Iterator

from stoker.registry.formats.protobuf.elements import (
    MAX_FIELD_NUMBER,
    Enum,
    Extend,
    Extensions,
    Field,
    Group,
    Message,
    Numbers,
    OneOf,
    Option,
    OptionKind,
    OptionValue,
    Primitive,
    ProtoFile,
    Reserved,
    Rpc,
    Service,
)

_ESCAPES = str.maketrans(
    dict(
        zip("\a\b\f\n\r\t\v\\'\"", ("\\a", "\\b", "\\f", "\\n", "\\r", "\\t", "\\v", "\\\\", "\\'", '\\"'), strict=True)
    )
    # Bytes that are no UTF-8 (tokens.unquoted).
    | {chr(0xDC00 + octet): f"\\{octet:03o}" for octet in range(0x80, 0x100)}
)
_TO_ESCAPE = frozenset(map(chr, _ESCAPES))

_NUMERIC = frozenset(
    [
        "double",
        "float",
        "fixed32",
        "fixed64",
        "int32",
        "int64",
        "sfixed32",
        "sfixed64",
        "sint32",
        "sint64",
        "uint32",
        "uint64",
    ]
)


def printed(file: ProtoFile) -> str:
    """The canonical text."""
    lines: list[str] = []
    if file.edition is not None:
        lines.append(f'edition = "{file.edition}";')
    elif file.syntax is not None:
        lines.append(f'syntax = "{file.syntax}";')
    if file.package is not None:
        lines.append(f"package {file.package};")
    if file.imports or file.public_imports or file.weak_imports:
        lines.append("")
        lines.extend(f'import "{escaped(name)}";' for name in file.imports)
        lines.extend(f'import public "{escaped(name)}";' for name in file.public_imports)
        lines.extend(f'import weak "{escaped(name)}";' for name in file.weak_imports)
    if file.options:
        lines.append("")
        _option_statements(lines, "", file.options)
    if file.types:
        lines.append("")
        _types(lines, "", file.types, bare_names=file.edition is not None)
    if file.extends:
        lines.append("")
        for extend in file.extends:
            _extend(lines, "", extend)
    if file.services:
        lines.append("")
        for service in file.services:
            _service(lines, service)
    lines.append("")
    return "\n".join(lines)


def escaped(text: str) -> str:
    """What stands between the quotes of a string literal."""
    return text if _TO_ESCAPE.isdisjoint(text) else text.translate(_ESCAPES)


def default_kind(type_name: str) -> OptionKind:
    """How the default value of a field of that type is written."""
    if type_name in ("string", "bytes"):
        return OptionKind.STRING
    if type_name == "bool":
        return OptionKind.BOOLEAN
    return OptionKind.NUMBER if type_name in _NUMERIC else OptionKind.ENUM


def options_with_special(field: Field) -> list[Option]:
    """The options of a field with its default and JSON name, which are written as if they were options."""
    options = field.options
    if field.default is not None:
        options = [*options, Option("default", default_kind(field.type), field.default)]
    if field.json_name is not None:
        options = [*options, Option("json_name", OptionKind.STRING, field.json_name)]
    return options


def _types(lines: list[str], indent: str, types: list[Message | Enum], bare_names: bool) -> None:
    # Messages first: the index of a message among them is part of what serializers write before each record.
    for each in types:
        if isinstance(each, Message):
            _message(lines, indent, each, bare_names)
    for each in types:
        if isinstance(each, Enum):
            _enum(lines, indent, each, bare_names)


def _message(lines: list[str], indent: str, message: Message, bare_names: bool) -> None:
    start = len(lines)
    inner = indent + "  "
    lines.append(f"{indent}message {message.name} {{")
    lines.extend(_reserved(inner, message.reserved, bare_names))
    if message.options:
        _part(lines, start, indent)
        _option_statements(lines, inner, message.options)
    if message.fields:
        _part(lines, start, indent)
        for field in message.fields:
            _field(lines, inner, field)
    if message.oneofs:
        _part(lines, start, indent)
        for oneof in message.oneofs:
            _oneof(lines, inner, oneof)
    if message.groups:
        _part(lines, start, indent)
        for group in message.groups:
            _group(lines, inner, group)
    if message.extensions:
        _part(lines, start, indent)
        for extensions in message.extensions:
            _extensions(lines, inner, extensions)
    if message.extends:
        _part(lines, start, indent)
        for extend in message.extends:
            _extend(lines, inner, extend)
    if message.types:
        _part(lines, start, indent)
        _types(lines, inner, message.types, bare_names)
    _close(lines, start, indent)


def _part(lines: list[str], start: int, indent: str) -> None:
    """A line between two parts of a block that began with the line `start`. It is empty but for the indent of the block:
    Confluent's indents whole blocks, and with them their empty lines."""
    if len(lines) > start + 1:
        lines.append(indent)


def _close(lines: list[str], start: int, indent: str) -> None:
    if len(lines) == start + 1:
        lines[start] += "}"
    else:
        lines.append(indent + "}")


def _field(lines: list[str], indent: str, field: Field) -> None:
    label = "" if field.label is None else f"{field.label} "
    text = f"{indent}{label}{field.type} {field.name} = {field.number}"
    if field.options or field.default is not None or field.json_name is not None:
        _with_options(lines, indent, text, options_with_special(field))
    else:
        lines.append(text + ";")


def _oneof(lines: list[str], indent: str, oneof: OneOf) -> None:
    start = len(lines)
    inner = indent + "  "
    lines.append(f"{indent}oneof {oneof.name} {{")
    _option_statements(lines, inner, oneof.options)
    if oneof.fields:
        _part(lines, start, indent)
        for field in oneof.fields:
            _field(lines, inner, field)
    if oneof.groups:
        _part(lines, start, indent)
        for group in oneof.groups:
            _group(lines, inner, group)
    _close(lines, start, indent)


def _group(lines: list[str], indent: str, group: Group) -> None:
    start = len(lines)
    label = "" if group.label is None else f"{group.label} "
    lines.append(f"{indent}{label}group {group.name} = {group.number} {{")
    for field in group.fields:
        _field(lines, indent + "  ", field)
    _close(lines, start, indent)


def _extend(lines: list[str], indent: str, extend: Extend) -> None:
    start = len(lines)
    lines.append(f"{indent}extend {extend.name} {{")
    for field in extend.fields:
        _field(lines, indent + "  ", field)
    for group in extend.groups:
        _group(lines, indent + "  ", group)
    _close(lines, start, indent)


def _extensions(lines: list[str], indent: str, extensions: Extensions) -> None:
    text = f"{indent}extensions {', '.join(map(_numbers, extensions.values))}"
    _with_options(lines, indent, text, extensions.options)


def _enum(lines: list[str], indent: str, enum: Enum, bare_names: bool) -> None:
    start = len(lines)
    inner = indent + "  "
    lines.append(f"{indent}enum {enum.name} {{")
    lines.extend(_reserved(inner, enum.reserved, bare_names))
    _option_statements(lines, inner, enum.options)
    for constant in enum.constants:
        _with_options(lines, inner, f"{inner}{constant.name} = {constant.number}", constant.options)
    _close(lines, start, indent)


def _service(lines: list[str], service: Service) -> None:
    start = len(lines)
    lines.append(f"service {service.name} {{")
    _option_statements(lines, "  ", service.options)
    if service.rpcs:
        _part(lines, start, "")
        for rpc in service.rpcs:
            _rpc(lines, rpc)
    _close(lines, start, "")


def _rpc(lines: list[str], rpc: Rpc) -> None:
    request = f"stream {rpc.request}" if rpc.request_streams else rpc.request
    response = f"stream {rpc.response}" if rpc.response_streams else rpc.response
    text = f"  rpc {rpc.name} ({request}) returns ({response})"
    if not rpc.options:
        lines.append(text + ";")
        return
    lines.append(text + " {")
    _option_statements(lines, "    ", rpc.options)
    lines.append("  };")


def _reserved(indent: str, reserved: list[Reserved], bare_names: bool) -> Iterator[str]:
    for each in reserved:
        yield f"{indent}reserved {', '.join(_reserved_value(value, bare_names) for value in each.values)};"


def _reserved_value(value: Numbers | str, bare_name: bool) -> str:
    if not isinstance(value, str):
        return _numbers(value)
    return value if bare_name else f'"{escaped(value)}"'


def _numbers(value: Numbers) -> str:
    if isinstance(value, int):
        return str(value)
    first, last = value
    return f"{first} to {last if last < MAX_FIELD_NUMBER else 'max'}"


def _option_statements(lines: list[str], indent: str, options: list[Option]) -> None:
    lines.extend(f"{indent}option {_option(option, indent)};" for option in options)


def _with_options(lines: list[str], indent: str, text: str, options: list[Option]) -> None:
    if not options:
        lines.append(text + ";")
        return
    lines.append(f"{text} {_bracketed([_option(each, _inner(indent, options)) for each in options], indent)};")


def _inner(indent: str, entries: "list[Option] | list[OptionValue]") -> str:
    """A single entry in brackets stays on its line; several are indented."""
    return indent if len(entries) == 1 else indent + "  "


def _bracketed(entries: list[str], indent: str) -> str:
    if len(entries) == 1:
        return f"[{entries[0]}]"
    between = f",\n{indent}  "
    return f"[\n{indent}  {between.join(entries)}\n{indent}]" if entries else f"[\n{indent}]"


def _option(option: Option, indent: str) -> str:
    """`name = value`, its further lines indented."""
    name = f"({option.name})" if option.custom else option.name
    value = option.value
    if isinstance(value, Option):
        return f"{name}.{_option(value, indent)}"
    if isinstance(value, dict):
        return f"{name} = {_map(value, indent)}"
    if isinstance(value, list):
        return f"{name} = {_bracketed([_value(each, _inner(indent, value)) for each in value], indent)}"
    if option.kind is OptionKind.STRING and isinstance(value, str):
        return f'{name} = "{escaped(value)}"'
    return f"{name} = {value}"


def _value(value: OptionValue, indent: str) -> str:
    """A value inside a map or list."""
    if isinstance(value, str):
        return f'"{escaped(value)}"'
    if isinstance(value, Primitive):
        return value.value
    if isinstance(value, dict):
        return _map(value, indent)
    if isinstance(value, list):
        if not value:
            return f"[\n{indent}]"
        between = f",\n{indent}  "
        return f"[\n{indent}  {between.join(_value(each, indent + '  ') for each in value)}\n{indent}]"
    return _option(value, indent)


def _map(entries: dict[str, OptionValue], indent: str) -> str:
    between = f",\n{indent}  "
    inside = between.join(f"{name}: {_value(value, indent + '  ')}" for name, value in entries.items())
    return f"{{\n{indent}  {inside}\n{indent}}}" if inside else f"{{\n{indent}}}"
